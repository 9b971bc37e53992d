"""Executors: a study's (model, task) groups in this process, in worker processes, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver
import os
import time
import uuid
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from helpers.group_note import GroupNote, read_note, request_of
from helpers.lifetime import end_with_parent, interrupts_ignored
from helpers.progress import Progress, Say
from helpers.study import ModelSpec, Study, StudyError, TaskSpec
from helpers.sweep import (
    GroupReport,
    fail_group,
    group_folder,
    group_line,
    model_or_error,
    prompts_of,
    run_group,
    stale_line,
)
from helpers.terminal import quiet_libraries

Group = tuple[ModelSpec, TaskSpec]
Outcomes = Generator[tuple[Group, GroupReport], None, None]
POLL_SECONDS = 2.0  # between two looks at groups that other processes are computing


@dataclass(frozen=True)
class Work:
    """What every worker of a sweep needs to know; `notes` are the groups' notes from before the sweep began."""

    study: Study
    folder: Path
    prompts: pd.DataFrame
    notes: dict[tuple[str, str], GroupNote | None]
    token: str = field(default_factory=lambda: uuid.uuid4().hex)


class Worker:
    """What one process keeps from group to group: the last model, and with `keep_tasks` the tasks' data."""

    def __init__(
        self, work: Work, device: str | None = None, keep_tasks: bool = False, say: Say | None = None
    ) -> None:
        sweep = work.study.sweep
        chosen = sweep.model_copy(update={"device": device or sweep.device})
        self.work, self.say = work, say
        self.study = work.study.model_copy(update={"sweep": chosen})
        self.tasks: dict[str, Any] | None = {} if keep_tasks else None
        self._label = ""
        self._model: Any = None

    def run(self, group: Group) -> GroupReport:
        """Compute a group, or report it as locked where another process is computing it."""
        model, task = group
        return run_group(
            self.study,
            self.work.folder,
            self.work.prompts,
            model,
            task,
            model=partial(self.loaded, model),
            tasks=self.tasks,
            shared=True,
            known=self.work.notes.get(name(group)),
            say=self.say,
        )

    def loaded(self, spec: ModelSpec) -> Any:
        """The model, or the `StudyError` that says why it cannot be loaded."""
        if self._label != spec.label:
            self._label, self._model = spec.label, None  # one model in memory at a time
            self._model = model_or_error(spec, self.work.folder, self.study)
        return self._model


def run_groups(
    study: Study, folder: Path, prompts: pd.DataFrame, progress: Say | None = print, wait: bool = True
) -> list[GroupReport]:
    """Run every group of a study with the executor that it names; the table is the same with each.

    Several processes may do this on one run folder at the same time. Each takes the groups that no other one holds and
    comes back to the others; a group that another one finished meanwhile is taken over from its note. With `wait=False`
    it ends, instead of waiting, when all that is left is being computed by others; these groups are not reported.
    """
    left = work_list(study, by_model=chosen_executor(study) == "here")
    work = Work(study, folder, prompts, {name(g): read_note(group_folder(folder, *g)) for g in left})
    reports: list[GroupReport] = []
    total, started, worked, costs = len(left), time.monotonic(), 0.0, _costs(work, left)
    with Progress(total, "group", progress) as bar:
        while left:
            free = [group for group in left if _is_free(folder, group)]
            if not free and not wait:
                bar.say(f"{len(left)} of {total} groups are being computed by other processes")
                break
            with closing(_outcomes(work, free, bar.say)) as outcomes:  # ends workers when stopped
                for group, report in outcomes:
                    if report.locked:
                        continue
                    left = [other for other in left if name(other) != name(group)]
                    reports.append(report)
                    worked += costs[name(group)] if report.done + report.failed else 0.0
                    to_do = sum(costs[name(other)] for other in left)
                    seconds = (time.monotonic() - started) / worked * to_do if worked else None
                    bar.step(group_line(len(reports), total, report, seconds))
                    if (stale := stale_line(report)) is not None:
                        bar.say(stale)
            if left and not free:
                time.sleep(POLL_SECONDS)
    return reports


