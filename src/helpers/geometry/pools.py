"""Search with and without distractors: where the target ranks in three pools of the same targets.

normal: the targets; random: besides, as many foreign queries as there are queries; paraphrase: besides, one paraphrase
of every query ("query-side distractor", study 2). Distractors are embedded like documents, without instruction.

A rank is 1 + the number of texts of the pool that are at least as similar to the query: sums over blocks and over the
parts of a pool. So the targets are searched once for all pools, and no queries x corpus matrix is ever held.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from helpers.base.ranking import metrics

TIE = 1e-6  # cosines that differ by less are equal: two encodings of one text differ by about 2e-7

POOL_NAMES = {"normal": "targets alone", "random": "with foreign queries", "paraphrase": "with paraphrases"}

POOLS = tuple(POOL_NAMES)


@dataclass
class Judgements:
    """Which target is right for which query, as arrays over (query, target) pairs, sorted by query."""

    query: np.ndarray
    target: np.ndarray
    gain: np.ndarray
    n_queries: int

    @classmethod
    def from_qrels(cls, qrels: dict[str, dict[str, int]], query_ids: list[str], target_ids: list[str]) -> Judgements:
        """Judgements above 0. A query without one, or a judged target that is not there, is an error that names it."""
        column_of = {t: n for n, t in enumerate(target_ids)}
        pairs = []
        for number, query in enumerate(query_ids):
            judged = {t: g for t, g in qrels.get(query, {}).items() if g > 0}
            if not judged:
                raise ValueError(f"query '{query}' has no relevant target; remove it or judge one")
            for target in judged.keys() - column_of:
                raise ValueError(f"query '{query}' is judged to want target '{target}', which is not there")
            pairs += [(number, column_of[target], gain) for target, gain in judged.items()]
        rows, columns, gains = np.array(pairs, dtype=float).reshape(-1, 3).T
        return cls(rows.astype(int), columns.astype(int), gains, len(query_ids))


@dataclass
class Distractors:
    """Further texts of a pool: their vectors, which one belongs to which query, and what was left out.

    row_of: per query the row of its own distractor, -1 where it has none. measured: per query whether it is scored in this
    pool. missing: ids of queries without a paraphrase; equal: ids whose paraphrase is their target; unchanged: ids
    whose paraphrase is the query itself (neither is a distractor).
    """

    pool: str
    texts: list[str]
    row_of: np.ndarray
    measured: np.ndarray
    source: str
    missing: list[str] = field(default_factory=list)
    equal: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)

    @property
    def left_out(self) -> list[str]:
        """Ids of the queries that this pool does not measure."""
        return [*self.missing, *self.equal, *self.unchanged]


def random_distractors(
    foreign: list[str], queries: list[str], targets: list[str], n: int, seed: int, source: str
) -> Distractors:
    """`n` foreign queries drawn without replacement; texts that are a target or a query of the set are left out.

    Fewer where there are not enough; `len(texts)` says how many. Deterministic for a seed, whatever the order given.
    """
    taken = set(queries) | set(targets)
    candidates = sorted(set(foreign) - taken)
    chosen = np.random.default_rng(seed).permutation(len(candidates))[:n]
    none = np.full(len(queries), -1)
    return Distractors("random", [candidates[i] for i in sorted(chosen)], none, np.ones(len(queries), bool), source)


def paraphrase_distractors(
    paraphrases: dict[str, str], queries: dict[str, str], relevant: dict[str, set[str]], source: str
) -> Distractors:
    """One paraphrase per query, as its distractor.

    A query is left out and named where it has no paraphrase, where that is its own target (a right answer), or where it
    is the query word for word (a text that no instruction can move away from). Case and white space do not make two
    texts different.
    """
    missing = [q for q in queries if not (paraphrases.get(q) or "").strip()]
    written = {q: folded(paraphrases[q]) for q in queries if q not in set(missing)}
    equal = [q for q, text in written.items() if text in {folded(t) for t in relevant.get(q, set())}]
    unchanged = [q for q, text in written.items() if text == folded(queries[q]) and q not in set(equal)]
    out = {*missing, *equal, *unchanged}
    texts = [paraphrases[q] for q in queries if q not in out]
    measured = np.array([q not in out for q in queries], dtype=bool)
    row_of = np.where(measured, np.cumsum(measured) - 1, -1)
    return Distractors("paraphrase", texts, row_of, measured, source, missing, equal, unchanged)


def folded(text: str) -> str:
    """A text without its case and with single blanks: two texts are the same here when these are equal.

    >>> folded("Who  is\\nHE?")
    'who is he?'
    """
    return " ".join(text.split()).casefold()


def count_at_least(
    vectors: np.ndarray, pool: np.ndarray, limits: np.ndarray, skip: tuple[np.ndarray, np.ndarray], block_mb: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per query: how many texts of the pool reach each limit, the largest similarity, and whose it is.

    vectors (n, d); pool (m, d); limits (n, k), NaN where unused; skip: (rows, columns) of pairs that do not count.
    Blocks of at most `block_mb` MiB of similarities. Returns counts (n, k), best (n,), best_index (n,; -1: nothing).
    """
    n, m = len(vectors), len(pool)
    counts = np.zeros(limits.shape, dtype=np.int64)
    best, index = np.full(n, -np.inf, dtype=np.float32), np.full(n, -1)
    height = min(max(n, 1), 512)
    width = max(1, int(block_mb * 2**20 / (4 * height * 2)))
    for top in range(0, n, height):
        rows = slice(top, top + height)
        inside = (skip[0] >= top) & (skip[0] < top + height)
        for left in range(0, m, width):
            block = vectors[rows] @ pool[left : left + width].T
            here = inside & (skip[1] >= left) & (skip[1] < left + width)
            block[skip[0][here] - top, skip[1][here] - left] = -np.inf
            for k in range(limits.shape[1]):
                counts[rows, k] += (block >= (limits[rows, k] - TIE)[:, None]).sum(axis=1)
            top_hit = block.argmax(axis=1)
            value = block[np.arange(len(block)), top_hit]
            better = value > best[rows]
            best[rows] = np.where(better, value, best[rows])
            index[rows] = np.where(better, top_hit + left, index[rows])
    return counts, best, index


