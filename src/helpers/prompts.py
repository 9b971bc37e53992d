"""Prompts: their exact texts, their ids, and the table of a study's prompts.

A prompt is never stripped or normalised. Its id is a hash of its text, so two prompts that differ in one blank are two.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from helpers.errors import StudyError
from helpers.prompts_spec import LEVELS, PromptFile
from helpers.study_errors import shown
from helpers.yaml_files import parse_json, parse_yaml, read_text

if TYPE_CHECKING:
    from helpers.study import Study

Kind = Literal["prompt", "none", "default"]
COLUMNS = ["task", "prompt_id", "kind", "text", "level", "source", "generator"]
BASELINES: tuple[Kind, ...] = ("none", "default")
FORMAT = "helpers-prompts/1"


def prompt_id(text: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the exact UTF-8 text.

    >>> prompt_id("Query:") == prompt_id("Query: ")
    False
    """
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


@dataclass(frozen=True)
class Prompt:
    """One way of asking: a text, or one of the two baselines (`none`: nothing at all; `default`: what mteb does)."""

    text: str | None = None
    kind: Kind = "prompt"
    level: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        for name in ("text", "level", "source"):
            if not isinstance(getattr(self, name), str):  # a missing value of a data frame
                object.__setattr__(self, name, None)
        if (self.kind == "prompt") != (self.text is not None):
            raise ValueError(f"kind '{self.kind}' {'needs' if self.kind == 'prompt' else 'has no'} text")

    @property
    def id(self) -> str:
        return self.kind if self.text is None else prompt_id(self.text)


def prompt_table(study: Study) -> pd.DataFrame:
    """The prompts that a study evaluates, then per task its two baselines.

    Columns task, prompt_id, kind, text, level, source, generator; one row per task and distinct text, in the order of
    the study's tasks. Prompts that a removing rule or a reviewer takes out are left out (`helpers.prompt_checks`
    reports them). Raises `StudyError` for a task without prompts, an unreadable file, or prompts not generated yet.
    """
    from helpers.prompt_checks import decide

    return with_baselines(decide(candidates(study), study), study)


def with_baselines(decided: pd.DataFrame, study: Study) -> pd.DataFrame:
    """The prompts that stay after the checks (`helpers.prompt_checks.decide`), and the two baselines of every task."""
    kept = decided.loc[decided["kept"].astype(bool), COLUMNS]
    baselines = pd.DataFrame(
        [{"task": t.name, "prompt_id": kind, "kind": kind} for t in study.tasks for kind in BASELINES]
    )
    order = {t.name: number for number, t in enumerate(study.tasks)}
    table = pd.concat([kept, baselines.reindex(columns=COLUMNS)], ignore_index=True)
    table = table.sort_values("task", key=lambda names: names.map(order), kind="stable", ignore_index=True)
    return table.astype(object).where(table.notna(), None)


def candidates(study: Study) -> pd.DataFrame:
    """Every prompt that the study's source has for its tasks and levels, before any check (columns as the table's)."""
    from helpers.study import project_path, unknown

    spec = study.prompts
    if spec is None:
        raise StudyError(f"study {study.name}: the key 'prompts' is missing")
    if spec.source == "generate":
        from helpers.run import run_folder

        path = run_folder(study.name) / "prompts" / "prompts.json"
        if not path.is_file():
            raise StudyError(
                f"study {study.name}: its {spec.expected_count(len(study.tasks))} prompts are not generated yet; set "
                f"{spec.generator.base_url_env} and {spec.generator.key_env} and run notebook 01, or set "
                "prompts.source to file"
            )
        table = read_prompts(path)
        _require_complete(study, table)
    else:
        parts = [_ascribed(read_prompts(project_path(f.path)), f, spec.source) for f in spec.files()]
        table = pd.concat(parts, ignore_index=True)
    missing = [t.name for t in study.tasks if t.name not in set(table["task"])]
    if missing:
        where = ", ".join(f.path for f in spec.files()) or "generated prompts"
        near = (
            unknown("task", missing[0], sorted(set(table["task"])))
            if len(table)
            else "there is no prompt at all"
        )
        raise StudyError(f"{where}: no prompts for '{missing[0]}': {near}")
    wanted = [t.name for t in study.tasks]
    return table[table["task"].isin(wanted) & table["level"].isin([*spec.levels, None])].reset_index(
        drop=True
    )


def _require_complete(study: Study, table: pd.DataFrame) -> None:
    """Raise `StudyError` where generated prompts are fewer than the study wants."""
    spec = study.prompts
    assert spec is not None
    counts = table.groupby(["task", "level"]).size()
    short = {
        (t.name, level): spec.per_level - int(counts.get((t.name, level), 0))
        for t in study.tasks
        for level in spec.levels
    }
    lacking = {place: n for place, n in short.items() if n > 0}
    if lacking:
        (task, level), _ = next(iter(lacking.items()))
        raise StudyError(
            f"study {study.name}: {sum(lacking.values())} of {spec.expected_count(len(study.tasks))} generated prompts "
            f"are missing (first: {task}, level {level}); run notebook 01 again: it asks only for these"
        )


def _ascribed(table: pd.DataFrame, file: PromptFile, source: str) -> pd.DataFrame:
    if file.source or source == "published":
        table = table.assign(source=file.source or "published")
    return table.assign(generator=file.generator) if file.generator else table


def read_prompts(path: Path) -> pd.DataFrame:
    """Prompts of a file: YAML (task -> level -> texts), this suite's JSON, or a published prompt file of study 1.

    A published record has a task, a context and one generated prompt; its level follows from which parts of the context
    are filled, its generator from the file's name. Raises `StudyError` naming the file, the key and the remedy.
    """
    if not os.path.lexists(path):  # False, too, for a name that no file system takes
        raise StudyError(f"{path.name[:80]}: there is no such prompt file; check prompts.file of the study")
    text = read_text(path)
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


def row(
    task: str, text: str, level: str | None = None, source: str = "file", generator: str | None = None
) -> dict[str, Any]:
    """One row of a prompt table."""
    return {
        "task": task, "prompt_id": prompt_id(text), "kind": "prompt", "text": text, "level": level, "source": source,
        "generator": generator,
    }  # fmt: skip


def _level_rows(path: Path, content: dict[str, Any]) -> Iterable[dict[str, Any]]:
    from helpers.study import unknown

    for task, levels in content.items():
        if not isinstance(levels, dict):
            raise StudyError(
                f"{path.name}: {task}: must map levels ({', '.join(LEVELS)}) to lists of prompts"
            )
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
    from helpers.run import write_json

    write_json(path, {"format": FORMAT, **(about or {}), "prompts": list(records)})
