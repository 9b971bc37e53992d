"""One score per model, task and prompt: the shape that the sensitivity and leaderboard analyses start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.sweep.variants import distinct

CELL_COLUMNS = [
    "model", "task", "task_type", "prompt_id", "kind", "prompt", "level", "source", "application", "metric",
    "score", "n_records", "n_missing", "variant_of",
]  # fmt: skip

Records = str | Mapping[str, str] | None


def task_scores(scores: pd.DataFrame, records: Records = None) -> pd.DataFrame:
    """Reduce a scores table (a row per split and subset) to one row per model, task and prompt (`CELL_COLUMNS`).

    records: which of a task's records make the task's score. None or "mean": the mean over all of them, each (split,
    subset) with the same weight, which is mteb's own task score (`TaskResult.get_score`); "first": the record that
    stands first in the result file; "split/subset": that one. A mapping gives it per task, tasks that it does not name
    use the mean.
    Repeated seeds are averaged. A cell in which a record failed or is not a finite number has the score NaN and says
    in `n_missing` how many: a hole is never filled and never counted as 0.
    """
    table = chosen_records(scores, records)
    if table.empty:
        return pd.DataFrame({c: pd.Series(dtype=object) for c in CELL_COLUMNS}).astype({"score": float})
    value = pd.to_numeric(table["main_score"], errors="coerce").astype(float)
    failed = table["status"].ne("ok") if "status" in table else pd.Series(False, index=table.index)
    value = value.where(np.isfinite(value) & ~failed)
    table = table.assign(score=value, hole=value.isna())
    for column in set(CELL_COLUMNS) - set(table.columns):
        table[column] = None
    grouped = table.groupby(["model", "task", "kind", "prompt_id"], dropna=False, sort=False)
    cells = grouped.agg(
        **{c: (c, "first") for c in ("task_type", "prompt", "level", "source", "application", "metric", "variant_of")},
        score=("score", "mean"),
        n_records=("score", "size"),
        n_missing=("hole", "sum"),
    ).reset_index()
    cells.loc[cells["n_missing"] > 0, "score"] = np.nan
    # A prompt whose other records exist nowhere is a hole too: a mean over fewer records is not the same quantity.
    expected = cells.groupby(["model", "task"])["n_records"].transform("max")
    prompts = cells["kind"].ne("default")
    short = prompts & cells["n_records"].lt(expected)
    cells.loc[short, "n_missing"] += (expected - cells["n_records"])[short]
    cells.loc[short, "score"] = np.nan
    return cells[CELL_COLUMNS].sort_values(["model", "task", "kind", "prompt_id"], ignore_index=True)


def as_cells(scores: pd.DataFrame) -> pd.DataFrame:
    """`task_scores` of a table of scores; a table that has one score per model, task and prompt already as it is."""
    return task_scores(scores) if "main_score" in scores else scores


def chosen_records(scores: pd.DataFrame, records: Records = None) -> pd.DataFrame:
    """The rows of the scores table that `records` (see `task_scores`) keeps, in their order.

    Raises ValueError for a record that the task does not have; the message lists those it has.
    """
    table = scores.reset_index(drop=True)
    if records is None or records == "mean":
        return table
    keep = np.ones(len(table), dtype=bool)
    name = table["split"].astype(str) + "/" + table["subset"].astype(str)
    order = table["record"] if "record" in table else table.groupby(["model", "task", "prompt_id"]).cumcount()
    for task in table["task"].unique():
        choice = records if isinstance(records, str) else records.get(task, "mean")
        rows = (table["task"] == task).to_numpy()
        if choice == "mean":
            continue
        if choice == "first":
            # The first record is the first of the file: 0 in each file, but a name is steadier than a position.
            first = name[rows & (order == 0).to_numpy()].mode()
            choice = str(first.iloc[0]) if len(first) else ""
        there = sorted(name[rows].unique())
        if choice not in there:
            raise ValueError(f"task '{task}' has no record '{choice}'; its records (split/subset): {', '.join(there)}")
        keep &= ~rows | (name == choice).to_numpy()
    return table[keep]


@dataclass(frozen=True)
class PromptScores:
    """Scores of written prompts: values (models, tasks, prompts), with the names along the first two axes.

    `ids[t]` holds the prompt ids of task t in the order of the last axis: position p is the same prompt for all models.
    """

    values: np.ndarray
    models: list[str]
    tasks: list[str]
    ids: list[list[str]]


def prompt_scores(cells: pd.DataFrame, kinds: tuple[str, ...] = ("prompt",)) -> PromptScores:
    """Arrange scores (or their `task_scores`) as an array; prompts of one task are aligned by their id, holes are NaN.

    Variants of a model (`sweep.variants`) are left out, as they are on the boards.
    """
    cells = distinct(as_cells(cells))
    part = cells[cells["kind"].isin(kinds)]
    models, tasks = sorted(cells["model"].unique()), sorted(cells["task"].unique())
    ids = [sorted(part.loc[part["task"] == t, "prompt_id"].unique()) for t in tasks]
    values = np.full((len(models), len(tasks), max([len(i) for i in ids], default=0)), np.nan)
    place = {(t, p): k for t, many in zip(tasks, ids, strict=True) for k, p in enumerate(many)}
    row, column = {m: k for k, m in enumerate(models)}, {t: k for k, t in enumerate(tasks)}
    for m, t, p, s in zip(part["model"], part["task"], part["prompt_id"], part["score"], strict=True):
        values[row[m], column[t], place[t, p]] = s
    return PromptScores(values, models, tasks, ids)


def shared_prompts(codes: np.ndarray) -> np.ndarray:
    """The columns that every model has that has the task at all."""
    present = (codes >= 0).any(axis=1)
    return np.flatnonzero((codes[present] >= 0).all(axis=0)) if present.any() else np.array([], dtype=int)
