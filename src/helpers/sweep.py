"""The evaluation sweep: every model x task x prompt of a study as cells that are computed once and never lost."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import random
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from filelock import FileLock, Timeout

from helpers import precision_probe
from helpers.application import Prefixes, Role, has_sides, prefixes
from helpers.cell_files import is_edited, read_cell, write_cell
from helpers.console import clock
from helpers.encoder import SweepEncoder, describe_inputs, probe, searched_with
from helpers.group_cells import forget_cells, settings_of, write_cells
from helpers.group_note import GroupNote, read_note, request_of, write_note
from helpers.model_shape import pools_prompt, uses_chat_template
from helpers.models import LoadedModel, digest, load_model
from helpers.network import go_offline, may_pass
from helpers.progress import Say, tell_scores, watching
from helpers.prompts import Prompt
from helpers.run import write_json
from helpers.safe_paths import below, safe_name
from helpers.study import ModelSpec, Study, StudyError, TaskSpec
from helpers.tasks import data_fingerprint, load_task

logger = logging.getLogger(__name__)
COPIES_COLUMNS = (
    "_create_dataloaders", "_evaluators.text.bitext_mining_evaluator", "_evaluators.pair_classification_evaluator"
)  # fmt: skip
BASELINES_FIRST = ("default", "none", "prompt")
SCORED_BY = ("mteb", "scikit-learn", "scipy", "numpy", "pytrec-eval-terrier")


@dataclass
class Cell:
    """One unit of work: a model, a task's subset and split, and a prompt; `slot` is its place in the table."""

    slot: dict[str, Any]
    identity: dict[str, Any]
    prompt: Prompt
    prefixes: Prefixes

    @cached_property
    def stem(self) -> str:
        return f"{digest(self.slot)}-{digest(self.identity)}"


@dataclass
class GroupReport:
    """What became of one (model, task) group.

    stale: results of the same place in the table but made from other inputs; changed: which inputs, over all of them.
    locked: another process is computing the group, nothing was done here.
    """

    model: str
    task: str
    done: int = 0
    reused: int = 0
    failed: int = 0
    stale: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    seconds: float = 0.0
    locked: bool = False


def run_sweep(
    study: Study,
    folder: Path,
    prompts: pd.DataFrame,
    progress: Callable[[str], None] | None = print,
    wait: bool = True,
) -> list[GroupReport]:
    """Compute every missing cell of a study into `folder/cells`; finished ones are reused, failures recorded.

    `prompts` is the table of `helpers.prompts.prompt_table`. Each group reports one line, with an estimate of the time
    left that counts only groups with missing cells. Several processes may run this on one folder and share its groups;
    `wait=False` ends when only groups are left that others are computing.
    """
    from helpers.executors import run_groups

    if study.sweep.offline:
        go_offline()
    return run_groups(study, folder, prompts, progress, wait)


def model_or_error(spec: ModelSpec, folder: Path, study: Study) -> LoadedModel | StudyError:
    """The loaded model, or the error that each of its groups will record."""

    def load() -> LoadedModel:
        model = load_model(spec, folder, study.sweep.device)
        model.batch_tokens = study.sweep.batch_tokens
        model.has_twin = study.twin(spec) is not None
        if model.identity["not_covered"]:
            logger.warning("model %s: not compared: %s", spec.label, "; ".join(model.identity["not_covered"]))
        try:
            precision_probe.record(model, folder)
        except Exception as error:  # the comparison is an extra: without it the model is swept all the same
            logger.warning(
                "model %s not compared with float32: %s: %s", spec.label, type(error).__name__, error
            )
        return model

    return loaded_or_error(spec.label, load)


def loaded_or_error(label: str, load: Callable[[], LoadedModel | StudyError]) -> LoadedModel | StudyError:
    """What `load` gives, or why it fails as an error of this model: whatever one model does, the others go on."""
    try:
        return load()
    except StudyError as error:
        return error
    except Exception as error:
        logger.warning("model %s cannot be used", label, exc_info=True)
        first = (str(error).splitlines() or [""])[0][:300]
        return StudyError(f"model {label}: {type(error).__name__}: {first}")


def group_line(number: int, total: int, report: GroupReport, seconds_left: float | None = None) -> str:
    """One line about a finished group, with the time that the others will take where it is known."""
    left = f"; about {clock(seconds_left)} left" if seconds_left and number < total else ""
    failed = f", {report.failed} FAILED ({report.reasons[0]})" if report.failed else ""
    return (
        f"[{number}/{total}] {report.model} x {report.task}: {report.done} computed, {report.reused} reused{failed} "
        f"in {report.seconds:.1f} s{left}"
    )


