"""Is a reported score representative of the scores that other prompts give? (study 1, RQ1)

The default score of a model on a task is placed among the scores of the written prompts: in the upper tail it is
inflated, in the lower tail deflated. With 15 prompts a place is uncertain, so every place has an exact interval and
the labels control the false discovery rate over all cells.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from helpers.base.phrases import cells_named, count, is_highest, listed, out_of
from helpers.base.stats import adjusted
from helpers.base.ties import compare
from helpers.sensitivity.spread import spread_table
from helpers.sweep.variants import distinct

LABELS = ("inflated", "representative", "deflated", "undecided", "no default", "no prompts")


def percentile_of(value: float, scores: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """Share of scores below a value, ties counted half, with an exact interval: (share, low, high), all in 0..1.

    Assumption: the prompts are a random sample of the prompts that could have been written. The interval joins the
    Clopper-Pearson lower end for P(S < value) with the upper end for P(S <= value), each at (1 - level) / 2: it
    covers the mid-rank percentile P(S < value) + P(S = value) / 2 at least `level` of the time, ties or not.
    NaN scores are left out; no scores or a NaN value give NaN. Equal is what `ties.compare` calls equal.
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


def place(value: float, scores: np.ndarray, level: float = 0.95, tail: float = 0.25) -> dict[str, object]:
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

    cells: a `task_scores` table. tail: how much of the distribution counts as a tail. fdr: the rate of false labels
    "inflated" or "deflated" that is tolerated over all cells (over those of models, and apart from them over those of
    their `variants`, which test the same weights again); method "bh" (independent or positively dependent
    cells) or "by" (any dependence).

    Labels. inflated: the default's percentile is above 1 - tail, its place in the middle part is rejected at the
    rate `fdr`; deflated: the same below tail. representative: not rejected, the observed percentile lies in the middle
    part, and there are prompts enough to have shown a tail (the p-value of a default beyond all of them is at most
    `fdr`: 11 prompts for the default settings). undecided: all else; the prompts do not tell.
    `at_or_above_best` and `at_or_below_worst` compare with the extremes of the prompts.
    """
    table = spread_table(cells, draws, level, seed)
    default = cells[cells["kind"] == "default"].groupby(["model", "task"])["score"].mean()
    prompts = {
        k: p["score"].to_numpy(float) for k, p in cells[cells["kind"] == "prompt"].groupby(["model", "task"])
    }
    pairs = sorted(set(prompts) | set(default.index))
    if not pairs:
        return table
    table = pd.DataFrame(pairs, columns=["model", "task"]).merge(table, how="left") if len(table) else (
        pd.DataFrame(pairs, columns=["model", "task"]).assign(n_prompts=0, n_missing=0, mean=np.nan))  # fmt: skip
    table = table.fillna({"n_prompts": 0, "n_missing": 0})
    types = cells.groupby("task")["task_type"].agg(lambda t: t.dropna().iloc[0] if len(t.dropna()) else None)
    table.insert(2, "task_type", table["task"].map(types))
    places = pd.DataFrame(
        [place(default.get(k, np.nan), prompts.get(k, np.array([])), level, tail) for k in pairs]
    )
    table = pd.concat([table, places], axis=1)
    variants = (
        cells.groupby("model")["variant_of"].first() if "variant_of" in cells else pd.Series(dtype=object)
    )
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


def findings(
    table: pd.DataFrame, level: float = 0.95, tail: float = 0.25, fdr: float = 0.05
) -> list[dict[str, str]]:
    """What the sensitivity table says, as sentences with computed numbers; empty input gives an empty list.

    tail, fdr: as the table was made with.
    """
    if table.empty or "percentile" not in table:
        return []
    out: list[dict[str, str]] = []
    spread_known = table[table["cv"].notna() & (table["n_prompts"] > 1)] if "cv" in table else table.iloc[:0]
    if len(spread_known):
        medians = spread_known.groupby("model")["cv"].median()
        top = spread_known[is_highest(spread_known["cv"])]
        several = len(medians) > 1
        text = (
            f"Changing only the prompt moves a score by a coefficient of variation of {medians.min():.1%}"
            + (
                f" to {medians.max():.1%} (median over tasks, by model)"
                if several
                else f" (median over {count(len(spread_known), 'task')})"
            )
            + f"; the largest is {top['cv'].max():.1%} ({cells_named(top)}"
            + ("" if top["cv_reliable"].astype(bool).all() else "; a mean near 0 makes this ratio unreliable")
            + ")."
        )
        out.append({"text": text, "figure": "fig-cv"})
    placed = distinct(table[table["percentile"].notna()])
    if len(placed):
        above, best, worst = (
            int(placed[c].sum()) for c in ("above_mean", "at_or_above_best", "at_or_below_worst")
        )
        out.append({
            "text": f"The default scores above the mean of the prompts in {out_of(above, len(placed), 'cell')} (model x task); "
            f"in {best} it equals or beats every prompt, in {worst} it equals or loses to every prompt.",
            "figure": "fig-percentiles",
        })  # fmt: skip
        counts = placed["label"].value_counts()
        words = [f"{int(counts.get(x, 0))} {x}" for x in LABELS[:4] if counts.get(x, 0)]
        few = int(placed["n_prompts"].min())
        out.append({
            "text": f"With the false discovery rate controlled over {count(len(placed), 'cell')}: {', '.join(words)}. "
            f"The {level:.0%} interval of a percentile is {_width(placed):.0%} wide on average (from {count(few, 'prompt')}).{_reach(placed, tail, fdr)}",
            "figure": "fig-percentiles",
        })  # fmt: skip
    else:
        out.append(
            {
                "text": "No default score was found, so nothing can be called inflated or deflated.",
                "figure": "",
            }
        )
    holes = int(table["n_missing"].sum()) if "n_missing" in table else 0
    absent = int((table["label"] == "no default").sum()) if len(placed) else 0  # none at all was said above
    if holes or absent:
        missing = f"{count(holes, 'prompt score')} and {count(absent, 'default')}"
        out.append({"text": f"{missing} are missing; they were left out, not counted as 0.",
                    "figure": ""})  # fmt: skip
    sizes = table.loc[table["n_prompts"] > 0, "n_prompts"]
    if len(sizes) and sizes.min() != sizes.max():
        out.append({"text": f"Cells have unequal numbers of prompts ({int(sizes.min())} to {int(sizes.max())}); "
                    "every interval takes its own cell's number, and to beat every prompt is harder where there are more.",
                    "figure": ""})  # fmt: skip
    return [{k: v for k, v in entry.items() if v} for entry in out]


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


def _reach(placed: pd.DataFrame, tail: float, fdr: float) -> str:
    """How many defaults must lie beyond all prompts before one can be labelled, in words; nothing where one is enough."""
    most = int(placed["n_prompts"].max())
    needed = math.ceil(tail_p_value(most, 0, most, tail) * len(placed) / fdr - 1e-9)
    if needed <= 1:
        return ""
    if needed > len(placed):
        return f" So few prompts (at most {most}) cannot prove that any default lies in a tail."
    return f" With at most {most} prompts none of {len(placed)} defaults can be labelled unless {needed} lie beyond all prompts."


def _width(placed: pd.DataFrame) -> float:
    return float((placed["percentile_high"] - placed["percentile_low"]).mean())
