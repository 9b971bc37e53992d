"""One headline table per study: what is reported, what other prompts give, and the verdict."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.base.ties import compare
from helpers.leaderboard.draws import mean_scores, percentile, predicted
from helpers.scores.board import board_matrix, borda
from helpers.scores.cells import prompt_scores

COLUMNS = [
    "model",
    "default",
    "prompt_mean",
    "low",
    "high",
    "worst",
    "percentile",
    "rank",
    "rank_low",
    "rank_high",
    "verdict",
]


SIDES = {1: "above", 0: "within", -1: "below"}


def headline_table(
    cells: pd.DataFrame, sensitivity: pd.DataFrame, ranks: pd.DataFrame, draws: int = 10_000, level: float = 0.95,
    seed: int = 42, holes: str = "mteb",
) -> pd.DataFrame:  # fmt: skip
    """One row per model, best Borda rank by default first.

    default: mean of the default scores over tasks. prompt_mean: mean over tasks of the mean over written prompts. low,
    high: the prediction interval of the mean with one further prompt per task (`draws.predicted`), in which a default that is
    a prompt like the others lies with probability `level`. worst: mean over tasks of the worst prompt, of equal numbers of
    prompts for all models (`extremes.extreme_scores`). percentile: share of the random means that are below the default's,
    ties half (`draws.mean_scores`). rank: Borda with all defaults (`holes` as in `leaderboard.borda`); rank_low, rank_high:
    its interval when every model draws prompts at random (`rank_distribution.rank_table`).
    All means are over the tasks on which the model has both a default and prompts (column tasks).
    verdict: "above what other prompts predict", "below …" or "within …", and how many single cells have which label
    (`sensitivity`); "too few prompts" where a task has fewer than two; "no default" where nothing was reported.
    """
    data = prompt_scores(cells)
    default = board_matrix(cells, "default")
    worst = board_matrix(cells, "worst")
    rank = borda(default, holes).set_index("model")["rank"]
    spread = ranks.set_index("model")
    rows = []
    for m, model in enumerate(data.models):
        tasks = [t for t, name in enumerate(data.tasks)
                 if np.isfinite(data.values[m, t]).any() and (default.loc[model].isna().all() or np.isfinite(default.loc[model, name]))]  # fmt: skip
        own = [x[np.isfinite(x)] for x in data.values[m, tasks]]
        means = mean_scores(own, draws, seed)
        low, high = predicted(own, level)
        reported = float(default.loc[model].iloc[tasks].mean()) if tasks else float(default.loc[model].mean())
        labels = (
            sensitivity.loc[sensitivity["model"] == model, "label"] if len(sensitivity) else pd.Series(dtype=object)
        )
        rows.append({
            "model": model, "tasks": len(own), "default": reported,
            "prompt_mean": float(np.mean([x.mean() for x in own])) if own else np.nan, "low": low, "high": high,
            "worst": float(worst.loc[model].iloc[tasks].mean()) if own else np.nan,
            "percentile": percentile(reported, means),
            "rank": rank.get(model, np.nan),
            "rank_low": spread["rank_low"].get(model, np.nan), "rank_high": spread["rank_high"].get(model, np.nan),
            "verdict": _verdict(reported, low, high, labels, len(own)),
        })  # fmt: skip
    table = pd.DataFrame(rows, columns=[COLUMNS[0], "tasks", *COLUMNS[1:]])
    return table.sort_values(["rank", "model"], ignore_index=True)


def outside(table: pd.DataFrame) -> np.ndarray:
    """1 where a default lies above its interval, -1 where below, 0 within it (`ties.compare`) or where it is unknown."""
    above, below = compare(table["default"], table["high"]) > 0, compare(table["default"], table["low"]) < 0
    return above.astype(int) - below.astype(int)


def _verdict(default: float, low: float, high: float, labels: pd.Series, tasks: int) -> str:
    if not np.isfinite(default):
        return "no default"
    if not np.isfinite(low):
        return "too few prompts" if tasks else "no prompts"
    side = int(compare(default, high) > 0) - int(compare(default, low) < 0)
    word = f"{SIDES[side]} what other prompts predict"
    counts = labels.value_counts()
    parts = [
        f"{int(counts[k])} {k}" for k in ("inflated", "deflated", "representative", "undecided") if counts.get(k, 0)
    ]
    return f"{word} (cells: {', '.join(parts)})" if parts else word
