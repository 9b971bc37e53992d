"""Paraphrases from a language model, and how good they are."""

from __future__ import annotations

import llm_server
import numpy as np
import pytest
from llm_server import KEY, chat

from helpers.base.errors import StudyError
from helpers.geometry.sets import read_paraphrases
from helpers.prompts.llm.paraphrase import WORDINGS, estimate, paraphrase, same, wording_of
from helpers.prompts.llm.quality import language_of, quality
from helpers.study.prompts import GeneratorSpec

SPEC = GeneratorSpec(model="toy-model", retries=0, concurrency=2)
QUERIES = {"q1": "Where is the harbour?", "q2": "Who built it?", "q3": "Where is the harbour?"}


@pytest.fixture
def llm(monkeypatch):
    with llm_server.running() as (server, address):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


def run(folder, queries=QUERIES, **settings):
    return paraphrase(queries, "SQuAD", folder, SPEC, report=lambda line: None, **settings)


def test_every_distinct_text_is_asked_for_once(llm, tmp_path):
    table = run(tmp_path)

    assert len(llm.requests) == 2
    assert table["id"].tolist() == ["q1", "q2", "q3"]
    assert table["paraphrase"][0] == table["paraphrase"][2] == "Said differently: Where is the harbour?"
    sent = sorted(r["messages"][0]["content"] for r in llm.requests)[0]
    assert sent == WORDINGS["SQuAD"].replace("{input}", "Where is the harbour?")
    assert "response_format" not in llm.requests[0]


def test_a_second_run_asks_only_for_new_texts(llm, tmp_path):
    first = run(tmp_path)
    second = run(tmp_path, QUERIES | {"q4": "When was it built?"})

    assert len(llm.requests) == 3
    assert second["paraphrase"][:3].tolist() == first["paraphrase"].tolist()


@pytest.mark.parametrize(
    ("answer", "kept"),
    [("```\nIn which place?\n```", "In which place?"), ("“In which place?”", "In which place?"),
     ("<think>hm</think>\n In which place? ", "In which place?")],
)  # fmt: skip
def test_marks_around_a_paraphrase_are_taken_off(llm, tmp_path, answer, kept):
    llm.answer = lambda body: chat(answer)
    assert run(tmp_path, {"q": "Where?"})["paraphrase"].tolist() == [kept]


def test_a_query_without_usable_paraphrase_is_reported(llm, tmp_path):
    llm.answer = lambda body: chat("WHERE IS THE HARBOUR")
    table = run(tmp_path, {"q1": "Where is the harbour?"})

    assert table["paraphrase"].tolist() == [None]
    assert table["reason"].tolist() == ["it equals the text"]
    assert len(llm.requests) == SPEC.attempts


def test_the_estimate_comes_before_the_run_and_can_stop_it(llm, tmp_path):
    before = estimate(QUERIES, "SQuAD", tmp_path, SPEC, price_in=1.0, price_out=2.0)
    # 2 texts; characters / 4, rounded up: the wording with its text, and the text as answer.
    sizes = [len(WORDINGS["SQuAD"]) - len("{input}") + n for n in (21, 13)]
    expected_in = sum(-(-s // 4) for s in sizes)
    assert (before.requests, before.prompt_tokens, before.answer_tokens) == (2, expected_in, 6 + 4)
    assert before.cost == pytest.approx((expected_in + 20) / 1e6)
    with pytest.raises(StudyError, match="more than max_cost"):
        run(tmp_path, price_in=1e6, price_out=1e6, max_cost=5.0)
    with pytest.raises(StudyError, match="max_cost needs price_in"):
        run(tmp_path, max_cost=5.0)
    assert llm.requests == []


def test_a_wording_is_a_preset_or_has_a_place_for_the_text():
    assert wording_of("Say again: {input}") == "Say again: {input}"
    with pytest.raises(StudyError, match="did you mean SQuAD"):
        wording_of("squad2")


def test_each_check_finds_its_fault():
    source = "Which river flows through the old town of the capital?"
    table = quality(
        dict.fromkeys("abcdef", source),
        {
            "a": "What waterway runs past the historic centre of the seat of government?",
            "b": " ",
            "c": "which river flows through the OLD town of the capital",
            "d": "Welcher Fluss fließt eigentlich durch die Altstadt der Hauptstadt?",
            "e": "Does the Silverbrook flow through the historic centre?",
            "f": "How long does a hen sit on her eggs until the chicks hatch?",
        },
        answers={"e": "Silverbrook"},
        embed=lambda texts: np.array([[0.0, 1.0] if "hen" in t else [1.0, 0.0] for t in texts]),
    ).set_index("id")

    assert table["checks"].to_dict() == {
        "a": "", "b": "empty", "c": "equal to source", "d": "other language", "e": "answer leaked", "f": "too far",
    }  # fmt: skip


def test_a_paraphrase_nearer_to_another_query_is_too_far():
    vectors = {"one": [1.0, 0.0], "two": [0.6, 0.8], "uno": [0.7, 0.714], "due": [0.6, 0.8]}
    table = quality(
        {"a": "one", "b": "two"}, {"a": "uno", "b": "due"}, embed=lambda t: np.array([vectors[x] for x in t])
    )

    assert table["checks"].tolist() == ["too far", ""]
    assert table["reasons"][0] == "nearer to the query 'two' (0.99) than to its source (0.70)"


def test_an_answer_that_the_query_has_already_is_no_leak():
    query, paraphrased = {"a": "Is it the Silverbrook?"}, {"a": "Could the Silverbrook be meant?"}
    table = quality(query, paraphrased, answers={"a": "Silverbrook"})
    assert table["checks"].tolist() == [""]


def test_equal_means_equal_words():
    assert same("Teacher's colleges?", "teachers' COLLEGES")
    assert not same("one", "won")


def test_nothing_is_in_no_language():
    assert language_of("  ") == ("", 0.0)


def test_the_real_paraphrases_of_squad_are_found_as_their_authors_left_them(task_data):
    import pandas as pd

    rows = pd.read_parquet(task_data / "SQuAD" / "examples.parquet")
    by_id = rows.set_index("id")
    table = quality(by_id["question"].to_dict(), by_id["paraphrase"].to_dict())

    assert len(table) == 1062
    assert table["checks"].value_counts().to_dict() == {"": 1051, "equal to source": 11}


def test_a_line_separator_inside_a_text_is_no_end_of_line(tmp_path):
    path = tmp_path / "paraphrases.jsonl"
    path.write_text('{"id": "1", "paraphrase": "one\u2028two"}\n{"id": "2", "paraphrase": "three"}\n', encoding="utf-8")
    assert read_paraphrases(path, {"1": "a", "2": "b"}) == {"1": "one\u2028two", "2": "three"}
