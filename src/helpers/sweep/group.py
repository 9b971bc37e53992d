"""The evaluation sweep: every model x task x prompt of a study as cells that are computed once and never lost."""

from __future__ import annotations

import contextlib
import json
import time
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from helpers.base.errors import StudyError
from helpers.base.progress import Say, clock, watching
from helpers.models import number_types
from helpers.models.given import is_away
from helpers.models.load import LoadedModel, load_model
from helpers.study.spec import ModelSpec, Study, TaskSpec
from helpers.sweep.cell import Cell, make_cells, prompt_count, prompts_of
from helpers.sweep.compute import compute_missing, logger, now, record_failure
from helpers.sweep.files import is_edited, read_cell
from helpers.sweep.mteb_patches import prepare
from helpers.sweep.store import (
    GroupNote,
    GroupReport,
    forget_cells,
    group_folder,
    read_note,
    request_of,
    settings_of,
    write_cells,
    write_note,
)
from helpers.tasks.load import load_task


def model_or_error(spec: ModelSpec, folder: Path, study: Study) -> LoadedModel | StudyError:
    """The loaded model, or the error that each of its groups will record."""

    def load() -> LoadedModel:
        model = load_model(spec, folder, study.sweep.device)
        model.batch_tokens = study.sweep.batch_tokens
        model.has_twin = study.twin(spec) is not None
        if model.identity["not_covered"]:
            logger.warning("model %s: not compared: %s", spec.label, "; ".join(model.identity["not_covered"]))
        try:
            number_types.record(model, folder)
        except Exception as error:  # the comparison is an extra: without it the model is swept all the same
            logger.warning("model %s not compared with float32: %s: %s", spec.label, type(error).__name__, error)
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
    cells_folder = group_folder(folder, model_spec, task_spec)
    cells_folder.mkdir(parents=True, exist_ok=True)
    request = request_of(study, [p.id for p in prompts_of(study, prompts, task_spec.name)])
    try:
        with FileLock(cells_folder / ".lock", timeout=0 if shared else -1):
            note = read_note(cells_folder)
            away = is_away(model_spec) and note is not None and note.request == request and note.finished
            if note is not None and (away or (shared and note.answers(request, known))):
                report.reused, report.failed, report.reasons = note.finished, note.failed, note.reasons
                return report
            began = time.monotonic()
            if model is None or callable(model):
                load = model or partial(model_or_error, model_spec, folder, study)
                model = loaded_or_error(model_spec.label, load)
            started = time.monotonic()
            with watching(say, f"{report.model} x {report.task}"):
                run_locked(study, cells_folder, prompts, task_spec, model, tasks, report)
            report.seconds = time.monotonic() - started
            with contextlib.suppress(OSError):  # a full disk; the report has what the note would say
                write_note(cells_folder, request, report, load_seconds=started - began)
    except Timeout:
        report.locked = True
    return report


def run_locked(
    study: Study,
    folder: Path,
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
        write_cells(folder, settings_of(study, model.spec, task_spec), cells)
        missing = _missing(study, folder, cells, report)
        (compute or compute_missing)(study, folder, model, task, missing, report)
    except Exception as error:  # whatever a task's data hold, the other groups go on
        if not cells:
            forget_cells(folder)
        told = isinstance(error, StudyError)
        reason = str(error) if told else f"preparing task {task_spec.name}: {type(error).__name__}: {error}"
        fail_group(study, folder, prompts, task_spec, report, reason, "" if told else traceback.format_exc())
    else:
        (folder / "group.error.json").unlink(missing_ok=True)


def fail_group(
    study: Study,
    folder: Path,
    prompts: pd.DataFrame,
    task_spec: TaskSpec,
    report: GroupReport,
    reason: str,
    trace: str = "",
) -> None:
    """Record why none of a group's missing cells can be computed, in the report and in its folder."""
    wanted = prompt_count(study, prompts, task_spec.name)
    report.failed, report.reasons = wanted, [reason.splitlines()[0]]
    record = {"reason": reason, "cells": wanted, "at": now()}
    record_failure(folder / "group.error.json", record | ({"traceback": trace} if trace else {}))


def _shared_task(spec: TaskSpec, study: Study, tasks: dict[str, Any] | None) -> Any:
    if tasks is None:
        return prepare(load_task(spec, study))
    if spec.name not in tasks:
        tasks[spec.name] = prepare(load_task(spec, study))
    return tasks[spec.name]


def _missing(study: Study, folder: Path, cells: list[Cell], report: GroupReport) -> list[Cell]:
    """Cells without a result of their identity; results of other identities, and edited ones, are named as stale."""
    there = {p.stem for p in folder.glob("*-*.json") if not p.name.endswith(".error.json")}
    missing = []
    for cell in cells:
        if cell.stem in there and read_cell(folder / f"{cell.stem}.json") is not None:
            report.reused += 1
        else:
            missing.append(cell)
    others = _identities(folder, there - {c.stem for c in cells}) if missing else {}
    changed: set[str] = set()
    for cell in missing:
        old, differing = others.get(_place_of(cell.slot)), set()
        if cell.stem in there and is_edited(folder / f"{cell.stem}.json"):
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


def _identities(folder: Path, stems: Iterable[str]) -> dict[tuple[str, ...], dict[str, Any]]:
    """The identity of the newest result of each place in the table, among these files."""
    found = []
    for stem in stems:
        if (record := read_cell(folder / f"{stem}.json")) is not None:
            found.append((str(record.get("at")), _place_of(record["slot"]), record["identity"]))
    found.sort(key=lambda one: one[0])
    return {where: identity for _, where, identity in found}


def _place_of(slot: dict[str, Any]) -> tuple[str, ...]:
    """A cell's place in its group's table. The seed, which its file's name also depends on, is an input."""
    return slot["subset"], slot["split"], slot["prompt_id"], slot["application"]
