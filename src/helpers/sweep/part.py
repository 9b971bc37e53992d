"""The part of a test set that a budget allows: which items, in an order in which a larger part contains every smaller."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from helpers.base.errors import StudyError
from helpers.base.hashes import digest
from helpers.study.budget import Budget, wanted_items
from helpers.study.spec import Study
from helpers.sweep.mteb_patches import prepare
from helpers.tasks.load import load_task, subset_data

BLOCKS = 20  # parts grow by twentieths: what was embedded for one is not embedded again for the next

FEWEST_PER_STRATUM = 10

BINS = 5  # strata of a number: fifths by its size

# Types whose anchored scores were checked on real tasks (benchmarks/budget.py), with the score that their items make.
THINNED = {"STS": "cosine_spearman", "Classification": "accuracy", "Retrieval": "ndcg_at_10"}


@dataclass(frozen=True)
class Part:
    """Some items of a test set: the first `items` of `order`, an order of all of them; `block`: of how many it is made."""

    order: np.ndarray
    items: int
    block: int

    @property
    def rows(self) -> np.ndarray:
        """Positions of the items in the test set, (items,)."""
        return self.order[: self.items]

    @cached_property
    def digest(self) -> str:
        """What a cell's identity holds of it."""
        return digest([len(self.order), self.rows.tolist()])


def part_of(task: Any, subset: str, split: str, budget: Budget, seed: int) -> Part | None:
    """The part of a test set that a budget allows, None where that is all of it.

    Strata are labels of classification, fifths of the gold scores of STS, fifths of the queries' lengths. Raises
    `StudyError` for a type of task that cannot be thinned, or where fewer than ten items of a stratum would be left.
    """
    if budget == "full":
        return None
    name, kind = task.metadata.name, task.metadata.type
    if kind not in THINNED:
        raise StudyError(
            f"task {name}: budget: {kind} cannot be scored on a part of its items (it can: {', '.join(THINNED)}); "
            "leave the task out or set budget: full"
        )
    if task.metadata.main_score != THINNED[kind] or getattr(task, "is_cross_validation", False):
        raise StudyError(
            f"task {name}: budget: its main score is not made of its items' {THINNED[kind]}; leave it out or set budget: full"
        )
    strata = _strata(task, subset, split)
    wanted = wanted_items(budget, len(strata))
    items = rounded_up(wanted, len(strata))
    if items >= len(strata):
        return None
    kinds = len(set(strata))
    if items < FEWEST_PER_STRATUM * kinds:
        least = FEWEST_PER_STRATUM * kinds
        raise StudyError(
            f"task {name}: budget: {wanted} of {len(strata)} items are fewer than {FEWEST_PER_STRATUM} for each of its "
            f"{kinds} strata; ask for at least {{items: {least}}} or set budget: full"
        )
    return Part(item_order(strata, seed), items, max(1, len(strata) // BLOCKS))


def thinned(task: Any, subset: str, split: str, part: Part, whole: bool = False) -> Any:
    """A copy of the task that has the part's items alone, or all of them in the part's order; training texts stay."""
    rows = (part.order if whole else part.rows).tolist()
    data = subset_data(task, subset)
    some = data[split]
    if task.metadata.type == "Retrieval":
        queries = some["queries"].select(rows)
        kept = set(queries["id"][:])
        judged = {q: d for q, d in some["relevant_docs"].items() if q in kept}
        some = {**some, "queries": queries, "relevant_docs": judged}
    else:
        some = some.select(rows)
    fresh = copy.copy(task)
    for wrapped in ("_calculate_scores", "_undersample_data"):  # `prepare` bound them to the whole task
        fresh.__dict__.pop(wrapped, None)
    parts = {**dict(data), split: some}
    fresh.dataset = {**task.dataset, subset: parts} if subset in task.dataset else parts
    return prepare(fresh)


def check_budget(study: Study) -> None:
    """Raise `StudyError` where a study's budget does not fit one of its tasks, before anything is computed."""
    if study.budget == "full":
        return
    for spec in study.tasks:
        task = load_task(spec, study)
        for split in task.eval_splits:
            for subset in task.hf_subsets:
                part_of(task, subset, split, study.budget, study.seed)


def _strata(task: Any, subset: str, split: str) -> list[Any]:
    some, kind = subset_data(task, subset)[split], task.metadata.type
    if kind == "Retrieval":
        return list(binned([len(text) for text in some["queries"]["text"][:]]))
    if kind == "STS":
        return list(binned(some["score"][:]))
    return list(map(str, some[task.label_column_name][:]))


def item_order(strata: Sequence[object], seed: int) -> np.ndarray:
    """A random order of the items in which every beginning holds each stratum in proportion, off by less than one item.

    strata: one label per item. Within a stratum of m items the r-th in random order stands at (r + u) / m, one u of
    [0, 1) per stratum; all are sorted by place (systematic sampling within strata, nested). Returns positions (n,).

    >>> order = item_order(list("aabb"), seed=0)
    >>> sorted("aabb"[i] for i in order[:2]), sorted(order.tolist())
    (['a', 'b'], [0, 1, 2, 3])
    """
    rng = np.random.default_rng(seed)
    _, stratum = np.unique([str(s) for s in strata], return_inverse=True)
    place = np.empty(len(stratum))
    for s in range(stratum.max() + 1 if len(stratum) else 0):
        own = rng.permutation(np.flatnonzero(stratum == s))
        place[own] = (np.arange(len(own)) + rng.random()) / len(own)
    return np.argsort(place, kind="stable")


def binned(values: Sequence[float], bins: int = BINS) -> np.ndarray:
    """Strata of a number: which of `bins` equally full bins each value lies in; equal values share one.

    >>> binned([5.0, 1.0, 1.0, 9.0], bins=2).tolist()
    [1, 0, 0, 1]
    """
    x = np.asarray(values, dtype=float)
    edges = np.unique(np.quantile(x, np.linspace(0, 1, bins + 1)[1:-1])) if len(x) else np.array([])
    return np.searchsorted(edges, x, side="right")


def rounded_up(items: int, of: int) -> int:
    """The number of items that ends a block: the wanted one or up to a twentieth of the whole more.

    >>> rounded_up(100, 1000), rounded_up(101, 1000), rounded_up(7, 8)
    (100, 150, 7)
    """
    block = max(1, of // BLOCKS)
    return min(of, -(-items // block) * block)
