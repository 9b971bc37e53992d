"""Embed stage: a group's texts embedded on a GPU, so that a process without one can score its prompts."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from helpers.base.errors import StudyError
from helpers.models.load import LoadedModel, load_model
from helpers.study.spec import ModelSpec, Study, TaskSpec
from helpers.sweep import cell, compute, store
from helpers.sweep import group as sweep
from helpers.sweep.cell import Cell
from helpers.sweep.store import GroupReport, request_of, write_note


def embed_group(
    study: Study,
    folder: Path,
    prompts: pd.DataFrame,
    model_spec: ModelSpec,
    task_spec: TaskSpec,
    load: Callable[[], LoadedModel | StudyError],
) -> tuple[GroupReport, dict[str, Any]]:
    """Put every vector that a group's missing cells need into the run's embedding cache: (report, model identity).

    Only what cannot be read from the cache later is scored here: the first prompt of each subset, which shows what the
    task embeds, and baselines that keep stock mteb's batches. The group's note counts the cost; it is not finished.
    """
    report = GroupReport(model_spec.label, task_spec.name)
    cells_folder = store.group_folder(folder, model_spec, task_spec)
    cells_folder.mkdir(parents=True, exist_ok=True)
    request = request_of(study, [p.id for p in cell.prompts_of(study, prompts, task_spec.name)])
    try:
        with FileLock(cells_folder / ".lock", timeout=0):
            began = time.monotonic()
            model = sweep.loaded_or_error(model_spec.label, load)
            started = time.monotonic()
            sweep.run_locked(study, cells_folder, prompts, task_spec, model, None, report, embed_ahead)
            report.seconds = time.monotonic() - started
            write_note(cells_folder, request, report, started - began, is_finished=False)
    except Timeout:
        report.locked = True
        return report, {}
    return report, {} if isinstance(model, StudyError) else model.identity


def embed_ahead(
    study: Study, folder: Path, model: LoadedModel, task: Any, cells: list[Cell], report: GroupReport
) -> None:
    """Score the stock baselines and the first prompt of each subset, and only embed for the other cells."""
    for encoder, part in compute._parts(study, folder, model, task, cells, report):
        first = next((c for c in part if c.prompt.kind == "prompt"), part[0])
        now = [c for c in part if c is first or cell.keeps_stock_batches(c.prompt, task)]
        for one in now:
            compute._try_cell(study, folder, encoder, task, one, report)
        later = [cell for cell in part if cell not in now]
        while later:
            ahead = encoder.prompts_ahead()
            encoder.forget()
            compute._prefetch(encoder, task, later[:ahead])
            later = later[ahead:]


def cached_model(spec: ModelSpec, folder: Path, identity: dict[str, Any]) -> LoadedModel:
    """A model on the CPU that has the identity of the one that embedded, reads its vectors and embeds nothing itself.

    A vector that is not in the run's cache (`HELPERS_CACHE_GB` was too small) is an error of the cell that needs it.
    """
    model = load_model(spec, folder, device="cpu")
    model.identity, model.only_cached = identity, True
    return model
