"""Given tasks: a task made from frames, lists, dicts or files in Python, one function per task type.

A task of this kind is checked when it is made, and scored by mteb's own class of its type. `run_sweep` keeps its rows
as Parquet files in the run folder, so that notebooks and report read them like any other data.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.files import project_root, replacing
from helpers.base.paths import safe_name
from helpers.study.spec import TaskSpec
from helpers.tasks.files import SUFFIXES, TaskFile, read_file
from helpers.tasks.own import SPLIT, load_files, mapped_columns, own_class
from helpers.tasks.pairs import split_rows, texts_of_pairs

Rows = Any  # a frame, a list of dicts, tuples or texts, a dict, or the path of a file


@dataclass(frozen=True)
class OwnTask:
    """A task of one's own data: its entry of a study (without `data`), and its tables by name."""

    spec: TaskSpec
    files: dict[str, TaskFile]

    def write(self, folder: Path) -> TaskSpec:
        """Write the tables to `folder/<name>/<table>.parquet`; the entry of a study that reads them."""
        place = folder / safe_name(self.spec.name)
        for name, file in self.files.items():
            with replacing(place / f"{name}.parquet") as temporary:
                file.rows.to_parquet(temporary, index=False)
        return self.spec.model_copy(update={"data": str(place), "columns": {}})


def retrieval_task(
    name: str, corpus: Rows, queries: Rows | None = None, qrels: Rows | None = None, **about: Any
) -> OwnTask:
    """A retrieval task: which documents answer a query.

    corpus: rows with id, text and perhaps title, or {id: text}, or texts (their ids are 0, 1, …). queries: the same.
    qrels: {query id: {document id: relevance}}, {query id: document id} or {query id: [document ids]}, or rows with
    query-id, corpus-id and score (absent: 1). With `corpus` alone: rows of query and document that belong together,
    e.g. a CSV file of questions and answers. about: main_score (ndcg_at_10), language (eng-Latn), columns, description.

    >>> faq = retrieval_task("faq", {"a": "Press and hold.", "b": "By card."}, {"q": "How to reset?"}, {"q": "a"})
    >>> {table: len(file.rows) for table, file in faq.files.items()}
    {'corpus': 2, 'queries': 1, 'qrels': 1}
    """
    return _search_task("Retrieval", name, corpus, queries, qrels, None, about)


def reranking_task(
    name: str,
    corpus: Rows,
    queries: Rows | None = None,
    qrels: Rows | None = None,
    top_ranked: Rows | None = None,
    **about: Any,
) -> OwnTask:
    """A reranking task: order the candidates of each query.

    As `retrieval_task`, and top_ranked: {query id: [document ids]} or rows with query-id and corpus-ids (or corpus-id).
    With `corpus` alone: rows of query, document and score, in which the candidates of a query are those beside it.
    """
    return _search_task("Reranking", name, corpus, queries, qrels, top_ranked, about)


def sts_task(name: str, pairs: Rows, **about: Any) -> OwnTask:
    """Sentence similarity: rows of sentence1, sentence2 and score (any scale; rank correlation is scored)."""
    return _row_task("STS", name, {SPLIT: _frame(name, pairs, ["sentence1", "sentence2", "score"])}, about)


def pair_classification_task(name: str, pairs: Rows, **about: Any) -> OwnTask:
    """Do two texts belong together: rows of sentence1, sentence2 and label (1 or 0)."""
    files = {SPLIT: _frame(name, pairs, ["sentence1", "sentence2", "label"])}
    return _row_task("PairClassification", name, files, about)


def classification_task(name: str, train: Rows, test: Rows | None = None, **about: Any) -> OwnTask:
    """Classes of texts: rows of text and label, to train a logistic regression on and to score.

    With one table: its column `split` says train or test; without one, half of each label's rows train.
    """
    columns = ["text", "label"]
    if test is None:
        whole = _mapped(name, "Classification", {"rows": _frame(name, train, columns)}, about)["rows"]
        return _row_task("Classification", name, split_rows(whole, "Classification"), about | {"columns": {}})
    files = {"train": _frame(f"{name} train", train, columns), SPLIT: _frame(f"{name} test", test, columns)}
    return _row_task("Classification", name, files, about)


def clustering_task(name: str, texts: Rows, **about: Any) -> OwnTask:
    """Groups of texts, found without labels: rows of text and label."""
    return _row_task("Clustering", name, {SPLIT: _frame(name, texts, ["text", "label"])}, about)


def bitext_task(name: str, pairs: Rows, **about: Any) -> OwnTask:
    """Translations: rows of sentence1 (searched with) and sentence2; language: e.g. ["eng-Latn", "deu-Latn"]."""
    return _row_task("BitextMining", name, {SPLIT: _frame(name, pairs, ["sentence1", "sentence2"])}, about)


def _search_task(
    kind: str, name: str, corpus: Rows, queries: Rows, qrels: Rows, top_ranked: Rows, about: dict[str, Any]
) -> OwnTask:
    if queries is None or qrels is None:
        if queries is not None or qrels is not None:
            absent = "queries" if queries is None else "qrels"
            raise StudyError(
                f"task {name}: {absent} are missing; give corpus, queries and qrels, or rows of pairs alone"
            )
        pairs = _frame(name, corpus, ["query", "document", "score"])
        whole = _mapped(name, kind, {"rows": pairs}, about)["rows"]
        return _made(kind, name, texts_of_pairs(whole, kind), about | {"columns": {}})
    files = {
        "corpus": _texts(f"{name} corpus", corpus),
        "queries": _texts(f"{name} queries", queries),
        "qrels": _judgements(f"{name} qrels", qrels),
    }
    if top_ranked is not None:
        if isinstance(top_ranked, Mapping):
            top_ranked = [{"query-id": q, "corpus-ids": list(ids)} for q, ids in top_ranked.items()]
        files["top_ranked"] = _frame(f"{name} top_ranked", top_ranked, ["query-id", "corpus-ids"])
    return _made(kind, name, _mapped(name, kind, files, about), about | {"columns": {}})


