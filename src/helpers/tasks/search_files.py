"""Search files: corpus, queries, judgements and candidates of local retrieval and reranking data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.errors import StudyError
from helpers.tasks.checks import check_text, shown, whole
from helpers.tasks.files import TaskFile, is_listed, read_file

RERANKED = ("Reranking", "InstructionReranking")

Judgements = dict[str, dict[str, int]]


def read_search(
    folder: Path,
    base: Path,
    split: str,
    splits: list[str],
    kind: str = "Retrieval",
    given: dict[str, TaskFile] | None = None,
) -> dict[str, Any]:
    """One split of a retrieval or reranking task in mteb's form, from the Parquet files in `base`.

    corpus (id, text, optional title), queries (id, text), qrels (query-id, corpus-id, score) and, for reranking,
    top_ranked (query-id with corpus-ids or with one corpus-id a row); each `<name>.parquet` or `<name>/<split>.parquet`.
    `given` are the same tables, read already. Ids are compared as texts, a null title is no title, a query without judgements is left out. Raises `StudyError`
    that names file, column, row and remedy where the data do not fit together.
    """
    from datasets import Dataset

    given = given or _found(folder, base, split, splits)
    corpus, queries = _texts(given["corpus"]), _texts(given["queries"])
    qrels = _judgements(given["qrels"], queries, corpus)
    if kind.startswith("Instruction"):
        check_text(given["queries"], "instruction")
    queries = queries[queries["id"].isin(list(qrels))].reset_index(drop=True)
    if kind in RERANKED and "top_ranked" not in given:
        raise StudyError(
            f"{given['corpus'].shown.replace('corpus', 'top_ranked')} is missing: a reranking task orders given candidates; give them with the columns "
            f"query-id and corpus-ids (a list), or query-id and corpus-id (one row each)"
        )
    top_ranked = _candidates(given["top_ranked"], qrels, corpus) if "top_ranked" in given else None
    return {
        "corpus": Dataset.from_pandas(corpus, preserve_index=False),
        "queries": Dataset.from_pandas(queries, preserve_index=False),
        "relevant_docs": qrels,
        "top_ranked": top_ranked,
    }


def _path(base: Path, name: str, split: str) -> Path | None:
    places = (base / name / f"{split}.parquet", base / f"{name}.parquet")
    return next((path for path in places if path.is_file()), None)


def _found(folder: Path, base: Path, split: str, splits: list[str]) -> dict[str, TaskFile]:
    found = {name: _find(folder, base, name, split) for name in ("corpus", "queries")}
    found["qrels"] = _find_judgements(folder, base, split, splits)
    if (path := _path(base, "top_ranked", split)) is not None:
        found["top_ranked"] = read_file(folder, path)
    return found


def _find(folder: Path, base: Path, name: str, split: str) -> TaskFile:
    path = _path(base, name, split)
    if path is None:
        where = (base / f"{name}.parquet").relative_to(folder).as_posix()
        raise StudyError(f"{folder.name}/{where} is missing (docs/task-data.md)")
    return read_file(folder, path)


def _find_judgements(folder: Path, base: Path, split: str, splits: list[str]) -> TaskFile:
    """The judgements of a split; one file is not taken for the judgements of several splits."""
    if len(splits) > 1 and not (base / "qrels" / f"{split}.parquet").is_file():
        wanted = (base / "qrels" / f"{split}.parquet").relative_to(folder).as_posix()
        raise StudyError(
            f"{folder.name}/{wanted} is missing: the task has the splits {', '.join(splits)}; give each its own "
            f"judgements, or name in the study's 'split' the one that qrels.parquet belongs to"
        )
    return _find(folder, base, "qrels", split)


def _ids(file: TaskFile, column: str) -> pd.Series:
    """A column of ids as texts: whole numbers without a decimal point."""
    name = file.column(column)
    values = file.rows[name]
    for row in values.index[values.isna()]:
        raise file.wrong("the id is missing; give one or leave the row out", name, row)
    if pd.api.types.is_bool_dtype(values):
        raise file.wrong(f"{values[0]} is not an id; write ids as texts or whole numbers", name, 0)
    if pd.api.types.is_float_dtype(values):
        for row in values.index[values % 1 != 0]:
            raise file.wrong(f"{values[row]} is not an id; write ids as texts or whole numbers", name, row)
        values = values.astype("int64")
    return values.astype(str)


def _texts(file: TaskFile) -> pd.DataFrame:
    """Rows with id, text and, where there is one, title and instruction; an id that repeats its texts counts once."""
    name = file.column("text")
    check_text(file, "text", name)
    rows = pd.DataFrame({"id": _ids(file, "id"), "text": file.rows[name]})
    for extra in ("title", "instruction"):
        if extra not in file.rows:
            continue
        values = file.rows[extra]
        for row in values.index[~values.isna() & ~values.map(lambda v: isinstance(v, str))]:
            raise file.wrong(f"{shown(values[row])} is not a text; leave it null where there is none", extra, row)
        rows[extra] = values.astype(object).where(~values.isna(), "")
    rows = rows.drop_duplicates()
    again = rows.index[rows["id"].duplicated()]
    for row in again:
        first = rows.index[rows["id"] == rows["id"][row]][0]
        raise file.wrong(
            f"the id '{rows['id'][row]}' has another text in row {first}; ids must be unique", file.found("id"), row
        )
    return rows.reset_index(drop=True)


def _judgements(file: TaskFile, queries: pd.DataFrame, corpus: pd.DataFrame) -> Judgements:
    asked, searched, name = _ids(file, "query-id"), _ids(file, "corpus-id"), file.column("score")
    known_queries, known_documents = set(queries["id"]), set(corpus["id"])
    found: Judgements = {}
    for row, (query, document, score) in enumerate(zip(asked, searched, file.rows[name], strict=True)):
        relevance = whole(int(score) if isinstance(score, str) and score.lstrip("-").isdecimal() else score)
        if relevance is None:
            raise file.wrong(f"the relevance {shown(score)} is not a whole number", name, row)
        if query not in known_queries:
            raise file.wrong(
                f"there is no query '{query}'; add it to the queries or leave the row out", file.found("query-id"), row
            )
        if document not in known_documents and relevance > 0:
            raise file.wrong(
                f"there is no document '{document}'; add it to the corpus or leave the row out",
                file.found("corpus-id"),
                row,
            )
        if found.setdefault(query, {}).setdefault(document, relevance) != relevance:
            raise file.wrong(f"'{query}' and '{document}' have another relevance in an earlier row", name, row)
    for row, query in enumerate(asked):
        if max(found[query].values()) <= 0:
            raise file.wrong(
                f"the query '{query}' has no relevant document; leave its rows out or correct them", name, row
            )
    return found


def _candidates(file: TaskFile, qrels: Judgements, corpus: pd.DataFrame) -> dict[str, list[str]]:
    """The documents that a reranking task orders, by query."""
    asked, documents = _ids(file, "query-id"), set(corpus["id"])
    found: dict[str, list[str]] = {}
    listed = file.found("corpus-ids")
    name = listed or file.column("corpus-id")
    ids = file.rows[name] if listed else _ids(file, "corpus-id").map(lambda one: [one])
    for row, (query, some) in enumerate(zip(asked, ids, strict=True)):
        if not is_listed(some) or not len(some):
            raise file.wrong(f"'{query}' has no list of candidates", name, row)
        if listed and query in found:
            raise file.wrong(f"the query '{query}' has a row before this one", file.found("query-id"), row)
        for one in map(str, some):
            if one not in documents:
                raise file.wrong(f"there is no document '{one}'; add it to the corpus or leave it out", name, row)
            if one in found.setdefault(query, []):
                raise file.wrong(f"the candidate '{one}' of '{query}' is there twice", name, row)
            found[query].append(one)
    for query in qrels:
        if query not in found:
            raise file.wrong(f"there are no candidates for the query '{query}'; add them", file.found("query-id"))
    return {query: found[query] for query in qrels}
