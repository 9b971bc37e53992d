"""The plan of a study: which cells and texts a run would compute and roughly what that costs, without running it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from helpers.base.files import project_path
from helpers.models.source import missing_here
from helpers.runner.checks import check_names, check_references
from helpers.study.run import run_folder
from helpers.study.spec import Study
from helpers.sweep.cost import planned
from helpers.sweep.requests import requests_table
from helpers.tasks.load import task_class

DEVICES = {"2 CPU cores (0.1 TFLOP/s)": 1e11, "one data-centre GPU (100 TFLOP/s used)": 1e14}


def span(numbers: pd.Series) -> str:
    """One number where all are equal, else the lowest and the highest: "15", "13 to 15"."""
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


def plan_text(study: Study, folder: Path | None = None) -> str:
    """The plan as a page of text: what `make plan` prints."""
    lines = [f"Study {study.name}: {len(study.models)} models, {len(study.tasks)} tasks"]
    check_names(study)
    check_references(study)
    table, problems = planned(study, folder)
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
    asked = requests_table(study, folder or run_folder(study), table)
    problems += asked["problem"].dropna().tolist()
    here = [f"  cannot run here: {line}" for line in [*problems, *missing_here(study)]]
    return "\n".join(
        [*lines, *_requests(asked), *_geometry(study), *_finetuning(study), *([""] if here else []), *here]
    )


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
        lines.append(f"    {hours:,.1f} h on {device}" if hours >= 1 else f"    {hours * 60:,.1f} min on {device}")
    unknown_tasks = sorted(set(table.loc[table["texts"].isna(), "task"]))
    if unknown_tasks:
        lines.append(
            f"    not counted, because their data cannot be used or mteb has no statistics: {', '.join(unknown_tasks)}"
        )
    return lines


def _requests(asked: pd.DataFrame) -> list[str]:
    """What servers will be asked for; no lines where no model is served."""
    lines = ["", "  served models:"] if len(asked) else []
    for row in asked.itertuples():
        sent = f"; {row.requests_sent:,} and {row.tokens_sent:,} were sent so far" if row.requests_sent else ""
        left = f"about {row.requests_left:,} requests and {row.tokens_left:,} tokens to send to {row.url}{sent}"
        unknown = "" if row.counted else "; tasks of unknown size are not counted"
        lines.append(f"    {row.model}: {left}{unknown}")
    return lines


def _geometry(study: Study) -> list[str]:
    if study.geometry is None or "05" not in study.steps:
        return []
    from helpers.geometry.instructions import load_instructions, select
    from helpers.study.geometry import Bank

    bank = load_instructions(project_path(study.geometry.instructions), study.geometry.extra)
    labels = study.geometry.models or [m.label for m in study.models]
    lines = ["", f"  instruction geometry, {len(labels)} models:"]
    for task in study.geometry.tasks:
        metadata = None if task.name == "SQuAD" else task_class(study.task_spec(task.name)).metadata
        bitext = metadata is not None and metadata.type == "BitextMining"
        kind: Bank = "bitext-mining" if bitext else "retrieval"
        counts = select(bank, kind, study.geometry.groups, controls=False)
        controls = len(select(bank, kind)) - len(select(bank, kind, controls=False)) if study.geometry.controls else 0
        subsets = task.subsets or (list(metadata.hf_subsets) if metadata is not None else ["default"])
        lines.append(f"    {task.name}: {len(counts)} instructions and {controls} controls x {len(subsets)} subset(s)")
    return lines


def _finetuning(study: Study) -> list[str]:
    if study.finetuning is None or "06" not in study.steps:
        return []
    spec = study.finetuning
    return ["", f"  fine-tuning of {spec.model} on {spec.data}: {', '.join(spec.presets)} x {len(spec.seeds)} seed(s)"]