def stale_line(report: GroupReport) -> str | None:
    """One line about results made from other inputs that were computed again; None where there were none."""
    if not report.stale or not report.done:
        return None
    results = f"{len(report.stale)} stale result{'s' if len(report.stale) > 1 else ''}"
    changed = ", ".join(report.changed)
    return f"{results} of {report.model} x {report.task} computed again: {changed} changed"


def run_group(
    study: Study,
    folder: Path,
    prompts: pd.DataFrame,
    model_spec: ModelSpec,
    task_spec: TaskSpec,
    model: LoadedModel | StudyError | Callable[[], LoadedModel | StudyError] | None = None,
    tasks: dict[str, Any] | None = None,
    shared: bool = False,
    known: GroupNote | None = None,
    say: Say | None = None,
) -> GroupReport:
    """All prompts of one (model, task): the unit that shares documents, and that one process works on at a time.

    Two processes on one run folder take turns per group through a file lock, which the system frees when its holder
    dies; the second one then finds the first one's cells. With `shared` it does not wait for the lock but reports the
    group as locked, and takes over a group whose note changed from `known`: another process finished it meanwhile.
    A long group tells `say` now and then how far it is.
    """
    report = GroupReport(model_spec.label, task_spec.name)
    place = group_folder(folder, model_spec, task_spec)
    place.mkdir(parents=True, exist_ok=True)
    request = request_of(study, [p.id for p in prompts_of(study, prompts, task_spec.name)])
    try:
        with FileLock(place / ".lock", timeout=0 if shared else -1):
            note = read_note(place)
            if shared and note is not None and note.answers(request, known):
                report.reused, report.failed, report.reasons = note.finished, note.failed, note.reasons
                return report
            began = time.monotonic()
            if model is None or callable(model):
                load = model or partial(model_or_error, model_spec, folder, study)
                model = loaded_or_error(model_spec.label, load)
            started = time.monotonic()
            with watching(say, f"{report.model} x {report.task}"):
                _run_locked(study, place, prompts, task_spec, model, tasks, report)
            report.seconds = time.monotonic() - started
            with contextlib.suppress(OSError):  # a full disk; the report has what the note would say
                write_note(place, request, report, load_seconds=started - began)
    except Timeout:
        report.locked = True
    return report


def _run_locked(
    study: Study,
    place: Path,
    prompts: pd.DataFrame,
    task_spec: TaskSpec,
    model: LoadedModel | StudyError,
    tasks: dict[str, Any] | None,
    report: GroupReport,
    compute: Callable[..., None] | None = None,
) -> None:
    """Find and compute the missing cells of a group whose lock is held; what keeps the whole group back is recorded."""
    cells: list[Cell] = []
    try:
        if isinstance(model, StudyError):
            raise model
        task = _shared_task(task_spec, study, tasks)
        cells = list(make_cells(study, model, task, task_spec, prompts))
        write_cells(place, settings_of(study, model.spec, task_spec), cells)
        missing = _missing(study, place, cells, report)
        (compute or _compute)(study, place, model, task, missing, report)
    except Exception as error:  # whatever a task's data hold, the other groups go on
        if not cells:
            forget_cells(place)
        told = isinstance(error, StudyError)
        reason = str(error) if told else f"preparing task {task_spec.name}: {type(error).__name__}: {error}"
        fail_group(study, place, prompts, task_spec, report, reason, "" if told else traceback.format_exc())
    else:
        (place / "group.error.json").unlink(missing_ok=True)


def fail_group(
    study: Study,
    place: Path,
    prompts: pd.DataFrame,
    task_spec: TaskSpec,
    report: GroupReport,
    reason: str,
    trace: str = "",
) -> None:
    """Record why none of a group's missing cells can be computed, in the report and in its folder."""
    wanted = prompt_count(study, prompts, task_spec.name)
    report.failed, report.reasons = wanted, [reason.splitlines()[0]]
    record = {"reason": reason, "cells": wanted, "at": _now()}
    _record(place / "group.error.json", record | ({"traceback": trace} if trace else {}))


def _shared_task(spec: TaskSpec, study: Study, tasks: dict[str, Any] | None) -> Any:
    if tasks is None:
        return prepare(load_task(spec, study))
    if spec.name not in tasks:
        tasks[spec.name] = prepare(load_task(spec, study))
    return tasks[spec.name]


