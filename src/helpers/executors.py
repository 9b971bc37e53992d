"""Executors: the same (model, task) groups in several worker processes, one per GPU or one per CPU core."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.study import ModelSpec, Study, TaskSpec
from helpers.sweep import GroupReport, group_line, model_or_error, run_group

_MODELS: dict[str, Any] = {}  # of this worker process: a model is loaded once for all of its tasks


def work_list(study: Study) -> list[tuple[ModelSpec, TaskSpec]]:
    """The groups of a study, longest first by characters to embed x parameters, so that no long one comes last.

    Tasks without statistics in mteb come first: nothing says that they are short.
    """
    from helpers.plan import text_counts

    sizes: dict[str, float] = {}
    for task in study.tasks:
        sided, shared, characters = text_counts(task)
        runs = (study.prompts.expected_count(1) if study.prompts else 0) + len(study.baselines)
        known = sided is not None and characters is not None
        sizes[task.name] = (sided * runs + (shared or 0)) * characters if known else float("inf")  # type: ignore[operator]
    pairs = [(model, task) for model in study.models for task in study.tasks]
    return sorted(pairs, key=lambda pair: -sizes[pair[1].name] * (pair[0].parameters or 1))


def devices() -> list[str]:
    """The CUDA devices that are visible, as torch names them; empty without one."""
    import torch

    return [f"cuda:{n}" for n in range(torch.cuda.device_count())]


def worker_count(wanted: int, gpus: int, cores: int) -> int:
    """One process per GPU where there are any, else at most one per core: never more threads than cores."""
    return max(1, min(wanted, gpus if gpus else cores))


def run_in_processes(
    study: Study,
    folder: Path,
    prompts: pd.DataFrame,
    progress: Callable[[str], None] | None = print,
    restarts: int = 2,
) -> list[GroupReport]:
    """Run the groups in `study.sweep.workers` processes; the table is the same as from one process.

    A worker that dies takes only its own group along: the pool is started again for what is not finished, at most
    `restarts` times, then the group counts as failed.
    """
    gpus = devices()
    count = worker_count(study.sweep.workers, len(gpus), os.cpu_count() or 1)
    left, reports, started = work_list(study), [], time.monotonic()
    total = len(left)
    for attempt in range(restarts + 1):
        finished = _one_pool(study, folder, prompts, left, count, gpus)
        try:
            for (model, task), report in finished:
                left = [pair for pair in left if (pair[0].label, pair[1].name) != (model.label, task.name)]
                reports.append(report)
                if progress is not None:
                    progress(group_line(len(reports), total, report, started, len(reports)))
        except BrokenProcessPool:
            if attempt < restarts:
                if progress is not None:
                    progress(f"a worker died; {len(left)} groups are started again")
                continue
        break
    for model, task in left:
        reason = "its worker process died repeatedly (out of memory?)"
        reports.append(GroupReport(model.label, task.name, failed=1, reasons=[reason]))
    return reports


def _one_pool(
    study: Study,
    folder: Path,
    prompts: pd.DataFrame,
    pairs: list[tuple[ModelSpec, TaskSpec]],
    count: int,
    gpus: list[str],
) -> Any:
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        free = manager.Queue()
        for number in range(count):
            free.put(gpus[number % len(gpus)] if gpus else None)
        with ProcessPoolExecutor(
            count, mp_context=context, initializer=_start_worker, initargs=(free,)
        ) as pool:
            running = {
                pool.submit(_work, study.model_dump_json(), folder, prompts, model.label, task.name): (
                    model,
                    task,
                )
                for model, task in pairs
            }
            for future in as_completed(running):
                yield running[future], future.result()


def _start_worker(free: Any) -> None:
    """One thread per CPU process, one device per GPU process; set before torch is imported."""
    device = free.get()
    if device is None:
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ[name] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["HELPERS_DEVICE"] = device or ""
    import torch

    if device is None:
        torch.set_num_threads(1)


def _work(study_json: str, folder: Path, prompts: pd.DataFrame, label: str, task_name: str) -> GroupReport:
    study = Study.model_validate_json(study_json)
    spec = study.model_spec(label)
    task = next(t for t in study.tasks if t.name == task_name)
    if label not in _MODELS:
        _MODELS.clear()  # one model in memory at a time
        device = os.environ.get("HELPERS_DEVICE") or None
        if device is not None:
            study = study.model_copy(update={"sweep": study.sweep.model_copy(update={"device": device})})
        _MODELS[label] = model_or_error(spec, folder, study)
    return run_group(study, folder, prompts, spec, task, model=_MODELS[label])
