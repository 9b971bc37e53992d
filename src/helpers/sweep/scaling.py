"""Scaling: how long a study's groups would take on 1 to 64 GPUs, simulated from measured or estimated costs."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.phrases import count
from helpers.study.run import run_folder
from helpers.study.spec import ModelSpec, Study, TaskSpec
from helpers.sweep.files import read_cell
from helpers.sweep.store import group_folder, read_cells, read_note, settings_of

GPUS = (1, 2, 4, 8, 16, 32, 64)
START_SECONDS = 15.0  # a new process imports torch and mteb
LOAD_SECONDS = 30.0  # of a model, where no run has measured it

CELL_SECONDS = 2.0  # scoring of one cell, where no run has measured it; 0.03 s (STS) to 4.5 s (50,000 documents)

TFLOPS = 100.0  # that a data-centre GPU reaches in practice, where no run has measured it
SATURATED = 1.05  # this close to the bound, more GPUs do not help


@dataclass(frozen=True)
class Cost:
    """Seconds that one worker needs for one (model, task) group, without start and loading of the model."""

    model: str
    task: str
    seconds: float


def makespan(costs: Sequence[Cost], gpus: int, start: float = 0.0, load: float = 0.0, fresh: bool = False) -> float:
    """Seconds until the last group is done, with one worker per GPU and the longest group first (list scheduling).

    The next group goes to the worker that is free first. A worker needs `start` seconds once and `load` seconds
    whenever its next group has another model than its last one; with `fresh` every group pays both, as Ray tasks on
    GPUs do. One worker alone goes model by model. Graham (1969): at most 4/3 of the shortest schedule possible, without
    the loading.
    """
    if gpus < 1:
        raise StudyError(f"--gpus {gpus}: at least one GPU is needed")
    order = sorted(costs, key=lambda c: (c.model if gpus == 1 else "", -c.seconds))
    workers = [(start, number, "") for number in range(gpus)]
    last = 0.0
    for cost in order:
        free, number, model = heapq.heappop(workers)
        extra = load if fresh or model != cost.model else 0.0
        if fresh and model:
            extra += start
        done = free + extra + cost.seconds
        heapq.heappush(workers, (done, number, cost.model))
        last = max(last, done)
    return last


def scaling_table(
    costs: Sequence[Cost], gpus: Iterable[int] = GPUS, start: float = 0.0, load: float = 0.0, fresh: bool = False
) -> pd.DataFrame:
    """One row per number of GPUs: gpus, makespan (seconds), speedup (of one GPU's makespan), efficiency (per GPU)."""
    alone = makespan(costs, 1, start, load, fresh)
    rows = []
    for n in gpus:
        needed = makespan(costs, n, start, load, fresh)
        speedup = alone / needed if needed else 1.0
        rows.append({"gpus": n, "makespan": needed, "speedup": speedup, "efficiency": speedup / n})
    return pd.DataFrame(rows, columns=["gpus", "makespan", "speedup", "efficiency"])


def saturation(
    costs: Sequence[Cost], most: int = 64, start: float = 0.0, load: float = 0.0, fresh: bool = False
) -> int | None:
    """The fewest GPUs that come within 5 % of the bound (start, loading and the longest group); None above `most`."""
    bound = start + load + max(c.seconds for c in costs)
    found = (n for n in range(1, most + 1) if makespan(costs, n, start, load, fresh) <= bound * SATURATED)
    return next(found, None)


def measured_costs(study: Study, folder: Path) -> list[Cost] | None:
    """Seconds per group from a finished run, None where a group has no result.

    A group's note has its seconds; where cells were computed more than once, or only in part since notes are kept, they
    are scaled to the group's cells. Without a note the cells' own seconds are added up, which leaves out what was
    embedded ahead for several cells together.
    """
    costs = []
    for model in study.models:
        for task in study.tasks:
            seconds = _measured(study, folder, model, task)
            if seconds is None:
                return None
            costs.append(Cost(model.label, task.name, seconds))
    return costs


def _measured(study: Study, folder: Path, model: ModelSpec, task: TaskSpec) -> float | None:
    place = group_folder(folder, model, task)
    listed = read_cells(place, settings_of(study, model, task)) or ()  # results of other settings do not count
    paths = [path for cell in listed if (path := place / f"{cell.stem}.json").is_file()]
    if not paths:
        return None
    note = read_note(place)
    if note is not None and note.computed:
        return note.seconds * len(paths) / note.computed
    return sum(float((read_cell(path) or {}).get("seconds", 0.0)) for path in paths)


def measured_load(study: Study, folder: Path) -> float | None:
    """The longest loading of a model that the run's notes tell of, in seconds."""
    notes = [read_note(group_folder(folder, model, task)) for model in study.models for task in study.tasks]
    return max((note.load_seconds for note in notes if note is not None), default=None)


def estimated_costs(study: Study, tflops: float = TFLOPS, cell_seconds: float = CELL_SECONDS) -> list[Cost]:
    """Seconds per group from the plan: tokens x parameters x 2 at `tflops`, and `cell_seconds` of scoring per cell.

    Raises `StudyError` where the plan cannot count a group: no text statistics in mteb, or no `parameters` in the study.
    """
    from helpers.sweep.cost import plan_table

    costs = []
    for row in plan_table(study).itertuples():
        if pd.isna(row.exaflop):
            raise StudyError(
                f"study {study.name}: {row.model} x {row.task} cannot be estimated (no statistics in mteb, or no "
                f"'parameters' of the model in the study); run the study, then its measured costs are used"
            )
        cells = (row.prompt_runs + row.baseline_runs) * row.subsets
        costs.append(Cost(row.model, row.task, row.exaflop * 1e18 / (tflops * 1e12) + cells * cell_seconds))
    return costs


def scaling_text(
    study: Study,
    gpus: Sequence[int] = GPUS,
    start: float = START_SECONDS,
    load: float | None = None,
    fresh: bool = False,
    tflops: float = TFLOPS,
    cell_seconds: float = CELL_SECONDS,
) -> str:
    """The table and what is assumed, as a page of text: what `helpers scaling` prints."""
    folder = run_folder(study)
    costs = measured_costs(study, folder) if study.models and study.tasks else []
    if costs:
        load = load if load is not None else measured_load(study, folder)
        source = "measured in this run; each GPU is taken to be like the device of the run"
    else:
        costs = estimated_costs(study, tflops, cell_seconds)
        source = (
            f"ESTIMATED, not measured: tokens x parameters x 2 at {tflops:g} TFLOP/s, and {cell_seconds:g} s of scoring "
            f"per cell"
        )
    if not costs:
        raise StudyError(f"study {study.name} has no sweep: it names no models or no tasks")
    load = LOAD_SECONDS if load is None else load
    table = scaling_table(costs, gpus, start, load, fresh)
    longest = max(costs, key=lambda c: c.seconds)
    enough = saturation(costs, max(gpus), start, load, fresh)
    lines = [
        f"Study {study.name}: {count(len(costs), 'group')} of {count(len(study.models), 'model')}; costs {source}",
        "",
        "  GPUs    makespan  speed-up  efficiency",
        *(
            f"  {int(r.gpus):>4}  {_duration(r.makespan):>10}  {r.speedup:>8.1f}  {r.efficiency:>9.0%}"
            for r in table.itertuples()
        ),
        "",
        f"  The longest group, {longest.model} x {longest.task}, takes {_duration(longest.seconds)}: no number of GPUs "
        "is faster.",
        f"  {enough} GPUs come within 5 % of that."
        if enough
        else f"  {max(gpus)} GPUs are not yet within 5 % of that.",
        f"  Assumed: groups are not split, longest first; {start:g} s to start a worker; {load:.1f} s to load a model, "
        + ("both for every group" if fresh else "whenever a worker changes its model")
        + "; a worker alone goes model by model; no waiting for the disk, the network or the queue.",
    ]
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.1f} s"
