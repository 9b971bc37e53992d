"""Boards: models x tasks, and the Borda count that ranks them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers.base.extremes import extreme_scores
from helpers.base.stats import prompt_sd
from helpers.base.ties import levelled
from helpers.scores.cells import as_cells
from helpers.sweep.variants import distinct

BOARDS = ("default", "mean", "median", "worst", "best", "lower quartile", "mean - sd")


def borda_points(matrix: pd.DataFrame, holes: str = "mteb") -> pd.DataFrame:
    """Points of every model on every task: how many models it beats, ties count half (shape of `matrix`).

    holes "mteb": as mteb's leaderboard, n_models - average rank; who lacks a task gets 0 points on it and counts as
    beaten by everybody who has it. holes "present": only models that have the task are compared; a hole is NaN.
    Scores that `ties.compare` calls equal are ties.

    >>> borda_points(pd.DataFrame({"T": [0.9, 0.5, 0.5]}, index=["a", "b", "c"]))["T"].to_dict()
    {'a': 2.0, 'b': 0.5, 'c': 0.5}
    """
    if holes not in ("mteb", "present"):
        raise ValueError(f"holes must be 'mteb' or 'present', not '{holes}'")
    values = matrix.to_numpy(float)
    equal = np.stack([levelled(column) for column in values.T], axis=1) if values.size else values
    rank = pd.DataFrame(equal, matrix.index, matrix.columns).rank(axis=0, method="average", ascending=False)
    if holes == "mteb":
        return (len(matrix) - rank).fillna(0.0)
    return matrix.notna().sum(axis=0) - rank


def borda(matrix: pd.DataFrame, holes: str = "mteb") -> pd.DataFrame:
    """The Borda board, best first: model, rank, points, tasks, holes.

    Equal points share the best of their ranks (mteb: method "min"). With holes "present" the points are the mean over
    the tasks that a model has, so that an absent task neither helps nor costs.
    """
    points = borda_points(matrix, holes)
    total = points.sum(axis=1) if holes == "mteb" else points.mean(axis=1)
    return board_of(matrix, total, "points")


def mean_board(matrix: pd.DataFrame, task_types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Board by mean score; with `task_types` by the mean of task-type means. Only tasks that every model has count.

    A model without any score is ranked last; the tasks left out are in the column `holes`.
    """
    complete = matrix.loc[:, matrix.notna().all(axis=0)]
    used = complete if complete.shape[1] else matrix
    if task_types is not None:
        used = used.T.groupby([task_types.get(t) or "unknown" for t in used.columns]).mean().T
    return board_of(matrix, used.mean(axis=1), "score")


def board_matrix(cells: pd.DataFrame, value: str = "default", with_default: bool = False) -> pd.DataFrame:
    """The score that each model is judged by on each task, as a model x task frame.

    cells: a table of scores, or its `task_scores`; variants (`sweep.variants`) are left out. value: one of `BOARDS`;
    all but "default" are taken over the written prompts, and over the default too where `with_default` is set (best and
    worst of the published figures do that). Best and worst are those of equal numbers of prompts
    (`extremes.extreme_scores`). "mean - sd" takes `spread.prompt_sd`.
    """
    cells = distinct(as_cells(cells))
    kinds = ["default"] if value == "default" else ["prompt", "default"] if with_default else ["prompt"]
    grouped = cells[cells["kind"].isin(kinds)].groupby(["model", "task"])["score"]
    if value in ("default", "mean"):
        series = grouped.mean()
    elif value == "median":
        series = grouped.median()
    elif value in ("worst", "best"):
        series = extreme_scores(cells, value, with_default)
    elif value == "lower quartile":
        series = grouped.quantile(0.25)
    elif value == "mean - sd":
        series = grouped.mean() - grouped.agg(lambda x: prompt_sd(x.dropna())).fillna(0.0)
    else:
        raise ValueError(f"unknown board '{value}'; known: {', '.join(BOARDS)}")
    models, tasks = sorted(cells["model"].unique()), sorted(cells["task"].unique())
    frame = series.unstack("task") if len(series) else pd.DataFrame(dtype=float)
    return frame.reindex(index=pd.Index(models, name="model"), columns=pd.Index(tasks, name="task"))


def board_of(matrix: pd.DataFrame, total: pd.Series, name: str) -> pd.DataFrame:
    has = matrix.notna().sum(axis=1)
    total = total.where(has > 0)
    rank = pd.Series(levelled(total), total.index).rank(method="min", ascending=False)
    table = pd.DataFrame({"model": matrix.index, "rank": rank.to_numpy(), name: total.to_numpy(),
                          "tasks": has.to_numpy(), "holes": (matrix.shape[1] - has).to_numpy()})  # fmt: skip
    for other in {"points", "score"} - {name}:
        table[other] = np.nan
    return table.sort_values(["rank", "model"], ignore_index=True)
