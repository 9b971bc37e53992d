"""Small statistics that several chapters share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from helpers.base.ties import levelled, zeroed


def adjusted(p_values: np.ndarray, method: str = "bh") -> np.ndarray:
    """False-discovery adjusted p-values (scipy); NaN stays NaN and is not counted as a test."""
    out = np.full(len(p_values), np.nan)
    known = np.isfinite(p_values)
    if known.any():
        out[known] = stats.false_discovery_control(p_values[known], method=method)
    return out


def prompt_sd(scores: np.ndarray) -> np.ndarray:
    """Standard deviation over prompts (last axis), divided by n; 0 where all are equal, NaN for fewer than two."""
    x = levelled(scores)
    if x.shape[-1] < 2:
        return np.full(x.shape[:-1], np.nan)
    # A constant cell has spread 0, not the rounding error of its mean.
    return np.where(np.ptp(x, axis=-1) == 0, 0.0, x.std(axis=-1))


def holm(p_values: np.ndarray) -> np.ndarray:
    """Holm's step-down adjusted p-values; empty in, empty out."""
    from statsmodels.stats.multitest import multipletests

    return multipletests(p_values, method="holm")[1] if len(p_values) else p_values


def paired_interval(
    differences: Sequence[np.ndarray], n_boot: int, seed: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Percentile interval of the mean over groups of the mean difference, queries drawn anew within each group.

    NaN without draws or with fewer than two queries in a group: nothing can be said about the spread then.
    """
    if n_boot < 1 or any(len(d) < 2 for d in differences):
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    draws = np.zeros(n_boot)
    for d in differences:
        counts = rng.multinomial(len(d), np.full(len(d), 1 / len(d)), size=n_boot)
        draws += counts @ d / len(d) / len(differences)
    low, high = zeroed(np.quantile(draws, [0.5 - confidence / 2, 0.5 + confidence / 2]))
    return float(low), float(high)
