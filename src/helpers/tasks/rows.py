"""Task rows: what local files hold, checked and brought into the form that a stock task scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from helpers.base.errors import StudyError
from helpers.tasks.checks import check_rows, check_training, columns_of
from helpers.tasks.files import TaskFile, is_listed
from helpers.tasks.kinds import TRAINED

Files = dict[str, dict[str, TaskFile]]


def load_rows(task: Any, files: Files) -> None:
    """Set a task's `dataset` from its files by subset and split, prepared as mteb prepares the Hub's rows.

    Columns may be those of the Hub, or those that the task reads (by any accepted name); then only what the task's
    own preparation adds to them is done. Raises `StudyError` that names file, column, row and remedy.
    """
    from mteb.abstasks import AbsTask

    prepares = type(task).dataset_transform is not AbsTask.dataset_transform
    prepares = prepares and not _is_flat(task, files)
    for splits in files.values():
        for file in splits.values():
            check_rows(task, file, is_whole=not prepares)
            file.rows = _with_numbers(task, file)
    given = files
    if prepares:
        files = _prepared(task, files)
        for splits in files.values():
            for file in splits.values():
                check_rows(task, file)
    for subset, splits in files.items():
        try:
            _check_trained(task, splits)
        except StudyError:
            _check_trained(task, given[subset])  # a fault of the file itself is told with its own row and label
            raise
        for file in splits.values():
            file.rows = _as_scored(task, file)
    _set_dataset(task, files)


def _set_dataset(task: Any, files: Files) -> None:
    from datasets import Dataset, DatasetDict

    found = {
        subset: DatasetDict({s: Dataset.from_pandas(f.rows, preserve_index=False) for s, f in splits.items()})
        for subset, splits in files.items()
    }
    task.dataset = found if task.metadata.is_multilingual else found["default"]


def _prepared(task: Any, files: Files) -> Files:
    """The rows after the task's own preparation, or as they are where they have its columns and it fails on them."""
    wanted = _wanted(task)
    try:
        _set_dataset(task, files)
        task.dataset_transform()
    except Exception as error:
        for splits in files.values():
            for file in splits.values():
                missing = [column for column in wanted if file.found(column) is None]
                if missing or not wanted:
                    first = (str(error).splitlines() or [""])[0][:200]
                    raise file.wrong(
                        f"mteb's preparation of the task fails on the columns {', '.join(map(str, file.rows))} "
                        f"({type(error).__name__}: {first}); give the Hub's columns"
                        + (f", or {', '.join(wanted)}" if wanted else "")
                    ) from error
        return files
    nested = task.dataset if task.metadata.is_multilingual else {"default": task.dataset}
    return {
        subset: {split: _after(file, nested[subset][split].to_pandas(), wanted) for split, file in splits.items()}
        for subset, splits in files.items()
    }


def _after(file: TaskFile, rows: pd.DataFrame, wanted: list[str]) -> TaskFile:
    """A file after the preparation, which may have changed its rows: then messages say so."""
    after = TaskFile(file.shown, rows)
    for column in wanted:
        old, new = file.found(column), after.found(column)
        if new is not None and (old is None or _items(file.rows[old]) != _items(rows[new])):
            after.shown = f"{file.shown} (as mteb prepares it)"
    return after


def _items(column: pd.Series) -> list[Any]:
    """The values of a column that may hold lists, as ones that can be compared."""
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in column]


def _wanted(task: Any) -> list[str]:
    texts, label = columns_of(task)
    return [*texts, *([label] if label else [])]


def _is_flat(task: Any, files: Files) -> bool:
    """Whether clustering rows hold one text each: then they are as after the task's preparation, which would split them."""
    if task.metadata.type != "Clustering":
        return False
    file = next(iter(next(iter(files.values())).values()))
    name, labels = file.found(task.input_column_name), file.found(task.label_column_name)
    return name is not None and labels is not None and not is_listed(file.rows[name][0])


def _with_numbers(task: Any, file: TaskFile) -> pd.DataFrame:
    """Labels given as booleans, or as floats that are whole, as whole numbers."""
    label = file.found(columns_of(task)[1] or "")
    if label is None or task.metadata.type in ("STS", "Regression"):
        return file.rows
    kind = file.rows[label].dtype
    if pd.api.types.is_bool_dtype(kind) or pd.api.types.is_float_dtype(kind):
        return file.rows.assign(**{label: file.rows[label].astype("int64")})
    return file.rows


def _check_trained(task: Any, splits: dict[str, TaskFile]) -> None:
    train = splits.get(getattr(task, "train_split", "")) if task.metadata.type in TRAINED else None
    if train is None or getattr(task, "is_cross_validation", False):
        return
    for split in task.eval_splits:
        if train.found(task.label_column_name) and splits[split].found(task.label_column_name):
            check_training(task, train, splits[split])


def _as_scored(task: Any, file: TaskFile) -> pd.DataFrame:
    """Columns under the task's own names; flat rows of a task that scores sets of texts as one set."""
    from mteb.abstasks.clustering_legacy import AbsTaskClusteringLegacy

    rows = file.renamed(_wanted(task))
    if isinstance(task, AbsTaskClusteringLegacy) and not is_listed(rows[task.input_column_name][0]):
        one = {name: [list(rows[name])] for name in (task.input_column_name, task.label_column_name)}
        return pd.DataFrame(one)
    if task.metadata.type == "Clustering" and not isinstance(task, AbsTaskClusteringLegacy):
        first = rows[task.input_column_name][0]
        if is_listed(first):
            raise file.wrong(
                "each row holds a list of texts; give one text and its label a row", task.input_column_name
            )
    return rows