@dataclass
class Search:
    """One search of instructed queries among the targets: what every pool's ranks are made of.

    similarity, gain: (n, k) of each query's relevant targets by falling similarity, NaN where it has fewer; above: (n,
    k) other targets that are at least as similar; nearest, nearest_index: the best of the other targets.
    """

    similarity: np.ndarray
    gain: np.ndarray
    above: np.ndarray
    nearest: np.ndarray
    nearest_index: np.ndarray


def search(vectors: np.ndarray, targets: np.ndarray, judgements: Judgements, block_mb: int = 64) -> Search:
    """Search (n, d) queries among (m, d) targets, both unit vectors."""
    similarities = np.einsum("ij,ij->i", vectors[judgements.query], targets[judgements.target])
    order = np.lexsort((-similarities, judgements.query))
    position = pd.Series(order).groupby(judgements.query[order]).cumcount().to_numpy()
    shape = (judgements.n_queries, int(position.max()) + 1)
    similarity, gain = np.full(shape, np.nan), np.full(shape, np.nan)
    similarity[judgements.query[order], position] = similarities[order]
    gain[judgements.query[order], position] = judgements.gain[order]
    skip = (judgements.query, judgements.target)
    above, nearest, index = count_at_least(vectors, targets, similarity, skip, block_mb)
    return Search(similarity, gain, above, nearest, index)


def pool_scores(
    hits: Search,
    vectors: np.ndarray,
    distractors: Distractors | None = None,
    distractor_vectors: np.ndarray | None = None,
    block_mb: int = 64,
) -> dict[str, np.ndarray]:
    """Per query the metrics in the pool of the targets and these distractors (none: the targets alone).

    Keys: rank (of the best target), ndcg_at_10, recall_at_1, recall_at_5, mrr, own_first (its own distractor is the top
    hit). Queries that the pool does not measure are NaN throughout.
    """
    above = hits.above
    own_first = np.full(len(vectors), np.nan)
    if distractors is not None and distractor_vectors is not None:
        nothing = (np.array([], dtype=int), np.array([], dtype=int))
        more, _, _ = count_at_least(vectors, distractor_vectors, hits.similarity, nothing, block_mb)
        above = above + more
        own_first = _own_first(hits, vectors, distractors, distractor_vectors, block_mb)
    ranks = np.where(np.isnan(hits.similarity), np.nan, above + 1 + np.arange(above.shape[1]))
    out = metrics(ranks, hits.gain)
    out["own_first"] = own_first
    if distractors is not None:
        for values in out.values():
            values[~distractors.measured] = np.nan
    return out


def _own_first(
    hits: Search, vectors: np.ndarray, distractors: Distractors, distractor_vectors: np.ndarray, block_mb: int
) -> np.ndarray:
    """1 where a query's own distractor is the top hit of the pool (ties count as won), NaN where it has none."""
    rows = np.flatnonzero(distractors.row_of >= 0)
    out = np.full(len(vectors), np.nan)
    if not len(rows):
        return out
    own = np.einsum("ij,ij->i", vectors[rows], distractor_vectors[distractors.row_of[rows]])
    no_limits = np.zeros((len(rows), 0))
    skip = (np.arange(len(rows)), distractors.row_of[rows])
    _, others, _ = count_at_least(vectors[rows], distractor_vectors, no_limits, skip, block_mb)
    rivals = np.maximum(np.maximum(others, hits.nearest[rows]), hits.similarity[rows, 0])
    out[rows] = own >= rivals - TIE
    return out
