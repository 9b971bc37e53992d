"""Batch jobs against a real HTTP server: submitted once, picked up again, collected."""

from __future__ import annotations

import json

import llm_server
import pytest
from llm_server import KEY, chat, error

from helpers.prompts.llm.batch import BatchBackend
from helpers.prompts.llm.chat import Answer, Failure, Request
from helpers.prompts.llm.paraphrase import paraphrase
from helpers.study.prompts import GeneratorSpec

SPEC = GeneratorSpec(model="toy-model", backend="batch", poll_seconds=0.01, retries=0)


@pytest.fixture
def llm(monkeypatch):
    with llm_server.running() as (server, address):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


def backend(folder, **settings) -> BatchBackend:
    return BatchBackend(SPEC, folder, report=lambda line: None, **settings)


def requests(*names: str) -> list[Request]:
    content = "Paraphrase. Text: "
    return [Request(id=n, messages=({"role": "user", "content": content + n},)) for n in names]


def test_a_job_is_written_submitted_polled_and_collected(llm, tmp_path):
    llm.polls_until_done = 3
    found = dict(backend(tmp_path).ask(requests("a", "b")))

    assert {i: a.text for i, a in found.items()} == {"a": "Said differently: a", "b": "Said differently: b"}
    line = json.loads(next(tmp_path.glob("*.jsonl")).read_text(encoding="utf-8").splitlines()[0])
    assert (line["custom_id"], line["url"], line["body"]["model"]) == (
        "a",
        "/v1/chat/completions",
        "toy-model",
    )
    assert llm.batches["batch_0"]["polls"] == 3


def test_a_large_job_is_cut_into_several(llm, tmp_path):
    assert len(dict(backend(tmp_path, largest=2).ask(requests("a", "b", "c")))) == 3
    assert len(llm.batches) == 2


@pytest.mark.parametrize("noted", [True, False], ids=["after it was noted", "before it was noted"])
def test_a_killed_process_finds_its_job_again(llm, tmp_path, noted):
    backend(tmp_path)._submit(requests("a", "b"))  # killed while it polled
    if not noted:
        path = next(tmp_path.glob("*.json"))
        path.write_text(json.dumps(json.loads(path.read_text()) | {"batch_id": None}))
    found = dict(backend(tmp_path).ask(requests("a", "b", "c")))

    assert sorted(found) == ["a", "b", "c"]
    assert sorted(len(llm.files[b["input"]].splitlines()) for b in llm.batches.values()) == [1, 2]
    again = dict(backend(tmp_path).ask(requests("a")))
    assert isinstance(again["a"], Answer) and len(llm.batches) == 3  # a collected job is not read twice


def test_an_expired_job_gives_what_it_has(llm, tmp_path):
    llm.batch_ends = "expired"
    llm.script = [llm.good, lambda body: "nothing"]
    found = dict(backend(tmp_path).ask(requests("a", "b")))

    assert isinstance(found["a"], Answer)
    assert isinstance(found["b"], Failure) and "is expired" in found["b"].reason


def test_a_failed_line_has_its_reason(llm, tmp_path):
    llm.script = [lambda body: error(400, "too long")]
    found = dict(backend(tmp_path).ask(requests("a", "b")))

    assert found["a"].reason == "batch answer 400: too long"
    assert isinstance(found["b"], Answer)


def test_paraphrases_of_a_batch_ask_again_only_for_unusable_answers(llm, tmp_path):
    queries = {"q1": "Where is the harbour?", "q2": "Who built it?"}
    llm.script = [lambda body: chat("where is the HARBOUR"), llm.good]
    table = paraphrase(queries, "SQuAD", tmp_path, SPEC, report=lambda line: None)

    assert table["paraphrase"].tolist() == [f"Said differently: {text}" for text in queries.values()]
    assert table["attempt"].tolist() == [2, 1]
    assert [len(llm.files[b["input"]].splitlines()) for b in llm.batches.values()] == [2, 1]
    assert KEY not in "".join(p.read_text(encoding="utf-8") for p in tmp_path.rglob("*") if p.is_file())
