"""One headline table per study: what is reported, what other prompts give, and the verdict."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from helpers.base.ties import compare
from helpers.leaderboard.draws import central, mean_scores, percentile
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


def headline_table(
    cells: pd.DataFrame, sensitivity: pd.DataFrame, ranks: pd.DataFrame, draws: int = 10_000, level: float = 0.95,
    seed: int = 42, holes: str = "mteb",
) -> pd.DataFrame:  # fmt: skip
    """One row per model, best Borda rank by default first.

    default: mean of the default scores over tasks. prompt_mean: mean over tasks of the mean over written prompts. low,
    high: the central `level` interval of a model's mean score when its prompt is drawn at random on every task
    (`prompt_draws.mean_scores`): how far the reported mean could lie by wording alone. worst: mean over tasks of the
    worst prompt, of equal numbers of prompts for all models (`extremes.extreme_scores`). percentile: share of those
    random means that are below the default's, ties half. rank: Borda with all defaults (`holes` as in
    `leaderboard.borda`); rank_low, rank_high: its interval when every model draws prompts at random
    (`rank_distribution.rank_table`).
    All means are over the tasks on which the model has both a default and prompts (column tasks).
    verdict: "inflated" or "deflated" where the default lies outside the interval, and how many single cells have which
    label (`sensitivity`); "too few prompts" where it lies outside and there are so few different boards that even the
    extreme one is drawn more often than the interval leaves out; "no default" where nothing was reported.
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
        low, high = central(means, level)
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
            "verdict": _verdict(reported, low, high, labels, math.prod(len(x) for x in own) * (1 - level) / 2 < 1),
        })  # fmt: skip
    table = pd.DataFrame(rows, columns=[COLUMNS[0], "tasks", *COLUMNS[1:]])
    return table.sort_values(["rank", "model"], ignore_index=True)


def outside(table: pd.DataFrame) -> np.ndarray:
    """1 where a default lies above its interval, -1 where below, 0 within it (`ties.compare`) or where it is unknown."""
    above, below = compare(table["default"], table["high"]) > 0, compare(table["default"], table["low"]) < 0
    return above.astype(int) - below.astype(int)


def _verdict(default: float, low: float, high: float, labels: pd.Series, too_few: bool) -> str:
    if not np.isfinite(default):
        return "no default"
    if not np.isfinite(low):
        return "no prompts"
    side = compare(default, high) > 0, compare(default, low) < 0
    word = "inflated" if side[0] else "deflated" if side[1] else "within the interval"
    if too_few and not word.startswith("within"):
        word = f"too few prompts to call it {word}"
    counts = labels.value_counts()
    parts = [
        f"{int(counts[k])} {k}" for k in ("inflated", "deflated", "representative", "undecided") if counts.get(k, 0)
    ]
    return f"{word} (cells: {', '.join(parts)})" if parts else word
