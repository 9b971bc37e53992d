"""What an instruction does to a query's embedding, as functions of arrays.

Everywhere q is the query without instruction, p the same query with it, a its target, d its distractor (a paraphrase of
the query, embedded like a document), n the nearest target that is not relevant: all (n, dimension) arrays of unit
vectors, row by row. The names follow study 2 (section 3.2, appendix D); its formulas were not at hand, the definitions
here are ours.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

MEASURES = {
    "displacement": "displacement",
    "similarity_improvement": "similarity improvement",
    "angulation": "angulation",
    "selectivity": "selectivity",
}  # columns of the table `geometry` that are held against the score, and their names in words

STILL = 1e-5  # a shorter movement has no direction; float32 noise of unit vectors is about 1e-7


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1 as float32; a row of zeros stays zero."""
    norms = np.linalg.norm(np.asarray(vectors, dtype=np.float64), axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms == 0, 1, norms), dtype=np.float32)


def displacement(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """1 - cos(q, p): how far the instruction moves the query, in [0, 2].

    Computed as half the squared distance, which keeps small movements exact in float32.

    >>> displacement(np.array([[1.0, 0.0]]), np.array([[0.6, 0.8]])).round(6).tolist()  # cos(q, p) = 0.6
    [0.4]
    """
    difference = np.asarray(p, dtype=np.float64) - q
    return np.asarray((difference**2).sum(axis=1) / 2)


def similarity_improvement(q: np.ndarray, p: np.ndarray, a: np.ndarray) -> np.ndarray:
    """cos(p, a) - cos(q, a): how much nearer the instruction brings the query to its target, in [-2, 2].

    >>> q, p, a = np.array([[1.0, 0.0]]), np.array([[0.6, 0.8]]), np.array([[0.0, 1.0]])
    >>> similarity_improvement(q, p, a).round(6).tolist()  # from 0 to 0.8
    [0.8]
    """
    return _dots(np.asarray(p, dtype=np.float64) - q, a)


def angulation(q: np.ndarray, p: np.ndarray, a: np.ndarray, still: float = STILL) -> np.ndarray:
    """cos(p - q, a - q): does the movement point at the target? In [-1, 1]; NaN (missing) where p = q or a = q.

    A missing value is not 0: a query that does not move points nowhere. Averages leave it out and count it.

    >>> q, a = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    >>> angulation(q, a, a).round(6).tolist(), angulation(q, q, a).tolist()  # all the way there; not at all
    ([1.0], [nan])
    """
    moved = np.asarray(p, dtype=np.float64) - q
    wanted = np.asarray(a, dtype=np.float64) - q
    lengths = np.linalg.norm(moved, axis=1), np.linalg.norm(wanted, axis=1)
    defined = (lengths[0] > still) & (lengths[1] > still)
    out = np.full(len(moved), np.nan)
    out[defined] = _dots(moved, wanted)[defined] / (lengths[0] * lengths[1])[defined]
    return np.clip(out, -1, 1)


def selectivity(q: np.ndarray, p: np.ndarray, a: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Similarity improvement towards the target minus that towards n, the non-target nearest to the plain query.

    Positive: the instruction favours the target; 0: it brings both equally near. Study 2 names this gap of similarity
    improvement (section 3.2) and does not measure it.
    """
    return similarity_improvement(q, p, a) - similarity_improvement(q, p, n)


def barycentric(
    q: np.ndarray, d: np.ndarray, a: np.ndarray, p: np.ndarray, still: float = STILL
) -> tuple[np.ndarray, np.ndarray]:
    """Where p lies between query, distractor and target: ((n, 3) weights of q, d, a; (n,) distance from their plane).

    The weights are the barycentric coordinates of the point of the plane through q, d and a that is nearest to p: they
    sum to 1; (1, 0, 0) is the plain query, (0, 0, 1) the target; one is negative where p lies outside the triangle. The
    distance says how much of the movement the triangle cannot show. Both are NaN where q, d and a are not three corners
    (two coincide, or all lie on one line). Ours; study 2 speaks of "relative normalized displacement" between the three
    (figure 2).
    """
    origin = np.asarray(q, dtype=np.float64)
    x, y, moved = d - origin, a - origin, p - origin
    xx, xy, yy = _dots(x, x), _dots(x, y), _dots(y, y)
    px, py = _dots(moved, x), _dots(moved, y)
    determinant = xx * yy - xy**2
    defined = (np.sqrt(xx) > still) & (np.sqrt(yy) > still) & (determinant > still * xx * yy)
    safe = np.where(defined, determinant, 1.0)
    towards_d = (px * yy - py * xy) / safe
    towards_a = (py * xx - px * xy) / safe
    weights = np.stack([1 - towards_d - towards_a, towards_d, towards_a], axis=1)
    distance = np.linalg.norm(moved - towards_d[:, None] * x - towards_a[:, None] * y, axis=1)
    weights[~defined] = np.nan
    distance[~defined] = np.nan
    return weights, distance


def pair_geometry(
    q: np.ndarray, p: np.ndarray, a: np.ndarray, n: np.ndarray, pairs: np.ndarray, still: float = STILL
) -> dict[str, np.ndarray]:
    """The three metrics and the selectivity per query, averaged over its targets where it has several.

    q, p and n hold one row per query; a one row per pair, `pairs` (length of a) the query's row of each pair. Keys:
    displacement, similarity_plain (cos(q, a)), similarity_improvement, angulation, selectivity.
    """
    by_pair = {
        "similarity_plain": _dots(q[pairs], a),
        "similarity_improvement": similarity_improvement(q[pairs], p[pairs], a),
        "angulation": angulation(q[pairs], p[pairs], a, still),
        "selectivity": selectivity(q[pairs], p[pairs], a, n[pairs]),
    }
    by_query = {name: _mean_by(values, pairs, len(q)) for name, values in by_pair.items()}
    return {"displacement": displacement(q, p), **by_query}


def summarise(per_query: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Means over queries of every geometry column, with how many queries each rests on.

    Columns besides `by`: n_queries, the means, n_moved_nearer and n_moved_away (signs of the similarity improvement),
    n_missing_angulation.
    """
    improvement = per_query["similarity_improvement"]
    counted = {
        "n_moved_nearer": improvement > 0,
        "n_moved_away": improvement < 0,
        "n_missing_angulation": per_query["angulation"].isna(),
    }
    groups = per_query.assign(**counted).groupby(by, sort=False, dropna=False)
    out = groups[[c for c in MEANS if c in per_query]].mean()
    out.insert(0, "n_queries", groups.size())
    return out.join(groups[list(counted)].sum()).reset_index()


MEANS = [
    *("displacement", "similarity_plain", "similarity_improvement", "angulation", "selectivity"),
    *("margin", "w_query", "w_distractor", "w_target", "off_plane"),
]


def _dots(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("ij,ij->i", np.asarray(x, dtype=np.float64), y))


def _mean_by(values: np.ndarray, group: np.ndarray, n: int) -> np.ndarray:
    """Mean of the values of each group 0 .. n-1 that are not missing; NaN where all are."""
    there = ~np.isnan(values)
    count = np.bincount(group[there], minlength=n)
    total = np.bincount(group[there], weights=values[there], minlength=n)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
