"""Prompts from a language model, against a real HTTP server."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import llm_server
import pytest
from llm_server import KEY, chat, error, packed, slow

from helpers.base.errors import StudyError
from helpers.prompts.context import TaskContext
from helpers.prompts.files import read_prompts
from helpers.prompts.llm.ask import plain
from helpers.prompts.llm.generate import generate
from helpers.prompts.llm.open import open_backend
from helpers.prompts.table import prompt_table
from helpers.study.prompts import GeneratorSpec
from helpers.study.spec import Study, TaskSpec

TASKS = ["DemoRetrieval", "DemoSTS"]


@pytest.fixture
def llm(monkeypatch):
    with llm_server.running() as (server, address):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_MODEL", "toy-model")
        yield server


def study(levels=("task",), per_level=3, tasks=TASKS, **generator) -> Study:
    spec = {"retries": 2, "timeout": 5, "concurrency": 1} | generator
    prompts = {"source": "generate", "levels": list(levels), "per_level": per_level, "generator": spec}
    return Study(name="toy", title="Toy", steps=["01"], tasks=[TaskSpec(name=t) for t in tasks], prompts=prompts)


def silent(line: str) -> None:
    pass


def run(wanted: Study, folder, lines=None):
    return generate(wanted, folder, report=silent if lines is None else lines.append)


def one(llm, tmp_path, first, **generator):
    """Generate for one task when the first answer is `first`."""
    llm.script = [first]
    return run(study(tasks=TASKS[:1], **generator), tmp_path)


def test_three_levels_give_the_prompts_with_their_provenance(llm, tmp_path):
    found = run(study(levels=("task", "task+dataset", "task+dataset+language")), tmp_path)

    assert len(found.table) == 2 * 3 * 3
    assert found.table["text"].nunique() == 18
    assert found.missing.empty
    row = found.table.iloc[0]
    assert (row["generator"], row["model_answered"], row["template"], row["attempt"]) == (
        "toy-model", "toy-model-2026", "prompts-1", 1,
    )  # fmt: skip
    assert json.loads(row["raw_answer"])["prompts"][0] == row["text"]


def test_a_level_shows_the_model_only_what_it_gives(llm, tmp_path):
    run(study(levels=("task", "task+dataset", "task+dataset+language"), tasks=["DemoBitextMining"]), tmp_path)

    told = [r["messages"][1]["content"] for r in llm.requests]
    assert "Data set:" not in told[0] and "Language:" not in told[0]
    assert "translations into German" in told[1] and "Language:" not in told[1]
    assert "Language: English, German, French, Finnish" in told[2]
    assert "DemoBitextMining" not in "".join(told)


def test_tasks_of_one_type_share_the_first_level(llm, tmp_path):
    found = run(study(tasks=["SciFact", "ARCChallenge"]), tmp_path)

    assert len(llm.requests) == 1
    assert found.table.groupby("text")["task"].nunique().tolist() == [2, 2, 2]


def test_the_request_asks_for_the_json_schema_with_the_exact_number(llm, tmp_path):
    one(llm, tmp_path, llm.good, temperature=0.5)

    body = llm.requests[0]
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["prompts"]["minItems"] == schema["properties"]["prompts"]["maxItems"] == 3
    assert (body["model"], body["temperature"], body["seed"]) == ("toy-model", 0.5, 42)


@pytest.mark.parametrize(
    "text",
    [
        'Sure!\n```json\n{"prompts": ["a:", "b:", "c:"]}\n```\nEnjoy.',
        '<think>maybe {"prompts": ["x:"]} or {...}</think>{"prompts": ["a:", "b:", "c:"]}',
        'analysis {"a": 1} final\n{"note": "ok", "prompts": ["a:", "b:", "c:"]}',
    ],
    ids=["fenced", "reasoning", "talk"],
)
def test_text_around_the_json_is_tolerated(llm, tmp_path, text):
    found = one(llm, tmp_path, lambda body: chat(text))

    assert found.table["text"].tolist() == ["a:", "b:", "c:"]
    assert len(llm.requests) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (chat('{"prompts": ["a:", "b'), "incomplete or malformed"),
        (chat('{"prompts": ["a:", "b', finish="length"), "cut off"),
        (chat('{"prompts": ["a:", "b:"]}'), "2 instructions instead of 3"),
        (chat('{"prompts": ["a:", "b:", "c:", "d:"]}'), "4 instructions instead of 3"),
        (chat('{"prompts": ["a:", "b:", "a:"]}'), "repeats another one"),
        (chat('{"prompts": ["a:", " ", "c:"]}'), "instruction 2 is empty"),
        (chat('{"prompts": ["a:", 2, "c:"]}'), "prompts.1"),
        (chat('{"instructions": []}'), "prompts: Field required"),
        (chat("I cannot do that."), "no JSON object"),
        (chat(None), "empty"),
    ],
)
def test_an_unusable_answer_is_asked_again_with_the_reason(llm, tmp_path, answer, reason):
    found = one(llm, tmp_path, lambda body: answer)

    assert len(found.table) == 3 and found.missing.empty
    assert len(llm.requests) == 2
    assert reason in llm.requests[1]["messages"][-1]["content"]
    assert llm.requests[1]["seed"] == llm.requests[0]["seed"] + 1
    assert found.table["attempt"].tolist() == [2, 2, 2]


def test_a_model_that_never_answers_well_is_reported_not_dropped(llm, tmp_path):
    llm.answer = lambda body: chat("no")
    found = run(study(attempts=3), tmp_path)

    assert len(llm.requests) == 2 * 3
    assert found.missing[["task", "short"]].values.tolist() == [["DemoRetrieval", 3], ["DemoSTS", 3]]
    with pytest.raises(StudyError, match=r"6 prompts are missing.*no JSON object"):
        found.require_complete()


def test_the_client_waits_as_long_as_retry_after_says(llm, tmp_path):
    started = time.monotonic()
    found = one(llm, tmp_path, lambda body: error(429, "slow down", Retry_After="1"))

    assert time.monotonic() - started >= 1
    assert len(found.table) == 3


@pytest.mark.parametrize("first", [lambda body: error(500, "oops"), lambda body: "drop"], ids=["500", "dropped"])
def test_a_passing_fault_is_tried_again(llm, tmp_path, first):
    assert len(one(llm, tmp_path, first).table) == 3
    assert len(llm.requests) == 2


def test_a_slow_answer_ends_at_the_time_out(llm, tmp_path):
    llm.answer = slow(1.0)
    found = run(study(tasks=TASKS[:1], timeout=0.2, retries=0), tmp_path)

    assert "within 0.2 s; raise prompts.generator.timeout" in found.missing["reason"][0]


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (401, "check OPENAI_API_KEY"),
        (403, "may not use 'toy-model'"),
        (404, "OPENAI_MODEL"),
        (400, "json_object"),
    ],
)
def test_a_refusal_stops_at_once_and_names_the_remedy(llm, tmp_path, status, remedy):
    llm.answer = lambda body: error(status, f"Incorrect API key provided: {KEY}")
    with pytest.raises(StudyError, match=remedy) as caught:
        run(study(), tmp_path)

    assert len(llm.requests) == 1
    assert KEY not in str(caught.value)


def test_a_server_that_keeps_failing_is_left_after_three_failures(llm, tmp_path):
    llm.answer = lambda body: error(500, "oops")
    tasks = ["DemoRetrieval", "DemoSTS", "DemoTopicClassification", "DemoTopicClustering", "DemoBitextMining"]
    with pytest.raises(StudyError, match="500 after 0 further tries"):
        run(study(tasks=tasks, retries=0), tmp_path)

    assert len(llm.requests) <= 4


def test_something_that_is_no_chat_server_is_recognised(llm, tmp_path):
    llm.answer = lambda body: (200, {"Content-Type": "text/html"}, "<html>Welcome</html>")
    with pytest.raises(StudyError, match="OPENAI_BASE_URL end with /v1"):
        run(study(), tmp_path)


def test_no_server_at_the_address(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:secret-word@127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_MODEL", "toy-model")
    found = run(study(tasks=TASKS[:1], retries=0), tmp_path)

    told = "no connection to http://127.0.0.1:9/v1; is the server running? (OPENAI_BASE_URL)"
    assert found.missing["reason"][0] == told


def test_settings_that_are_missing_are_named(tmp_path, monkeypatch):
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(StudyError, match="set OPENAI_MODEL"):
        open_backend(GeneratorSpec(), tmp_path)
    with pytest.raises(StudyError, match="set OPENAI_API_KEY"):
        open_backend(GeneratorSpec(model="m"), tmp_path)
    with pytest.raises(StudyError, match="pip install vllm"):
        open_backend(GeneratorSpec(model="m", backend="vllm"), tmp_path)


def test_a_second_run_asks_for_nothing(llm, tmp_path):
    first = run(study(), tmp_path)
    before = len(llm.requests)
    second = run(study(), tmp_path)

    assert len(llm.requests) == before
    assert second.table.equals(first.table)


def test_more_prompts_ask_only_for_the_rest(llm, tmp_path):
    run(study(tasks=TASKS[:1], per_level=3), tmp_path)
    found = run(study(tasks=TASKS[:1], per_level=5), tmp_path)

    assert len(found.table) == 5
    assert "exactly 2 instructions" in llm.requests[-1]["messages"][1]["content"]
    assert f"- {found.table['text'][0]}" in llm.requests[-1]["messages"][1]["content"]


def test_without_a_model_the_stored_prompts_are_used(llm, tmp_path, monkeypatch):
    first = run(study(), tmp_path)
    monkeypatch.delenv("OPENAI_MODEL")

    assert run(study(), tmp_path).table.equals(first.table)


def test_another_model_writes_its_own_prompts(llm, tmp_path):
    run(study(), tmp_path)
    found = run(study(model="other"), tmp_path)

    assert set(found.table["generator"]) == {"other"}
    assert len(llm.requests) == 4


def test_an_interrupted_run_continues_where_it_stopped(llm, tmp_path):
    def stop_after_one(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(study(), tmp_path, report=stop_after_one)
    with open(tmp_path / "answers.jsonl", "ab") as torn:  # the half line of a process killed while writing
        torn.write(b'{"place": "abc", "prom')
    before = len(llm.requests)
    found = run(study(), tmp_path)

    assert found.missing.empty and len(found.table) == 6
    assert len(llm.requests) == before + 1 or before == 2  # the second answer may have been under way
    assert run(study(), tmp_path).asked == 0


def test_a_killed_process_has_lost_no_answer(llm, tmp_path):
    """SIGKILL while the fourth of five requests is under way: three are there, two are asked again."""
    reached = threading.Event()

    def hang(body):
        reached.set()
        time.sleep(2)
        return llm.good(body)

    llm.script = [llm.good, llm.good, llm.good, hang]
    names = ["a", "b", "c", "d", "e"]
    code = (
        "import pathlib, sys\n"
        "from helpers.prompts.llm.generate import generate\n"
        "from helpers.prompts.context import TaskContext\n"
        "from helpers.study.spec import Study\n"
        "study = Study.model_validate_json(sys.argv[2])\n"
        "known = {t.name: TaskContext(task=t.name, type='STS', kind=t.name) for t in study.tasks}\n"
        "generate(study, pathlib.Path(sys.argv[1]), contexts=known)\n"
    )
    wanted = study(tasks=names)
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), wanted.model_dump_json()])
    assert reached.wait(60)
    process.kill()
    process.wait()
    known = {name: TaskContext(task=name, type="STS", kind=name) for name in names}
    found = generate(wanted, tmp_path, report=silent, contexts=known)

    assert len(llm.requests) == 4 + 2
    assert found.missing.empty and found.asked == 2
    assert found.table["text"].nunique() == 15


def test_the_key_is_in_no_file_and_no_log(llm, tmp_path, caplog, capsys):
    caplog.set_level(logging.DEBUG)
    llm.script = [lambda body: chat(f"my key is {KEY}"), lambda body: error(500, f"bad key {KEY}")]
    generate(study(), tmp_path)

    assert llm.headers[0]["authorization"] == f"Bearer {KEY}"
    written = "".join(p.read_text(encoding="utf-8") for p in tmp_path.rglob("*") if p.is_file())
    shown = capsys.readouterr()
    assert "[key]" in written
    assert KEY not in written + caplog.text + shown.out + shown.err


@pytest.mark.parametrize("place", ["model", "system_fingerprint", "finish_reason", "content", "reasoning"])
def test_a_server_that_echoes_the_key_leaves_it_nowhere(llm, tmp_path, place):
    def echo(body):
        status, headers, answer = llm.good(body)
        choice = answer["choices"][0]
        spot = answer if place in answer else choice if place in choice else choice["message"]
        spot[place] = f"{spot.get(place) or ''} {KEY}"
        return status, headers, answer

    llm.answer = echo
    found = run(study(tasks=TASKS[:1]), tmp_path)
    found.table.to_parquet(tmp_path / "prompt_provenance.parquet")
    written = [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()]
    assert KEY.encode() not in b"".join(written) and KEY not in found.table.to_string()
    assert b"[key]" in b"".join(written)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (packed(b" " * 9 * 2**20), "has more than 8 MiB"),
        ((200, {}, "[" * 100_000), "nested too deeply"),
        (chat('{"a":' * 100_000), "the JSON is incomplete"),
        (chat("<think>" * 50_000 + "{"), "the JSON is incomplete"),
    ],
)
def test_an_answer_without_bounds_ends_in_a_line(llm, tmp_path, answer, reason):
    llm.answer = lambda body: answer
    with pytest.raises(StudyError, match=reason):
        run(study(tasks=TASKS[:1], retries=0, attempts=1), tmp_path).require_complete()


def test_marks_of_reasoning_that_never_end_cost_no_time():
    began = time.monotonic()
    assert plain("<think>" * 50_000).startswith("<think>")
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("headers_too", [False, True])
def test_an_answer_that_drips_ends_at_the_time_out(llm, tmp_path, headers_too):
    llm.answer = llm_server.dripping(headers_too)
    began = time.monotonic()
    found = run(study(tasks=TASKS[:1], timeout=0.3, retries=0, attempts=1), tmp_path)
    assert time.monotonic() - began < 3 and "within 0.3 s" in found.missing["reason"][0]


def test_what_no_file_can_hold_is_asked_for_again(llm, tmp_path):
    broken = chat('{"prompts": ["a \\ud800:", "b:", "c:"]}')
    broken[2]["model"], broken[2]["usage"] = "\ud800", {"prompt_tokens": 10**30, "completion_tokens": "many"}
    found = one(llm, tmp_path, lambda body: broken)
    assert len(found.table) == 3 and "half a character" in llm.requests[1]["messages"][-1]["content"]


def test_the_readable_file_is_a_prompt_source(llm, tmp_path, monkeypatch):
    monkeypatch.setattr("helpers.study.run.run_folder", lambda name: tmp_path)
    wanted = study()
    found = run(wanted, tmp_path / "prompts")

    assert read_prompts(tmp_path / "prompts" / "prompts.json")["text"].tolist() == found.table["text"].tolist()
    table = prompt_table(wanted)
    assert table["kind"].tolist() == ["prompt"] * 3 + ["none", "default"] + ["prompt"] * 3 + [
        "none",
        "default",
    ]
    assert set(table["source"].dropna()) == {"llm"}
    with pytest.raises(StudyError, match="4 of 10 generated prompts are missing"):
        prompt_table(study(per_level=5))


def test_two_processes_do_not_ask_for_the_same(llm, tmp_path):
    from helpers.prompts.llm.store import AnswerStore

    with AnswerStore(tmp_path / "answers.jsonl").alone(), pytest.raises(StudyError, match="another process"):
        run(study(), tmp_path)


def test_a_secret_in_the_study_file_is_refused():
    with pytest.raises(ValueError, match="environment") as caught:
        GeneratorSpec(key_env="sk-proj-123")
    assert "must be the name" in str(caught.value)
    with pytest.raises(ValueError, match="looks like a secret"):
        GeneratorSpec(extra={"api_key": "x"})


def test_vllm_is_asked_for_a_whole_round_with_the_schema(tmp_path, monkeypatch):
    """Stand-ins for vLLM's classes, as of its version 0.12: this checks our calls, not vLLM."""
    calls: list[tuple[list, list]] = []

    class LLM:
        def __init__(self, **settings):
            assert settings == {"model": "m", "revision": None, "max_model_len": 40_000}

        def chat(self, messages, sampling, use_tqdm):
            calls.append((messages, sampling))
            first = [SimpleNamespace(text='{"prompts": ["a:", "b:", "c:"]}', finish_reason="stop", token_ids=[1])]
            return [SimpleNamespace(outputs=first, prompt_token_ids=[1, 2]) for _ in messages]

    fake = SimpleNamespace(LLM=LLM, SamplingParams=lambda **kwargs: kwargs)
    parameters = SimpleNamespace(StructuredOutputsParams=lambda json: {"json": json})
    monkeypatch.setitem(sys.modules, "vllm", fake)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", parameters)
    contexts = {name: TaskContext(task=name, type="STS", kind=name) for name in TASKS}
    found = generate(study(backend="vllm", model="m"), tmp_path, report=silent, contexts=contexts)

    assert len(calls) == 1 and len(calls[0][0]) == 2
    assert calls[0][1][0]["structured_outputs"]["json"]["required"] == ["prompts"]
    assert found.table["answer_tokens"].tolist() == [1] * 6
