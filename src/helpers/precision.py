"""How many prompts are enough? The error of mean, CV and percentile against the number of prompts."""

from __future__ import annotations

import numpy as np
import pandas as pd

MEASURES = ("mean", "cv", "percentile")
SIZES = (2, 3, 5, 8, 10, 15, 20, 30, 50)


def precision_curve(
    cells: pd.DataFrame, sizes: tuple[int, ...] = SIZES, draws: int = 500, level: float = 0.95, seed: int = 42
) -> pd.DataFrame:
    """Error that k random prompts leave, per measure and number of prompts k, summarised over all cells.

    For every (model, task) with at least 5 prompts, k prompts are drawn with replacement from its own prompts (so that
    k may exceed their number; drawing without would show no error at all at k = n, which is a fact about the sample
    and not about wording) and the measure is compared with its value over all of them: mean (relative error), cv
    (absolute, ddof 0) and percentile of the default (absolute). For the percentile the place is first moved towards the
    middle, (below + 1/2) / (n + 1): a default that beats 15 of 15 prompts need not beat every further one.
    Columns measure, k, error (the `level` quantile of the absolute error, median over cells), error_q90 (its 0.9 quantile
    over cells), cells. The scores at hand stand for the population: with n prompts the curve itself is an estimate.
    """
    rng = np.random.default_rng(seed)
    default = cells[cells["kind"] == "default"].groupby(["model", "task"])["score"].mean()
    found: dict[tuple[str, int], list[float]] = {}
    for key, part in cells[cells["kind"] == "prompt"].groupby(["model", "task"], sort=True):
        x = part["score"].to_numpy(float)
        x = x[np.isfinite(x)]
        if len(x) < 5:
            continue
        value = float(default.get(key, np.nan))
        place = None
        if np.isfinite(value):
            place = ((x < value).sum() + 0.5 * (x == value).sum() + 0.5) / (len(x) + 1)
        mean = x.mean()
        for k in sizes:
            pick = rng.integers(0, len(x), size=(draws, k))
            drawn = x[pick]
            errors = {}
            if mean != 0:
                # n prompts of a population vary by (n - 1) / n of its variance: the rest is put back.
                errors["mean"] = np.abs(drawn.mean(1) / mean - 1) * np.sqrt(len(x) / (len(x) - 1))
                middle = drawn.mean(1)
                with np.errstate(divide="ignore", invalid="ignore"):
                    errors["cv"] = np.abs(drawn.std(1) / np.abs(middle) - x.std() / abs(mean))
            if place is not None:
                errors["percentile"] = np.abs(rng.binomial(k, place, size=draws) / k - place)
            for measure, error in errors.items():
                found.setdefault((measure, k), []).append(float(np.nanquantile(error, level)))
    rows = [
        {
            "measure": m,
            "k": k,
            "error": float(np.median(e)),
            "error_q90": float(np.quantile(e, 0.9)),
            "cells": len(e),
        }
        for (m, k), e in sorted(found.items(), key=lambda item: (MEASURES.index(item[0][0]), item[0][1]))
    ]
    return pd.DataFrame(rows, columns=["measure", "k", "error", "error_q90", "cells"])


def recommended(
    curve: pd.DataFrame, wanted: dict[str, float] | None = None, column: str = "error_q90"
) -> pd.DataFrame:
    """The number of prompts from which the error stays within what is wanted: measure, wanted, k.

    wanted: measure -> largest error (default: 0.02 of the mean, 0.02 in CV, 0.15 in the percentile). Errors fall with
    the square root of k, so between the sizes of the curve, and beyond them, k is interpolated on the log-log scale.
    `k` is NaN where the curve is empty; `extrapolated` where it lies beyond the curve's largest size. Column "error_q90" serves
    nine cells in ten, "error" the median cell.
    """
    rows = []
    for measure, limit in (wanted or {"mean": 0.02, "cv": 0.02, "percentile": 0.15}).items():
        part = curve[(curve["measure"] == measure) & (curve[column] >= 0)].sort_values("k")
        k = _needed(part["k"], part[column], limit)
        rows.append(
            {
                "measure": measure,
                "wanted": limit,
                "k": k,
                "extrapolated": bool(len(part) and k > part["k"].max()),
            }
        )
    return pd.DataFrame(rows, columns=["measure", "wanted", "k", "extrapolated"])


def findings(curve: pd.DataFrame, advice: pd.DataFrame) -> list[dict[str, str]]:
    """The recommended numbers of prompts in words."""
    known = advice.dropna(subset=["k"]) if len(advice) else advice
    if known.empty:
        return []
    words = {"mean": "the mean score to within {:.0%} of itself", "cv": "the coefficient of variation to within {:.0%}",
             "percentile": "the default's percentile to within {:.0%}"}  # fmt: skip
    parts = [
        f"about {int(r.k)} prompts{' (extrapolated)' if r.extrapolated else ''} for {words[r.measure].format(r.wanted)}"
        for r in known.itertuples()
    ]
    return [{"text": "To know it in nine cells of ten with 95% confidence it takes " + "; ".join(parts) + ".",
             "figure": "fig-precision"}]  # fmt: skip


def _needed(k: pd.Series, error: pd.Series, limit: float) -> float:
    if k.empty:
        return np.nan
    sizes, errors = k.to_numpy(float), error.to_numpy(float)
    inside = np.flatnonzero(errors <= limit)
    if len(inside) and inside[0] == 0:
        return float(sizes[0])
    if len(inside):
        a, b = inside[0] - 1, inside[0]
        if errors[b] <= 0:
            return float(sizes[b])
        slope = np.log(errors[b] / errors[a]) / np.log(sizes[b] / sizes[a])
        return float(np.ceil(sizes[a] * (limit / errors[a]) ** (1 / slope) - 1e-9))
    return float(np.ceil(sizes[-1] * (errors[-1] / limit) ** 2 - 1e-9))
