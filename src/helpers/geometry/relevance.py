"""Do relevant instructions score better, and what in the geometry goes with the score? (Study 2, tables 2
to 4.)

All functions take the table `geometry` (one row per model, task, subset and instruction) and leave out
controls and the plain query, so that the counts are those of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu, norm, spearmanr

from helpers.base.stats import adjusted
from helpers.base.ties import compare, levelled
from helpers.geometry.separability import separability_of

SET = ["model", "task", "subset"]


STRUCTURE = ("displacement", "similarity_improvement", "angulation", "selectivity")


MEAN = "mean"


def top_k_share(score: np.ndarray, relevant: np.ndarray, k: int | None = None) -> float:
    """Share of relevant instructions among the k best scores; k is their number unless given.

    Ties at the border count as expected in a random order, so without ties the value is a multiple of 1/k.
    """
    k = int(relevant.sum()) if k is None else k
    if k == 0 or k > len(score):
        return float("nan")
    score = levelled(score)
    border = np.sort(score)[::-1][k - 1]
    surely, tied = score > border, score == border
    return float((relevant[surely].sum() + relevant[tied].mean() * (k - surely.sum())) / k)


def r_squared(score: np.ndarray, relevant: np.ndarray) -> float:
    """R2 of the least-squares regression of the score on relevance (0/1): their squared Pearson
    correlation.
    """
    score = levelled(score)
    if np.ptp(score) == 0 or np.ptp(relevant.astype(float)) == 0:
        return float("nan")
    return float(np.corrcoef(score, relevant)[0, 1] ** 2)


def rank_biserial(score: np.ndarray, relevant: np.ndarray) -> tuple[float, float]:
    """(effect, two-sided p): 2 U / (n1 n2) - 1 of the Mann-Whitney test, relevant against other instructions.

    The paper's "MV": its ARCChallenge values are multiples of 1/280 = 1/(7 x 40). 1: every relevant
    instruction scores better than every other; ties count half. p is exact for small groups without ties,
    else normal.
    """
    n1, n2 = int(relevant.sum()), int((~relevant).sum())
    if n1 == 0 or n2 == 0:
        return float("nan"), float("nan")
    score = levelled(score)
    test = mannwhitneyu(score[relevant], score[~relevant], alternative="two-sided")
    return float(2 * test.statistic / (n1 * n2) - 1), float(test.pvalue)


def relevance_table(geometry: pd.DataFrame, k: int | None = None) -> pd.DataFrame:
    """Table 2 per model, task and subset, and per model and task the mean over subsets (subset "mean",
    without p).

    Columns: n_relevant, n_other, k, top_k, r2, rank_biserial, p, median_relevant, median_other,
    n_significant (of the subsets that a mean stands for, p < 0.05).
    """
    rows = []
    for key, part in _sets(geometry):
        score, relevant = part["score"].to_numpy(), part["relevant"].to_numpy(dtype=bool)
        effect, p = rank_biserial(score, relevant)
        rows.append(
            {
                **key,
                "n_relevant": int(relevant.sum()),
                "n_other": int((~relevant).sum()),
                "k": int(relevant.sum()) if k is None else k,
                "top_k": top_k_share(score, relevant, k),
                "r2": r_squared(score, relevant),
                "rank_biserial": effect,
                "p": p,
                "median_relevant": float(np.median(score[relevant])) if relevant.any() else np.nan,
                "median_other": float(np.median(score[~relevant])) if (~relevant).any() else np.nan,
            }
        )
    return _with_means(pd.DataFrame(rows), ["top_k", "r2", "rank_biserial"], "p")


def separability_table(
    geometry: pd.DataFrame, folds: int = 5, repeats: int = 20, permutations: int = 500, seed: int = 42
) -> pd.DataFrame:
    """Table 3: cross-validated ROC-AUC of (score, metric) per model, task, subset and metric, with chance
    level.
    """
    rows = []
    for key, part in _sets(geometry):
        for metric in STRUCTURE:
            found = separability_of(
                part[["score", metric]].to_numpy(dtype=float),
                part["relevant"].to_numpy(dtype=bool),
                folds,
                repeats,
                permutations,
                seed,
            )
            rows.append({**key, "metric": metric, **found})
    return _with_means(pd.DataFrame(rows), ["auc", "auc_chance", "auc_chance_high"], "auc_p", ["metric"])


def correlation_table(geometry: pd.DataFrame, confidence: float = 0.95) -> pd.DataFrame:
    """Table 4: Spearman correlation of each metric with the score over instructions.

    Columns: n, rho, low, high (Fisher's z with Bonett and Wright's variance), p, p_adjusted
    (Benjamini-Hochberg over every correlation of the table). NaN where one side is constant or fewer than
    four instructions are left.
    """
    rows = []
    for key, part in _sets(geometry):
        for metric in STRUCTURE:
            pair = part[["score", metric]].dropna()
            rho, low, high, p = spearman(pair["score"].to_numpy(), pair[metric].to_numpy(), confidence)
            rows.append(
                {**key, "metric": metric, "n": len(pair), "rho": rho, "low": low, "high": high, "p": p}
            )
    table = pd.DataFrame(rows)
    table["p_adjusted"] = np.nan
    if len(table):
        table["p_adjusted"] = adjusted(table["p"].to_numpy(float))
    return _with_means(table, ["rho"], "p_adjusted", ["metric"])


def spearman(x: np.ndarray, y: np.ndarray, confidence: float = 0.95) -> tuple[float, float, float, float]:
    """(rho, low, high, p). The interval is Fisher's z with variance (1 + rho^2 / 2) / (n - 3)."""
    x, y = levelled(x), levelled(y)
    if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return (float("nan"),) * 4
    test = spearmanr(x, y)
    rho = float(test.statistic)
    inner = np.clip(rho, -1 + 1e-12, 1 - 1e-12)
    half = norm.ppf(0.5 + confidence / 2) * np.sqrt((1 + rho**2 / 2) / (len(x) - 3))
    low, high = np.tanh(np.arctanh(inner) + np.array([-half, half]))
    return rho, float(low), float(high), float(test.pvalue)


