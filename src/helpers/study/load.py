"""Load a study file: by name or path, checked, with one readable line per problem."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from helpers.base.errors import StudyError
from helpers.base.files import project_path, project_root
from helpers.base.names import unknown
from helpers.base.yaml import read_yaml
from helpers.study.errors import kind_of, misread, readable, shown
from helpers.study.spec import Study

IN_RUN_FOLDER = "study.yml"  # of a run that keeps its study itself: the folder stands for it


def study_names(root: Path | None = None) -> list[str]:
    """Names of the studies in `data/studies`, sorted."""
    return sorted(p.stem for p in ((root or project_root()) / "data" / "studies").glob("*.yml"))


def load_study(study: str | Path | Study, **overrides: Any) -> Study:
    """Read a study by name (`data/studies/<name>.yml`) or by path; overrides of None leave the file's value.

    Raises `StudyError` for an unknown name, unreadable YAML, unknown keys, or values of the wrong type.
    """
    if isinstance(study, Study):
        raw, where = study.model_dump(), f"study {study.name}"
    else:
        path = study_path(study)
        where = _short(path)
        raw = read_yaml(path, where)
        if not isinstance(raw, dict):
            raise StudyError(f"{where}: a study file holds a mapping of keys, not {kind_of(raw)}")
    for key, value in overrides.items():
        if value is not None:
            _set_dotted(raw, key, value)
    try:
        found = Study.model_validate(raw)
        lines = list(misread(raw, found))[:3]
    except ValidationError as error:
        lines = readable(error, Study, unknown)
    if lines:
        raise StudyError("\n".join(f"{where}: {line}" for line in lines))
    return found


def study_path(study: str | Path) -> Path:
    """The file of a study named by its name or by a path."""
    text = str(study)
    if text.endswith((".yml", ".yaml")) or os.sep in text:
        for path in (Path(text), project_path(text)):
            if os.path.isfile(path):  # False, too, for a name that no file system takes
                return path.resolve()
            if os.path.isfile(path / IN_RUN_FOLDER):
                return (path / IN_RUN_FOLDER).resolve()
            if os.path.isdir(path):
                raise StudyError(f"{shown(text)} is a folder; name a study file")
        raise StudyError(f"there is no study file {shown(text)}")
    path = project_root() / "data" / "studies" / f"{text}.yml"
    if not os.path.isfile(path):
        raise StudyError(unknown("study", text, study_names()))
    return path


def _set_dotted(raw: dict[str, Any], key: str, value: Any) -> None:
    """`prompts.per_level` reaches into the mapping; `per_level` sets a top-level key."""
    *parents, last = key.split(".")
    for parent in parents:
        if raw.get(parent) is None:  # absent, or a key without a value
            raw[parent] = {}
        raw = raw[parent]
        if not isinstance(raw, dict):
            raise StudyError(f"'{key}' cannot be set: the study's '{parent}' holds no keys")
    raw[last] = value


def _short(path: Path) -> str:
    """A path as a message may show it: relative to the project where it lies inside."""
    try:
        return str(path.relative_to(project_root()))
    except ValueError:
        return path.name