def prompts_of(study: Study, prompts: pd.DataFrame, task_name: str) -> list[Prompt]:
    """The prompts of a task in their order, and after them the study's baselines."""
    own = prompts[(prompts["task"] == task_name) & (prompts["kind"] == "prompt")]
    found = [
        Prompt(text=row.text, kind="prompt", level=row.level, source=row.source) for row in own.itertuples()
    ]
    return [*found, *(Prompt(text=None, kind=kind) for kind in study.baselines)]


def prompt_count(study: Study, prompts: pd.DataFrame, task_name: str) -> int:
    return len(prompts_of(study, prompts, task_name))


def make_cells(
    study: Study, model: LoadedModel, task: Any, task_spec: TaskSpec, prompts: pd.DataFrame
) -> Iterable[Cell]:
    """The cells of a group: subsets x prompts on the task's split, each with its identity."""
    assert study.prompts is not None
    versions = {name: version(name) for name in SCORED_BY}
    settings = task_settings(task)
    for split in task.eval_splits:
        for subset in task.hf_subsets:
            fingerprint = _fingerprint(task, subset, split)
            for prompt in prompts_of(study, prompts, task_spec.name):
                used = prefixes(
                    model, task.metadata, prompt, study.prompts.application, study.prompts.separator
                )
                slot = {
                    "model": model.label,
                    "task": task.metadata.name,
                    "subset": subset,
                    "split": split,
                    "prompt_id": prompt.id,
                    "application": used.application,
                }
                identity = {
                    "model": model.key,
                    "prefixes": [used.query, used.document, used.both],
                    "separator": used.separator,
                    "kind": prompt.kind,
                    "data": fingerprint,
                    "task": settings,
                    "seed": study.seed,
                    "exact": study.sweep.exact or keeps_stock_batches(prompt, task),
                    "bitext_side": study.sweep.bitext_side,
                    "versions": versions,
                }
                yield Cell(slot | {"seed": study.seed}, identity, prompt, used)


def _fingerprint(task: Any, subset: str, split: str) -> str:
    """`data_fingerprint`, computed once per task object: all models of a process share it."""
    known = task.__dict__.setdefault("_fingerprints", {})
    if (subset, split) not in known:
        known[subset, split] = data_fingerprint(task, subset, split)
    return str(known[subset, split])


def task_settings(task: Any) -> dict[str, Any]:
    """The numbers and words of a task's class that its scores can depend on, e.g. samples per label, bootstrap size."""
    found = {}
    for name in sorted(dir(type(task))):
        value = getattr(type(task), name)
        if name in ("data_loaded", "dataset", "fast_loading") or name.startswith("_"):
            continue
        if isinstance(value, (bool, int, float, str, tuple, type(None))):
            found[name] = list(map(str, value)) if isinstance(value, tuple) else value
    return found


def _missing(study: Study, place: Path, cells: list[Cell], report: GroupReport) -> list[Cell]:
    """Cells without a result of their identity; results of other identities, and edited ones, are named as stale."""
    there = {p.stem for p in place.glob("*-*.json") if not p.name.endswith(".error.json")}
    missing = []
    for cell in cells:
        if cell.stem in there and read_cell(place / f"{cell.stem}.json") is not None:
            report.reused += 1
        else:
            missing.append(cell)
    others = _identities(place, there - {c.stem for c in cells}) if missing else {}
    changed: set[str] = set()
    for cell in missing:
        old, differing = others.get(_place_of(cell.slot)), set()
        if cell.stem in there and is_edited(place / f"{cell.stem}.json"):
            differing = {"its file"}
        elif old is not None:
            new = json.loads(json.dumps(cell.identity))
            differing = {k for k in new if old.get(k) != new[k]}
        if differing:
            changed |= differing
            report.stale.append(
                f"{cell.slot['model']} x {cell.slot['task']} (prompt {cell.slot['prompt_id']}): "
                f"changed {', '.join(sorted(differing))}"
            )
    report.changed = sorted(changed)
    if report.stale and study.sweep.stale == "refuse":
        raise StudyError(
            f"{len(report.stale)} stale results, e.g. {report.stale[0]}; sweep.stale: redo computes them again"
        )
    return missing


