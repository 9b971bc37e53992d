"""Groups in worker processes of this machine, one per GPU or core."""

from __future__ import annotations

import multiprocessing.forkserver
import os
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from helpers.base.lifetime import end_with_parent, interrupts_ignored
from helpers.base.progress import Say
from helpers.base.terminal import quiet_libraries
from helpers.sweep.group import fail_group
from helpers.sweep.store import GroupReport, group_folder
from helpers.sweep.work import Group, Outcomes, Work, Worker, devices, name, one_thread


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
    return ProcessPoolExecutor(count, mp_context=context, initializer=_start_worker, initargs=(free, work, tell))


def _process_context() -> Any:
    """Workers that begin with the libraries imported once for all of them, where the system can fork."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mteb", "sentence_transformers", "helpers.sweep.run"])
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


def _run_in_worker(group: Group) -> GroupReport:
    assert _WORKER is not None
    return _WORKER.run(group)
