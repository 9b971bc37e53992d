"""Is the effect of a prompt larger than the noise of the test set? Sign flips and a bootstrap over queries or pairs.

Needs the scores of single queries (retrieval) or pairs (STS) of every prompt, which our own sweep keeps and a result
cache does not. Tasks whose score is no mean over units (accuracy of resampled classifiers, clusterings) are not covered.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.stats import adjusted, prompt_sd, score_draws, sign_flip, unit_scores
from helpers.base.ties import compare

KEY = ["model", "task", "subset", "split"]

COLUMNS = [*KEY, "n_units", "n_prompts", "standard_error", "prompt_sd", "paired_error", "noise_share", "pairs", "beyond",
           "beyond_fdr"]  # fmt: skip

UNITS = 20  # with fewer, neither the error nor the interval of a difference can be relied on


def query_noise(
    query_scores: pd.DataFrame | None, draws: int = 1_000, level: float = 0.95, seed: int = 42, fdr: float = 0.05
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Paired bootstrap and sign-flip test over the units of every (model, task, subset, split).

    query_scores: model, task, subset, split, prompt_id, query_id, score and, for STS, gold: then the score of a test
    set is the Spearman correlation of score and gold, else it is the mean. The same resampled units are used for all
    prompts. Assumption: the units are an independent sample of those that could have been asked.

    Returns (cells, pairs). cells, one row each: n_units, n_prompts, standard_error (of one prompt's score, mean over
    prompts), prompt_sd (`spread.prompt_sd` of the scores), paired_error (root mean square standard error of a difference
    of two prompts), noise_share (part of the variance between prompts, ddof 1, that test-set noise alone explains, at
    most 1), pairs, beyond (share of pairs whose p-value is below 1 - level) and beyond_fdr (share whose q-value is below
    `fdr`; false discoveries are controlled over the pairs of all cells together).
    pairs: prompt_a, prompt_b, difference, low, high (the difference and t times its bootstrap error), p_value, q_value.
    The p-value is that of the sign-flip test (`stats.sign_flip`) of what each unit adds to the difference: were the two
    prompts alike, they could change places on any unit.
    Cells with fewer than `UNITS` units have only their numbers, nothing that is inferred from them; those with fewer than
    2 prompts are left out; without unit scores (None) both tables are empty.
    """
    rows, frames = [], []
    groups = [] if query_scores is None else query_scores.groupby(KEY, sort=True, observed=True)
    for key, part in groups:
        wide = part.pivot_table(index="query_id", columns="prompt_id", values="score").dropna(axis=0)
        if wide.shape[0] < 3 or wide.shape[1] < 2:
            continue
        named = dict(zip(KEY, key if isinstance(key, tuple) else (key,), strict=True))
        rows.append(named | {"n_units": wide.shape[0], "n_prompts": wide.shape[1]})
        if wide.shape[0] < UNITS:
            continue
        gold = None
        if "gold" in part and part["gold"].notna().any():
            gold = part.drop_duplicates("query_id").set_index("query_id")["gold"].reindex(wide.index).to_numpy(float)
        values = wide.to_numpy(float)
        score, boot = unit_scores(values, gold), score_draws(values, draws, seed, gold)
        pairs = _pairs(_parts(values, gold), score, boot, [str(c) for c in wide.columns], level)
        between = float(prompt_sd(score) ** 2 * len(score) / (len(score) - 1))
        paired = float(np.sqrt(np.mean(pairs["error"] ** 2)))
        rows[-1] |= {
            "standard_error": float(boot.std(axis=0, ddof=1).mean()), "prompt_sd": float(prompt_sd(score)),
            "paired_error": paired,
            # A difference has twice the variance of one prompt's own part, which the pairing leaves.
            "noise_share": min(1.0, paired**2 / 2 / between) if between > 0 else np.nan,
            "pairs": len(pairs), "beyond": float((pairs["p_value"] < 1 - level).mean()),
        }  # fmt: skip
        frames.append(pairs.drop(columns="error").assign(**named))
    columns = [*KEY, "prompt_a", "prompt_b", "difference", "low", "high", "p_value", "q_value"]
    cells = pd.DataFrame(rows, columns=COLUMNS)
    if not frames:
        return cells, pd.DataFrame(columns=columns)
    pairs = pd.concat(frames, ignore_index=True)
    pairs["q_value"] = adjusted(pairs["p_value"].to_numpy())
    found = (pairs["q_value"] < fdr).groupby([pairs[c] for c in KEY]).mean().rename("beyond_fdr").reset_index()
    return cells.drop(columns="beyond_fdr").merge(found, on=KEY, how="left"), pairs[columns]


def _parts(units: np.ndarray, gold: np.ndarray | None) -> np.ndarray:
    """What every unit adds to every prompt's score, (n_units, k): the sums over units are the scores."""
    if gold is None:
        return units / len(units)
    ranks, by = stats.rankdata(units, axis=0), stats.rankdata(gold)
    ranks, by = ranks - ranks.mean(axis=0), by - by.mean()
    size = np.sqrt((ranks**2).sum(axis=0) * (by**2).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size > 0, ranks * by[:, None] / size, np.nan)


def _pairs(parts: np.ndarray, score: np.ndarray, boot: np.ndarray, names: list[str], level: float) -> pd.DataFrame:
    """All pairs of prompts: difference, interval and bootstrap error, two-sided p-value."""
    i, j = np.triu_indices(len(score), 1)
    gap = boot[:, i] - boot[:, j]
    gap[compare(boot[:, i], boot[:, j]) == 0] = 0.0
    difference = np.where(compare(score[i], score[j]) == 0, 0.0, score[i] - score[j])
    n = len(parts)
    error = np.nanstd(gap, axis=0, ddof=1) * np.sqrt(n / (n - 1))  # a bootstrap's variance is (n - 1) / n of a sample's
    half = stats.t.ppf((1 + level) / 2, n - 1) * error
    own = np.where(compare(parts[:, i], parts[:, j]) == 0, 0.0, parts[:, i] - parts[:, j])
    return pd.DataFrame({
        "prompt_a": [names[k] for k in i], "prompt_b": [names[k] for k in j], "difference": difference,
        "low": difference - half, "high": difference + half, "error": error, "p_value": sign_flip(own),
    })  # fmt: skip
