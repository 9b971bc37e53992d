"""The plan of a study: which cells and texts a run would compute and roughly what that costs, without running it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from helpers.group_cells import read_cells, settings_of
from helpers.model_source import check_present, missing_here
from helpers.prompts import prompt_table
from helpers.run import run_folder
from helpers.study import Study, StudyError, check_names, project_path
from helpers.study_references import check_references
from helpers.sweep import group_folder
from helpers.tasks import task_class
from helpers.text_counts import text_counts

TOKENS_PER_CHARACTER = 0.25  # about four characters of English per token; other languages need more
FLOP_PER_TOKEN_AND_PARAMETER = 2.0
DEVICES = {"2 CPU cores (0.1 TFLOP/s)": 1e11, "one data-centre GPU (100 TFLOP/s used)": 1e14}


def plan_table(study: Study, folder: Path | None = None) -> pd.DataFrame:
    """One row per model and task: prompt runs, baseline runs, done, texts and million tokens to embed, exaFLOP.

    Prompts are those of the study's file; prompts that a generator has yet to write count as complete. Text
    counts are those of `text_counts`: missing where mteb has no statistics, or local data cannot be used.
    Done counts finished cells of these settings; those of other settings stay in the folder and do not count.
    """
    return _planned(study, folder)[0]


def _planned(study: Study, folder: Path | None) -> tuple[pd.DataFrame, list[str]]:
    """The table, and for each task whose data cannot be used a line that says why: the others are planned."""
    check_names(study)
    for model in study.models:
        check_present(model)
    check_references(study)
    folder = folder or run_folder(study.name)
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
            texts = None if sided is None else sided * runs + (shared or 0)
            tokens = (
                None if texts is None or characters is None else texts * characters * TOKENS_PER_CHARACTER
            )
            rows.append(
                {
                    "model": model.label,
                    "task": task.name,
                    "subsets": len(task.subsets or task_class(task.name).metadata.hf_subsets),
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
    columns = [
        "model",
        "task",
        "subsets",
        "prompt_runs",
        "baseline_runs",
        "cells_done",
        "texts",
        "mtokens",
        "exaflop",
    ]
    return pd.DataFrame(rows, columns=columns), problems


def span(numbers: pd.Series) -> str:
    """One number where all are equal, else the lowest and the highest: "15", "13 to 15"."""
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


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


def plan_text(study: Study, folder: Path | None = None) -> str:
    """The plan as a page of text: what `make plan` prints."""
    lines = [f"Study {study.name}: {len(study.models)} models, {len(study.tasks)} tasks"]
    table, problems = _planned(study, folder)
    if len(table):
        runs, defaults = int(table["prompt_runs"].sum()), int(table["baseline_runs"].sum())
        lines += [
            f"  prompt runs   {runs:>8,}   ({len(study.models)} models x {len(study.tasks)} tasks x "
            f"{span(table['prompt_runs'])} prompts)",
            f"  baseline runs {defaults:>8,}   ({', '.join(study.baselines)})",
            f"  cells in the run folder {int(table['cells_done'].sum()):,}",
            "",
            *_by_task(table),
            "",
            *_cost(table),
        ]
    here = [f"  cannot run here: {line}" for line in [*problems, *missing_here(study)]]
    return "\n".join([*lines, *_geometry(study), *_finetuning(study), *([""] if here else []), *here])


def _by_task(table: pd.DataFrame) -> list[str]:
    one = table.drop_duplicates("task")
    width = max(len(t) for t in one["task"])
    lines = [f"  {'task':<{width}}  subsets  texts per model  million tokens"]
    for row in one.itertuples():
        texts = "unknown" if pd.isna(row.texts) else f"{int(row.texts):,}"
        tokens = "unknown" if pd.isna(row.mtokens) else f"{row.mtokens:,.1f}"
        lines.append(f"  {row.task:<{width}}  {row.subsets:>7}  {texts:>15}  {tokens:>14}")
    return lines


def _cost(table: pd.DataFrame) -> list[str]:
    flop = table["exaflop"].sum() * 1e18
    lines = [
        f"  about {table['mtokens'].sum():,.0f} million tokens and {flop / 1e18:,.3f} exaFLOP",
        "  roughly, without scoring:",
    ]
    for device, speed in DEVICES.items():
        hours = flop / speed / 3600
        lines.append(
            f"    {hours:,.1f} h on {device}" if hours >= 1 else f"    {hours * 60:,.1f} min on {device}"
        )
    unknown_tasks = sorted(set(table.loc[table["texts"].isna(), "task"]))
    if unknown_tasks:
        lines.append(
            f"    not counted, because their data cannot be used or mteb has no statistics: {', '.join(unknown_tasks)}"
        )
    return lines


def _geometry(study: Study) -> list[str]:
    if study.geometry is None or "05" not in study.steps:
        return []
    from helpers.instructions import Bank, load_instructions, select

    bank = load_instructions(project_path(study.geometry.instructions), study.geometry.extra)
    labels = study.geometry.models or [m.label for m in study.models]
    lines = ["", f"  instruction geometry, {len(labels)} models:"]
    for task in study.geometry.tasks:
        metadata = None if task.name == "SQuAD" else task_class(task.name).metadata
        bitext = metadata is not None and metadata.type == "BitextMining"
        kind: Bank = "bitext-mining" if bitext else "retrieval"
        counts = select(bank, kind, study.geometry.groups, controls=False)
        controls = (
            len(select(bank, kind)) - len(select(bank, kind, controls=False))
            if study.geometry.controls
            else 0
        )
        subsets = task.subsets or (list(metadata.hf_subsets) if metadata is not None else ["default"])
        lines.append(
            f"    {task.name}: {len(counts)} instructions and {controls} controls x {len(subsets)} subset(s)"
        )
    return lines


def _finetuning(study: Study) -> list[str]:
    if study.finetuning is None or "06" not in study.steps:
        return []
    spec = study.finetuning
    return [
        "",
        f"  fine-tuning of {spec.model} on {spec.data}: {', '.join(spec.presets)} x {len(spec.seeds)} seed(s)",
    ]
