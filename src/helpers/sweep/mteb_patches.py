"""What depends on the inside of mteb: read this file when mteb is upgraded.

Each function says which behaviour of mteb it works around; `tests/sweep/test_mteb_patches.py` fails where mteb does not
show it any more. Two rooms below this one use a private name of mteb by themselves (`BELOW`), a test finds any other.
"""

from __future__ import annotations

import contextlib
import importlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers.tasks.load import subset_data

BELOW = {
    "helpers.tasks.load": {"_TASKS_REGISTRY"},  # the classes of all tasks by name; `mteb.get_task` gives objects
    "helpers.models.application": {"_resolve_prompt"},  # which of a model's prompts mteb takes for a task
}

COPIES_COLUMNS = (
    "_create_dataloaders", "_evaluators.text.bitext_mining_evaluator", "_evaluators.pair_classification_evaluator"
)  # fmt: skip


@contextlib.contextmanager
def columns_read_at_once() -> Iterator[None]:
    """Let mteb copy a column of texts as a list: it copies a lazy column row by row, 0.1 ms a text."""
    name = "_create_dataloader_from_texts"
    modules = [importlib.import_module(f"mteb.{module}") for module in COPIES_COLUMNS]
    stock = getattr(modules[0], name)
    for module in modules:
        setattr(module, name, lambda text, *given, **named: stock(text[:], *given, **named))
    try:
        yield
    finally:
        for module in modules:
            setattr(module, name, stock)


def prepare(task: Any) -> Any:
    """Do a task's prompt-independent work once: label arrays and undersampling sets.

    Labels are lazy columns since datasets 4, and mteb decodes them row by row at every use: 129 s of metrics for 25,000
    texts, 0.5 s with an array. Scores do not change: the labels are the same values, read once.
    """
    if task.metadata.type == "Classification":
        score, undersample = task._calculate_scores, task._undersample_data
        memo: dict[tuple[str, int, int | None], Any] = {}

        task.hits = []  # per trained classifier: which texts it got right; emptied before each evaluation

        def fast_scores(y_test: Any, y_pred: Any) -> Any:
            labels = np.asarray(y_test[:])
            task.hits.append(np.asarray(y_pred) == labels)
            return score(labels, y_pred)

        def fast_undersample(dataset: Any, experiment_num: int, idxs: Any = None) -> Any:
            key = (dataset._fingerprint, experiment_num, None if idxs is None else hash(tuple(idxs)))
            if key not in memo:
                memo[key] = undersample(_ArrayLabels(dataset, task.label_column_name), experiment_num, idxs)
            chosen, order, selected = memo[key]
            return chosen, list(order), selected

        task._calculate_scores, task._undersample_data = fast_scores, fast_undersample
    return task


def restart_random_state(task: Any, seed: int) -> None:
    """Give a task the random state of a new one: its clustering draws from one that goes on through evaluations.

    mteb seeds a task once, when it is made; a second `evaluate` of the same object scores other samples of its texts.
    """
    task.seed = seed
    task.rng_state, task.np_rng = random.Random(seed), np.random.default_rng(seed)


def drawn_rows(task: Any, train: Any) -> set[int]:
    """Rows of the training split that a classification task's experiments draw. No public function of mteb says which."""
    rows: set[int] = set()
    order = None
    for experiment in range(task.n_experiments):
        _, order, chosen = task._undersample_data(train, experiment, order)
        rows |= set(chosen)
    return rows


def retrieval_texts(rows: Any, role: str) -> list[str]:
    """Queries (`role` "query") or documents ("document") as mteb's own search reads them.

    A document's title and text are joined, a query's instruction follows it. mteb does this inside its search; a model
    with a `search` of its own, as the sweep's encoder, is given the raw columns.
    """
    from mteb._create_dataloaders import _retrieval_texts
    from mteb.types import PromptType

    return list(_retrieval_texts(rows, PromptType(role))[:])


def batch_texts(inputs: Any) -> list[str]:
    """The texts of the loader that mteb hands to `encode`, at once: the loader itself gives a batch of 32 at a time."""
    rows = inputs.dataset
    return list(rows["text"][:]) if "text" in rows.column_names else [t for b in inputs for t in b["text"]]


def searched_with(task: Any, subset: str, split: str) -> list[str] | None:
    """Bitext mining: the texts that mteb searches with, its first column; None for other tasks.

    mteb embeds both columns without a role (`prompt_type` is None), so only the texts tell which side it is.
    """
    if task.metadata.type != "BitextMining" or getattr(task, "parallel_subsets", False):
        return None
    return list(subset_data(task, subset)[split]["sentence1"][:])


class _ArrayLabels:
    """A dataset whose label column is an array: mteb indexes it row by row, which is slow on a lazy column."""

    def __init__(self, dataset: Any, label: str) -> None:
        self.dataset, self.labels, self.name = dataset, dataset[label][:], label

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, key: str) -> Any:
        return self.labels if key == self.name else self.dataset[key]

    def select(self, rows: Any) -> Any:
        return self.dataset.select(rows)