def _identities(place: Path, stems: Iterable[str]) -> dict[tuple[str, ...], dict[str, Any]]:
    """The identity of the newest result of each place in the table, among these files."""
    found = []
    for stem in stems:
        if (record := read_cell(place / f"{stem}.json")) is not None:
            found.append((str(record.get("at")), _place_of(record["slot"]), record["identity"]))
    found.sort(key=lambda one: one[0])
    return {where: identity for _, where, identity in found}


def _place_of(slot: dict[str, Any]) -> tuple[str, ...]:
    """A cell's place in its group's table. The seed, which its file's name also depends on, is an input."""
    return slot["subset"], slot["split"], slot["prompt_id"], slot["application"]


def _compute(
    study: Study, place: Path, model: LoadedModel, task: Any, cells: list[Cell], report: GroupReport
) -> None:
    """Evaluate the missing cells of a group, all prompts of one subset together; an interrupted one has its baselines.

    The first prompt shows what the task embeds for prompts; the others' texts are embedded together.
    """
    tell_scores(0, len(cells))
    for encoder, part in _parts(study, place, model, task, cells, report):
        ready = sum(cell.prompt.kind != "prompt" for cell in part) + 1
        for number, cell in enumerate(part):
            if number == ready:
                ahead = encoder.prompts_ahead()
                encoder.forget()
                _prefetch(encoder, task, part[number : number + ahead])
                ready = number + ahead
            _try_cell(study, place, encoder, task, cell, report)
            tell_scores(report.done + report.failed, len(cells))


def _parts(
    study: Study, place: Path, model: LoadedModel, task: Any, cells: list[Cell], report: GroupReport
) -> Iterator[tuple[SweepEncoder, list[Cell]]]:
    """The cells of each subset and split with an encoder of their own, after the model has been probed with them.

    Prompts that cannot be applied are recorded as failed and left out; the baselines never are.
    The default comes first, then no prompt, then the prompts: what a run that is stopped should have.
    """
    cells = _applicable(place, model, task, cells, report)
    by_part: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        by_part.setdefault((cell.slot["split"], cell.slot["subset"]), []).append(cell)
    for (split, subset), part in by_part.items():
        part.sort(key=lambda cell: BASELINES_FIRST.index(cell.prompt.kind))
        encoder = SweepEncoder(model, study.sweep.exact, study.sweep.bitext_side)
        encoder.searched_with = searched_with(task, subset, split)
        yield encoder, part


def _prefetch(encoder: SweepEncoder, task: Any, cells: list[Cell]) -> None:
    """Embed what the next cells need together. A failure is left to the cell that it belongs to."""
    try:
        encoder.prefetch([c.prefixes for c in cells if not keeps_stock_batches(c.prompt, task)])
    except Exception as error:
        logger.warning("texts are embedded prompt by prompt: %s: %s", type(error).__name__, error)


def _applicable(
    place: Path, model: LoadedModel, task: Any, cells: list[Cell], report: GroupReport
) -> list[Cell]:
    """The cells whose prompt the model can be given; the others are recorded as failed, with the reason."""
    unfit = _unfit(model, task, [c.prefixes for c in cells if c.prompt.kind == "prompt"])
    for cell in cells:
        if cell.prompt.kind == "prompt" and cell.prefixes in unfit:
            _fail_cell(place, cell, unfit[cell.prefixes], report)
    return [c for c in cells if c.prompt.kind != "prompt" or c.prefixes not in unfit]


def _unfit(model: LoadedModel, task: Any, prompted: list[Prefixes]) -> dict[Prefixes, str]:
    """Why prompts cannot be applied: each by itself where two of them against each other do not pass the probe."""
    if not prompted or model.only_cached:
        return {}
    role: Role = "query" if has_sides(task.metadata) else None
    distinct = list(dict.fromkeys(prompted))
    other = next((p for p in distinct if p.of(role) != distinct[0].of(role)), distinct[0])
    if _fault(model, distinct[0], other, role) is None:
        return {}
    faults = {p: _fault(model, p, other if p == distinct[0] else distinct[0], role) for p in distinct}
    return {p: fault for p, fault in faults.items() if fault is not None}


def _fault(model: LoadedModel, first: Prefixes, second: Prefixes, role: Role) -> str | None:
    try:
        probe(model, first, second, role)
    except StudyError as error:
        return str(error)
    except (FloatingPointError, OSError) as error:  # the cells that it concerns fail by themselves
        logger.warning("model %s could not be probed: %s", model.label, error)
    except Exception as error:
        return f"model {model.label} fails on the probe: {type(error).__name__}: {error}"
    return None


