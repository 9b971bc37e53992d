"""Anchored scores: one prompt on all items of a test set, the others on a shared part of them.

Let T be a task's score, S the part, 0 the anchor. The score of prompt p is estimated by
T_0(all) + T_p(S) - T_0(S): what all prompts share in S cancels. Items are what a test set is made of (pairs, queries,
texts); a score is their mean, or with `gold` the Spearman correlation of their values with it. Errors come from
pseudo-values, n T(S) - (n - 1) T(S without i) (Tukey 1958; Efron & Stein, Annals of Statistics 1981, the jackknife),
with the finite-population correction 1 - n / N, since S is drawn without replacement from the N items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from helpers.base.stats import unit_scores

BLOCK = 4_000_000  # entries of a matrix of comparisons held at once


@dataclass(frozen=True)
class Anchored:
    """Estimated scores of k prompts from a part of the items.

    scores: (k,). covariance: (k, k) of their errors, of which the anchor's own is 0: it was scored on all items. items,
    items_of: size of the part and of the whole.
    """

    scores: np.ndarray
    covariance: np.ndarray
    items: int
    items_of: int

    @property
    def errors(self) -> np.ndarray:
        """Standard error of each score, (k,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    def intervals(self, confidence: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the t interval of each score, items - 1 degrees of freedom: two arrays (k,)."""
        reach = stats.t.ppf(0.5 + confidence / 2, max(self.items - 1, 1)) * self.errors
        return self.scores - reach, self.scores + reach


def anchored(part: np.ndarray, anchor: np.ndarray, whole: float, of: int, gold: np.ndarray | None = None) -> Anchored:
    """Estimate the scores of k prompts from their item values on the part.

    part: (n, k) values of the prompts on the part; anchor: (n,) those of the anchor on the same items; whole: the anchor's
    score on all `of` items; gold: (n,) where a score is a Spearman correlation. Raises ValueError below 3 items.

    >>> items = np.array([[0.0], [1.0], [1.0]])  # the prompt gains a point on the second item
    >>> found = anchored(items, np.array([0.0, 0.0, 1.0]), whole=0.5, of=30)
    >>> found.scores.round(3), found.errors.round(3)
    (array([0.833]), array([0.316]))
    """
    n = len(part)
    if n < 3:
        raise ValueError(f"{n} items are too few for an error of a score; at least 3 are needed")
    both = np.column_stack([anchor, part])
    score = unit_scores(both, gold)
    pseudo = pseudo_values(both, gold)
    contrast = pseudo[:, 1:] - pseudo[:, :1]
    covariance = np.atleast_2d(np.cov(contrast, rowvar=False)) / n * (1 - n / of)
    return Anchored(whole + score[1:] - score[0], covariance, n, of)


def pseudo_values(items: np.ndarray, gold: np.ndarray | None = None) -> np.ndarray:
    """Jackknife pseudo-values of every column's score, (n, k): those of a mean are the items themselves.

    >>> pseudo_values(np.array([[0.0], [1.0]])).ravel()
    array([0., 1.])
    """
    if gold is None:
        return np.asarray(items, float)
    n, whole = len(items), unit_scores(items, gold)
    return n * whole - (n - 1) * _without_each(items, gold)


def spread(scores: np.ndarray, covariance: np.ndarray) -> tuple[float, float]:
    """Standard deviation over prompts (ddof 1): as the estimates have it, and without the part that is their error.

    The expected square of the first is the true one plus trace(C V) / (k - 1), with V the covariance of the errors and C
    the matrix that subtracts the mean; what remains below 0 is 0. The truth lies between the two as often as not below
    both: show them as a bracket.
    """
    k = len(scores)
    if k < 2:
        return np.nan, np.nan
    raw = float(np.var(scores, ddof=1))
    noise = float(np.trace(covariance) - covariance.sum() / k) / (k - 1)
    return raw**0.5, max(0.0, raw - noise) ** 0.5


def _without_each(items: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Spearman's correlation of every column with `gold` without each item in turn, (n, k).

    Ranks above the item that is left out fall by one, ties with it by half.
    """
    n, block = len(items), max(1, BLOCK // max(len(items), 1))
    ranks, gold_ranks = stats.rankdata(items, axis=0), stats.rankdata(gold)
    out = np.empty(items.shape)
    for first in range(0, n, block):
        rows = slice(first, min(first + block, n))
        y, y_size = _centred(gold, gold_ranks, rows)
        for column in range(items.shape[1]):
            x, x_size = _centred(items[:, column], ranks[:, column], rows)
            with np.errstate(divide="ignore", invalid="ignore"):
                out[rows, column] = np.einsum("ij,ij->i", x, y) / np.sqrt(x_size * y_size)
    return out


def _centred(values: np.ndarray, ranks: np.ndarray, rows: slice) -> tuple[np.ndarray, np.ndarray]:
    """Ranks without each item of `rows`, about their mean and 0 at the item itself, with their sums of squares."""
    gone = values[rows, None]
    left = ranks - (values > gone) - 0.5 * (values == gone) - len(values) / 2
    left[np.arange(len(left)), np.arange(rows.start, rows.stop)] = 0
    return left, np.einsum("ij,ij->i", left, left)
