"""What depends on the inside of mteb; read this file when mteb is upgraded."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

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
