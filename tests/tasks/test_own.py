"""Own tasks: every type from a file and from Python, scored by mteb's class, and wrong data named."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers.base.errors import StudyError
from helpers.study.spec import ModelSpec, TaskSpec
from helpers.tasks import given
from helpers.tasks.load import load_task
from helpers.tasks.own import measures

WORDS = [
    "cat",
    "dog",
    "bird",
    "fish",
    "tree",
    "house",
    "road",
    "river",
    "cloud",
    "stone",
    "bread",
    "salt",
    "wine",
    "lamp",
    "door",
    "key",
]
FAQ = [(f"what is a {w}?", f"a {w} is a thing") for w in WORDS]
RERANK = [(f"what is a {w}?", f"a {v} is a thing", int(v == w)) for w in WORDS[:8] for v in [*WORDS[:5], w]]
STS = [(w, v, float(len({*w} & {*v}))) for w in WORDS for v in WORDS[:3]]
PAIRS = [(w, w[::-1], i % 2) for i, w in enumerate(WORDS)]
LABELLED = [(f"{w} {v}", ["a", "b"][i % 2]) for i, w in enumerate(WORDS) for v in WORDS[:4]]
BITEXT = [(w, f"{w}en") for w in WORDS]

KINDS = {
    "Retrieval": (FAQ, ["question", "answer"], given.retrieval_task),
    "Reranking": (list(dict.fromkeys(RERANK)), ["query", "document", "score"], given.reranking_task),
    "STS": (STS, ["sentence1", "sentence2", "score"], given.sts_task),
    "PairClassification": (PAIRS, ["sentence1", "sentence2", "label"], given.pair_classification_task),
    "Classification": (LABELLED, ["text", "label"], given.classification_task),
    "Clustering": (LABELLED, ["text", "label"], given.clustering_task),
    "BitextMining": (BITEXT, ["sentence1", "sentence2"], given.bitext_task),
}


class Letters:
    """An encoder that mteb accepts: how often each letter occurs."""

    def __init__(self):
        from helpers.models.load import load_model

        self.wrapper = load_model(
            ModelSpec(name="dleemiller/WordLlama", label="static", weights="package:wordllama")
        ).wrapper


@pytest.fixture(scope="module")
def encoder():
    return Letters().wrapper


def scores(spec: TaskSpec, encoder) -> dict[str, float]:
    return load_task(spec).evaluate(encoder, "test", encode_kwargs={"show_progress_bar": False})["default"]


@pytest.mark.parametrize("kind", KINDS)
def test_csv_jsonl_parquet_and_python_rows_give_the_same_score_by_mtebs_own_class(kind, tmp_path, encoder):
    rows, columns, make = KINDS[kind]
    frame = pd.DataFrame(rows, columns=columns)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, frame.to_dict("records"))), encoding="utf-8")
    specs = [
        TaskSpec(name="mine", type=kind, data=str(tmp_path / f"a.{e}")) for e in ("csv", "tsv", "parquet", "jsonl")
    ]
    specs += [
        make("mine", frame).write(tmp_path / "one"),
        make("mine", frame.to_dict("list")).write(tmp_path / "two"),
    ]
    found = [scores(spec, encoder) for spec in specs]
    assert set(measures(kind)) <= set(found[0])  # any of them may be the main score
    assert all(one["main_score"] == found[0]["main_score"] for one in found)


def test_own_retrieval_equals_the_demo_task_that_holds_the_same_texts(encoder):
    demo = load_task(TaskSpec(name="DemoRetrieval", split="test")).dataset["default"]["test"]
    mine = given.retrieval_task("mine", demo["corpus"].to_pandas(), demo["queries"].to_pandas(), demo["relevant_docs"])
    stock = load_task(TaskSpec(name="DemoRetrieval", split="test"))
    stock = stock.evaluate(encoder, "test", encode_kwargs={"show_progress_bar": False})["default"]
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        assert scores(mine.write(Path(folder)), encoder)["ndcg_at_10"] == stock["ndcg_at_10"]


def test_columns_are_mapped_and_texts_are_never_changed(tmp_path):
    pd.DataFrame({"frage": ["NA", " 007 "], "antwort": ["null", "x"]}).to_csv(tmp_path / "f.csv", index=False)
    columns = {"query": "frage", "document": "antwort"}
    task = load_task(TaskSpec(name="mine", type="Retrieval", data=str(tmp_path / "f.csv"), columns=columns))
    assert task.dataset["default"]["test"]["queries"]["text"][:] == ["NA", " 007 "]


@pytest.mark.parametrize("sep", [",", ";"])
def test_a_csv_of_a_spreadsheet_with_semicolons_is_read(tmp_path, sep):
    (tmp_path / "f.csv").write_text(f"\ufeffquestion{sep}answer\nwho?{sep}me\nwhat?{sep}that\n", encoding="utf-8")
    task = load_task(TaskSpec(name="mine", type="Retrieval", data=str(tmp_path / "f.csv")))
    assert task.dataset["default"]["test"]["corpus"]["text"][:] == ["me", "that"]


def test_of_several_forms_of_judgements_all_mean_the_same():
    made = [
        given.retrieval_task("t", {"a": "x", "b": "y"}, {"q": "z"}, judged).files["qrels"].rows.values.tolist()
        for judged in (
            {"q": {"a": 1}},
            {"q": "a"},
            {"q": ["a"]},
            [("q", "a", 1)],
            [{"query-id": "q", "corpus-id": "a"}],
        )
    ]
    assert made == [[["q", "a", 1]]] * 5


NAN = float("nan")
WRONG = {
    "a judgement of an absent document": (
        lambda: given.retrieval_task("t", ["x"], ["z"], {0: 7}),
        "qrels, column 'corpus-id', row 0: there is no document '7'",
    ),
    "a judgement of an absent query": (lambda: given.retrieval_task("t", ["x"], ["z"], {5: 0}), "column 'query-id', row 0: there is no query '5'"),
    "one id for two texts": (
        lambda: given.retrieval_task("t", [("a", "x"), ("a", "y")], ["z"], {0: "a"}),
        "corpus, column 'id', row 1: the id 'a' has another text in row 0",
    ),
    "a query without a relevant document": (lambda: given.retrieval_task("t", ["x"], ["z"], {0: {0: 0}}), "the query '0' has no relevant document"),
    "a broken relevance": (lambda: given.retrieval_task("t", ["x"], ["z"], {0: {0: 0.5}}), "relevance 0.5 is not a whole number"),
    "a missing text": (lambda: given.retrieval_task("t", [("q", None)]), "column 'document', row 0: the text is missing"),
    "an empty query": (lambda: given.retrieval_task("t", [("q", "a"), (" ", "b")]), "column 'query', row 1: the text is empty"),
    "queries without judgements": (lambda: given.retrieval_task("t", ["x"], ["z"]), "qrels are missing"),
    "no candidates": (lambda: given.reranking_task("t", ["x"], ["z"], {0: 0}), "top_ranked is missing"),
    "an unknown candidate": (
        lambda: given.reranking_task("t", ["x"], ["z"], {0: 0}, {0: [0, 9]}),
        "top_ranked, column 'corpus-ids', row 0: there is no document '9'",
    ),
    "pairs without relevance": (lambda: given.reranking_task("t", [("q", "d")]), "no column 'score'"),
    "one grade throughout": (lambda: given.sts_task("t", [("a", "b", 1), ("c", "d", 1)]), "column 'score': every value is 1"),
    "a grade that is not finite": (
        lambda: given.sts_task("t", [("a", "b", 1), ("c", "d", NAN)]),
        "column 'score', row 1: nan is not a finite number",
    ),
    "columns of two lengths": (lambda: given.sts_task("t", {"sentence1": ["a"], "sentence2": ["b", "c"], "score": [1, 2]}), "not of one length"),
    "a missing column": (
        lambda: given.sts_task("t", [{"sentence1": "a", "score": 1}, {"sentence1": "b", "score": 2}]),
        "there is no column 'sentence2'",
    ),
    "an unknown mapped column": (
        lambda: given.sts_task("t", [("a", "b", 1)], columns={"sentence1": "text"}),
        "columns.sentence1: unknown column 'text'",
    ),
    "a label that is not 0 or 1": (lambda: given.pair_classification_task("t", [("a", "b", 1), ("c", "d", 2)]), "row 1: the label 2 is not 0 or 1"),
    "one label only": (lambda: given.clustering_task("t", [("a", "x"), ("b", "x")]), "every label is 'x'"),
    "a label with one text": (
        lambda: given.classification_task("t", [("a", "x"), ("b", "x"), ("c", "y")]),
        "column 'label': every label needs two rows",
    ),
    "a label that is not trained on": (
        lambda: given.classification_task("t", [("a", "x"), ("b", "y")], [("c", "x"), ("d", "z")]),
        "test, column 'label', row 1: the label 'z' does not occur",
    ),
    "one language for translations": (lambda: given.bitext_task("t", BITEXT, language="eng-Latn"), "language: bitext mining has two"),
    "a language that is none": (lambda: given.sts_task("t", STS, language="english"), "language: english is not language and script, e.g. eng-Latn"),
    "an unknown score": (lambda: given.retrieval_task("t", FAQ, main_score="ndcg_at_11"), "unknown score 'ndcg_at_11'; did you mean ndcg_at_1"),
    "an unknown argument": (lambda: given.retrieval_task("t", FAQ, metric="mrr"), "unknown key 'metric'"),
    "a name with a slash": (lambda: given.retrieval_task("a/b", FAQ), "must be a plain name"),
    "no rows": (lambda: given.sts_task("t", []), "there are no rows"),
    "no table": (lambda: given.sts_task("t", 5), "int holds no rows"),
    "a bare text": (lambda: given.sts_task("t", ["a"]), "row 0: 'a' is no row; give (sentence1, sentence2, score)"),
    "rows of two lengths": (lambda: given.retrieval_task("t", [("a", "b"), ("c",)]), "row 1: a row is (query, document, score)"),
    "an absent file": (lambda: given.retrieval_task("t", "faq.csv"), "there is no file 'faq.csv'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_data_are_named_by_table_column_row_and_remedy(case):
    make, said = WRONG[case]
    with pytest.raises(StudyError) as error:
        make()
    assert said in str(error.value) and str(error.value).startswith(("task ", "t", "a/b"))
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"type": "Retrieval"}, "has 'type' but no 'data'"),
        ({"data": "x.csv"}, "has 'data' but no 'type'"),
        ({"main_score": "f1"}, "'main_score' is for own tasks"),
        ({"type": "STS", "data": "x.csv", "split": "dev"}, "'subsets' and 'split' are for tasks of mteb"),
    ],
)
def test_a_half_entry_of_a_study_is_refused(spec, said):
    with pytest.raises(ValueError, match=said):
        TaskSpec(name="mine", **spec)


def test_an_own_task_may_not_take_the_name_of_mtebs(tmp_path):
    pd.DataFrame(STS, columns=["sentence1", "sentence2", "score"]).to_csv(tmp_path / "s.csv", index=False)
    with pytest.raises(StudyError, match="task STS15: this is the name of another task"):
        load_task(TaskSpec(name="STS15", type="STS", data=str(tmp_path / "s.csv")))


def test_half_of_each_labels_rows_train_the_same_ones_each_time():
    made = [given.classification_task("t", LABELLED).files for _ in range(2)]
    assert made[0]["train"].rows.equals(made[1]["train"].rows)
    assert made[0]["train"].rows["label"].value_counts().to_dict() == {"a": 16, "b": 16}
    assert not {*made[0]["train"].rows["text"]} & {*made[0]["test"].rows["text"]}
    assert np.all([len(files["test"].rows) == 32 for files in made])
