"""Group cells: which results in a (model, task) group's folder are those of the study as it was last run.

A folder keeps results of earlier settings, so that going back to them costs nothing. Readers take the listed ones only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from helpers.base.files import read_json, write_json
from helpers.base.hashes import digest
from helpers.base.paths import below, safe_name
from helpers.study.served import REQUESTING
from helpers.study.spec import ModelSpec, Study, TaskSpec

NAME = "current.json"
STEM = re.compile("[0-9a-f]+-[0-9a-f]+")


@dataclass(frozen=True)
class ListedCell:
    """A result that a group should have: its files' stem and its place in the table."""

    stem: str
    subset: str
    split: str
    prompt_id: str


def settings_of(study: Study, model: ModelSpec, task: TaskSpec) -> str:
    """Digest of what a study says about a group's cells, apart from its prompts, which the list itself names."""
    prompts = study.prompts
    return digest(
        [
            model.model_dump(
                mode="json", exclude={"label": True, "parameters": True, "server": REQUESTING}, exclude_defaults=True
            ),
            task.model_dump(mode="json", exclude_defaults=True),
            [study.seed, study.sweep.exact, study.sweep.bitext_side],
            [prompts.application, prompts.separator] if prompts else [],
            *([] if study.budget == "full" else [study.model_dump(mode="json", include={"budget"})]),
        ]
    )


def write_cells(folder: Path, settings: str, cells: Iterable[Any]) -> None:
    """List the cells (`helpers.sweep.cell.Cell`) that a group consists of now, before any of them is computed."""
    rows = [[c.stem, c.slot["subset"], c.slot["split"], c.slot["prompt_id"]] for c in cells]
    content = {"settings": settings, "cells": rows}
    if _read(folder) != content:
        forget_cells(folder)  # where the new list cannot be written, the old one must not speak
        write_json(folder / NAME, content)


def read_cells(folder: Path, settings: str) -> list[ListedCell] | None:
    """The cells that were listed under these settings: none where they were others; None where there is no list."""
    content = _read(folder)
    if content is None:
        return None
    return [ListedCell(*row) for row in content["cells"]] if content["settings"] == settings else []


def forget_cells(folder: Path) -> None:
    """Remove the list: it is not known any more which results are current."""
    (folder / NAME).unlink(missing_ok=True)


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        content = read_json(folder / NAME) or {}
        stems = [row[0] for row in content["cells"]]
        if not all(STEM.fullmatch(stem) for stem in stems):  # they become paths
            return None
        return {"settings": content["settings"], "cells": content["cells"]}
    except (TypeError, KeyError, IndexError):
        return None


NOTE = "group.json"
SCHEDULING = {"workers", "executor", "ray", "device", "batch_tokens", "retries", "stale", "offline"}


@dataclass(frozen=True)
class GroupNote:
    """The state of a group when a process left it.

    Attributes: request (digest of what was asked for), finished and failed (cells now), reasons (of failures),
    computed (cells computed for this request in all runs so far), seconds (that took, without loading the model),
    load_seconds (longest loading of the model), at (time of writing).
    """

    request: str
    finished: int = 0
    failed: int = 0
    reasons: list[str] = field(default_factory=list)
    computed: int = 0
    seconds: float = 0.0
    load_seconds: float = 0.0
    at: str = ""

    def answers(self, request: str, known: GroupNote | None) -> bool:
        """Whether another process finished the same group since the note `known` was read."""
        return self != known and self.request == request and self.finished + self.failed > 0


def request_of(study: Study, prompt_ids: Sequence[str]) -> str:
    """Digest of everything in a study that decides about a group's cells; where and how it runs is left out."""
    scheduling: Any = {"sweep": SCHEDULING, "models": {"__all__": {"server": REQUESTING}}}
    return digest([study.model_dump(mode="json", exclude=scheduling), list(prompt_ids)])


def read_note(folder: Path) -> GroupNote | None:
    """The note in a group's folder; None where there is none or it is not readable."""
    note = read_json(folder / NOTE)
    try:
        return None if note is None else GroupNote(**note)
    except TypeError:
        return None


def write_note(folder: Path, request: str, report: Any, load_seconds: float, is_finished: bool = True) -> None:
    """Leave the note of a `GroupReport`, adding its cost to that of earlier runs of the same request.

    The note of a group that is not finished, since only a part of it was to be done, counts its cost alone.
    """
    old = read_note(folder)
    note = old if old is not None and old.request == request else GroupNote(request)
    note = replace(
        note,
        finished=report.done + report.reused if is_finished else 0,
        failed=report.failed if is_finished else 0,
        reasons=report.reasons[:3] if is_finished else [],
        computed=note.computed + report.done,
        seconds=note.seconds + (report.seconds if report.done else 0.0),
        load_seconds=max(note.load_seconds, load_seconds),
        at=datetime.now(UTC).isoformat(),
    )
    write_json(folder / NOTE, asdict(note))


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


def group_folder(folder: Path, model: ModelSpec, task: TaskSpec) -> Path:
    return below(folder / "cells", safe_name(model.label), safe_name(task.name))
