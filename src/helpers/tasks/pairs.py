"""Tables in one file: pairs of a query and a document as a search set, rows with a split as training and test rows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from helpers.base.errors import StudyError
from helpers.tasks.checks import check_text, shown
from helpers.tasks.files import TaskFile

TEST_SHARE = 0.5


def texts_of_pairs(pairs: TaskFile, kind: str) -> dict[str, TaskFile]:
    """Corpus, queries and judgements of rows that hold a query and a document, which answers it where `score` is absent.

    The corpus is the distinct documents of the file. A reranking task orders, for each query, the documents that stand
    beside it; there the relevance must be given.
    """
    names = {part: pairs.column(part) for part in ("query", "document")}
    for part, name in names.items():
        check_text(pairs, part, name)
        for row in pairs.rows.index[pairs.rows[name].str.strip() == ""]:
            raise pairs.wrong("the text is empty; give one or leave the row out", name, row)
    score = pairs.found("score")
    if kind == "Reranking" and score is None:
        raise pairs.wrong("there is no column 'score'; a reranking task needs the relevance (0, 1, …) of each pair")
    rows = pd.DataFrame(
        {
            "query-id": "q" + pd.Series(pd.factorize(pairs.rows[names["query"]])[0]).astype(str),
            "corpus-id": "d" + pd.Series(pd.factorize(pairs.rows[names["document"]])[0]).astype(str),
            "score": 1 if score is None else pairs.rows[score],
        }
    )
    tables = {
        "corpus": _distinct(rows["corpus-id"], pairs.rows[names["document"]]),
        "queries": _distinct(rows["query-id"], pairs.rows[names["query"]]),
        "qrels": rows,
    }
    if kind == "Reranking":
        tables["top_ranked"] = rows[["query-id", "corpus-id"]].drop_duplicates(ignore_index=True)
    return {name: TaskFile(pairs.shown, table) for name, table in tables.items()}


def _distinct(ids: pd.Series, texts: pd.Series) -> pd.DataFrame:
    return pd.DataFrame({"id": ids, "text": texts}).drop_duplicates(ignore_index=True)


def split_rows(whole: TaskFile, kind: str) -> dict[str, TaskFile]:
    """The splits of one file. Classification trains: on the rows whose `split` is train, or without such a column on
    half of each label's rows, drawn with a fixed seed.
    """
    if kind != "Classification":
        return {"test": whole}
    if "split" in whole.rows:
        for row, value in whole.rows["split"].items():
            if value not in ("train", "test"):
                raise whole.wrong(f"{shown(value)} is neither train nor test", "split", row)
        parts = {name: whole.rows[whole.rows["split"] == name].drop(columns="split") for name in ("train", "test")}
        for name, part in parts.items():
            if part.empty:
                raise whole.wrong(f"no row is {name}; a classification task needs both", "split")
    else:
        train, test = _halves(whole)
        parts = {"train": whole.rows.loc[train], "test": whole.rows.loc[test]}
    return {name: TaskFile(whole.shown, part.reset_index(drop=True)) for name, part in parts.items()}


def _halves(whole: TaskFile) -> tuple[Any, Any]:
    from sklearn.model_selection import train_test_split

    name = whole.column("label")
    try:
        return train_test_split(
            whole.rows.index, test_size=TEST_SHARE, random_state=42, stratify=whole.rows[name].astype(str)
        )
    except ValueError as error:
        raise StudyError(
            f"{whole.shown}, column '{name}': every label needs two rows or more, of which one trains the classifier; "
            f"or say in a column 'split' which rows are train and which test ({str(error).splitlines()[0]})"
        ) from error
