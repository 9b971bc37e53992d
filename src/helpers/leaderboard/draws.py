"""The distribution of a model's mean score when its prompt is drawn at random on every task."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from helpers.base.ties import compare, levelled


def mean_scores(own: list[np.ndarray], draws: int = 10_000, seed: int = 42) -> np.ndarray:
    """Equally probable means over tasks of one random prompt per task, sorted; `own` holds the scores task by task.

    All choices of prompts where there are no more than `draws`, else `draws` random ones. These take the same quantiles
    of every model's sorted scores, so that models with equal scores have equal means, and a model with higher ones on
    every task higher means. Without a task: NaN.
    """
    if not own:
        return np.array([np.nan])
    ordered = [np.sort(x) for x in own]
    total = np.zeros(1)
    if math.prod(len(x) for x in own) <= draws:
        for x in ordered:
            total = np.add.outer(total, x).ravel()
    else:
        rng = np.random.default_rng(seed)
        for x in ordered:
            total = total + x[(rng.random(draws) * len(x)).astype(int)]
    return np.sort(levelled(total / len(own)))


def predicted(own: list[np.ndarray], level: float = 0.95) -> tuple[float, float]:
    """Where the mean over tasks would lie with one further prompt per task, written like the others: a prediction interval.

    own: the scores task by task, k of task t with variance s^2. The variance of the new mean about the old one is the sum
    of v_t = s_t^2 (1 + 1/k_t) over the T tasks, divided by T^2; its degrees of freedom are Satterthwaite's (Biometrics
    Bulletin 1946), (sum v_t)^2 / sum(v_t^2 / (k_t - 1)). NaN where a task has fewer than two prompts. Its coverage is
    simulated in benchmarks/coverage/parts/headline.py.

    >>> low, high = predicted([np.array([0.4, 0.5, 0.6])])  # s = .1, t of 2 degrees of freedom 4.303
    >>> round(low, 3), round(high, 3)
    (0.003, 0.997)
    """
    if not own or any(len(x) < 2 for x in own):
        return float("nan"), float("nan")
    sizes = np.array([len(x) for x in own])
    parts = np.array([0.0 if not np.ptp(levelled(x)) else x.var(ddof=1) for x in own]) * (1 + 1 / sizes)
    middle = float(np.mean([x.mean() for x in own]))
    if not parts.sum():
        return middle, middle
    freedom = parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum()
    reach = float(stats.t.ppf(0.5 + level / 2, freedom) * np.sqrt(parts.sum()) / len(own))
    return middle - reach, middle + reach


def percentile(value: float, means: np.ndarray) -> float:
    """Share of the values below a value, ties (`ties.compare`) counted half; NaN where either is missing."""
    if not (np.isfinite(value) and np.isfinite(means).all()):
        return float("nan")
    gap = compare(means, value)
    return float((gap < 0).mean() + (gap == 0).mean() / 2)
