"""Small statistics that several chapters share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy import stats

from helpers.base.ties import levelled, zeroed


def adjusted(p_values: np.ndarray, method: str = "bh") -> np.ndarray:
    """False-discovery adjusted p-values (scipy); NaN stays NaN and is not counted as a test.

    Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x; method "by" for dependent tests.

    >>> adjusted(np.array([0.01, 0.04, np.nan]))
    array([0.02, 0.04,  nan])
    """
    out = np.full(len(p_values), np.nan)
    known = np.isfinite(p_values)
    if known.any():
        out[known] = stats.false_discovery_control(p_values[known], method=method)
    return out


def prompt_sd(scores: np.ndarray) -> np.ndarray:
    """Standard deviation over prompts (last axis), divided by n; 0 where all are equal, NaN for fewer than two.

    >>> prompt_sd(np.array([[0.5, 0.7], [0.1, 0.1]])).round(2)
    array([0.1, 0. ])
    """
    x = levelled(scores)
    if x.shape[-1] < 2:
        return np.full(x.shape[:-1], np.nan)
    # A constant cell has spread 0, not the rounding error of its mean.
    return np.where(np.ptp(x, axis=-1) == 0, 0.0, x.std(axis=-1))


def holm(p_values: np.ndarray) -> np.ndarray:
    """Holm's (1979) step-down adjusted p-values, the smallest times the number of tests; empty in, empty out.

    >>> holm(np.array([0.01, 0.04]))
    array([0.02, 0.04])
    """
    # Not statsmodels' multipletests, which collects all garbage of the process at every call.
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    out = np.empty(len(p_values))
    out[order] = np.minimum(steps, 1.0)
    return out


def correlations(rows: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Spearman's rank correlation of every row of `rows` (n, k) with `other` (k,); NaN where either is constant.

    `scipy.stats.spearmanr` gives the same for one row; for n of them it would correlate all n x n.

    >>> correlations(np.array([[1, 2, 3], [3, 1, 1], [2, 2, 2]]), np.array([0.1, 0.2, 0.3])).round(3)
    array([ 1.   , -0.866,    nan])
    """
    a, b = stats.rankdata(rows, axis=1), stats.rankdata(other)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean()
    size = np.sqrt((a**2).sum(axis=1) * (b**2).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size > 0, a @ b / size, np.nan)


def unit_scores(units: np.ndarray, gold: np.ndarray | None = None) -> np.ndarray:
    """The score of every column of `units` (n_units, k): its mean, or with `gold` its Spearman correlation with it."""
    return units.mean(axis=0) if gold is None else correlations(units.T, gold)


def score_draws(
    units: np.ndarray, draws: int, seed: int | np.random.Generator, gold: np.ndarray | None = None
) -> np.ndarray:
    """Paired bootstrap: the `unit_scores` of `draws` samples of the units with replacement, an array (draws, k).

    Every column sees the same samples, so the difference of two columns is a draw of their difference.
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 8.
    """
    rng, n = np.random.default_rng(seed), len(units)
    if gold is None:
        return rng.multinomial(n, np.full(n, 1 / n), size=draws) @ units / n
    samples = rng.integers(0, n, size=(draws, n))
    return np.stack([unit_scores(units[sample], gold[sample]) for sample in samples])


def paired_interval(
    differences: Sequence[np.ndarray], n_boot: int, seed: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Percentile interval of the mean over groups of the mean difference, queries drawn anew within each group.

    NaN without draws or with fewer than two queries in a group: nothing can be said about the spread then.
    """
    if n_boot < 1 or any(len(d) < 2 for d in differences):
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    draws = sum(score_draws(d, n_boot, rng) / len(differences) for d in differences)
    low, high = zeroed(np.quantile(draws, [0.5 - confidence / 2, 0.5 + confidence / 2]))
    return float(low), float(high)


def sign_flip(differences: np.ndarray) -> np.ndarray:
    """Two-sided p-value of "the differences are as likely below zero as above it", per column of `differences` (n, k).

    Under it every sign is a coin, so the sum has variance sum(d^2) and no skewness, whatever the differences. Up to 12
    of them the 2^n sums are counted; beyond that the normal tail of sum(d) / sqrt(sum(d^2)), never below 2^(1 - m) for m
    differences that are not zero, the smallest that any set of signs can have. NaN in a column gives NaN.
    Fisher (1935), The Design of Experiments, section 21; Pesarin & Salmaso (2010), Permutation Tests for Complex Data.

    >>> sign_flip(np.array([1.0, 2, 3, 4, 5, 6])).item(), sign_flip(np.array([1.0, -1, 0])).item()
    (0.03125, 1.0)
    """
    d = np.asarray(differences, dtype=float)
    columns = d.reshape(len(d), -1)
    total, size = np.abs(columns.sum(axis=0)), np.sqrt((columns**2).sum(axis=0))
    if len(d) <= 12:
        signs = np.array(list(product((-1, 1), repeat=len(d))), dtype=float)
        p = (np.abs(signs @ columns) >= total - 1e-9 * size).mean(axis=0)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * stats.norm.sf(np.where(size > 0, total / size, 0.0))
        p = np.maximum(p, np.exp2(1.0 - (columns != 0).sum(axis=0)))
    p = np.where(np.isfinite(columns).all(axis=0), np.minimum(p, 1.0), np.nan)
    return p.reshape(d.shape[1:])
