"""Do models agree on which prompts are good?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.stats import adjusted
from helpers.base.ties import levelled
from helpers.scores.cells import prompt_scores


def agreement_table(
    cells: pd.DataFrame,
    permutations: int = 2_000,
    seed: int = 42,
    fdr: float = 0.05,
    families: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Per task: Kendall's W over models, mean pairwise Spearman, and both again with every family counted once.

    Only prompts that all models have are used (column prompts). W is 1 where all models order the prompts alike and
    about 1/models where they do not agree at all; ties are corrected for. families: model -> family
    (`variants.families`; None: all are of their own). Siblings agree because they are siblings, so the test is one of
    the families: a family's order is that of its models' mean ranks. The p-value is the share of random orders per
    family with a W at least as large (1 added), of `permutations` or as many more as the smallest q-value over all
    tasks needs to be a tenth of `fdr`. NaN with one family or fewer than 3 prompts, or where the scores of a model (W)
    or the mean ranks of a family are all equal.
    """
    data = prompt_scores(cells)
    rng = np.random.default_rng(seed)
    permutations = max(permutations, int(np.ceil(10 * len(data.tasks) / fdr)))
    named = np.array([(families or {}).get(m, m) for m in data.models], dtype=object)
    rows = []
    for t, task in enumerate(data.tasks):
        scores = data.values[:, t, : len(data.ids[t])]
        there = np.isfinite(scores).any(axis=1)
        scores = scores[there]
        scores = scores[:, np.isfinite(scores).all(axis=0)] if len(scores) else scores
        m, n = scores.shape
        members = [named[there] == name for name in dict.fromkeys(named[there])]
        row = {"task": task, "models": m, "prompts": n, "kendall_w": np.nan, "mean_spearman": np.nan,
               "families": len(members), "family_w": np.nan, "family_spearman": np.nan, "p_value": np.nan}  # fmt: skip
        if m > 1 and n > 2:
            ranks = stats.rankdata([levelled(row) for row in scores], axis=1)
            row["kendall_w"], row["mean_spearman"] = kendall_w(ranks), _mean_correlation(ranks)
            if len(members) > 1:
                ranks = stats.rankdata([levelled(ranks[own].mean(axis=0)) for own in members], axis=1)
                row["family_w"], row["family_spearman"] = kendall_w(ranks), _mean_correlation(ranks)
                row["p_value"] = _chance(ranks, permutations, rng)
        rows.append(row)
    table = pd.DataFrame(rows)
    if len(table):
        table["q_value"] = adjusted(table["p_value"].to_numpy(float))
    return table


def _mean_correlation(ranks: np.ndarray) -> float:
    """Mean Spearman over pairs of raters; NaN where one rater's scores are all equal."""
    if (np.ptp(ranks, axis=1) == 0).any():
        return float("nan")
    return float(np.corrcoef(ranks)[np.triu_indices(len(ranks), 1)].mean())


def _chance(ranks: np.ndarray, permutations: int, rng: np.random.Generator) -> float:
    """p-value of W by shuffling every rater's ranks; shuffling leaves ties as they are, so W grows with squared sums."""
    if (np.ptp(ranks, axis=1) == 0).any():
        return float("nan")
    sums = rng.permuted(np.broadcast_to(ranks, (permutations, *ranks.shape)), axis=2).sum(axis=1)
    own = (ranks.sum(axis=0) ** 2).sum()
    return float((((sums**2).sum(axis=1) >= own - 1e-9).sum() + 1) / (permutations + 1))


def kendall_w(scores: np.ndarray) -> float:
    """Kendall's coefficient of concordance of a (raters, items) array, corrected for ties.

    W = chi2 / (m (n - 1)) with Friedman's chi2 over n items (Kendall and Babington Smith 1939, Ann. Math. Stat. 10);
    NaN where one rater's scores are all equal. At least 3 items.

    >>> kendall_w(np.array([[1, 2, 3], [1, 2, 3]])), kendall_w(np.array([[1, 2, 3], [3, 2, 1]]))
    (1.0, 0.0)
    """
    m, n = scores.shape
    if (np.ptp(scores, axis=1) == 0).any():
        return float("nan")
    return float(stats.friedmanchisquare(*scores.T).statistic / (m * (n - 1)))
