"""Near-duplicates: texts that differ so little that they are one text measured twice.

As in the revised study 1: normalised Levenshtein distance, agglomerative clustering with average linkage, and of each
cluster the medoid is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from sklearn.cluster import AgglomerativeClustering

from helpers.base.ties import levelled


def distances(texts: Sequence[str]) -> np.ndarray:
    """Normalised Levenshtein distances, (n, n) in [0, 1]: edits divided by the length of the longer text."""
    if not texts:
        return np.zeros((0, 0))
    return cdist(texts, texts, scorer=Levenshtein.normalized_distance, dtype=np.float64)


def clusters(between: np.ndarray, threshold: float) -> np.ndarray:
    """Cluster numbers (n,) in order of first appearance; clusters merge while their mean distance < threshold."""
    if len(between) < 2 or threshold <= 0:
        return np.arange(len(between))
    found = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=threshold
    ).fit_predict(between)
    first = {label: number for number, label in enumerate(dict.fromkeys(found))}
    return np.array([first[label] for label in found])


def medoid(between: np.ndarray, members: np.ndarray) -> int:
    """The member with the smallest sum of distances to the others, the first of several."""
    return int(members[np.argmin(levelled(between[np.ix_(members, members)].sum(axis=1)))])


def representatives(texts: Sequence[str], threshold: float) -> np.ndarray:
    """For each text the position of the text that stands for it, (n,): itself where it is kept.

    >>> representatives(["Query for retrieval:", "Query for retrieval", "Cluster:"], 0.1).tolist()
    [0, 0, 2]
    """
    between = distances(texts)
    labels = clusters(between, threshold)
    kept = np.arange(len(texts))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        kept[members] = medoid(between, members)
    return kept
