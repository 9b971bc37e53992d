"""Differences of two paired proportions, such as recall@1 before and after: intervals that hold for few queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from helpers.base.ties import zeroed

FEWEST = 10  # units below which no interval is given: it would span half of the scale


def paired_proportions(
    pairs: Sequence[tuple[np.ndarray, np.ndarray]], confidence: float = 0.95, sd: float = 0.0, df: float = 1.0
) -> tuple[float, float]:
    """Interval of the mean over groups (languages) of the difference of two paired proportions.

    pairs: per group the outcomes of the same n units after and before, each (n,) and in 0..1; fractions where an
    outcome is itself a mean, over seeds for instance. Per group Newcombe's method 10: Wilson's score limits of both
    proportions, combined with their correlation (continuity-corrected). Where outcomes are fractions, the distances
    to the limits shrink as their standard deviation does. Groups are joined by the same square-and-add rule; `sd` is
    the standard error of a further, independent source with `df` degrees of freedom (trainings), added likewise.
    NaN where a group has fewer than 10 units.

    Newcombe (1998), Improved confidence intervals for the difference between binomial proportions based on paired
    data, Statistics in Medicine 17; Zou and Donner (2008), Construction of confidence limits about effect measures: a
    general approach, Statistics in Medicine 27.

    >>> after, before = np.repeat([1, 1, 0, 0], [36, 12, 2, 0]), np.repeat([1, 0, 1, 0], [36, 12, 2, 0])
    >>> np.round(paired_proportions([(after, before)]), 3)
    array([0.057, 0.34 ])
    """
    if not pairs or any(len(after) < FEWEST for after, _ in pairs):
        return float("nan"), float("nan")
    parts = [_newcombe(np.asarray(a, float), np.asarray(b, float), confidence) for a, b in pairs]
    difference, below, above = np.array(parts).T
    further = sd * stats.t.ppf(0.5 + confidence / 2, df) if sd > 0 else 0.0
    reach = [np.hypot(np.linalg.norm(distances) / len(parts), further) for distances in (below, above)]
    low, high = zeroed(np.clip(difference.mean() + reach * np.array([-1, 1]), -1, 1))
    return float(low), float(high)


def _newcombe(after: np.ndarray, before: np.ndarray, confidence: float) -> tuple[float, float, float]:
    """(difference, distance to its lower limit, distance to its upper limit) of one group."""
    n = len(after)
    covariance = float(np.mean((after - after.mean()) * (before - before.mean())))
    if covariance > 0:
        covariance = max(covariance - 1 / (2 * n), 0.0)
    sizes = after.std() * before.std()
    correlation = covariance / sizes if sizes > 0 else 0.0
    (below, above), (below_b, above_b) = (_distances(x, confidence) for x in (after, before))
    low = below**2 - 2 * correlation * below * above_b + above_b**2
    high = above**2 - 2 * correlation * above * below_b + below_b**2
    return float(after.mean() - before.mean()), float(np.sqrt(max(low, 0.0))), float(np.sqrt(max(high, 0.0)))


def _distances(outcomes: np.ndarray, confidence: float) -> tuple[float, float]:
    """Distances from a mean of outcomes in 0..1 to its Wilson limits, scaled by their spread where they are fractions."""
    n, p = len(outcomes), float(outcomes.mean())
    z2 = stats.norm.ppf(0.5 + confidence / 2) ** 2
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    scale = outcomes.std() / np.sqrt(p * (1 - p)) if outcomes.std() > 0 else 1.0
    return float((p - centre + half) * scale), float((centre + half - p) * scale)