def quadrants(geometry: pd.DataFrame, shift: float | None = None, gain: float = 0.0) -> pd.DataFrame:
    """Which instructions move the query far and bring nothing: adds `shift_limit` and `quadrant` to the
    geometry rows.

    A big shift is a displacement above `shift`, or above the median of the set's instructions where it is
    None; a gain is a score above that of the plain query by more than `gain`. Quadrants: "big shift, gain",
    "big shift, no gain", "small shift, gain", "small shift, no gain".
    """
    out = statistics_rows(geometry).copy()
    limit = out.groupby(SET, dropna=False)["displacement"].transform("median") if shift is None else shift
    out["shift_limit"] = limit
    big = np.where(compare(out["displacement"], out["shift_limit"]) > 0, "big shift", "small shift")
    better = np.where(compare(out["gain"], gain) > 0, "gain", "no gain")
    out["quadrant"] = [f"{b}, {g}" for b, g in zip(big, better, strict=True)]
    return out.reset_index(drop=True)


def statistics_rows(geometry: pd.DataFrame) -> pd.DataFrame:
    """The rows that take part in statistics: instructions of the bank and of the user, no control, no plain
    query.
    """
    return geometry[(geometry["group"] != "none") & ~geometry["control"].astype(bool)]


def _sets(geometry: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    for key, part in statistics_rows(geometry).groupby(SET, sort=False):
        yield dict(zip(SET, key, strict=True)), part


def _with_means(
    table: pd.DataFrame, columns: list[str], p: str, further: list[str] | None = None
) -> pd.DataFrame:
    """Add, per model and task with several subsets, a row of means over them and how many are significant."""
    if not len(table):
        return table
    table = table.assign(n_subsets=1, n_significant=(table[p] < 0.05).astype(int))
    by = ["model", "task", *(further or [])]
    groups = table.groupby(by, sort=False, dropna=False)
    means = groups[columns].mean()
    means["n_subsets"], means["n_significant"] = groups.size(), groups["n_significant"].sum()
    for column in ("n_relevant", "n_other", "k"):
        if column in table:
            means[column] = groups[column].first()
    means = means[means["n_subsets"] > 1].reset_index().assign(subset=MEAN)
    return pd.concat([table, means], ignore_index=True)[table.columns] if len(means) else table
