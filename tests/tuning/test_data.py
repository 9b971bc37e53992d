"""Training rows: what is a negative of what, which texts may meet in two parts, what is left out."""

from __future__ import annotations

import pandas as pd
import pytest

from helpers.base.errors import StudyError
from helpers.tuning.data import (
    clean_examples,
    fingerprint,
    groups,
    remove_near_duplicates,
    split_by_target,
    training_rows,
)


def examples(n: int = 12, **columns) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "id": [f"e{i}" for i in range(n)],
            "query": [f"question {i}" for i in range(n)],
            "paraphrase": [f"asked otherwise {i}" for i in range(n)],
            "target": [f"passage {i}" for i in range(n)],
            "language": "",
        }
    )
    return table.assign(**columns)


def prefix(kind: str, language: str) -> str:
    return f"<{kind}{language}> "


def rows_of(table: pd.DataFrame, probability: float = 0.5, n: int = 3, seed: int = 0) -> pd.DataFrame:
    return training_rows(table.assign(group=groups(table)), prefix, n, probability, seed)


def test_each_example_gives_a_retrieval_and_an_sts_row():
    rows = rows_of(examples(), probability=1.0)
    first = rows[rows["id"] == "e0"].set_index("kind")
    assert first.loc["retrieval", "anchor"] == "<retrieval> question 0"
    assert first.loc["retrieval", "positive"] == "passage 0"
    assert first.loc["retrieval", "negative_1"] == "asked otherwise 0"
    assert first.loc["sts", "anchor"] == "<sts> question 0"
    assert first.loc["sts", "positive"] == "asked otherwise 0"
    assert first.loc["sts", "negative_1"] == "passage 0"


def test_without_query_side_negatives_only_the_first_negatives_change():
    table = examples(40)
    never, half, always = (rows_of(table, p) for p in (0.0, 0.5, 1.0))
    assert not never["hard"].any() and always["hard"].all()
    assert 0.3 < half["hard"].mean() < 0.7
    assert half.groupby("id")["hard"].nunique().max() == 1
    same = ["id", "anchor", "positive", "negative_2", "negative_3"]
    pd.testing.assert_frame_equal(never[same], always[same])
    pd.testing.assert_frame_equal(half[~half["hard"]], never[~half["hard"]])


def test_negatives_never_come_from_the_same_target():
    table = examples(12, target=[f"passage {i // 3}" for i in range(12)])
    rows = rows_of(table, 0.0, n=3)
    target = dict(zip(table["id"], table["target"], strict=True))
    of_query = dict(zip(table["query"], table["target"], strict=True))
    for row in rows.itertuples():
        negatives = [row.negative_1, row.negative_2, row.negative_3]
        assert len(set(negatives)) == 3
        found = negatives if row.kind == "retrieval" else [of_query[n] for n in negatives]
        assert target[row.id] not in found


def test_negatives_keep_to_the_language():
    table = examples(12, language=["German"] * 6 + ["Finnish"] * 6)
    rows = rows_of(table, 0.0)
    language = dict(zip(table["target"], table["language"], strict=True))
    for row in rows[rows["kind"] == "retrieval"].itertuples():
        assert {language[n] for n in (row.negative_1, row.negative_2, row.negative_3)} == {row.language}
        assert row.anchor.startswith(f"<retrieval{row.language}> ")


def test_too_few_candidates_are_named():
    with pytest.raises(StudyError, match=r"'e0' has 2 candidates for its 8 negatives.*lower n_negatives"):
        rows_of(examples(3), n=8)


def test_shared_queries_and_targets_form_one_group():
    table = examples(4, query=["a", "A ", "b", "c"], target=["t1", "t2", "t2", "t3"])
    assert groups(table).tolist() == [0, 0, 0, 1]


def test_no_target_and_no_query_crosses_the_parts():
    table = examples(200, target=[f"passage {i // 2}" for i in range(200)], query=[f"q {i // 4}" for i in range(200)])
    out = split_by_target(table, 0.2, 0.3, seed=1)
    assert out.groupby("target")["split"].nunique().max() == 1
    assert out.groupby("query")["split"].nunique().max() == 1
    share = out["split"].value_counts(normalize=True)
    assert share["test"] == pytest.approx(0.3, abs=0.03) and share["dev"] == pytest.approx(0.14, abs=0.03)
    assert out.equals(split_by_target(table, 0.2, 0.3, seed=1))
    assert not out.equals(split_by_target(table, 0.2, 0.3, seed=2))


def test_given_test_part_is_kept_and_what_touches_it_leaves_the_training_part():
    table = examples(20)
    table.loc[3, "target"] = "passage 19"
    out = split_by_target(table, 0.2, 0.3, seed=0, test=pd.Series([i >= 15 for i in range(20)]))
    assert out.loc[15:, "split"].eq("test").all()
    assert out.loc[3, "split"] == "dropped"


def test_empty_part_is_an_error_that_says_how_many_there_are():
    with pytest.raises(StudyError, match="test part is empty: 2 examples"):
        split_by_target(examples(2), 0.2, 0.3, seed=0)


def test_useless_examples_are_left_out_with_a_reason():
    table = examples(6)
    table.loc[1, "paraphrase"] = "Question  1"
    table.loc[2, "target"] = ""
    table.loc[3, ["query", "target"]] = ["question 0", "passage 0"]
    table.loc[4, "target"] = "question 4"
    kept, report = clean_examples(table)
    assert kept["id"].tolist() == ["e0", "e5"]
    assert dict(zip(report["id"], report["reason"], strict=True)) == {
        "e1": "paraphrase equals query",
        "e2": "empty text",
        "e3": "repeated query and target",
        "e4": "target equals query or paraphrase",
    }


def test_where_all_examples_are_useful_none_is_reported():
    kept, report = clean_examples(examples(6))
    assert len(kept) == 6 and report.empty and list(report) == ["id", "reason", "text", "other", "similarity"]


def test_training_texts_close_to_held_out_texts_are_removed():
    table = examples(3, split=["train", "train", "test"])
    table["query"] = [
        "How tall is the old lighthouse of Varn?",
        "Who bakes the rye bread?",
        "How tall is the old lighthouse at Varn?",
    ]
    table["paraphrase"] = ["one", "two", "three"]
    table["target"] = ["It burns oil.", "The miller's aunt.", "Ninety feet."]
    kept, report = remove_near_duplicates(table, 0.7)
    assert kept["id"].tolist() == ["e1", "e2"]
    assert report["id"].tolist() == ["e0"] and report["other"][0] == table["query"][2]
    assert 0.7 <= report["similarity"][0] < 1
    assert remove_near_duplicates(table, 1.0)[1].empty


def test_fingerprint_changes_with_any_cell():
    table = examples(3)
    assert fingerprint(table) == fingerprint(table.copy())
    assert fingerprint(table) != fingerprint(examples(3, query=["question 0", "question 1", "question 9"]))
