"""A flat picture of targets, plain and instructed queries: UMAP coordinates with everything that decides them.

UMAP keeps neighbourhoods, not distances or directions: the picture is for looking, no number is taken from it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from helpers.geometry.measurement import Embed
from helpers.geometry.relevance import statistics_rows
from helpers.geometry.sets import InstructedSet
from helpers.study.geometry import NONE_ID, GeometrySpec


def chosen_instructions(geometry: pd.DataFrame, n: int) -> pd.DataFrame:
    """At most `n` rows of one set's geometry: per group the best, then relevant ones, then the rest, each by score."""
    rows = statistics_rows(geometry).sort_values(["score", "instruction_id"], ascending=[False, True])
    first = rows.groupby("group", sort=False).head(1)
    rest = rows.drop(first.index).sort_values("relevant", ascending=False, kind="stable")
    return pd.concat([first, rest]).head(n)


def map_table(
    embed: Embed, chosen: InstructedSet, instructions: pd.DataFrame, spec: GeometrySpec, seed: int = 42
) -> pd.DataFrame:
    """UMAP coordinates (cosine) of targets, plain queries and each instruction's queries of one set, fitted together.

    `instructions` has instruction_id and text. Columns: kind (target, query, instructed), item_id, text, instruction_id
    ("none" for targets and plain queries), instruction, x, y, seed, n_neighbors, min_dist, umap (version).
    """
    searched = chosen.search
    rng = np.random.default_rng(seed)
    ids = _sample(list(searched.queries), spec.map_queries, rng)
    wanted = [t for q in ids for t, gain in searched.qrels[q].items() if gain > 0]
    others = [t for t in searched.targets if t not in set(wanted)]
    targets = list(dict.fromkeys([*wanted, *_sample(others, max(0, spec.map_targets - len(wanted)), rng)]))
    texts = [searched.queries[q] for q in ids]
    target_texts = [searched.targets[t] for t in targets]
    requests: list[tuple[Sequence[str], str, Any]] = [(target_texts, "", "document"), (texts, "", "query")]
    requests += [(texts, spec.prefix(text), "query") for text in instructions["text"]]
    vectors = embed(requests)
    parts = [_rows("target", targets, target_texts, NONE_ID, ""), _rows("query", ids, texts, NONE_ID, "")]
    for key, text in instructions[["instruction_id", "text"]].itertuples(index=False):
        parts.append(_rows("instructed", ids, texts, key, text))
    table = pd.concat(parts, ignore_index=True)
    # Fewer neighbours than versions of a query would draw every query as an island of its own versions.
    n_neighbors = max(15, 3 * (len(instructions) + 1))
    table[["x", "y"]] = flatten(np.concatenate(vectors), seed, n_neighbors)
    return table.assign(seed=seed, n_neighbors=n_neighbors, min_dist=0.1, umap=version("umap-learn"))


def flatten(vectors: np.ndarray, seed: int, n_neighbors: int = 15, min_dist: float = 0.1) -> np.ndarray:
    """(n, 2) UMAP coordinates (arXiv 1802.03426) of unit vectors; one thread and a seed: they can be made again.

    Neighbours by cosine distance are found here, exactly: umap would compile its own search for ten seconds.
    """
    k = min(n_neighbors, len(vectors) - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import umap

        model = umap.UMAP(
            n_neighbors=k,
            min_dist=min_dist,
            metric="cosine",
            init="pca",
            random_state=seed,
            n_jobs=1,
            precomputed_knn=(*neighbours(vectors, k), None),
            force_approximation_algorithm=True,  # else umap ignores the neighbours of a small set
        )
        return np.asarray(model.fit_transform(vectors), dtype=float)


def neighbours(vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices and cosine distances (n, k) of each unit vector's k nearest, itself first as umap wants it."""
    distance = np.clip(1 - vectors @ vectors.T, 0, 2)
    np.fill_diagonal(distance, -1)
    index = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return index, np.maximum(np.take_along_axis(distance, index, axis=1), 0).astype(np.float32)


def _rows(kind: str, ids: list[str], texts: list[str], key: str, instruction: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"kind": kind, "item_id": ids, "text": texts, "instruction_id": key, "instruction": instruction}
    )


def _sample(items: list[str], n: int, rng: np.random.Generator) -> list[str]:
    """At most `n` of the items, in their order."""
    if n >= len(items):
        return items
    return [items[i] for i in sorted(rng.permutation(len(items))[:n])]