def _fail_cell(place: Path, cell: Cell, reason: str, report: GroupReport, trace: str | None = None) -> None:
    """Record that a cell failed, with one line of the reason in the report."""
    report.failed += 1
    report.reasons.append(reason.splitlines()[0][:300])
    record = {"slot": cell.slot, "prompt": cell.prompt.text, "reason": reason, "at": _now()}
    _record(place / f"{cell.stem}.error.json", record | {"traceback": trace})


def _try_cell(
    study: Study, place: Path, encoder: SweepEncoder, task: Any, cell: Cell, report: GroupReport
) -> None:
    """Evaluate and store one cell; a failure that may pass is tried again, then recorded with its reason."""
    for attempt in range(study.sweep.retries + 1):
        try:
            _store_cell(place, encoder, task, cell)
            (place / f"{cell.stem}.error.json").unlink(missing_ok=True)
            report.done += 1
            return
        except Exception as error:
            if may_pass(error) and attempt < study.sweep.retries:
                time.sleep(2.0**attempt)
                continue
            doing = "".join(f"{note}: " for note in getattr(error, "__notes__", []))
            _fail_cell(place, cell, f"{doing}{type(error).__name__}: {error}", report, traceback.format_exc())
            return


def _record(path: Path, content: dict[str, Any]) -> None:
    """Write down why something failed; where even that fails (a full disk), the report still carries the reason."""
    try:
        write_json(path, content)
    except OSError as error:
        logger.warning("%s could not be written: %s", path.name, error)


def _store_cell(place: Path, encoder: SweepEncoder, task: Any, cell: Cell) -> None:
    started = time.monotonic()
    scores = evaluate(encoder, task, cell)
    main = scores.get("main_score")
    if main is None or not np.isfinite(main):
        raise ValueError(f"the main score is not a number ({main})")
    model, metadata = encoder.model, task.metadata
    units = unit_scores(encoder, task, cell)
    record = {
        "slot": cell.slot,
        "identity": cell.identity,
        "model": model.identity,
        "include_prompt": pools_prompt(model.st),
        "chat_template": uses_chat_template(model.st),
        "prompt": cell.prompt.text,
        "kind": cell.prompt.kind,
        "level": cell.prompt.level,
        "source": cell.prompt.source,
        "separator": cell.prefixes.separator,
        "task_type": metadata.type,
        "languages": list(map(str, metadata.hf_subsets_to_langscripts.get(cell.slot["subset"], []))),
        "metric": metadata.main_score,
        "dataset_revision": metadata.dataset.get("revision"),
        "main_score": float(main),
        "scores": _plain(scores),
        "inputs": describe_inputs(model, encoder.calls, encoder),
        "seconds": time.monotonic() - started,
        "at": _now(),
    }
    write_cell(place / f"{cell.stem}.json", record, units)


def evaluate(encoder: SweepEncoder, task: Any, cell: Cell) -> dict[str, Any]:
    """mteb's scores of one cell. The clustering tasks' advancing random state is reset first (ENGINE, trap T21)."""
    task.seed = cell.slot["seed"]
    task.rng_state, task.np_rng = random.Random(task.seed), np.random.default_rng(task.seed)
    task.hits = []
    encoder.prefixes, encoder.calls = cell.prefixes, []
    encoder.stock_batches = keeps_stock_batches(cell.prompt, task)
    # Embeddings are known to be finite here; scikit-learn's checks of its own arguments cost more than its metrics.
    quick = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    with warnings.catch_warnings(), quick, columns_read_at_once():
        warnings.simplefilter("ignore")  # mteb's and scikit-learn's remarks on single labels, once per cell
        try:
            scores = task.evaluate(
                encoder,
                split=cell.slot["split"],
                subsets_to_run=[cell.slot["subset"]],
                encode_kwargs={"batch_size": 32, "show_progress_bar": False},
            )
        except Exception as error:  # a library's sentence alone does not say what it is about
            error.add_note("evaluating {task} ({subset}, {split})".format(**cell.slot))
            raise
    return dict(scores[cell.slot["subset"]])


@contextlib.contextmanager
def columns_read_at_once() -> Iterator[None]:
    """Let mteb copy a column of texts as a list: it copies a lazy column row by row, 0.1 ms a text (ENGINE, trap T1)."""
    name = "_create_dataloader_from_texts"
    modules = [importlib.import_module(f"mteb.{module}") for module in COPIES_COLUMNS]
    stock = getattr(modules[0], name)
    for module in modules:
        setattr(module, name, lambda text, *given, **named: stock(text[:], *given, **named))
    try:
        yield
    finally:
        for module in modules:
            setattr(module, name, stock)


