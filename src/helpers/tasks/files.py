"""Task files: the Parquet files of a folder of local task data, found by their layout, columns found by their names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.errors import StudyError
from helpers.tasks.kinds import SIDED_TYPES, TRAINED

# The names under which a column is found, its own first; of any other name only the task's own preparation may know.
NAMES = {
    "id": ("id", "_id"),
    "query-id": ("query-id", "query_id", "qid"),
    "corpus-id": ("corpus-id", "corpus_id", "doc_id", "docid", "pid"),
    "corpus-ids": ("corpus-ids", "corpus_ids"),
    "score": ("score", "similarity_score", "relevance", "rel"),
    "text": ("text", "sentence", "sentences"),
    "sentences": ("sentences", "sentence", "text"),
    "sentence1": ("sentence1", "sent1", "text1"),
    "sentence2": ("sentence2", "sent2", "text2"),
    "label": ("label", "labels"),
    "labels": ("labels", "label"),
    "query": ("query", "question", "anchor"),
    "document": ("document", "answer", "passage", "positive"),
}

# What is read, the first name first where several are there.
SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl")


@dataclass
class TaskFile:
    """A file's rows and the name that messages call it by; rows are counted from 0, as pandas does."""

    shown: str
    rows: pd.DataFrame

    def wrong(self, problem: str, column: str | None = None, row: Any = None) -> StudyError:
        """The error that names this file, a column, a row, and what is wrong there."""
        place = [self.shown]
        place += [f"column '{column}'"] if column is not None else []
        place += [f"row {row}"] if row is not None else []
        return StudyError(f"{', '.join(place)}: {problem}")

    def found(self, column: str) -> str | None:
        """The name that a column has in this file, None where it has none."""
        return next((name for name in NAMES.get(column, (column,)) if name in self.rows), None)

    def column(self, column: str) -> str:
        """The name that a column has in this file; a `StudyError` with the accepted names where it has none."""
        name = self.found(column)
        if name is None:
            accepted = NAMES.get(column, (column,))
            also = f" (also accepted: {', '.join(accepted[1:])})" if accepted[1:] else ""
            raise self.wrong(f"there is no column '{column}'{also}; it has {', '.join(map(str, self.rows))}")
        return name

    def renamed(self, columns: Iterable[str]) -> pd.DataFrame:
        """The rows with these columns under their own names."""
        return self.rows.rename(columns={found: name for name in columns if (found := self.found(name))})


def table_of(folder: Path, name: str) -> Path | None:
    """The file of a table in a folder, in whichever of the formats that are read."""
    return next((path for suffix in SUFFIXES if (path := folder / f"{name}{suffix}").is_file()), None)


def read_file(folder: Path, path: Path, shown: str = "") -> TaskFile:
    """A file of a task's folder; a `StudyError` where it cannot be read or has no rows."""
    shown = shown or f"{folder.name}/{path.relative_to(folder).as_posix()}"
    suffix = path.suffix.lower()
    try:
        rows = _jsonl(path) if suffix == ".jsonl" else _csv(path) if suffix != ".parquet" else pd.read_parquet(path)
    except Exception as error:  # pyarrow's errors are of many kinds
        first = (str(error).splitlines() or [type(error).__name__])[0][:200]
        kind = {".parquet": "Parquet", ".jsonl": "JSON lines"}.get(suffix, suffix[1:].upper())
        raise StudyError(f"{shown}: not readable as {kind} ({first}); write it again") from error
    if not len(rows):
        raise StudyError(f"{shown}: the file has no rows")
    return TaskFile(shown, rows.reset_index(drop=True))


