"""What a study costs: texts, tokens and operations per model and task, counted before anything runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from helpers.base.errors import StudyError
from helpers.models.source import check_present
from helpers.prompts.table import prompt_table
from helpers.study.run import run_folder
from helpers.study.spec import Study
from helpers.sweep.counts import text_counts
from helpers.sweep.store import group_folder, read_cells, settings_of
from helpers.tasks.load import task_class

TOKENS_PER_CHARACTER = 0.25  # about four characters of English per token; other languages need more
FLOP_PER_TOKEN_AND_PARAMETER = 2.0


def plan_table(study: Study, folder: Path | None = None) -> pd.DataFrame:
    """One row per model and task: prompt runs, baseline runs, done, texts and million tokens to embed, exaFLOP.

    Prompts are those of the study's file; prompts that a generator has yet to write count as complete. Text
    counts are those of `text_counts`: missing where mteb has no statistics, or local data cannot be used.
    With a budget that is a share, prompts other than the anchor count as that share of the texts; a number of items counts as
    all of them, so its costs are at most those.
    Done counts finished cells of these settings; those of other settings stay in the folder and do not count.
    """
    return planned(study, folder)[0]


def planned(study: Study, folder: Path | None) -> tuple[pd.DataFrame, list[str]]:
    """The table, and for each task whose data cannot be used a line that says why: the others are planned."""
    for model in study.models:
        check_present(model)
    folder = folder or run_folder(study)
    rows = []
    tasks = study.tasks if "02" in study.steps else []
    prompts = prompt_counts(study) if tasks else {}
    counts: dict[str, tuple[int | None, int | None, float | None]] = {}
    problems = []
    for task in tasks:
        try:
            counts[task.name] = text_counts(task, study)
        except StudyError as error:
            counts[task.name] = (None, None, None)
            problems.append(str(error).splitlines()[0])
    for model in study.models:
        for task in tasks:
            sided, shared, characters = counts[task.name]
            runs = prompts[task.name] + len(study.baselines)
            place = group_folder(folder, model, task)
            there = {p.stem for p in place.glob("*-*.json") if "error" not in p.name}
            listed = read_cells(place, settings_of(study, model, task))
            done = len(there if listed is None else there & {cell.stem for cell in listed})
            texts = None if sided is None else round(sided * _full_passes(study, runs)) + (shared or 0)
            tokens = None if texts is None or characters is None else texts * characters * TOKENS_PER_CHARACTER
            rows.append(
                {
                    "model": model.label,
                    "task": task.name,
                    "subsets": len(task.subsets or task_class(task).metadata.hf_subsets),
                    "prompt_runs": prompts[task.name],
                    "baseline_runs": len(study.baselines),
                    "cells_done": done,
                    "texts": texts,
                    "mtokens": None if tokens is None else tokens / 1e6,
                    "exaflop": None
                    if tokens is None or not model.parameters
                    else tokens * FLOP_PER_TOKEN_AND_PARAMETER * model.parameters / 1e18,
                }
            )
    columns = ["model", "task", "subsets", "prompt_runs", "baseline_runs", "cells_done", "texts", "mtokens", "exaflop"]
    return pd.DataFrame(rows, columns=columns), problems


def _full_passes(study: Study, runs: int) -> float:
    """How many passes over all texts the runs of a task are.

    >>> _full_passes(Study.model_validate({"name": "s", "title": "S", "steps": ["03"], "budget": 0.25}), runs=17)
    5.0
    """
    return 1 + (runs - 1) * study.budget if isinstance(study.budget, float) else runs


def prompt_counts(study: Study) -> dict[str, int]:
    """Prompts per task: those that the study's file has after the checks, or as many as a generator is asked for.

    Raises `StudyError` where the file is missing or has none for a task.
    """
    if study.prompts is None:
        return dict.fromkeys((task.name for task in study.tasks), 0)
    if study.prompts.source == "generate":
        return dict.fromkeys((task.name for task in study.tasks), study.prompts.expected_count(1))
    table = prompt_table(study)
    counts = table.loc[table["kind"] == "prompt", "task"].value_counts()
    return {task.name: int(counts.get(task.name, 0)) for task in study.tasks}
