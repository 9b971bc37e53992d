"""Leaderboards from one score per model and task: Borda as mteb counts it, means, and boards that resist one prompt.

A `matrix` is a frame of scores, one row per model, one column per task; NaN is a hole.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import stats

from helpers.scores.board import BOARDS, board_matrix, borda, mean_board
from helpers.scores.cells import as_cells
from helpers.sweep.variants import distinct


def scenarios(cells: pd.DataFrame, with_default: bool = True, holes: str = "mteb") -> pd.DataFrame:
    """The three leaderboards of the published study for every target model (study 1, RQ2).

    Rows: target; columns `default` (all models with their default), `best_vs_default` (the target with its best
    prompt on each task, others default) and `best_vs_worst` (others with their worst). with_default: whether the
    default is a candidate for best and worst. NaN where the target has no score, or where there are other models but
    none of them has a default to be compared with.
    """
    default = board_matrix(cells, "default")
    best = board_matrix(cells, "best", with_default)
    worst = board_matrix(cells, "worst", with_default)
    plain = borda(default, holes).set_index("model")["rank"]
    rows = []
    for model in default.index:
        mixed, extreme = default.copy(), worst.copy()
        mixed.loc[model] = extreme.loc[model] = best.loc[model]
        alone = len(default) > 1 and default.drop(index=model).isna().all(axis=None)
        rows.append({
            "model": model, "default": plain[model],
            "best_vs_default": np.nan if alone else borda(mixed, holes).set_index("model")["rank"][model],
            "best_vs_worst": borda(extreme, holes).set_index("model")["rank"][model],
        })  # fmt: skip
    return pd.DataFrame(rows).sort_values(["default", "model"], ignore_index=True)


def boards(
    cells: pd.DataFrame, values: Iterable[str] = BOARDS, holes: str = "mteb", with_default: bool = False
) -> pd.DataFrame:
    """Long table of Borda boards by default, mean, median, worst, ... prompt: board, model, rank, points, tasks, holes.

    cells: a table of scores, or its `task_scores`; variants (`sweep.variants`) do not compete. with_default: whether the
    default is a candidate for best and worst.
    Two boards by mean score of the defaults are added: "default, mean score" and "default, mean of task types".
    """
    cells = distinct(as_cells(cells))
    types = {str(k): str(v) for k, v in cells.dropna(subset=["task_type"]).groupby("task")["task_type"].first().items()}
    parts = [
        borda(board_matrix(cells, v, with_default and v in ("best", "worst")), holes).assign(board=v) for v in values
    ]
    default = board_matrix(cells, "default")
    parts.append(mean_board(default).assign(board="default, mean score"))
    parts.append(mean_board(default, types).assign(board="default, mean of task types"))
    return pd.concat(parts, ignore_index=True)[["board", "model", "rank", "points", "score", "tasks", "holes"]]


def board_agreement(table: pd.DataFrame, reference: str = "default") -> pd.DataFrame:
    """Kendall's tau-b of each board's ranks with those of the reference board, and the number of models that move."""
    wide = table.pivot_table(index="model", columns="board", values="rank", observed=True, dropna=False)
    rows = []
    for board in wide.columns:
        both = pd.DataFrame({"a": wide.get(reference, np.nan), "b": wide[board]}).dropna()
        tau = stats.kendalltau(both["a"], both["b"]).statistic if len(both) > 1 else np.nan
        moved = int((both["a"] != both["b"]).sum())
        rows.append({"board": board, "kendall_tau": tau, "models": len(both), "moved": moved})
    return pd.DataFrame(rows, columns=["board", "kendall_tau", "models", "moved"])
