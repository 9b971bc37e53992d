"""Is a reported score representative of the scores that other prompts give? (study 1, RQ1)

The default score of a model on a task is placed among the scores of the written prompts: in the upper tail it is
inflated, in the lower tail deflated. With 15 prompts a place is uncertain, so every place has an exact interval and
the labels control the false discovery rate over all cells.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from helpers.base.phrases import is_highest, listed
from helpers.base.stats import adjusted
from helpers.base.ties import compare
from helpers.scores.cells import as_cells
from helpers.sensitivity.spread import spread_table

LABELS = ("inflated", "representative", "deflated", "undecided", "no default", "no prompts")


def percentile_of(value: float, scores: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """Share of scores below a value, ties counted half, with an exact interval: (share, low, high), all in 0..1.

    Assumption: the prompts are a random sample of the prompts that could have been written. The interval joins the
    Clopper-Pearson lower end for P(S < value) with the upper end for P(S <= value), each at (1 - level) / 2: it
    covers the mid-rank percentile P(S < value) + P(S = value) / 2 at least `level` of the time, ties or not.
    NaN scores are left out; no scores or a NaN value give NaN. Equal is what `ties.compare` calls equal.
    Interval: Clopper and Pearson 1934, Biometrika 26, 404-413.

    >>> percentile_of(2.0, np.array([1.0, 2.0, 3.0, 4.0]))[0]  # one below, one tie: (1 + 1/2) / 4
    0.375
    """
    x = np.asarray(scores, dtype=float)
    x = x[np.isfinite(x)]
    if not len(x) or not np.isfinite(value):
        return np.nan, np.nan, np.nan
    gap, n = compare(x, value), len(x)
    below, ties = int((gap < 0).sum()), int((gap == 0).sum())
    at_most = below + ties
    tail = (1 - level) / 2
    low = float(special.betaincinv(below, n - below + 1, tail)) if below else 0.0
    high = float(special.betaincinv(at_most + 1, n - at_most, 1 - tail)) if at_most < n else 1.0
    return (below + ties / 2) / n, low, high


def standing(value: float, scores: np.ndarray, level: float = 0.95, tail: float = 0.25) -> dict[str, object]:
    """Where a default stands among the scores of the prompts.

    Keys: default, percentile with its interval (`percentile_of`), p_value (`tail_p_value`), and whether it lies above
    the mean, at or above the best, at or below the worst (`ties.compare`; False where there is nothing to compare).
    """
    x = np.asarray(scores, dtype=float)
    x = x[np.isfinite(x)]
    share, low, high = percentile_of(value, x, level)
    known = np.isfinite(share)
    gap = compare(x, value)
    return {
        "default": value,
        "percentile": share, "percentile_low": low, "percentile_high": high,
        "p_value": tail_p_value(int((gap < 0).sum()), int((gap > 0).sum()), len(x), tail) if known else np.nan,
        "above_mean": bool(known and compare(value, x.mean()) > 0),
        "at_or_above_best": bool(known and (gap <= 0).all()),
        "at_or_below_worst": bool(known and (gap >= 0).all()),
    }  # fmt: skip


def tail_p_value(below: int, above: int, n: int, tail: float = 0.25) -> float:
    """Exact p-value of "the value lies in the middle part of the distribution, between `tail` and 1 - `tail`".

    below, above: how many of n prompts score strictly less and strictly more; ties speak for the middle. The largest
    probability, over all places in the middle part, of a count at least as far out. tail = 0.5 is the sign test of
    "the value is the median".

    >>> round(tail_p_value(15, 0, 15), 4), round(0.75**15 + 0.25**15, 4)  # beyond all of 15 prompts
    (0.0134, 0.0134)
    """
    if n == 0:
        return np.nan
    k = max(below, above)
    edge = 1 - tail
    further_out = (special.bdtrc(k - 1, n, edge) if k else 1.0) + special.bdtr(n - k, n, edge)
    return float(min(1.0, further_out))


def sensitivity_table(
    cells: pd.DataFrame,
    draws: int = 10_000,
    level: float = 0.95,
    tail: float = 0.25,
    fdr: float = 0.05,
    method: str = "bh",
    seed: int = 42,
) -> pd.DataFrame:
    """One row per (model, task): spread over prompts, and the place and label of the default score.

    cells: a table of scores, or its `task_scores`. tail: how much of the distribution counts as a tail. fdr: the rate of false labels
    "inflated" or "deflated" that is tolerated over all cells (over those of models, and apart from them over those of
    their `variants`, which test the same weights again); method "bh" (independent or positively dependent
    cells) or "by" (any dependence).

    Labels. inflated: the default's percentile is above 1 - tail, its place in the middle part is rejected at the
    rate `fdr`; deflated: the same below tail. representative: not rejected, the observed percentile lies in the middle
    part, and there are prompts enough to have shown a tail (the p-value of a default beyond all of them is at most
    `fdr`: 11 prompts for the default settings). undecided: all else; the prompts do not tell.
    `at_or_above_best` and `at_or_below_worst` compare with the extremes of the prompts.
    """
    cells = as_cells(cells)
    table = spread_table(cells, draws, level, seed)
    default = cells[cells["kind"] == "default"].groupby(["model", "task"])["score"].mean()
    prompts = {k: p["score"].to_numpy(float) for k, p in cells[cells["kind"] == "prompt"].groupby(["model", "task"])}
    pairs = sorted(set(prompts) | set(default.index))
    if not pairs:
        return table
    table = pd.DataFrame(pairs, columns=["model", "task"]).merge(table, how="left") if len(table) else (
        pd.DataFrame(pairs, columns=["model", "task"]).assign(n_prompts=0, n_missing=0, mean=np.nan))  # fmt: skip
    table = table.fillna({"n_prompts": 0, "n_missing": 0})
    types = cells.groupby("task")["task_type"].agg(lambda t: t.dropna().iloc[0] if len(t.dropna()) else None)
    table.insert(2, "task_type", table["task"].map(types))
    standings = pd.DataFrame(
        [standing(default.get(k, np.nan), prompts.get(k, np.array([])), level, tail) for k in pairs]
    )
    table = pd.concat([table, standings], axis=1)
    variants = cells.groupby("model")["variant_of"].first() if "variant_of" in cells else pd.Series(dtype=object)
    table["variant_of"] = table["model"].map(variants)
    table["q_value"] = np.nan
    for family in (table["variant_of"].isna(), table["variant_of"].notna()):
        table.loc[family, "q_value"] = adjusted(table.loc[family, "p_value"].to_numpy(float), method)
    table["label"] = [_label(row, tail, fdr) for row in table.to_dict("records")]
    return table


def model_summary(table: pd.DataFrame) -> pd.DataFrame:
    """One row per model: quartiles and maximum of the CV over tasks, and where its defaults stand."""
    rows = []
    for model, part in table.groupby("model", sort=True):
        cv = part["cv"].dropna() if "cv" in part else pd.Series(dtype=float)
        placed = part[part["percentile"].notna()]
        rows.append({
            "model": model, "tasks": len(part), "prompts": int(part["n_prompts"].sum()),
            "cv_median": cv.median(), "cv_q1": cv.quantile(0.25), "cv_q3": cv.quantile(0.75), "cv_max": cv.max(),
            "cv_max_task": listed(part.loc[is_highest(part["cv"]), "task"]) if len(cv) else None,
            "cv_unreliable": int((part.loc[cv.index, "cv_reliable"] == False).sum()) if len(cv) else 0,  # noqa: E712
            "defaults": len(placed), "mean_percentile": placed["percentile"].mean(),
            "above_mean": int(placed["above_mean"].sum()),
            "at_or_above_best": int(placed["at_or_above_best"].sum()),
            "at_or_below_worst": int(placed["at_or_below_worst"].sum()),
            **{label: int((part["label"] == label).sum()) for label in LABELS[:4]},
        })  # fmt: skip
    return pd.DataFrame(rows)


def _label(row: dict[Hashable, Any], tail: float, fdr: float) -> str:
    if not row["n_prompts"]:
        return "no prompts"
    if not np.isfinite(row["percentile"]):
        return "no default"
    if row["q_value"] <= fdr and row["percentile"] != 0.5:
        return "inflated" if row["percentile"] > 0.5 else "deflated"
    middle = compare(row["percentile"], tail) >= 0 and compare(row["percentile"], 1 - tail) <= 0
    n = int(row["n_prompts"])
    return "representative" if middle and tail_p_value(n, 0, n, tail) <= fdr else "undecided"
