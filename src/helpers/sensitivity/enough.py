"""How many prompts are enough? The error of mean, CV and percentile against the number of prompts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.stats import prompt_sd
from helpers.base.ties import compare
from helpers.scores.cells import as_cells
from helpers.sensitivity.defaults import percentile_of

MEASURES = ("mean", "cv", "percentile")

SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)


def error_curve(
    cells: pd.DataFrame, sizes: tuple[int, ...] = SIZES, draws: int = 2_000, level: float = 0.95, seed: int = 42
) -> pd.DataFrame:
    """Error that k random prompts leave, per measure and number of prompts k, summarised over all cells.

    For every (model, task) with at least 5 prompts, the `level` quantile of the absolute error of a measure over k fresh
    prompts against its value over all that could be written: mean (relative to it), cv (`spread.spread`) and percentile
    of the default. What n prompts of a population show is less than the population: their variance is (n - 1) / n of its,
    the median of their standard deviation less again, and their tails are cut. The errors are therefore those of a
    population whose CV is the median-unbiased estimate for normal scores (`population_cv`) and whose tails are those of
    all cells together (`excess_kurtosis`):
    mean: normal, CV / sqrt(k). cv: `draws` samples of k normal scores, their deviations widened by the ratio of the
    standard errors of a log CV, sqrt((excess + 2) / 4 + CV^2 - skewness * CV), to the normal one. percentile: binomial
    (exact), from a place moved towards the middle, (below + 1/2) / (n + 1): a default that beats 15 of 15 prompts need
    not beat every further one.
    Columns measure, k, error (median over cells), error_q90 (0.9 quantile over cells), cells. With few prompts the curve
    itself is an estimate; for strongly skewed scores that of the CV stays too low.
    """
    cells = as_cells(cells)
    normal = np.random.default_rng(seed).normal(size=(draws, max(sizes)))
    default = cells[cells["kind"] == "default"].groupby(["model", "task"])["score"].mean()
    scored = cells[(cells["kind"] == "prompt") & np.isfinite(cells["score"].astype(float))]
    groups = {k: x.to_numpy(float) for k, x in scored.groupby(["model", "task"], sort=True)["score"] if len(x) >= 5}
    excess = excess_kurtosis(groups.values())
    found: dict[tuple[str, int], list[float]] = {}
    for key, x in groups.items():
        cv = population_cv(x)
        skewness = float(stats.skew(x, bias=False)) * len(x) / (len(x) + 6) if cv > 0 else 0.0
        share = percentile_of(float(default.get(key, np.nan)), x)[0]
        place = (share * len(x) + 0.5) / (len(x) + 1)
        for k in sizes:
            errors = {
                "mean": cv * float(stats.norm.ppf((1 + level) / 2)) / np.sqrt(k),
                "cv": _cv_error(cv, normal[:, :k], excess, skewness, level),
                "percentile": _percentile_error(place, k, level),
            }
            for measure, error in errors.items():
                if np.isfinite(error):
                    found.setdefault((measure, k), []).append(float(error))
    rows = [
        {"measure": m, "k": k, "error": float(np.median(e)), "error_q90": float(np.quantile(e, 0.9)), "cells": len(e)}
        for (m, k), e in sorted(found.items(), key=lambda item: (MEASURES.index(item[0][0]), item[0][1]))
    ]
    return pd.DataFrame(rows, columns=["measure", "k", "error", "error_q90", "cells"])


def population_cv(scores: np.ndarray) -> float:
    """The coefficient of variation of the prompts that could be written: one that normal samples exceed as often as not.

    The squares of n normal scores about their mean sum to sigma^2 times chi-square with n - 1 degrees of freedom. NaN
    where the mean is 0.
    """
    n, mean = len(scores), abs(float(np.mean(scores)))
    if compare(mean, 0.0) == 0:
        return float("nan")
    return float(prompt_sd(scores)) * float(np.sqrt(n / stats.chi2.median(n - 1))) / mean


def excess_kurtosis(groups: Iterable[np.ndarray]) -> float:
    """Excess kurtosis that all cells share: the mean of their bias-corrected ones, drawn towards the normal's 0.

    Each is as uncertain as sqrt(24 / n); N scores in all weigh N / (N + 24) against the normal. No less than -1.5.
    """
    known = [(len(x), float(stats.kurtosis(x, bias=False))) for x in groups if float(prompt_sd(x)) > 0]
    if not known:
        return 0.0
    sizes, values = np.array(known).T
    return float(max(-1.5, np.average(values, weights=sizes) * sizes.sum() / (sizes.sum() + 24)))


def recommended(curve: pd.DataFrame, wanted: dict[str, float] | None = None, column: str = "error_q90") -> pd.DataFrame:
    """The number of prompts from which on the error stays within what is wanted: measure, wanted, k.

    wanted: measure -> largest error (default: 0.02 of the mean, 0.02 in CV, 0.15 in the percentile). k is the smallest
    size of the curve that is within it and after which no larger one exceeds it: the error of a percentile does not fall
    steadily. Beyond the curve errors fall with the square root of k, and `extrapolated` is True. `k` is NaN where the
    curve is empty. Column "error_q90" serves nine cells in ten, "error" the median cell.

    >>> curve = pd.DataFrame({"measure": "mean", "k": [5, 10, 20], "error_q90": [0.04, 0.03, 0.02]})
    >>> recommended(curve, {"mean": 0.03})["k"].item(), recommended(curve, {"mean": 0.01})["k"].item()
    (10.0, 80.0)
    """
    rows = []
    for measure, limit in (wanted or {"mean": 0.02, "cv": 0.02, "percentile": 0.15}).items():
        part = curve[(curve["measure"] == measure) & (curve[column] >= 0)].sort_values("k")
        k = _needed(part["k"], part[column], limit)
        rows.append(
            {"measure": measure, "wanted": limit, "k": k, "extrapolated": bool(len(part) and k > part["k"].max())}
        )
    return pd.DataFrame(rows, columns=["measure", "wanted", "k", "extrapolated"])


def _cv_error(cv: float, normal: np.ndarray, excess: float, skewness: float, level: float) -> float:
    """Quantile of |CV of k scores - cv|, from standard normal draws (draws, k)."""
    if not np.isfinite(cv):
        return np.nan
    scores = 1 + cv * normal
    gap = scores.std(axis=1) / np.abs(scores.mean(axis=1)) - cv
    wide = np.sqrt(max((excess + 2) / 4 + cv**2 - skewness * cv, 0.05) / (0.5 + cv**2))
    centre = gap.mean()
    return float(np.quantile(np.abs(centre + wide * (gap - centre)), level))


def _percentile_error(place: float, k: int, level: float) -> float:
    """The smallest error that a binomial share of k has at most, with probability `level`."""
    if not np.isfinite(place):
        return np.nan
    hits = np.arange(k + 1)
    error = np.abs(hits / k - place)
    by_size = np.argsort(error)
    reached = np.cumsum(stats.binom.pmf(hits, k, place)[by_size])
    return float(error[by_size][min(int((reached < level - 1e-12).sum()), k)])


def _needed(k: pd.Series, error: pd.Series, limit: float) -> float:
    if k.empty:
        return np.nan
    sizes, errors = k.to_numpy(float), error.to_numpy(float)
    beyond = np.flatnonzero(compare(errors, limit) > 0)
    if not len(beyond):
        return float(sizes[0])
    if beyond[-1] + 1 < len(sizes):
        return float(sizes[beyond[-1] + 1])
    return float(np.ceil(sizes[-1] * (errors[-1] / limit) ** 2 - 1e-9))