def _costs(work: Work, groups: Sequence[Group]) -> dict[tuple[str, str], float]:
    """What each group costs relative to the others: characters to embed x parameters, 0 where all cells are finished.

    Groups of unknown size count as an average one.
    """
    sizes = {task.name: _size(work.study, task) for task in work.study.tasks}
    raw = {name((m, t)): sizes[t.name] * (m.parameters or 1) for m, t in groups}
    known = [cost for cost in raw.values() if 0 < cost < float("inf")]
    usual = sum(known) / len(known) if known else 1.0
    costs = {key: cost if 0 < cost < float("inf") else usual for key, cost in raw.items()}
    requests = {
        task.name: request_of(work.study, [p.id for p in prompts_of(work.study, work.prompts, task.name)])
        for task in work.study.tasks
    }
    for group in groups:
        note = work.notes.get(name(group))
        if note is not None and note.request == requests[group[1].name] and note.finished and not note.failed:
            costs[name(group)] = 0.0
    return costs


def name(group: Group) -> tuple[str, str]:
    return group[0].label, group[1].name


def chosen_executor(study: Study) -> str:
    """`here` (this process), `process` or `ray`, from the study's `sweep.executor` and `sweep.workers`."""
    if study.sweep.executor == "auto":
        return "process" if study.sweep.workers > 1 else "here"
    return study.sweep.executor


def _outcomes(work: Work, groups: Sequence[Group], say: Say) -> Outcomes:
    executor = chosen_executor(work.study) if groups else "here"
    if executor == "ray":
        from helpers.ray_executor import on_ray

        yield from on_ray(work, groups, say)
    elif executor == "process":
        yield from in_processes(work, groups, say)
    else:
        worker = Worker(work, keep_tasks=True, say=say)
        yield from ((group, worker.run(group)) for group in groups)


def _is_free(folder: Path, group: Group) -> bool:
    """Whether no process holds the group's lock at this moment."""
    place = group_folder(folder, *group)
    if not place.is_dir():
        return True
    try:
        with FileLock(place / ".lock", timeout=0):
            return True
    except Timeout:
        return False


def work_list(study: Study, by_model: bool = False) -> list[Group]:
    """The groups of a study, longest first by characters to embed x parameters, so that no long one comes last.

    A model that finds its vectors in the cache once its twin was embedded (`Study.twin`) comes after all others.
    Tasks without statistics in mteb come first: nothing says that they are short. With `by_model` all groups of the
    largest model come first, then those of the next: one process loads each model once.
    """
    sizes = {task.name: _size(study, task) for task in study.tasks}
    models = sorted(study.models, key=lambda model: -(model.parameters or 1))
    if by_model:
        return [(m, t) for m in models for t in sorted(study.tasks, key=lambda task: -sizes[task.name])]
    pairs = [(model, task) for model in study.models for task in study.tasks]
    order = {model.label: place for place, model in enumerate(study.models)}

    def follows(model: ModelSpec) -> bool:
        twin = study.twin(model)
        return twin is not None and order[twin.label] < order[model.label]

    return sorted(pairs, key=lambda p: (follows(p[0]), -sizes[p[1].name] * (p[0].parameters or 1)))


def _size(study: Study, task: TaskSpec) -> float:
    from helpers.text_counts import text_counts

    try:
        sided, shared, characters = text_counts(task)
    except (StudyError, KeyError):  # not a task of mteb; running it says more
        return float("inf")
    runs = (study.prompts.expected_count(1) if study.prompts else 0) + len(study.baselines)
    if sided is None or characters is None:
        return float("inf")
    return (sided * runs + (shared or 0)) * characters


def devices() -> list[str]:
    """The CUDA devices that are visible, as torch names them; empty without one."""
    import torch

    return [f"cuda:{n}" for n in range(torch.cuda.device_count())]