def _csv(path: Path) -> pd.DataFrame:
    """Texts as they stand ("NA", "null" and "007" too), an empty field as missing, scores and labels as numbers."""
    first = path.open(encoding="utf-8-sig").readline()
    comma = "\t" if path.suffix.lower() == ".tsv" else ";" if ";" in first and "," not in first else ","
    rows = pd.read_csv(path, sep=comma, dtype=str, keep_default_na=False, na_values=[""], encoding="utf-8-sig")
    if list(rows.columns) != [name.strip() for name in rows.columns]:
        rows.columns = [name.strip() for name in rows.columns]
    rows = rows.astype(object).where(rows.notna(), None)
    for name in {*NAMES["score"], *NAMES["label"]} & set(rows):
        numbers = pd.to_numeric(rows[name], errors="coerce")
        if numbers.notna().all():
            rows[name] = numbers
    return rows


def _jsonl(path: Path) -> pd.DataFrame:
    """One object a line; values as JSON has them."""
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines()):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number + 1}: {error}") from error
        if not isinstance(record, dict):
            raise ValueError(f"line {number + 1} holds no object with keys")
        records.append(record)
    return pd.DataFrame(records)


def subset_folder(folder: Path, subset: str, task: Any) -> Path:
    """Where the files of a subset lie: its own folder, or the task's where only one subset is scored.

    One set of files is never taken for several subsets: each language would be the same rows.
    """
    if (folder / subset).is_dir():
        return folder / subset
    if len(task.hf_subsets) == 1:
        return folder
    raise absent_subset(folder, subset, task)


def absent_subset(folder: Path, subset: str, task: Any) -> StudyError:
    """The error for a subset without files: what is expected, and which subsets there are."""
    there = [s for s in task.hf_subsets if (folder / s).is_dir() or (folder / f"{s}.parquet").is_file()]
    remedy = (
        f"or name those that are there in the study: subsets: [{', '.join(there)}]"
        if there
        else "or name in the study's 'subsets' the one that the files at the top belong to"
    )
    searched = task.metadata.type in SEARCHED
    expected = f"{subset}/corpus.parquet …" if searched else f"{subset}/{task.eval_splits[0]}.parquet"
    return StudyError(
        f"{folder.name}/ has no files for the subset '{subset}' (one of {len(task.hf_subsets)}): "
        f"expected {folder.name}/{expected}{'' if searched else f' or {folder.name}/{subset}.parquet'}; {remedy}"
    )


SEARCHED = (*SIDED_TYPES, "Any2AnyRetrieval")


def split_files(folder: Path, subset: str, task: Any) -> dict[str, TaskFile]:
    """The files of one subset by split: those that are scored, and of tasks that train, the one that is trained on.

    `<subset>/<split>.parquet`; `<split>.parquet` where only one subset is scored; `<subset>.parquet` where only one
    split is.
    """
    whole = folder / f"{subset}.parquet"
    trains = task.metadata.type in TRAINED and not getattr(task, "is_cross_validation", False)
    wanted = list(dict.fromkeys([*task.eval_splits, *([task.train_split] if trains else [])]))
    if whole.is_file() and not (folder / subset).is_dir():
        if len(wanted) > 1:
            raise StudyError(
                f"{folder.name}/{whole.name}: one file, but the splits {', '.join(wanted)} are needed: "
                f"{', '.join(f'{folder.name}/{subset}/{s}.parquet' for s in wanted)}"
                f"{'' if trains else '; or name one with split in the study'}"
            )
        return {wanted[0]: read_file(folder, whole)}
    base = subset_folder(folder, subset, task)
    found = {}
    for split in wanted:
        path = base / f"{split}.parquet"
        if not path.is_file():
            shown = f"{folder.name}/{path.relative_to(folder).as_posix()}"
            use = "which the classifier is trained on" if split not in task.eval_splits else "which is scored"
            raise StudyError(f"{shown} is missing: the split '{split}', {use}{_other_split(task, base)}")
        found[split] = read_file(folder, path)
    return found


def _other_split(task: Any, base: Path) -> str:
    there = [split for split in task.eval_splits if (base / f"{split}.parquet").is_file()]
    return f"; or name the one that is there: split: {there[0]}" if there and len(task.eval_splits) > 1 else ""


def is_listed(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))
