"""Inputs: the files and folders that a study's steps read, wherever they lie."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from helpers.base.files import project_path
from helpers.study.run import download_folder, run_folder
from helpers.study.spec import Study
from helpers.study.tuning import TASKS

# Folders or archives of published results; also PUBLISHED_RESULTS_<STUDY>.
PUBLISHED_VARIABLES = ("PUBLISHED_RESULTS", "PUBLISHED_DEFAULTS")

EMBEDS = ("01", "02", "05", "06")  # steps that load models


def input_places(study: Study, step: str) -> dict[str, list[Path]]:
    """What a step reads beside notebook, study file, code, `data/` and earlier tables: kind -> files and folders.

    The kinds are keys of `helpers.runner.status.WHAT_CHANGED`. A place need not exist: that it appears is a change too.
    """
    geometry, tuning = study.geometry, study.finetuning
    # Without step 01 the sweep reads the prompts from their files itself.
    reads_prompts = step == "01" or ("01" not in study.steps and step in ("02", "06"))
    found: dict[str, list[Path]] = {
        "prompt_files": prompt_files(study) if reads_prompts else [],
        "review": review_files(study) if reads_prompts else [],
        "published": published_places(study),
        "weights": weight_places(study) if step in EMBEDS else [],
        "task_data": task_places(study, _tasks(study, step)),
        "instructions": [],
        "paraphrases": [],
        "training_data": [],
    }
    if step in ("05", "06") and geometry is not None:
        found["instructions"] = [project_path(geometry.instructions)]
        found["paraphrases"] = [run_folder(study) / "paraphrases"]  # as notebook 01 had them written
        for task in geometry.tasks:
            found["paraphrases"] += _in_project_or_data(study, task.paraphrases)
    if step == "06" and tuning is not None:
        found["paraphrases"] += _in_project_or_data(study, tuning.paraphrases)
        if tuning.data.startswith("jsonl:"):
            found["training_data"] = _in_project_or_data(study, tuning.data.removeprefix("jsonl:"))
    return found


def prompt_files(study: Study) -> list[Path]:
    """The files of ready prompts."""
    return [project_path(file.path) for file in study.prompts.files()] if study.prompts is not None else []


def review_files(study: Study) -> list[Path]:
    """The file in which a person decides about prompts, where the study names one; that of a run is its own output."""
    named = study.prompts.review_file if study.prompts is not None else None
    return [project_path(named)] if named else []


def published_places(study: Study) -> list[Path]:
    """Every file or folder that published results of a study may be read from: variables, its keys, downloads."""
    source = study.results_from
    if source is None:
        return []
    parts: list[Any] = [source, source.reported] if source.reported else [source]
    given = [value for name, value in sorted(os.environ.items()) if name.startswith(PUBLISHED_VARIABLES)]
    given += [part.path for part in parts if part.path]
    downloads = [download_folder(part.repository) for part in parts if part.repository]
    return [*(project_path(value) for value in given if value), *downloads]


def weight_places(study: Study) -> list[Path]:
    """The folders of models that are given by a path, and those of the Python packages that hold weights."""
    found: list[Path] = []
    for model in study.models:
        kind, _, place = model.weights.partition(":")
        if kind == "path":
            found.append(project_path(place))
        elif kind == "package" and place.isidentifier():
            spec = importlib.util.find_spec(place)
            found += [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []
    return found


def task_places(study: Study, names: Iterable[str]) -> list[Path]:
    """The folders of these tasks in the local task data, and own data; none where data come from the Hub."""
    root, wanted = study.task_data_root(), sorted(set(names))
    own = [project_path(task.data) for task in study.tasks if task.data is not None and task.name in wanted]
    return [*([root / name for name in wanted] if root is not None else []), *own]


def _tasks(study: Study, step: str) -> list[str]:
    """Names of the tasks whose data a step reads."""
    if step in ("01", "02"):
        return [task.name for task in study.tasks]
    if step == "05":
        return [task.name for task in study.geometry.tasks] if study.geometry else []
    if step != "06" or study.finetuning is None:
        return []
    spec = study.finetuning
    source, _, place = spec.data.partition(":")
    others = [other.name for other in spec.out_of_domain]
    return [TASKS.get(source, place), *others, *spec.side_effects, *spec.sensitivity]


def _in_project_or_data(study: Study, given: str | None) -> list[Path]:
    """Where a file may lie that is looked for in the project first and then in the local task data."""
    if given is None:
        return []
    root = study.task_data_root()
    return [project_path(given), *([project_path(given, root)] if root is not None else [])]
