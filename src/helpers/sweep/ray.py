"""Ray executor: a study's (model, task) groups as tasks of a Ray cluster, a running one or one started here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from helpers.base.errors import StudyError
from helpers.base.files import replacing
from helpers.base.paths import below
from helpers.base.progress import Say
from helpers.models.number_types import record_path
from helpers.study.spec import Study
from helpers.study.sweep import RaySpec
from helpers.sweep.group import run_group
from helpers.sweep.stages import cached_model, embed_group
from helpers.sweep.store import GroupReport, group_folder, read_note
from helpers.sweep.work import Group, Outcomes, Work, Worker, name

# What a node's own environment may say better: these go along only where the node has no value.
PASSED_ON = ("EMBEDDING_TASK_DATA", "HELPERS_CACHE_GB", "HELPERS_ROOT")


@dataclass(frozen=True)
class Files:
    """Files of a run folder as relative path -> bytes, and paths that are no longer there."""

    content: dict[str, bytes]
    gone: tuple[str, ...] = ()


def on_ray(work: Work, groups: Sequence[Group], say: Say) -> Outcomes:
    """Run groups as Ray tasks in their order; Ray retries those whose worker or node dies (`sweep.ray.max_retries`).

    With `results: shared` the nodes write into the run folder, which all of them must see under the same path. With
    `results: fetch` a task gets the group's files, works in a folder of its own and sends back what changed. With
    `score_on_cpu` each group is two tasks: one with a GPU embeds, one without scores; a group that fails in stages is
    run again as a whole. Raises `StudyError` where Ray is not installed or the cluster does not answer.
    """
    ray = import_ray()
    spec = work.study.sweep.ray
    in_stages = spec.score_on_cpu and not work.study.sweep.exact  # exact: no vector is kept
    with connected(work.study, say):
        gpus = gpus_per_task(spec, ray.cluster_resources())
        if gpus and not ray.cluster_resources().get("GPU"):
            say(f"waiting for a node with a GPU (sweep.ray.num_gpus: {gpus:g})")
        common = {"num_cpus": spec.num_cpus, "max_retries": spec.max_retries}
        whole = ray.remote(run_on_node).options(num_gpus=gpus, **common)
        embed = ray.remote(embed_on_node).options(num_gpus=gpus, **common)
        score = ray.remote(score_on_node).options(num_gpus=0, **common)
        sent, environment = ray.put(work), passed_on(work.study)
        running: dict[Any, tuple[Group, str, GroupReport | None]] = {}
        for group in groups:
            if in_stages:
                running[embed.remote(sent, group, environment)] = group, "embed", None
            else:
                files = group_files(work.folder, group) if spec.results == "fetch" else None
                running[whole.remote(sent, group, environment, files)] = group, "whole", None
        while running:
            (ready,), _ = ray.wait(list(running))
            group, stage, first = running.pop(ready)
            report, more = _outcome(ray, ready, group)
            if stage != "whole" and report.failed:
                say(f"{report.model} x {report.task}: not in stages ({report.reasons[0]})")
                running[whole.remote(sent, group, environment, None)] = group, "whole", None
            elif stage == "embed" and not report.locked:
                running[score.remote(sent, group, environment, more)] = group, "score", report
            else:
                if stage == "whole" and more is not None:
                    store(work.folder, more)
                yield group, report if first is None or report.locked else together(first, report)


def _outcome(ray: Any, reference: Any, group: Group) -> tuple[GroupReport, Any]:
    """What a task returned; a failed report where it died more often than it may."""
    try:
        report, more = ray.get(reference)
        return report, more
    except ray.exceptions.RayError as error:
        said = str(error).strip().splitlines() or [""]  # of an error inside the task, the last line names it
        reason = f"its Ray task failed ({type(error).__name__}: {said[-1][:200]})"
        return GroupReport(*name(group), failed=1, reasons=[reason]), None


def together(embedded: GroupReport, scored: GroupReport) -> GroupReport:
    """One report of both stages: the second one found again what the first one had computed."""
    return replace(
        scored,
        done=embedded.done + scored.done,
        reused=scored.reused - embedded.done,
        stale=embedded.stale,
        changed=embedded.changed,
        seconds=embedded.seconds + scored.seconds,
    )


def import_ray() -> Any:
    """The package `ray`, which reports no usage; a `StudyError` with the remedy where it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise StudyError(
            "sweep.executor: ray needs the package ray, which is not installed: pip install -c constraints.txt -e '.[ray]'"
        ) from error
    return ray


