"""Ties: when are two scores, or two sums of scores, equal?

Two sums of the same numbers in another order differ in their last digits. Every comparison of scores, means and points
therefore counts as equal what differs by no more than `TOLERANCE` of the larger one, or by `NEAR_ZERO`: sums of a
thousand scores err by less, and a test set that tells prompts apart by less does not exist.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

TOLERANCE = 1e-9

NEAR_ZERO = 1e-12


def compare(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """1 where a lies above b, -1 where below, 0 where they are equal or one is missing; any shapes that broadcast.

    >>> compare([0.1 + 0.2, 0.4], 0.3)
    array([0, 1])
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    with np.errstate(invalid="ignore"):
        gap = a - b
        far = np.abs(gap) > np.maximum(TOLERANCE * np.maximum(np.abs(a), np.abs(b)), NEAR_ZERO)
        return np.where(far, np.sign(gap), 0).astype(int)


def levelled(values: ArrayLike) -> np.ndarray:
    """The values with ties made exact: each becomes the smallest of those that it is equal to (any shape).

    Ranks, counts of distinct values and comparisons are then exact. Equal are neighbours in order that `compare` calls
    equal; missing values stay as they are.

    >>> len(set(levelled([0.1 + 0.2, 0.3])))
    1
    """
    values = np.array(values, dtype=float)
    flat = values.reshape(-1)
    known = np.flatnonzero(np.isfinite(flat))
    if len(known) > 1:
        by_size = known[np.argsort(flat[known], kind="stable")]
        new = np.concatenate([[True], compare(flat[by_size[1:]], flat[by_size[:-1]]) > 0])
        flat[by_size] = flat[by_size[new]][np.cumsum(new) - 1]
    return flat.reshape(values.shape)


def zeroed(values: ArrayLike) -> np.ndarray:
    """The values, 0 where they are equal to 0: an end of an interval at 0 is not beyond it (any shape)."""
    values = np.asarray(values, dtype=float)
    return np.where((compare(values, 0.0) == 0) & np.isfinite(values), 0.0, values)
