"""Is the effect of a prompt larger than the noise of the test set? Paired bootstrap over queries or pairs.

Needs the scores of single queries (retrieval) or pairs (STS) of every prompt, which our own sweep keeps and a result
cache does not. Tasks whose score is no mean over units (accuracy of resampled classifiers, clusterings) are not covered.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.stats import adjusted, prompt_sd, score_draws, unit_scores
from helpers.base.ties import compare

KEY = ["model", "task", "subset", "split"]

COLUMNS = [*KEY, "n_units", "n_prompts", "standard_error", "prompt_sd", "paired_error", "noise_share", "pairs", "beyond",
           "beyond_fdr"]  # fmt: skip


def query_noise(
    query_scores: pd.DataFrame | None, draws: int = 1_000, level: float = 0.95, seed: int = 42, fdr: float = 0.05
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Paired bootstrap over the units of every (model, task, subset, split).

    query_scores: model, task, subset, split, prompt_id, query_id, score and, for STS, gold: then the score of a test
    set is the Spearman correlation of score and gold, else it is the mean. The same resampled units are used for all
    prompts. Assumption: the units are an independent sample of those that could have been asked.

    Returns (cells, pairs). cells, one row each: n_units, n_prompts, standard_error (of one prompt's score, mean over
    prompts), prompt_sd (`spread.prompt_sd` of the scores), paired_error (root mean square standard error of a difference
    of two prompts), noise_share (part of the variance between prompts, ddof 1, that test-set noise alone explains, at
    most 1), pairs, beyond (share of pairs whose p-value is below 1 - level) and beyond_fdr (share whose
    q-value, after false-discovery control, is below `fdr`).
    pairs: prompt_a, prompt_b, difference, low, high (quantiles of the draws), p_value, q_value. The p-value is that of a
    t-test of the difference against its bootstrap standard error, and no smaller than that of a sign test of as many
    units as the two prompts score differently: counting draws could give none below 2 / (draws + 1), and among the 1,431
    pairs of 54 prompts that is too large for any of them to be found.
    Cells with fewer than 2 prompts or 3 units are left out; without unit scores (None) both tables are empty.
    """
    rows, frames = [], []
    groups = [] if query_scores is None else query_scores.groupby(KEY, sort=True, observed=True)
    for key, part in groups:
        wide = part.pivot_table(index="query_id", columns="prompt_id", values="score").dropna(axis=0)
        if wide.shape[0] < 3 or wide.shape[1] < 2:
            continue
        gold = None
        if "gold" in part and part["gold"].notna().any():
            gold = part.drop_duplicates("query_id").set_index("query_id")["gold"].reindex(wide.index).to_numpy(float)
        values = wide.to_numpy(float)
        score, boot = unit_scores(values, gold), score_draws(values, draws, seed, gold)
        pairs = _pairs(values, score, boot, [str(c) for c in wide.columns], level)
        named = dict(zip(KEY, key if isinstance(key, tuple) else (key,), strict=True))
        between = float(prompt_sd(score) ** 2 * len(score) / (len(score) - 1))
        paired = float(np.sqrt(np.mean(pairs["error"] ** 2)))
        rows.append(named | {
            "n_units": wide.shape[0], "n_prompts": wide.shape[1],
            "standard_error": float(boot.std(axis=0, ddof=1).mean()), "prompt_sd": float(prompt_sd(score)),
            "paired_error": paired,
            # A difference has twice the variance of one prompt's own part, which the pairing leaves.
            "noise_share": min(1.0, paired**2 / 2 / between) if between > 0 else np.nan,
            "pairs": len(pairs), "beyond": float((pairs["p_value"] < 1 - level).mean()),
            "beyond_fdr": float((pairs["q_value"] < fdr).mean()),
        })  # fmt: skip
        frames.append(pairs.drop(columns="error").assign(**named))
    columns = [*KEY, "prompt_a", "prompt_b", "difference", "low", "high", "p_value", "q_value"]
    pairs = pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)
    return pd.DataFrame(rows, columns=COLUMNS), pairs


def _pairs(units: np.ndarray, score: np.ndarray, boot: np.ndarray, names: list[str], level: float) -> pd.DataFrame:
    """All pairs of prompts: difference, bootstrap interval and error, two-sided p-value."""
    i, j = np.triu_indices(len(score), 1)
    gap = boot[:, i] - boot[:, j]
    gap[compare(boot[:, i], boot[:, j]) == 0] = 0.0
    difference = np.where(compare(score[i], score[j]) == 0, 0.0, score[i] - score[j])
    low, high = np.nanquantile(gap, [(1 - level) / 2, (1 + level) / 2], axis=0)
    error = np.nanstd(gap, axis=0, ddof=1)
    n = len(units)
    differing = np.array([np.count_nonzero(compare(units[:, a], units[:, b])) for a, b in zip(i, j, strict=True)])
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(difference) / (error * np.sqrt(n / (n - 1)))  # a bootstrap's variance is (n - 1) / n of a sample's
    p = np.where(difference == 0, 1.0, np.maximum(2 * stats.t.sf(t, n - 1), np.exp2(1.0 - differing)))
    p = np.where(np.isfinite(difference), np.minimum(p, 1.0), np.nan)
    return pd.DataFrame({
        "prompt_a": [names[k] for k in i], "prompt_b": [names[k] for k in j], "difference": difference,
        "low": low, "high": high, "error": error, "p_value": p, "q_value": adjusted(p),
    })  # fmt: skip