def worker_count(wanted: int, gpus: int, cores: int) -> int:
    """One process per GPU where there are any, else at most one per core: never more threads than cores."""
    return max(1, min(wanted, gpus if gpus else cores))


def in_processes(work: Work, groups: Sequence[Group], say: Say, restarts: int = 1) -> Outcomes:
    """Run groups in `sweep.workers` processes.

    A worker that dies breaks its pool, which is started again for what is not finished, at most `restarts` times. Then
    every group that is left gets a process of its own, so that one that dies again takes no other one along; it counts
    as failed.
    """
    gpus = devices()
    count = worker_count(work.study.sweep.workers, len(gpus), os.cpu_count() or 1)
    left = list(groups)
    for attempt in range(restarts + 1):
        try:
            for group, report in _one_pool(work, left, count, gpus, say):
                left = [other for other in left if name(other) != name(group)]
                yield group, report
            return
        except BrokenProcessPool:
            how = "" if attempt < restarts else ", one after the other"
            say(f"a worker died; {len(left)} groups are started again{how}")
    for group in left:
        try:
            yield from _one_pool(work, [group], 1, gpus, say)
        except BrokenProcessPool:
            yield group, _died(work, group)


def _died(work: Work, group: Group) -> GroupReport:
    """The report of a group whose process died each time; its folder says so too."""
    model, task = group
    report = GroupReport(model.label, task.name)
    reason = "its worker process died repeatedly (out of memory?)"
    fail_group(work.study, group_folder(work.folder, model, task), work.prompts, task, report, reason)
    return report


def _one_pool(work: Work, groups: Sequence[Group], count: int, gpus: list[str], say: Say) -> Outcomes:
    told, tell = multiprocessing.Pipe(duplex=False)
    pool = start_pool(work, count, gpus, tell)
    try:
        running = {pool.submit(_run_in_worker, group): group for group in groups}
        open_ones = set(running)
        while open_ones:
            finished, open_ones = wait(open_ones, timeout=1.0, return_when=FIRST_COMPLETED)
            while told.poll():
                say(told.recv())
            for future in finished:
                yield running[future], future.result()
    except BaseException:  # stopped by a person, or a worker died
        stop(pool)
        raise
    pool.shutdown()


def stop(pool: ProcessPoolExecutor) -> None:
    """End a pool without waiting for what it computes: a group keeps its cells, and the system frees its lock."""
    for process in list((pool._processes or {}).values()):
        process.kill()
    pool.shutdown(cancel_futures=True)


def start_pool(work: Work, count: int, gpus: list[str], tell: Any = None) -> ProcessPoolExecutor:
    """Worker processes that share the devices and end with this process; `tell` is the pipe for their lines."""
    context = _process_context()
    free = context.SimpleQueue()
    for number in range(count):
        free.put(gpus[number % len(gpus)] if gpus else None)
    return ProcessPoolExecutor(
        count, mp_context=context, initializer=_start_worker, initargs=(free, work, tell)
    )


def _process_context() -> Any:
    """Workers that begin with the libraries imported once for all of them, where the system can fork."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mteb", "sentence_transformers", "helpers.executors"])
    with interrupts_ignored():  # while it imports these for seconds, a terminal's Ctrl-C would reach it
        multiprocessing.forkserver.ensure_running()
    return context


_WORKER: Worker | None = None  # of this worker process


def _start_worker(free: Any, work: Work, tell: Any) -> None:
    """One thread per CPU process, one device per GPU process; set before torch is imported."""
    global _WORKER
    end_with_parent()
    quiet_libraries()
    device = free.get()
    if device is None:
        one_thread()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    # No lock is needed, which a worker that dies would keep: the system writes a short line whole.
    _WORKER = Worker(work, device, say=tell.send if tell is not None else None)


def one_thread() -> None:
    """Keep torch and the libraries below it to one thread in this process."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1)  # libraries that were loaded before the variables were set


def _run_in_worker(group: Group) -> GroupReport:
    assert _WORKER is not None
    return _WORKER.run(group)
