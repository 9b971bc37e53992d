"""Do relevant instructions score better, and what in the geometry goes with the score? (Study 2, tables 2 to 4.)

All functions take the table `geometry` (one row per model, task, subset and instruction) and leave out controls and the
plain query, so that the counts are those of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu, norm, spearmanr

from helpers.base.stats import adjusted
from helpers.base.ties import compare, levelled
from helpers.geometry.measures import MEASURES
from helpers.geometry.separability import separability_of

SET = ["model", "task", "subset"]

MEAN = "mean"  # the subset of a row that is the mean over a task's subsets

LEVEL = 0.05


def top_k_share(score: np.ndarray, relevant: np.ndarray, k: int | None = None) -> float:
    """Share of relevant instructions among the k best scores; k is their number unless given.

    Ties at the border count as expected in a random order, so without ties the value is a multiple of 1/k.

    >>> top_k_share(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False]))
    0.5
    """
    k = int(relevant.sum()) if k is None else k
    if k == 0 or k > len(score):
        return float("nan")
    score = levelled(score)
    border = np.sort(score)[::-1][k - 1]
    surely, tied = score > border, score == border
    return float((relevant[surely].sum() + relevant[tied].mean() * (k - surely.sum())) / k)


def r_squared(score: np.ndarray, relevant: np.ndarray) -> float:
    """R2 of the least-squares regression of the score on relevance (0/1): their squared Pearson correlation.

    >>> r_squared(np.array([0.9, 0.9, 0.1]), np.array([True, True, False]))
    1.0
    """
    score = levelled(score)
    if np.ptp(score) == 0 or np.ptp(relevant.astype(float)) == 0:
        return float("nan")
    return float(np.corrcoef(score, relevant)[0, 1] ** 2)


def rank_biserial(score: np.ndarray, relevant: np.ndarray) -> tuple[float, float]:
    """(effect, two-sided p): 2 U / (n1 n2) - 1 of the Mann-Whitney test, relevant against other instructions.

    The paper's "MV": its ARCChallenge values are multiples of 1/280 = 1/(7 x 40). 1: every relevant instruction scores
    better than every other; ties count half. p is exact for small groups without ties, else normal.

    >>> rank_biserial(np.array([0.9, 0.8, 0.2, 0.1]), np.array([True, True, False, False]))[0]
    1.0
    """
    n1, n2 = int(relevant.sum()), int((~relevant).sum())
    if n1 == 0 or n2 == 0:
        return float("nan"), float("nan")
    score = levelled(score)
    test = mannwhitneyu(score[relevant], score[~relevant], alternative="two-sided")
    return float(2 * test.statistic / (n1 * n2) - 1), float(test.pvalue)


def relevance_table(geometry: pd.DataFrame) -> pd.DataFrame:
    """Table 2 per model, task and subset, and per model and task the mean over subsets (subset "mean", without p).

    Columns: SET, n_relevant, n_other, k (the former), top_k, r2, rank_biserial, p, median_relevant, median_other,
    n_subsets, n_significant (of the subsets that a mean stands for, p < 0.05).
    """
    rows = []
    for key, part in _sets(geometry):
        score, relevant = part["score"].to_numpy(), part["relevant"].to_numpy(dtype=bool)
        counts = int(relevant.sum()), int((~relevant).sum()), int(relevant.sum())
        medians = [float(np.median(score[r])) if r.any() else np.nan for r in (relevant, ~relevant)]
        tests = top_k_share(score, relevant), r_squared(score, relevant), *rank_biserial(score, relevant)
        rows.append((*key, *counts, *tests, *medians))
    columns = [*SET, "n_relevant", "n_other", "k", "top_k", "r2", "rank_biserial", "p", "median_relevant", "median_other"]  # fmt: skip
    return _with_means(pd.DataFrame(rows, columns=columns), ["top_k", "r2", "rank_biserial"], "p")


def separability_table(
    geometry: pd.DataFrame, folds: int = 5, repeats: int = 20, permutations: int = 500, seed: int = 42
) -> pd.DataFrame:
    """Table 3: cross-validated ROC-AUC of (score, measure), with the chance level.

    Columns: SET, metric (the measure), those of `separability_of`, n_subsets, n_significant.
    """
    rows = []
    for key, part in _sets(geometry):
        relevant = part["relevant"].to_numpy(dtype=bool)
        for metric in MEASURES:
            pair = part[["score", metric]].to_numpy(dtype=float)
            tested = separability_of(pair, relevant, folds, repeats, permutations, seed)
            rows.append((*key, metric, *tested.values()))
    columns = [*SET, "metric", "auc", "auc_sd", "auc_chance", "auc_chance_high", "auc_p", "n_folds"]
    table = pd.DataFrame(rows, columns=columns)
    return _with_means(table, ["auc", "auc_chance", "auc_chance_high"], "auc_p", ["metric"])


def correlation_table(geometry: pd.DataFrame, confidence: float = 0.95) -> pd.DataFrame:
    """Table 4: Spearman correlation of each measure with the score over instructions.

    Columns: SET, metric (the measure), n, rho, low, high, p, p_adjusted (Benjamini-Hochberg over every correlation of
    the table), n_subsets, n_significant. NaN where one side is constant or fewer than four instructions are left.
    """
    rows = []
    for key, part in _sets(geometry):
        for metric in MEASURES:
            pair = part[["score", metric]].dropna().to_numpy(dtype=float)
            rows.append((*key, metric, len(pair), *spearman(pair[:, 0], pair[:, 1], confidence)))
    table = pd.DataFrame(rows, columns=[*SET, "metric", "n", "rho", "low", "high", "p"])
    table["p_adjusted"] = adjusted(table["p"].to_numpy(dtype=float))
    return _with_means(table, ["rho"], "p_adjusted", ["metric"])


def spearman(x: np.ndarray, y: np.ndarray, confidence: float = 0.95) -> tuple[float, float, float, float]:
    """(rho, low, high, p). The interval is Fisher's z with variance (1 + rho^2 / 2) / (n - 3).

    Bonett and Wright 2000, doi:10.1007/BF02294183.
    """
    x, y = levelled(x), levelled(y)
    if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return (float("nan"),) * 4
    test = spearmanr(x, y)
    rho = float(test.statistic)
    inner = np.clip(rho, -1 + 1e-12, 1 - 1e-12)
    half = norm.ppf(0.5 + confidence / 2) * np.sqrt((1 + rho**2 / 2) / (len(x) - 3))
    low, high = np.tanh(np.arctanh(inner) + np.array([-half, half]))
    return rho, float(low), float(high), float(test.pvalue)


def quadrants(geometry: pd.DataFrame) -> pd.DataFrame:
    """Which instructions move the query far and bring nothing: the geometry's rows with `shift_limit` and `quadrant`.

    A big shift is a displacement above the median of the set's instructions; a gain is a score above that of the plain
    query. Quadrants: "big shift, gain", "big shift, no gain", "small shift, gain", "small shift, no gain".
    """
    out = statistics_rows(geometry).reset_index(drop=True)
    out["shift_limit"] = out.groupby(SET, dropna=False)["displacement"].transform("median")
    big = np.where(compare(out["displacement"], out["shift_limit"]) > 0, "big shift", "small shift")
    better = np.where(compare(out["gain"], 0) > 0, "gain", "no gain")
    out["quadrant"] = pd.Series([f"{b}, {g}" for b, g in zip(big, better, strict=True)], dtype=str)
    return out


def statistics_rows(geometry: pd.DataFrame) -> pd.DataFrame:
    """The rows that take part in statistics: instructions of the bank and of the user, no control, no plain query."""
    return geometry[(geometry["group"] != "none") & ~geometry["control"].astype(bool)]


def _sets(geometry: pd.DataFrame) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    yield from statistics_rows(geometry).groupby(SET, sort=False)


def _with_means(table: pd.DataFrame, columns: list[str], p: str, further: Sequence[str] = ()) -> pd.DataFrame:
    """Add, per model and task with several subsets, a row of means over them and how many are significant."""
    table = table.assign(n_subsets=1, n_significant=(table[p] < LEVEL).astype(int))
    if table.empty:
        return table
    groups = table.groupby(["model", "task", *further], sort=False, dropna=False)
    means = groups[columns].mean()
    means["n_subsets"], means["n_significant"] = groups.size(), groups["n_significant"].sum()
    for column in {"n_relevant", "n_other", "k"} & set(table):
        means[column] = groups[column].first()
    means = means[means["n_subsets"] > 1].reset_index().assign(subset=MEAN)
    return pd.concat([table, means], ignore_index=True)[table.columns] if len(means) else table