@contextmanager
def connected(study: Study, say: Say) -> Iterator[None]:
    """A connection to the study's cluster, ended afterwards; one that this process already has is used and kept."""
    ray = import_ray()
    if ray.is_initialized():
        yield
        return
    arguments = init_arguments(study, os.environ)
    try:
        ray.init(**arguments)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise StudyError(
            f"no Ray cluster answers at {arguments['address']} ({str(error).strip()[:200]}); start one with "
            f"`ray start --head`, or leave out sweep.ray.address and RAY_ADDRESS to start one here"
        ) from error
    try:
        found = ray.cluster_resources()
        say(f"Ray: {len(ray.nodes())} node(s), {found.get('CPU', 0):g} CPU cores, {found.get('GPU', 0):g} GPUs")
        yield
    finally:
        ray.shutdown()


def init_arguments(study: Study, environ: Mapping[str, str]) -> dict[str, Any]:
    """What `ray.init` is called with: the address of the study or of RAY_ADDRESS, else a cluster on this machine.

    A cluster that is started here has no dashboard, and `sweep.workers` slots where that is more than one.
    """
    common = {"log_to_driver": False, "logging_level": "error"}
    address = study.sweep.ray.address or environ.get("RAY_ADDRESS")
    if address:
        return {"address": address, **common}
    slots = study.sweep.workers if study.sweep.workers > 1 else None
    return {"address": "local", "include_dashboard": False, "num_cpus": slots, **common}


def gpus_per_task(spec: RaySpec, resources: Mapping[str, float]) -> float:
    """GPUs that each task asks for: what the study says, else one where the cluster has any, else none."""
    if spec.num_gpus is not None:
        return spec.num_gpus
    return 1 if resources.get("GPU") else 0


def passed_on(study: Study) -> dict[str, str]:
    """Variables of this process that a node needs. Secrets are not among them: a node has its own."""
    found = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
    if study.sweep.offline or os.environ.get("HF_HUB_OFFLINE"):
        found["HF_HUB_OFFLINE"] = "1"
    return found


_WORKER: Worker | None = None  # of this worker process: a model is loaded once for consecutive groups


def run_on_node(
    work: Work, group: Group, environment: dict[str, str], files: Files | None
) -> tuple[GroupReport, Files | None]:
    """One group on a node of the cluster; with `files` in a folder of its own, whose changes are returned.

    Ray shows the task only its own GPU and has set the number of threads.
    """
    if files is None:
        return worker(work, environment).run(group), None
    set_missing(environment)
    with tempfile.TemporaryDirectory(prefix="helpers-") as folder:
        store(Path(folder), files)
        notes = {name(group): read_note(group_folder(Path(folder), *group))}
        report = Worker(replace(work, folder=Path(folder), notes=notes)).run(group)
        return report, changes(files, group_files(Path(folder), group))


def embed_on_node(work: Work, group: Group, environment: dict[str, str]) -> tuple[GroupReport, dict[str, Any]]:
    """The first stage of a group, and the identity of the model that embedded."""
    here = worker(work, environment)
    model, task = group
    return embed_group(here.study, work.folder, work.prompts, model, task, partial(here.loaded, model))


def score_on_node(
    work: Work, group: Group, environment: dict[str, str], identity: dict[str, Any]
) -> tuple[GroupReport, None]:
    """The second stage of a group, on the CPU; it fails where a vector is not in the cache."""
    set_missing(environment)
    model, task = group
    loaded = partial(cached_model, model, work.folder, identity)
    known = work.notes.get(name(group))
    return run_group(work.study, work.folder, work.prompts, model, task, loaded, shared=True, known=known), None


def worker(work: Work, environment: dict[str, str]) -> Worker:
    """This process's worker for a sweep, with the model of its last group."""
    global _WORKER
    set_missing(environment)
    if _WORKER is None or _WORKER.work.token != work.token:
        _WORKER = Worker(work)
    return _WORKER


def set_missing(environment: dict[str, str]) -> None:
    """Set variables that this process's environment does not have."""
    for key, value in {"TOKENIZERS_PARALLELISM": "false", **environment}.items():
        os.environ.setdefault(key, value)


def group_files(folder: Path, group: Group) -> Files:
    """What a group left in a run folder: its cells, note and errors, and what its model's number types change."""
    place = group_folder(folder, *group)
    found = [p for p in place.glob("*") if not p.name.startswith(".")]  # neither the lock nor unfinished files
    found = [p for p in [*found, record_path(folder, group[0])] if p.is_file()]
    return Files({p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(found)})


def changes(before: Files, after: Files) -> Files:
    """What differs between two states of a group's files."""
    new = {key: value for key, value in after.content.items() if before.content.get(key) != value}
    return Files(new, tuple(sorted(before.content.keys() - after.content.keys())))


def store(folder: Path, files: Files) -> None:
    """Write files into a run folder, each whole or not at all; a cell's record comes after the scores of its units."""
    for key in sorted(files.content, key=lambda key: (key.endswith(".json"), key)):
        with replacing(below(folder, key)) as temporary:
            temporary.write_bytes(files.content[key])
    for key in files.gone:
        below(folder, key).unlink(missing_ok=True)