def keeps_stock_batches(prompt: Prompt, task: Any) -> bool:
    """Baselines of tasks without sides keep mteb's batches: a reported default is then stock mteb's score exactly.

    Another batch composition moves vectors by 2e-7, which can flip one prediction of a classifier (ENGINE, section 7).
    """
    return prompt.kind != "prompt" and not has_sides(task.metadata)


def prepare(task: Any) -> Any:
    """Do a task's prompt-independent work once: label arrays and undersampling sets (ENGINE, trap T1).

    Scores do not change: the labels are the same values, read once instead of once per use.
    """
    if task.metadata.type == "Classification":
        score, undersample = task._calculate_scores, task._undersample_data
        memo: dict[tuple[str, int, int | None], Any] = {}

        task.hits = []  # per trained classifier: which texts it got right; emptied before each evaluation

        def fast_scores(y_test: Any, y_pred: Any) -> Any:
            labels = np.asarray(y_test[:])
            task.hits.append(np.asarray(y_pred) == labels)
            return score(labels, y_pred)

        def fast_undersample(dataset: Any, experiment_num: int, idxs: Any = None) -> Any:
            key = (dataset._fingerprint, experiment_num, None if idxs is None else hash(tuple(idxs)))
            if key not in memo:
                memo[key] = undersample(_ArrayLabels(dataset, task.label_column_name), experiment_num, idxs)
            chosen, order, selected = memo[key]
            return chosen, list(order), selected

        task._calculate_scores, task._undersample_data = fast_scores, fast_undersample
    return task


class _ArrayLabels:
    """A dataset whose label column is an array: mteb indexes it row by row, which is slow on a lazy column."""

    def __init__(self, dataset: Any, label: str) -> None:
        self.dataset, self.labels, self.name = dataset, dataset[label][:], label

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, key: str) -> Any:
        return self.labels if key == self.name else self.dataset[key]

    def select(self, rows: Any) -> Any:
        return self.dataset.select(rows)


def unit_scores(encoder: SweepEncoder, task: Any, cell: Cell) -> pd.DataFrame | None:
    """Scores of the units that a test set is made of, else None.

    nDCG@10 per query; cosine and gold per STS pair; per text, where accuracy is the task's score, the share of trained
    classifiers that got it right. Columns: query_id, score, gold (NaN where the task's score is the mean of the units).
    They carry the test-set noise that the analysis needs.
    """
    from helpers.tasks import subset_data

    kind = task.metadata.type
    if kind in ("Retrieval", "Reranking") and encoder.results:
        import pytrec_eval

        qrels = subset_data(task, cell.slot["subset"])[cell.slot["split"]]["relevant_docs"]
        evaluator = pytrec_eval.RelevanceEvaluator({q: dict(r) for q, r in qrels.items()}, {"ndcg_cut.10"})
        per_query = evaluator.evaluate(encoder.results)
        rows = [(q, per_query[q]["ndcg_cut_10"], np.nan) for q in sorted(per_query)]
        return pd.DataFrame(rows, columns=["query_id", "score", "gold"])
    if kind == "Classification" and task.metadata.main_score == "accuracy" and task.hits:
        if len({len(hits) for hits in task.hits}) > 1:  # folds of a cross-validation hold different texts
            return None
        share = np.mean(task.hits, axis=0)
        ids = [str(n) for n in range(len(share))]
        return pd.DataFrame({"query_id": ids, "score": share, "gold": np.nan})
    if kind == "STS" and len(encoder.calls) == 2:
        left, right = (encoder.vectors(*call) for call in list(encoder.calls))
        del encoder.calls[2:]
        norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        cosine = (left * right).sum(1) / np.where(norms == 0, 1, norms)
        gold = subset_data(task, cell.slot["subset"])[cell.slot["split"]]["score"][:]
        ids = [str(n) for n in range(len(cosine))]
        return pd.DataFrame({"query_id": ids, "score": cosine.astype(float), "gold": np.asarray(gold, float)})
    return None


def group_folder(folder: Path, model: ModelSpec, task: TaskSpec) -> Path:
    return below(folder / "cells", safe_name(model.label), safe_name(task.name))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