def _row_task(kind: str, name: str, files: dict[str, TaskFile], about: dict[str, Any]) -> OwnTask:
    return _made(kind, name, _mapped(name, kind, files, about), about | {"columns": {}})


def _mapped(name: str, kind: str, files: dict[str, TaskFile], about: dict[str, Any]) -> dict[str, TaskFile]:
    return mapped_columns(_spec(kind, name, about), files)


def _made(kind: str, name: str, files: dict[str, TaskFile], about: dict[str, Any]) -> OwnTask:
    """The task, after its rows went through every check that files of a study go through."""
    spec = _spec(kind, name, about)
    kept = {table: TaskFile(file.shown, file.rows.copy()) for table, file in files.items()}
    try:
        load_files(own_class(spec, files)(), copy.deepcopy(files))
    except StudyError as error:
        raise StudyError(f"task {name}: {str(error).removeprefix(f'task {name}: ')}") from error
    return OwnTask(spec, kept)


def _spec(kind: str, name: str, about: dict[str, Any]) -> TaskSpec:
    from pydantic import ValidationError

    from helpers.base.names import unknown
    from helpers.study.errors import readable

    try:
        return TaskSpec.model_validate({"name": name, "type": kind, "data": "(given in Python)", **about})
    except ValidationError as error:
        lines = readable(error, TaskSpec, unknown)
        raise StudyError("\n".join(f"task {name}: {line}" for line in lines)) from error


def _texts(shown: str, given: Rows) -> TaskFile:
    """Rows of id and text, from {id: text}, texts, rows or a file."""
    if isinstance(given, Mapping) and not _is_columns(given):
        given = pd.DataFrame({"id": list(given), "text": list(given.values())}, dtype=object)
    elif _is_texts(given):
        given = pd.DataFrame({"id": [str(n) for n in range(len(given))], "text": list(given)}, dtype=object)
    return _frame(shown, given, ["id", "text"])


def _judgements(shown: str, given: Rows) -> TaskFile:
    """Rows of query-id, corpus-id and score, from a dict of dicts, lists or ids, rows or a file."""
    if isinstance(given, Mapping) and not _is_columns(given):
        rows = []
        for query, judged in given.items():
            if not isinstance(judged, Mapping):
                one = isinstance(judged, (str, int)) or not hasattr(judged, "__iter__")
                judged = dict.fromkeys([judged] if one else judged, 1)
            rows += [(query, document, score) for document, score in judged.items()]
        given = pd.DataFrame(rows, columns=["query-id", "corpus-id", "score"], dtype=object)
    file = _frame(shown, given, ["query-id", "corpus-id", "score"])
    if file.found("score") is None:
        file.rows = file.rows.assign(score=1)
    return file


def _frame(shown: str, given: Rows, columns: list[str]) -> TaskFile:
    """A table from a frame, a file's path, rows as dicts or tuples (in the order of `columns`), or a dict of columns."""
    if isinstance(given, (str, Path)):
        path = Path(given).expanduser()
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            raise StudyError(
                f"{shown}: there is no file '{_short(path)}' of a kind that is read ({', '.join(SUFFIXES)})"
            )
        return read_file(path.parent, path, shown=path.name)
    if isinstance(given, pd.DataFrame):
        rows = given.copy()
    elif isinstance(given, Mapping):
        rows = _of_columns(shown, given)
    else:
        try:
            items = list(given)
        except TypeError:
            raise StudyError(f"{shown}: {type(given).__name__} holds no rows; give a frame, rows, or a file") from None
        wrong = next((n for n, item in enumerate(items) if not isinstance(item, (Mapping, list, tuple))), None)
        if wrong is not None:
            raise StudyError(f"{shown}, row {wrong}: {items[wrong]!r:.60} is no row; give ({', '.join(columns)})")
        if all(isinstance(item, Mapping) for item in items):
            rows = pd.DataFrame(items)
        else:
            size = len(items[0]) if items else 0
            wrong = next((n for n, item in enumerate(items) if len(item) != size or size > len(columns)), None)
            if wrong is not None:
                raise StudyError(f"{shown}, row {wrong}: a row is ({', '.join(columns)})")
            rows = pd.DataFrame([tuple(item) for item in items], columns=columns[:size])
    if not len(rows):
        raise StudyError(f"{shown}: there are no rows")
    rows.columns = [str(column) for column in rows.columns]
    return TaskFile(shown, rows.reset_index(drop=True))


def _of_columns(shown: str, given: Mapping[Any, Any]) -> pd.DataFrame:
    try:
        return pd.DataFrame(dict(given))
    except ValueError as error:
        raise StudyError(f"{shown}: the columns are not of one length ({error})") from error


def _is_columns(given: Mapping[Any, Any]) -> bool:
    """Whether a dict holds columns (lists of one length under texts) rather than one entry per id."""
    return {"text", "score", "query-id", "corpus-id"} & {str(key) for key in given} != set() and all(
        isinstance(value, (list, tuple, pd.Series)) for value in given.values()
    )


def _is_texts(given: Rows) -> bool:
    return isinstance(given, (list, tuple)) and bool(given) and all(isinstance(text, str) for text in given)


def _short(path: Path) -> str:
    root = project_root()
    return str(path.relative_to(root) if path.is_relative_to(root) else path.name)
