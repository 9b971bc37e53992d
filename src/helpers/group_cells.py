"""Group cells: which results in a (model, task) group's folder are those of the study as it was last run.

A folder keeps results of earlier settings, so that going back to them costs nothing. Readers take the listed ones only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.models import digest
from helpers.run import write_json
from helpers.study import ModelSpec, Study, TaskSpec

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
            model.model_dump(mode="json", exclude={"label", "parameters"}, exclude_defaults=True),
            task.model_dump(mode="json", exclude_defaults=True),
            [study.seed, study.sweep.exact, study.sweep.bitext_side],
            [prompts.application, prompts.separator] if prompts else [],
        ]
    )


def write_cells(place: Path, settings: str, cells: Iterable[Any]) -> None:
    """List the cells (`helpers.sweep.Cell`) that a group consists of now, before any of them is computed."""
    rows = [[c.stem, c.slot["subset"], c.slot["split"], c.slot["prompt_id"]] for c in cells]
    content = {"settings": settings, "cells": rows}
    if _read(place) != content:
        forget_cells(place)  # where the new list cannot be written, the old one must not speak
        write_json(place / NAME, content)


def read_cells(place: Path, settings: str) -> list[ListedCell] | None:
    """The cells that were listed under these settings: none where they were others; None where there is no list."""
    content = _read(place)
    if content is None:
        return None
    return [ListedCell(*row) for row in content["cells"]] if content["settings"] == settings else []


def forget_cells(place: Path) -> None:
    """Remove the list: it is not known any more which results are current."""
    (place / NAME).unlink(missing_ok=True)


def _read(place: Path) -> dict[str, Any] | None:
    try:
        content = json.loads((place / NAME).read_text(encoding="utf-8"))
        stems = [row[0] for row in content["cells"]]
        if not all(STEM.fullmatch(stem) for stem in stems):  # they become paths
            return None
        return {"settings": content["settings"], "cells": content["cells"]}
    except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None
