"""Prompt files: read and written, in our format and in that of the published study."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.yaml import parse_json, parse_yaml, read_text
from helpers.prompts.prompt import COLUMNS, prompt_id
from helpers.study.errors import shown
from helpers.study.prompts import LEVELS

FORMAT = "helpers-prompts/1"


def read_prompts(path: Path) -> pd.DataFrame:
    """Prompts of a file: YAML (task -> level -> texts), this suite's JSON, a CSV, or a published prompt file of study 1.

    A CSV has the columns task and text, and perhaps level, source and generator; every text counts as it stands.

    A published record has a task, a context and one generated prompt; its level follows from which parts of the context
    are filled, its generator from the file's name. Raises `StudyError` naming the file, the key and the remedy.
    """
    if not os.path.lexists(path):  # False, too, for a name that no file system takes
        raise StudyError(f"{path.name[:80]}: there is no such prompt file; check prompts.file of the study")
    text = read_text(path)
    if path.suffix.lower() == ".csv":
        return pd.DataFrame(list(_csv_rows(path, text)), columns=COLUMNS).astype(object)
    content = parse_json(text, path.name) if path.suffix == ".json" else parse_yaml(text, path.name)
    if isinstance(content, dict) and content.get("format") == FORMAT:
        records = content.get("prompts", [])
        if not isinstance(records, list):
            raise StudyError(f"{path.name}: prompts must be a list of records (given: {shown(records)})")
        rows = [_own_row(path, number, record) for number, record in enumerate(records)]
    elif isinstance(content, list):
        ending = "-gen-prompts"
        generator = path.stem.removesuffix(ending) if path.stem.endswith(ending) else None
        rows = [_published_row(path, number, record, generator) for number, record in enumerate(content)]
    elif isinstance(content, dict) and path.suffix != ".json":
        rows = list(_level_rows(path, content))
    else:
        raise StudyError(f"{path.name}: neither task -> level -> prompts nor a list of prompt records")
    return pd.DataFrame(rows, columns=COLUMNS).astype(object)


def _csv_rows(path: Path, text: str) -> Iterable[dict[str, Any]]:
    try:
        table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    except ValueError as error:
        raise StudyError(f"{path.name}: not readable as CSV ({error}); write it again") from error
    for column in ("task", "text"):
        if column not in table:
            raise StudyError(f"{path.name}: there is no column '{column}'; it has {', '.join(map(str, table))}")
    given = [column for column in ("task", "text", "level", "source", "generator") if column in table]
    for number, record in enumerate(table[given].to_dict("records")):
        filled = {key: value for key, value in record.items() if value or key == "text"}
        yield _own_row(path, number, {"source": "file", **filled})


def row(
    task: str, text: str, level: str | None = None, source: str = "file", generator: str | None = None
) -> dict[str, Any]:
    """One row of a prompt table."""
    return {
        "task": task, "prompt_id": prompt_id(text), "kind": "prompt", "text": text, "level": level, "source": source,
        "generator": generator,
    }  # fmt: skip


def _level_rows(path: Path, content: dict[str, Any]) -> Iterable[dict[str, Any]]:
    from helpers.base.names import unknown

    for task, levels in content.items():
        if not isinstance(levels, dict):
            raise StudyError(f"{path.name}: {task}: must map levels ({', '.join(LEVELS)}) to lists of prompts")
        for level, texts in levels.items():
            if level not in LEVELS:
                raise StudyError(f"{path.name}: {task}: {unknown('level', str(level), list(LEVELS))}")
            if not isinstance(texts, list):
                raise StudyError(f"{path.name}: {task}.{level}: must be a list of prompts")
            for number, text in enumerate(texts):
                if not isinstance(text, str):
                    # YAML reads `- Query:` as a mapping: the usual slip.
                    raise StudyError(
                        f"{path.name}: {task}.{level}[{number}]: {shown(text)} is not text; put it in quotes"
                    )
                yield row(str(task), text, level)


def _own_row(path: Path, number: int, record: Any) -> dict[str, Any]:
    place = f"{path.name}: prompts[{number}]"
    task, text = (_text(record, key, place, "needs task and text") for key in ("task", "text"))
    level, source, generator = record.get("level"), record.get("source", "llm"), record.get("generator")
    if level is not None and level not in LEVELS:
        raise StudyError(f"{place}: {shown(level)} is no level; known: {', '.join(LEVELS)}")
    for key, value in (("source", source), ("generator", generator)):
        if value is not None and not isinstance(value, str):
            raise StudyError(f"{place}: {key} must be text (given: {shown(value)})")
    return row(task, text, level, source, generator)


def _published_row(path: Path, number: int, record: Any, generator: str | None) -> dict[str, Any]:
    place = f"{path.name}: record {number}"
    keys = ("task", "generated_prompt", "dataset_description", "language")
    task, text, description, language = (
        _text(record, key, place, f"a published record has {', '.join(keys)}") for key in keys
    )
    return row(task, text, published_level(description, language), "published", generator)


def published_level(description: str, language: str) -> str:
    """The level of a published prompt: which parts of its context were not empty."""
    return LEVELS[2] if language else LEVELS[1] if description else LEVELS[0]


def _text(record: Any, key: str, place: str, needed: str) -> str:
    """A text of a record; a `StudyError` where it is absent, no text, or no whole characters."""
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, str):
        given = shown(record if not isinstance(record, dict) else value)
        raise StudyError(f"{place}: {key} is not text (given: {given}); {needed}")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise StudyError(f"{place}: {key} holds half a character (a lone surrogate); write it anew")
    return value


def write_prompts(path: Path, records: Sequence[dict[str, Any]], about: dict[str, Any] | None = None) -> None:
    """Write prompts with their provenance as readable JSON that `read_prompts` and other tools can use."""
    from helpers.base.files import write_json

    write_json(path, {"format": FORMAT, **(about or {}), "prompts": list(records)})
