"""The distribution of a model's mean score when its prompt is drawn at random on every task."""

from __future__ import annotations

import math

import numpy as np

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


def central(means: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Lower and upper end of the central `level` of equally probable sorted values: no more than half of the rest is
    left out on either side."""
    left_out = int(np.floor((1 - level) / 2 * len(means) + 1e-9))
    return float(means[left_out]), float(means[len(means) - 1 - left_out])


def percentile(value: float, means: np.ndarray) -> float:
    """Share of the values below a value, ties (`ties.compare`) counted half; NaN where either is missing."""
    if not (np.isfinite(value) and np.isfinite(means).all()):
        return float("nan")
    gap = compare(means, value)
    return float((gap < 0).mean() + (gap == 0).mean() / 2)
