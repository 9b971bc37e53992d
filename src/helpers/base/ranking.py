"""Ranking metrics of queries whose relevant targets have known ranks."""

from __future__ import annotations

import numpy as np

METRICS = ("ndcg_at_10", "recall_at_1", "recall_at_5", "mrr")


def metrics(ranks: np.ndarray, gain: np.ndarray) -> dict[str, np.ndarray]:
    """nDCG@10, recall@1, recall@5 and the reciprocal rank of each query from the ranks of its relevant
    targets.

    nDCG@10 = sum of gain / log2(rank + 1) over the first ten, divided by the same sum of the best order
    (Järvelin & Kekäläinen 2002, doi:10.1145/582415.582418).

    >>> {name: float(value[0]) for name, value in metrics(np.array([[2.0]]), np.array([[1.0]])).items()}
    {'rank': 2.0, 'ndcg_at_10': 0.6309297535714575, 'recall_at_1': 0.0, 'recall_at_5': 1.0, 'mrr': 0.5}

    ranks, gain: (n, k), NaN where a query has fewer than k. Vectorised because 50 instructions x queries x
    pools are scored; equal to ir-measures on the same ranking (tests).

    recall@k is the share of a query's relevant targets among the first k, as mteb and trec_eval define it. Where every
    query has one relevant target, as in the data of study 2, recall@1 is 1 or 0 and its mean is the share of queries
    whose top hit is right (success@1, also called hit rate). With several it is lower than that: 0.5 for two relevant
    targets of which one stands first. `rank == 1` is success@1 in every case.
    """
    n_relevant = (~np.isnan(ranks)).sum(axis=1)
    discounted = np.where(ranks <= 10, gain / np.log2(ranks + 1), 0.0)
    ideal = -np.sort(-np.nan_to_num(gain, nan=0.0), axis=1)[:, :10]
    ideal_sum = (ideal / np.log2(np.arange(ideal.shape[1]) + 2)).sum(axis=1)
    first = np.nanmin(ranks, axis=1)
    return {
        "rank": first,
        "ndcg_at_10": np.nansum(discounted, axis=1) / ideal_sum,
        "recall_at_1": (ranks <= 1).sum(axis=1) / n_relevant,
        "recall_at_5": (ranks <= 5).sum(axis=1) / n_relevant,
        "mrr": 1 / first,
    }
