"""Local task data: what is accepted with which meaning, and what is refused by file, column and row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from local_tasks import DOCUMENTS, QRELS, TASKS, TOP_RANKED, WORDS, Tables, spec, tables, write

from helpers.base.errors import StudyError
from helpers.study.spec import TaskSpec
from helpers.tasks.load import load_task, subset_data


def load(kind: str, root: Path, files: Tables | None = None) -> Any:
    write(root, TASKS[kind], files or tables(kind))
    return load_task(TaskSpec(**spec(kind)), root=root)


def put(file: str, column: str, row: int, value: Any) -> Callable[[Tables], None]:
    """One value of a file changed."""

    def change(files: Tables) -> None:
        values = files[file][column].astype(object)
        values[row] = value
        files[file] = files[file].assign(**{column: list(values)})

    return change


def every(file: str, column: str, value: Any) -> Callable[[Tables], None]:
    return lambda files: files.update({file: files[file].assign(**{column: value})})


def without(file: str, column: str | None = None) -> Callable[[Tables], None]:
    if column is None:
        return lambda files: files.update({file: None})  # type: ignore[dict-item]
    return lambda files: files.update({file: files[file].drop(columns=column)})


def first_rows(file: str, n: int) -> Callable[[Tables], None]:
    return lambda files: files.update({file: files[file].head(n)})


def more(file: str, **row: Any) -> Callable[[Tables], None]:
    return lambda files: files.update({file: pd.concat([files[file], pd.DataFrame([row])], ignore_index=True)})


DEFECTS = [
    ("Retrieval", without("corpus"), "SciFact/corpus.parquet is missing"),
    ("Retrieval", without("qrels"), "SciFact/qrels.parquet is missing"),
    ("Retrieval", without("qrels", "corpus-id"), "qrels.parquet: there is no column 'corpus-id' (also accepted: corpus_id"),
    ("Retrieval", without("corpus", "text"), "corpus.parquet: there is no column 'text'"),
    ("Retrieval", more("corpus", _id="d1", text="another text"), "corpus.parquet, column '_id', row 8: the id 'd1' has another text in row 1"),
    ("Retrieval", more("queries", _id="q1", text="another text"), "queries.parquet, column '_id', row 3: the id 'q1' has another text in row 1"),
    ("Retrieval", put("corpus", "_id", 2, None), "corpus.parquet, column '_id', row 2: the id is missing"),
    ("Retrieval", put("corpus", "text", 3, None), "corpus.parquet, column 'text', row 3: the text is missing"),
    ("Retrieval", every("queries", "text", 7), "queries.parquet, column 'text', row 0: 7 is not a text"),
    ("Retrieval", every("corpus", "text", " "), "corpus.parquet, column 'text': all texts are empty"),
    ("Retrieval", every("corpus", "title", 5), "corpus.parquet, column 'title', row 0: 5 is not a text"),
    ("Retrieval", put("qrels", "corpus-id", 1, "d99"), "qrels.parquet, column 'corpus-id', row 1: there is no document 'd99'"),
    ("Retrieval", put("qrels", "query-id", 1, "q99"), "qrels.parquet, column 'query-id', row 1: there is no query 'q99'"),
    ("Retrieval", put("qrels", "score", 1, 0), "qrels.parquet, column 'score', row 1: the query 'q1' has no relevant document"),
    ("Retrieval", put("qrels", "score", 2, 0.5), "qrels.parquet, column 'score', row 2: the relevance 0.5 is not a whole number"),
    ("Retrieval", more("qrels", **{"query-id": "q0", "corpus-id": "d0", "score": 2}), "column 'score', row 4: 'q0' and 'd0' have another relevance"),
    ("Reranking", without("top_ranked"), "AskUbuntuDupQuestions/top_ranked.parquet is missing: a reranking task orders given candidates"),
    ("Reranking", first_rows("top_ranked", 2), "top_ranked.parquet, column 'query-id': there are no candidates for the query 'q2'"),
    ("Reranking", put("top_ranked", "corpus-ids", 1, ["d1", "d77"]), "top_ranked.parquet, column 'corpus-ids', row 1: there is no document 'd77'"),
    ("Reranking", put("top_ranked", "corpus-ids", 0, ["d0", "d0"]), "column 'corpus-ids', row 0: the candidate 'd0' of 'q0' is there twice"),
    ("STS", put("test", "sentence1", 2, None), "STS15/test.parquet, column 'sentence1', row 2: the text is missing"),
    ("STS", every("test", "sentence2", 4.5), "test.parquet, column 'sentence2', row 0: 4.5 is not a text"),
    ("STS", every("test", "score", 3.0), "test.parquet, column 'score': every value is 3; a correlation needs different ones"),
    ("STS", put("test", "score", 5, float("nan")), "test.parquet, column 'score', row 5: nan is not a finite number"),
    ("STS", put("test", "score", 5, float("inf")), "test.parquet, column 'score', row 5: inf is not a finite number"),
    ("STS", every("test", "score", "high"), "test.parquet, column 'score', row 0: 'high' is not a finite number"),
    ("STS", first_rows("test", 1), "test.parquet, column 'score': there is one row only"),
    ("STS", first_rows("test", 0), "STS15/test.parquet: the file has no rows"),
    ("STS", without("test", "score"), "test.parquet: there is no column 'score' (also accepted: similarity_score"),
    ("STS", lambda files: files.update(other=files.pop("test")), "STS15/test.parquet is missing: the split 'test', which is scored"),
    ("STS", every("test", "sentence1", [["a", "b"]] * 8), "STS15/test.parquet, column 'sentence1', row 0: a list of 2, where a row has one text"),
    ("STS", every("test", "score", [[n] for n in range(8)]), "test.parquet, column 'score', row 0: a list of 1, where a row has one value"),
    ("Retrieval", every("corpus", "text", [["a"]] * 8), "corpus.parquet, column 'text', row 0: a list of 1, where a row has one text"),
    ("Classification", every("test", "label", [[0], [1]] * 8), "test.parquet, column 'label', row 0: a list of 1, where a row has one label"),
    ("PairSets", put("test", "sent2", 0, ["a"]), "SprintDuplicateQuestions/test.parquet, column 'sent1', row 0: "),
    ("Summarization", without("test", "relevance"), "SummEval/test.parquet: there is no column 'relevance'"),
    ("Summarization", put("test", "machine_summaries", 1, ["a"]), "test.parquet, column 'relevance', row 1: relevance and machine_summaries are not"),
    ("Summarization", put("test", "human_summaries", 1, ["a", None]), "test.parquet, column 'human_summaries', row 1: the text is missing"),
    ("PairClassification", put("test", "labels", 3, 2), "LegalBenchPC/test.parquet, column 'labels', row 3: the label 2 is not 0 or 1"),
    ("PairClassification", every("test", "labels", 1), "test.parquet, column 'labels': every label is 1; two or more are needed"),
    ("PairClassification", first_rows("test", 1), "test.parquet, column 'labels': every label is 0; two or more are needed"),
    ("PairClassification", put("test", "labels", 3, None), "test.parquet, column 'labels', row 3: the label is missing"),
    ("Classification", without("train"), "train.parquet is missing: the split 'train', which the classifier is trained on"),
    ("Classification", put("test", "label", 5, 9), "column 'label', row 5: the label 9 does not occur in"),
    ("Classification", every("train", "label", 1), "train.parquet, column 'label': every label is 1; two or more are needed"),
    ("Classification", put("train", "label", 5, 0.5), "train.parquet, column 'label', row 5: the label 0.5 is neither a whole number nor a text"),
    ("Classification", put("train", "label", 5, None), "train.parquet, column 'label', row 5: the label is missing"),
    ("Classification", without("train", "text"), "train.parquet: there is no column 'text' (also accepted: sentence"),
    ("MultilabelClassification", every("train", "label", 1), "KorHateSpeechMLClassification/train.parquet, column 'label', row 0: 1 is not a list of labels"),
    ("MultilabelClassification", put("test", "label", 2, [7]), "test.parquet, column 'label', row 2: the label 7 does not occur in"),
    ("Clustering", first_rows("test", 40), "test.parquet, column 'labels': of 40 rows mteb clusters 4%, which is 1; give at least 50"),
    ("Clustering", every("test", "labels", 3), "test.parquet, column 'labels': every label is 3; two or more are needed"),
    ("Clustering", put("test", "sentences", 9, None), "test.parquet, column 'sentences', row 9: the text is missing"),
    ("ClusteringSets", put("test", "labels", 1, [0, 1]), "column 'labels', row 1: texts and labels are not lists of one length"),
    ("ClusteringSets", put("test", "labels", 0, [1, 1, 1, 1]), "test.parquet, column 'labels', row 0: every label is 1"),
    ("BitextMining", put("deu-eng", "sentence2", 3, None), "Tatoeba/deu-eng.parquet, column 'sentence2', row 3: the text is missing"),
    ("BitextMining", without("deu-eng", "sentence1"), "deu-eng.parquet: there is no column 'sentence1' (also accepted: sent1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "change", "told"), DEFECTS, ids=[f"{n}-{kind}" for n, (kind, *_) in enumerate(DEFECTS)]
)
def test_a_defect_is_refused_by_file_column_and_row(tmp_path, kind, change, told) -> None:
    files = tables(kind)
    change(files)
    with pytest.raises(StudyError) as caught:
        load(kind, tmp_path, {name: table for name, table in files.items() if table is not None})
    message = str(caught.value)
    assert message.startswith(f"task {TASKS[kind]}: ") and told in message and "\n" not in message


@pytest.mark.parametrize("kind", TASKS)
def test_files_of_every_task_type_are_accepted(tmp_path, kind) -> None:
    task = load(kind, tmp_path)
    assert subset_data(task, task.hf_subsets[0])["test"]


def test_a_file_that_is_not_parquet_is_named(tmp_path) -> None:
    write(tmp_path, "STS15", tables("STS"))
    (tmp_path / "STS15" / "test.parquet").write_text("sentence1,sentence2,score")
    with pytest.raises(StudyError, match=r"task STS15: STS15/test\.parquet: not readable as Parquet"):
        load_task(TaskSpec(name="STS15"), root=tmp_path)


def qrels_of(task: Any) -> dict[str, dict[str, int]]:
    return subset_data(task, "default")["test"]["relevant_docs"]


@pytest.mark.parametrize(
    "qrels",
    [
        QRELS.assign(iter=0)[["query-id", "iter", "corpus-id", "score"]],
        QRELS[["score", "corpus-id", "query-id"]],
        QRELS.rename(columns={"query-id": "query_id", "corpus-id": "corpus_id", "score": "relevance"}),
        QRELS.astype({"score": float}),
    ],
    ids=["trec", "reversed", "other names", "floats"],
)
def test_judgements_are_read_by_name(tmp_path, qrels) -> None:
    task = load("Retrieval", tmp_path, tables("Retrieval") | {"qrels": qrels})
    assert qrels_of(task) == {"q0": {"d0": 1}, "q1": {"d1": 1}, "q2": {"d2": 2, "d3": 1}}


def test_whole_numbers_as_ids_are_the_same_ids_in_all_files(tmp_path) -> None:
    """Judgements hold floats, as pandas makes of a column that once had a gap."""
    files = {
        "corpus": DOCUMENTS.assign(_id=range(8)),
        "queries": pd.DataFrame({"_id": [10, 11], "text": WORDS[:2]}),
        "qrels": pd.DataFrame({"query-id": [10.0, 11.0], "corpus-id": [0.0, 1.0], "score": [1, 1]}),
    }
    task = load("Retrieval", tmp_path, files)
    assert qrels_of(task) == {"10": {"0": 1}, "11": {"1": 1}}
    assert subset_data(task, "default")["test"]["corpus"]["id"][:2] == ["0", "1"]


def test_a_null_title_is_no_title_and_a_repeated_row_counts_once(tmp_path) -> None:
    files = tables("Retrieval")
    files["corpus"] = pd.concat([DOCUMENTS, DOCUMENTS.head(1)], ignore_index=True)
    corpus = subset_data(load("Retrieval", tmp_path, files), "default")["test"]["corpus"]
    assert len(corpus) == 8 and set(corpus["title"][:]) == {""}


def test_candidates_may_have_one_row_each(tmp_path) -> None:
    listed = subset_data(load("Reranking", tmp_path / "listed"), "default")["test"]["top_ranked"]
    rows = TOP_RANKED.explode("corpus-ids").rename(columns={"corpus-ids": "corpus-id"})
    files = tables("Reranking") | {"top_ranked": rows}
    flat = subset_data(load("Reranking", tmp_path / "flat", files), "default")["test"]["top_ranked"]
    assert flat == listed and listed["q1"] == ["d4", "d7"]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("STS", {"sentence1": "sent1", "sentence2": "sent2", "score": "similarity_score"}),
        ("PairClassification", {"sentence1": "sent1", "sentence2": "sent2", "labels": "label"}),
        ("Classification", {"text": "sentence", "label": "labels"}),
        ("Clustering", {"sentences": "text", "labels": "label"}),
        ("BitextMining", {"sentence1": "text1", "sentence2": "text2"}),
    ],
)
def test_other_accepted_names_hold_the_same_data(tmp_path, kind, names) -> None:
    files = {name: table.rename(columns=names) for name, table in tables(kind).items()}
    ours, other = load(kind, tmp_path / "a"), load(kind, tmp_path / "b", files)
    subset = ours.hf_subsets[0]
    assert all(
        subset_data(other, subset)["test"][column][:] == subset_data(ours, subset)["test"][column][:]
        for column in names
    )


def test_boolean_labels_are_0_and_1(tmp_path) -> None:
    files = {"test": tables("PairClassification")["test"].assign(labels=[False, True] * 4)}
    task = load("PairClassification", tmp_path, files)
    assert subset_data(task, "default")["test"]["labels"][:] == [0, 1] * 4


def test_one_file_is_not_taken_for_every_language(tmp_path) -> None:
    write(tmp_path, "TweetSentimentClassification", tables("Classification"))
    with pytest.raises(StudyError) as caught:
        load_task(TaskSpec(name="TweetSentimentClassification"), root=tmp_path)
    message = str(caught.value)
    assert "no files for the subset 'arabic' (one of 8)" in message
    assert "TweetSentimentClassification/arabic/test.parquet" in message and "'subsets'" in message


def test_one_file_is_not_taken_for_several_splits(tmp_path) -> None:
    write(tmp_path, "MLQuestions", tables("Retrieval"))
    with pytest.raises(StudyError, match=r"MLQuestions/qrels/dev\.parquet is missing.*'split'"):
        load_task(TaskSpec(name="MLQuestions"), root=tmp_path)
    assert qrels_of(load_task(TaskSpec(name="MLQuestions", split="test"), root=tmp_path))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("CQADupstackRetrieval", "CQADupstackAndroidRetrieval, "),
        ("CIFAR10", "embeds image"),
        ("FloresBitextMining", "from one table"),
    ],
)
def test_a_task_that_cannot_be_swept_is_refused_by_name(name, told) -> None:
    from helpers.tasks.load import check_task

    with pytest.raises(StudyError) as caught:
        check_task(TaskSpec(name=name))
    assert told in str(caught.value)
