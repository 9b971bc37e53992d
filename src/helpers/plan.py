"""The plan of a study: which cells and texts a run would compute and roughly what that costs, without running it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from helpers.group_cells import read_cells, settings_of
from helpers.model_source import check_present, missing_here
from helpers.prompts import prompt_table
from helpers.run import run_folder
from helpers.study import Study, TaskSpec, check_names, project_path
from helpers.study_references import check_references
from helpers.sweep import group_folder
from helpers.tasks import load_task, subset_data, task_class

TOKENS_PER_CHARACTER = 0.25  # about four characters of English per token; other languages need more
# Of local task data (README).
TEXT_COLUMNS = {"text", "sentences", "sentence1", "sentence2", "sent1", "sent2"}
FLOP_PER_TOKEN_AND_PARAMETER = 2.0
DEVICES = {"2 CPU cores (0.1 TFLOP/s)": 1e11, "one data-centre GPU (100 TFLOP/s used)": 1e14}


def plan_table(study: Study, folder: Path | None = None) -> pd.DataFrame:
    """One row per model and task: prompt runs, baseline runs, done, texts and million tokens to embed, exaFLOP.

    Prompts are those of the study's file; prompts that a generator has yet to write count as complete. Text
    counts are those of the study's local task data where a task has them, else mteb's own descriptive statistics
    (missing where it has none); documents count once for all prompts, of clustering tasks only the share that mteb draws.
    Done counts finished cells of these settings; those of other settings stay in the folder and do not count.
    """
    check_names(study)
    for model in study.models:
        check_present(model)
    check_references(study)
    folder = folder or run_folder(study.name)
    rows = []
    tasks = study.tasks if "02" in study.steps else []
    prompts = prompt_counts(study) if tasks else {}
    counts = {task.name: text_counts(task, study) for task in tasks}
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
    return pd.DataFrame(rows, columns=columns)


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


def text_counts(task: TaskSpec, study: Study | None = None) -> tuple[int | None, int | None, float | None]:
    """Texts that every prompt meets, texts shared by all prompts (documents), mean characters; None where unknown."""
    cls = task_class(task.name)
    metadata = cls.metadata
    split = task.split or metadata.eval_splits[0]
    if metadata.dataset.get("path") == "data/demo":
        return _demo_counts(task, split)
    root = study.task_data_root() if study else None
    if root is not None and (root / task.name).is_dir():
        sided, shared, characters = _local_counts(task, root, split)
    else:
        stats: dict[str, Any] = (metadata.descriptive_stats or {}).get(split, {})
        parts = [(stats.get("hf_subset_descriptive_stats") or {}).get(s, {}) for s in task.subsets or []]
        counted = [_counts_of(part) for part in [part for part in parts if part] or [stats]]
        known = [found for found in counted if found is not None]
        if len(known) < len(counted):
            return None, None, None
        sided, shared, characters = (sum(numbers) for numbers in zip(*known, strict=True))
    mean = characters / max(sided + shared, 1)
    return _embedded(cls, sided), shared, mean


def _embedded(cls: Any, rows: int) -> int:
    """How many of a task's texts mteb embeds: clustering draws a share or a number of them."""
    share = getattr(cls, "max_fraction_of_documents_to_embed", None)
    most = getattr(cls, "max_document_to_embed", None)
    return int(share * rows) if share is not None else min(rows, most) if most is not None else rows


def _local_counts(task: TaskSpec, root: Path, split: str) -> tuple[int, int, int]:
    """(texts with prompt, documents, characters) of a task in a folder of local data."""
    loaded = load_task(task, root=root)
    sided: list[str] = []
    shared: list[str] = []
    for subset in loaded.hf_subsets:
        rows = subset_data(loaded, subset)[split]
        if isinstance(rows, dict):
            sided += rows["queries"]["text"][:]
            shared += rows["corpus"]["text"][:]
        else:
            sided += [text for column in TEXT_COLUMNS & set(rows.column_names) for text in rows[column][:]]
    return len(sided), len(shared), sum(map(len, sided)) + sum(map(len, shared))


def _counts_of(part: dict[str, Any]) -> tuple[int, int, int] | None:
    """(texts with prompt, documents, characters) from one block of mteb's descriptive statistics."""
    if part.get("queries_text_statistics"):
        queries, documents = part["queries_text_statistics"], part["documents_text_statistics"] or {}
        characters = queries["total_text_length"] + documents.get("total_text_length", 0)
        return _size(queries), _size(documents), int(characters)
    blocks = [
        v
        for k, v in part.items()
        if k.endswith("_statistics") and isinstance(v, dict) and "total_text_length" in v
    ]
    if not blocks or "num_samples" not in part:
        return None
    return int(part["num_samples"]) * len(blocks), 0, int(sum(b["total_text_length"] for b in blocks))


def _size(block: dict[str, Any]) -> int:
    """Number of texts that a block of statistics describes: total characters over their mean."""
    return (
        round(block["total_text_length"] / block["average_text_length"])
        if block.get("average_text_length")
        else 0
    )


def _demo_counts(task: TaskSpec, split: str) -> tuple[int, int, float]:
    from helpers.demo import read_jsonl

    rows = {
        "DemoRetrieval": [q["question"] for q in read_jsonl("questions") if q["split"] == split],
        "DemoTopicClassification": [t["text"] for t in read_jsonl("topics")],
        "DemoTopicClustering": [t["text"] for t in read_jsonl("topics")],
        "DemoSTS": [r[k] for r in read_jsonl("sts") for k in ("sentence1", "sentence2")],
        "DemoBitextMining": [r["en"] for r in read_jsonl("bitext")] * len(task.subsets or [1, 2, 3]),
    }[task.name]
    shared = []
    if task.name == "DemoRetrieval":
        shared = [p["text"] for p in read_jsonl("passages")]
    elif task.name == "DemoBitextMining":
        shared = [r[k] for r in read_jsonl("bitext") for k in ("de", "fr", "fi")]
    texts = rows + shared
    return len(rows), len(shared), sum(map(len, texts)) / len(texts)


def plan_text(study: Study, folder: Path | None = None) -> str:
    """The plan as a page of text: what `make plan` prints."""
    lines = [f"Study {study.name}: {len(study.models)} models, {len(study.tasks)} tasks"]
    table = plan_table(study, folder)
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
    here = [f"  cannot run here: {line}" for line in missing_here(study)]
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
        lines.append(f"    not counted, because mteb has no statistics of them: {', '.join(unknown_tasks)}")
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
