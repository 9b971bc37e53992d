"""Task checks: rows of local task data that are not what their task type needs, each named by file, column and row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from helpers.tasks.files import TaskFile, is_listed
from helpers.tasks.kinds import TRAINED

MISSING = "the text is missing; leave the row out or give its text"


def check_text(file: TaskFile, column: str, name: str | None = None, listed: bool = False) -> None:
    """Every value is a text, or with `listed` a list of texts. Empty ones are accepted (public data sets have them), but
    not only empty ones.
    """
    name = name or file.column(column)
    if not listed:
        check_single(file, name, "text")
    for row, value in _values(file.rows[name]):
        if value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA:
            raise file.wrong(MISSING, name, row)
        if not isinstance(value, str):
            raise file.wrong(f"{shown(value)} is not a text; write texts as strings", name, row)
    if all(not value.strip() for _, value in _values(file.rows[name])):
        raise file.wrong("all texts are empty", name)


def check_single(file: TaskFile, name: str, what: str) -> None:
    """No row holds a list: only clustering, labels of several and pairs in one row come as lists."""
    for row, value in enumerate(file.rows[name]):
        if is_listed(value):
            raise file.wrong(f"a list of {len(value)}, where a row has one {what}; give each its own row", name, row)


def check_numbers(file: TaskFile, name: str) -> None:
    """Every value is a finite number, and they are not all one: a correlation with a constant has no value."""
    for row, value in _values(file.rows[name]):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise file.wrong(f"{shown(value)} is not a finite number; correct it or leave the row out", name, row)
    values = [value for _, value in _values(file.rows[name])]
    if len(values) < 2:
        raise file.wrong("there is one row only; a correlation needs two or more", name)
    if len(set(values)) == 1:
        raise file.wrong(f"every value is {values[0]:g}; a correlation needs different ones", name)


def check_labels(file: TaskFile, name: str) -> list[Any]:
    """The labels in their order: all whole numbers (booleans count as 0 and 1) or all texts."""
    found: list[Any] = []
    for row, value in _values(file.rows[name]):
        if value is None or value is pd.NA or value != value:
            raise file.wrong("the label is missing; give it or leave the row out", name, row)
        value = _plain(value)
        if not isinstance(value, (str, int)):
            raise file.wrong(f"the label {shown(value)} is neither a whole number nor a text", name, row)
        if found and isinstance(value, str) != isinstance(found[0], str):
            raise file.wrong(f"the label {shown(value)} is of another type than those before", name, row)
        found.append(value)
    return found


def check_variety(file: TaskFile, name: str, labels: list[Any]) -> None:
    if len(set(labels)) < 2:
        raise file.wrong(f"every label is {shown(labels[0])}; two or more are needed", name)


def columns_of(task: Any) -> tuple[list[str], str | None]:
    """The columns that a task reads: (texts, label or score)."""
    kind = task.metadata.type
    if kind == "STS":
        return list(task.column_names), "score"
    if kind == "PairClassification":
        return [task.input1_column_name, task.input2_column_name], task.label_column_name
    if kind == "BitextMining":
        pairs = task._get_pairs(getattr(task, "parallel_subsets", False))
        return list(dict.fromkeys(column for pair in pairs for column in pair)), None
    if kind in (*TRAINED, "Clustering"):
        return [task.input_column_name], task.label_column_name
    return [], None


def check_rows(task: Any, file: TaskFile, is_whole: bool = True) -> None:
    """Raise `StudyError` for the first row that the task cannot be scored with.

    is_whole: all columns that the task reads must be there; else (before the task's own preparation) only those that
    are there are checked.
    """
    texts, label = columns_of(task)
    kind = task.metadata.type
    if kind == "Summarization":
        if is_whole:
            _check_summaries(task, file)
        return
    # mteb reads pairs of one row as lists of pairs.
    paired = kind == "PairClassification" and len(file.rows) == 1
    listed = kind == "Clustering" or paired or not is_whole
    for column in texts:
        if is_whole or file.found(column):
            check_text(file, column, listed=listed)
    if label is None or not (is_whole or file.found(label)):
        return
    name = file.column(label)
    if not listed and kind != "MultilabelClassification":
        check_single(file, name, "value" if kind in ("STS", "Regression") else "label")
    if paired:
        _check_one_length(file, [*(n for t in texts if (n := file.found(t))), name])
    if kind == "Clustering":
        _check_clusters(task, file, texts[0], name)
    elif kind in ("STS", "Regression"):
        check_numbers(file, name)
    elif kind == "MultilabelClassification":
        _check_label_lists(file, name)
    elif kind == "PairClassification":
        labels = check_labels(file, name)
        if all(isinstance(value, int) for value in labels):
            _check_pair_labels(file, name)
        elif is_whole:
            raise file.wrong(f"the label {shown(labels[0])} is not 0 or 1", name, 0)
    else:
        labels = check_labels(file, name)
        if is_whole:
            check_variety(file, name, labels)


def check_training(task: Any, train: TaskFile, scored: TaskFile) -> None:
    """Every label that is scored is trained on, else no classifier can give it."""
    if task.metadata.type == "Regression":
        return
    name, scored_name = train.column(task.label_column_name), scored.column(task.label_column_name)
    known = {_plain(value) for _, value in _values(train.rows[name])}
    for row, value in _values(scored.rows[scored_name]):
        if _plain(value) not in known:
            raise scored.wrong(
                f"the label {shown(value)} does not occur in {train.shown}; add texts of it there or leave the row out",
                scored_name,
                row,
            )


def _check_summaries(task: Any, file: TaskFile) -> None:
    """A row holds a text, lists of summaries by people and by machines, and a grade for each of the machines'."""
    check_text(file, task.text_column_name)
    for column in (task.human_summaries_column_name, task.machine_summaries_column_name):
        check_text(file, column, listed=True)
    name, graded = file.column(task.relevancy_column_name), file.column(task.machine_summaries_column_name)
    for row, (grades, some) in enumerate(zip(file.rows[name], file.rows[graded], strict=True)):
        if not is_listed(grades) or not is_listed(some) or len(grades) != len(some):
            raise file.wrong(f"{name} and {graded} are not lists of one length", name, row)
        if any(whole(v) is None and not (isinstance(v, float) and math.isfinite(v)) for v in grades):
            raise file.wrong("a grade is not a finite number", name, row)


def _check_one_length(file: TaskFile, names: list[str]) -> None:
    sizes = {name: len(value) if is_listed(value := file.rows[name][0]) else None for name in names}
    if len(set(sizes.values())) > 1:
        raise file.wrong(f"{', '.join(names)} are not lists of one length", names[0], 0)


def _check_pair_labels(file: TaskFile, name: str) -> None:
    for row, value in _values(file.rows[name]):
        if value not in (0, 1):
            raise file.wrong(f"the label {shown(value)} is not 0 or 1 (1: the two texts belong together)", name, row)
    check_variety(file, name, [int(value) for _, value in _values(file.rows[name])])


def _check_label_lists(file: TaskFile, name: str) -> None:
    for row, value in file.rows[name].items():
        if not is_listed(value):
            raise file.wrong(f"{shown(value)} is not a list of labels", name, row)
    labels = check_labels(file, name)
    if not labels:
        raise file.wrong("no row has a label", name)
    check_variety(file, name, labels)


def _check_clusters(task: Any, file: TaskFile, texts: str, name: str) -> None:
    """Flat rows hold a text and its label (or labels by level), nested ones a list of texts and one of labels."""
    first = file.found(texts)
    if first is None:
        return
    if is_listed(file.rows[first][0]):
        for row, (some, labels) in enumerate(zip(file.rows[first], file.rows[name], strict=True)):
            if not is_listed(some) or not is_listed(labels) or len(some) != len(labels):
                raise file.wrong("texts and labels are not lists of one length", name, row)
            if len({_plain(v) for v in labels if not is_listed(v)}) == 1:
                raise file.wrong(f"every label is {shown(labels[0])}; two or more are needed", name, row)
        check_labels(file, name)
        return
    check_variety(file, name, check_labels(file, name))
    share = getattr(task, "max_fraction_of_documents_to_embed", None)
    if share is not None and int(share * len(file.rows)) < 2:
        raise file.wrong(
            f"of {len(file.rows)} rows mteb clusters {share:.0%}, which is {int(share * len(file.rows))}; "
            f"give at least {math.ceil(2 / share)}",
            name,
        )


def _values(column: pd.Series) -> Iterator[tuple[Any, Any]]:
    """(row, value) of every value, those of lists one by one."""
    for row, value in enumerate(column):
        for item in _flat(value) if is_listed(value) else [value]:
            yield row, item.item() if isinstance(item, np.generic) else item


def _flat(value: Any) -> Iterator[Any]:
    for item in value:
        if is_listed(item):
            yield from _flat(item)
        else:
            yield item


def whole(value: Any) -> int | None:
    """A number (or boolean) without a fraction as an int, None for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else None


def _plain(value: Any) -> Any:
    number = whole(value)
    return value if number is None else number


def shown(value: Any) -> str:
    """A value as messages show it: short, and without the name of numpy's type."""
    if isinstance(value, np.generic):
        value = value.item()
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
