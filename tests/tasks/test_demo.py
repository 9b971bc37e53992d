"""The demo texts: counts, uniqueness and balance as the data card says."""

from __future__ import annotations

from collections import Counter

import pytest

from helpers.tasks.demo import DEMO_TASKS, demo_paraphrases, read_jsonl


def same(text: str) -> str:
    return " ".join(text.lower().split())


def test_there_are_enough_texts() -> None:
    counts = {name: len(read_jsonl(name)) for name in ("questions", "passages", "topics", "sts", "bitext")}
    assert counts["questions"] >= 240 and counts["passages"] >= 300 and counts["topics"] >= 240
    assert counts["sts"] >= 150 and counts["bitext"] >= 120


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("questions", ("question", "paraphrase")),
        ("passages", ("text",)),
        ("topics", ("text",)),
        ("sts", ("sentence1", "sentence2")),
        ("bitext", ("en", "en_paraphrase")),
        ("bitext", ("de",)),
        ("bitext", ("fr",)),
        ("bitext", ("fi",)),
    ],
)
def test_no_text_occurs_twice_and_no_paraphrase_equals_a_source(name: str, keys: tuple[str, ...]) -> None:
    texts = [same(row[key]) for row in read_jsonl(name) for key in keys]
    assert [t for t, n in Counter(texts).items() if n > 1] == []


def test_every_question_has_its_passage_and_no_passage_crosses_the_split() -> None:
    passages = {p["id"] for p in read_jsonl("passages")}
    by_split = {s: {q["passage_id"] for q in read_jsonl("questions") if q["split"] == s} for s in ("train", "test")}
    assert by_split["train"] | by_split["test"] <= passages
    assert not by_split["train"] & by_split["test"]


def test_some_passages_answer_no_question() -> None:
    answered = {q["passage_id"] for q in read_jsonl("questions")}
    assert len(read_jsonl("passages")) - len(answered) >= 60


def test_topics_are_balanced_over_both_splits() -> None:
    counts = Counter((t["topic"], t["split"]) for t in read_jsonl("topics"))
    assert set(counts.values()) == {20, 24} and len(counts) == 12


def test_grades_cover_the_whole_scale() -> None:
    grades = Counter(int(row["score"]) for row in read_jsonl("sts"))
    assert set(grades) == {0, 1, 2, 3, 4, 5} and min(grades.values()) >= 20


@pytest.mark.parametrize("name", ["DemoRetrieval", "DemoBitextMining"])
def test_every_query_has_a_paraphrase(name: str) -> None:
    from helpers.study.spec import TaskSpec
    from helpers.tasks.load import load_task
    from helpers.tasks.search import search_set

    found = search_set(load_task(TaskSpec(name=name)))
    assert set(found.queries) <= set(demo_paraphrases(name))


def test_texts_have_different_lengths() -> None:
    words = [len(p["text"].split()) for p in read_jsonl("passages")]
    assert min(words) < 20 and max(words) > 60


def test_there_is_one_task_per_type_of_the_suite() -> None:
    types = {task.metadata.type for task in DEMO_TASKS.values()}
    assert types == {"Retrieval", "Classification", "Clustering", "STS", "BitextMining"}
