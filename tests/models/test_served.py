"""Served models: the local model's scores, whatever a server does; nothing is asked for twice, and no key is shown."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import numpy as np
import pytest
import yaml
from embedding_server import dropping, failing, serving
from studies import MINILM, STATIC

import helpers as h
from helpers.base.errors import StudyError
from helpers.base.files import project_root
from helpers.models.budget import LimitReached
from helpers.models.load import load_model
from helpers.models.server import retry_after
from helpers.study.served import ServerSpec
from helpers.study.spec import ModelSpec

FAQ = [
    ("how long does bread keep?", "bread keeps four days"),
    ("who feeds the cat?", "the neighbour feeds the cat"),
    ("when do trains leave?", "trains leave every hour"),
]
PROMPTS = ["query: ", "Find: "]


def letters(texts: list[str]) -> np.ndarray:
    """Counts of 26 letters and the length."""
    rows = [[*(text.lower().count(chr(97 + n)) for n in range(26)), len(text)] for text in texts]
    return np.array(rows, dtype=np.float32)


@pytest.fixture
def server():
    with serving(letters) as (state, url):
        yield state, url


def loaded(url: str, folder=None, **settings):
    settings = {"retries": 2, "batch_texts": 4, **settings}
    path = "" if settings.get("protocol") == "tei" else "/v1"
    return load_model(h.served(url + path, "toy", **settings), folder)


TEXTS = [f"text number {n} of the test" for n in range(20)]


@pytest.mark.parametrize(("local", "protocol"), [(MINILM, "openai"), (STATIC, "tei")])
def test_scores_are_the_local_models(local, protocol, tmp_path):
    st = load_model(ModelSpec(**local)).st

    def embed(texts):
        return st.encode(texts, prompt="", show_progress_bar=False)

    with serving(embed) as (state, url):
        url += "/v1" if protocol == "openai" else ""
        models = {"far": h.served(url, local["name"], protocol=protocol), "near": ModelSpec(**local)}
        pairs = [(a, b, n % 3) for n, (a, b) in enumerate(FAQ * 2)]
        tasks = [h.retrieval_task("faq", FAQ), h.sts_task("pairs", pairs)]
        scores = h.run_sweep(models, tasks, PROMPTS, folder=tmp_path / "run", progress=None)
        asked = list(state.texts)
        h.run_sweep(models, tasks, PROMPTS, folder=tmp_path / "run", progress=None)
        assert state.texts[len(asked) :] == asked[:3]  # the second run only looks whether it is the same server
    assert set(scores["status"]) == {"ok"}, scores["reason"].unique()
    table = scores.pivot_table(index=["task", "prompt_id", "kind"], columns="model", values="main_score")
    assert len(table) == 2 * 4 and np.abs(table["far"] - table["near"]).max() < 1e-5
    assert "query: who feeds the cat?" in asked and len(asked) - len(set(asked)) <= 3


def test_requests_are_small_and_say_everything(server, tmp_path, monkeypatch):
    state, url = server
    monkeypatch.setenv("MY_KEY", "sk-abcdefgh")
    model = loaded(url, tmp_path, key_env="MY_KEY", batch_tokens=20, dimensions=27)
    model.needs_stock_batches(None)
    state.bodies.clear()
    state.texts.clear()
    vectors = model.embed(TEXTS + TEXTS[:5], "Q: ", normalize=False)
    assert np.array_equal(vectors, letters([f"Q: {t}" for t in TEXTS + TEXTS[:5]]))
    assert sorted(state.texts) == sorted(f"Q: {t}" for t in TEXTS)
    assert max(len(body["input"]) for body in state.bodies) == 2  # of 8 estimated tokens each
    assert {k: v for k, v in state.bodies[0].items() if k != "input"} == {
        "model": "toy", "encoding_format": "float", "dimensions": 27,
    }  # fmt: skip
    assert {headers["authorization"] for headers in state.headers} == {"Bearer sk-abcdefgh"}


def test_tei_is_told_what_to_do_with_long_texts_and_its_prompts(server):
    state, url = server
    loaded(url, protocol="tei", truncate=True)
    assert {k: v for k, v in state.bodies[0].items() if k != "inputs"} == {
        "normalize": True, "prompt_name": None, "truncate": True,
    }  # fmt: skip
    state.prompt = "passage: "
    with pytest.raises(StudyError, match=r"puts 'passage:' before every text by itself; start it without"):
        loaded(url, protocol="tei")
    assert loaded(url, protocol="tei", prompt_name="passage").dimension == 27


def test_the_default_is_mtebs_for_the_name_or_the_studys(server):
    from helpers.models.application import prefixes
    from helpers.prompts.prompt import Prompt
    from helpers.tasks.load import task_class

    _, url = server
    metadata = task_class("DemoRetrieval").metadata

    def default(**given):
        used = prefixes(loaded(url, **given), metadata, Prompt(text=None, kind="default"))
        return used.query, used.document

    assert default() == ("", "")
    assert default(name="intfloat/multilingual-e5-small") == ("query: ", "passage: ")
    assert default(prompts={"query": "Q: ", "document": "D: "}) == ("Q: ", "D: ")
    assert default(name="intfloat/multilingual-e5-small", prompts={}) == ("", "")


@pytest.mark.parametrize(
    "trouble",
    [failing(429, Retry_After="0.1"), failing(500), failing(503, "loading"), dropping],
    ids=["429", "500", "503", "dropped"],
)
def test_passing_trouble_is_waited_for(server, tmp_path, trouble):
    state, url = server
    model = loaded(url, tmp_path, concurrency=1)
    state.script = [trouble]
    assert len(model.embed(TEXTS[:4])) == 4 and not state.script


def test_a_wish_to_wait_is_read_in_seconds_and_as_a_date():
    assert retry_after({"retry-after": "1.5"}) == 1.5
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert retry_after({"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}) > 1e9
    assert retry_after({}) is None and retry_after({"retry-after": "soon"}) is None


def test_a_server_that_asks_to_wait_for_long_is_not_waited_for(server, tmp_path):
    state, url = server
    model = loaded(url, tmp_path, concurrency=1)
    state.script = [failing(429, "come back", Retry_After="7200")]
    with pytest.raises(StudyError, match=r"429: .* and asks to wait for 7,200 s; lower server.concurrency"):
        model.embed(TEXTS)


def test_what_came_before_a_failure_is_kept_and_the_rest_is_asked_for_later(server, tmp_path):
    state, url = server
    model = loaded(url, tmp_path, concurrency=1, retries=0)
    model.needs_stock_batches(None)
    state.texts.clear()
    state.script = [lambda body: None, lambda body: None, failing(500)]
    with pytest.raises(StudyError, match=r"model toy: 500: the server at .* cannot answer, still after 0 further"):
        model.embed(TEXTS)
    assert len(state.texts) == 8
    again = loaded(url, tmp_path, concurrency=1)
    state.texts.clear()
    assert len(again.embed(TEXTS)) == 20 and len(state.texts) == 12


def broken(change):
    def spoil(answer):
        change(answer["data"])
        return answer

    return spoil


def twice(data):
    data[-1]["index"] = 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.pop(), "2 vectors came for 3 texts"),
        (lambda data: data.clear(), "0 vectors came for 3 texts"),
        (twice, r"indices are not 0 to 2, each once: \[0, 1, 0\]"),
        (lambda data: data[0]["embedding"].pop(), "vectors of 26 and 27 numbers came in one answer"),
        (lambda data: [item["embedding"].clear() for item in data], "vectors of 0 numbers"),
        (lambda data: data[1]["embedding"].__setitem__(0, float("nan")), "1 of 3 vectors hold NaN"),
        (lambda data: data[1]["embedding"].__setitem__(0, float("inf")), "1 of 3 vectors hold NaN or infinite"),
        (lambda data: data[1]["embedding"].__setitem__(0, "x"), "holds something that is no number"),
        (lambda data: data[1].pop("embedding"), "no list of vectors"),
        (lambda data: [item.update(embedding=[[1.0, 2.0]]) for item in data], "a vector per token came"),
    ],
    ids=["fewer", "none", "twice", "ragged", "empty", "nan", "inf", "text", "absent", "tokens"],
)  # fmt: skip
def test_an_answer_without_a_vector_per_text_is_refused_in_one_line(server, change, said):
    state, url = server
    state.spoil = broken(change)
    with pytest.raises(StudyError, match=f"model toy: the server at {url}/v1: .*{said}") as error:
        loaded(url)
    assert len(str(error.value).splitlines()) == 1


def test_other_dimensions_than_asked_for_or_than_before_are_refused(server, tmp_path):
    state, url = server
    with pytest.raises(StudyError, match="64 dimensions were asked for, 27 came"):
        loaded(url, dimensions=64)
    model = loaded(url, tmp_path)
    state.embed = lambda texts: letters(texts)[:, :20]
    with pytest.raises(StudyError, match="sends vectors of 20 numbers; they had 27 before"):
        model.embed(TEXTS)


def test_shuffled_indices_are_put_in_order(server):
    state, url = server
    state.spoil = broken(list.reverse)
    assert np.array_equal(loaded(url).embed(TEXTS, normalize=False), letters(TEXTS))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "401: .* wants a key, and there is none in MY_KEY; set it to a key of this server"),
        (403, "403: .* does not let the key in MY_KEY use 'toy': no"),
        (
            404,
            "404: .* does not know 'toy' or the route; check server.model and that server.url ends with /v1",
        ),
        (400, "400: .* refuses what it was asked for .*shorten it.*: no"),
        (301, "301: .* sends to another address; give that one as server.url"),
    ],
)
def test_a_refusal_names_the_remedy(server, status, said):
    state, url = server
    state.script = [failing(status, "no")] * 8
    with pytest.raises(StudyError, match=f"model toy: {said}") as error:
        loaded(url, key_env="MY_KEY")
    assert len(str(error.value).splitlines()) == 1


def test_a_refusal_that_lasts_is_asked_for_once(server, tmp_path):
    state, url = server
    model = loaded(url, tmp_path, concurrency=1, key_env="MY_KEY")
    state.bodies.clear()
    state.script = [failing(429, "insufficient_quota")]
    for _ in range(3):
        with pytest.raises(StudyError, match="quota of the key in MY_KEY is used up"):
            model.embed(TEXTS)
    assert len(state.bodies) == 1


def test_a_server_that_is_down_is_asked_patiently_once(server, tmp_path):
    state, url = server
    model = loaded(url, tmp_path, concurrency=1, retries=1)
    state.bodies.clear()
    state.script = [dropping] * 9
    for _ in range(3):
        with pytest.raises(StudyError, match=r"gives no answer \(RemoteProtocolError.*is it running\?"):
            model.embed(TEXTS)
    assert len(state.bodies) == 2 + 1 + 1


def test_a_batch_that_is_too_large_is_sent_in_parts_and_a_long_text_is_named(server, tmp_path):
    state, url = server
    model = loaded(url, tmp_path, batch_texts=16, concurrency=1)
    state.most_texts = 5
    assert np.array_equal(model.embed(TEXTS, normalize=False), letters(TEXTS))
    state.bodies.clear()
    model.embed([f"new {t}" for t in TEXTS])
    assert max(len(body["input"]) for body in state.bodies) <= 5  # it is not tried again
    state.longest = 100
    with pytest.raises(StudyError, match=r"413: .* shorten it.*: `inputs` must have less than 512 tokens"):
        model.embed(["a" * 101, "b"])


def test_a_changed_model_is_another_one_and_named(server, tmp_path, caplog):
    state, url = server
    first = loaded(url, tmp_path)
    assert loaded(url, tmp_path).key == first.key
    state.embed = lambda texts: letters(texts) + 1
    with caplog.at_level(logging.WARNING):
        second = loaded(url, tmp_path)
    assert "gives other vectors than before: results made before are kept apart" in caplog.text
    assert second.key != first.key
    state.embed = letters
    assert loaded(url, tmp_path).key == first.key  # the old model is back, and its vectors are here


def test_a_model_that_changes_while_it_is_used_is_noticed(server, tmp_path, monkeypatch):
    state, url = server
    model = loaded(url, tmp_path)
    model.embed(TEXTS[:2])
    monkeypatch.setattr("helpers.models.served.CHECKED_FOR", 0.0)
    state.embed = lambda texts: letters(texts) + 1
    with pytest.raises(StudyError, match="gives other vectors than before; run again to compute with the new ones"):
        model.embed(TEXTS)


def test_a_server_that_moves_a_little_keeps_its_identity_and_is_named(server, tmp_path, caplog):
    state, url = server
    random = np.random.default_rng(0)
    state.embed = lambda texts: letters(texts) * (1 + 1e-4 * random.standard_normal((len(texts), 1)))
    with caplog.at_level(logging.WARNING):
        keys = {loaded(url, tmp_path).key for _ in range(5)}
    assert len(keys) == 1 and "moves a vector by up to" in caplog.text
    state.embed = lambda texts: letters(texts) * random.standard_normal((len(texts), 1))
    with pytest.raises(StudyError, match="quite different vectors for one text in two requests"):
        loaded(url)


def test_vectors_that_are_here_need_no_server(tmp_path, caplog):
    with serving(letters) as (_, url):
        before = loaded(url, tmp_path, retries=0).embed(TEXTS)
    model = loaded(url, tmp_path, retries=0)
    assert "what it sent before is used" in caplog.text and np.array_equal(model.embed(TEXTS), before)
    with pytest.raises(StudyError, match="gives no answer"):
        model.embed(["a new text"])
    with pytest.raises(StudyError, match="gives no answer"):
        loaded(url, retries=0)


@pytest.mark.parametrize(("limit", "value"), [("max_requests", 12), ("max_tokens", 5_400)])
def test_no_more_is_asked_for_than_the_study_allows(server, tmp_path, limit, value):
    state, url = server
    many = [f"{t}, said in {n} other ways" for t in TEXTS for n in range(20)]
    model = loaded(url, tmp_path, **{limit: value})
    with pytest.raises(LimitReached, match=f"{limit} is {value:,}, and [0-9,]+ were sent in this run"):
        model.embed(many)
    sent = len(state.bodies)
    assert sent <= 12 or limit == "max_tokens"
    with pytest.raises(LimitReached):  # not another process either
        loaded(url, tmp_path, **{limit: value}).embed(many)
    assert len(state.bodies) <= sent + 1
    state.texts.clear()
    model = loaded(url, tmp_path, batch_texts=64)  # without the limit it goes on from there
    assert len(model.embed(many)) == len(many) and len(state.texts) < len(many) - 4


def test_a_limit_fails_the_cells_behind_it_and_keeps_those_before(server, tmp_path, monkeypatch):
    _, url = server
    monkeypatch.setattr("helpers.sweep.run.check_limits", lambda *_: None)  # as if the estimate had been too low
    tasks, prompts = [h.retrieval_task("faq", FAQ)], ["a: ", "b: "]
    run = {"tasks": tasks, "prompts": prompts, "folder": tmp_path / "run", "progress": None}
    scores = h.run_sweep(models=[h.served(url + "/v1", "toy", max_requests=8)], **run)
    assert set(scores["status"]) == {"ok", "failed"}
    assert scores["reason"].dropna().str.contains("max_requests is 8").all()
    done = h.run_sweep(models=[h.served(url + "/v1", "toy")], **run)
    assert set(done["status"]) == {"ok"}


KILLED = """
import os, sys
from helpers.models.load import load_model
from helpers.models.vector_log import VectorLog
import helpers as h
from pathlib import Path
add, written = VectorLog.add, []
def dying(self, vectors):
    add(self, vectors)
    written.append(len(vectors))
    if written == [3, 4, 4, 4]:  # three texts of a probe come first
        with open(self.path, "ab") as file:
            file.write(b"half a record")
        os.kill(os.getpid(), 9)
VectorLog.add = dying
model = load_model(h.served(sys.argv[1], "toy", batch_texts=4, concurrency=1), Path(sys.argv[2]))
model.embed([f"text number {n} of the test" for n in range(20)])
"""


def test_after_a_kill_nothing_is_asked_for_twice(server, tmp_path):
    state, url = server
    done = subprocess.run([sys.executable, "-c", KILLED, f"{url}/v1", str(tmp_path)], capture_output=True)
    assert done.returncode == -9, done.stderr.decode()[-2000:]
    before = [text for text in state.texts if text in TEXTS]
    assert len(before) == 12
    model = loaded(url, tmp_path)
    state.texts.clear()
    assert np.array_equal(model.embed(TEXTS, normalize=False), letters(TEXTS))
    assert sorted(state.texts) == sorted(set(TEXTS) - set(before))


def test_the_key_is_in_no_message_file_or_log(server, tmp_path, monkeypatch, caplog):
    state, url = server
    monkeypatch.setenv("MY_KEY", "sk-0123456789 /+secret")
    state.key = "another"
    with caplog.at_level(logging.DEBUG):
        scores = h.run_sweep(
            models=[h.served(url + "/v1", "toy", key_env="MY_KEY")], tasks=[h.retrieval_task("faq", FAQ)],
            prompts=["a: "], folder=tmp_path / "run", progress=None,
        )  # fmt: skip
        state.key = "sk-0123456789 /+secret"
        model = loaded(url, tmp_path / "run", key_env="MY_KEY")
        model.embed(TEXTS)
    assert scores["reason"].str.contains("401: the server at .* refused the key in MY_KEY").all()
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    everything = b"".join(written) + caplog.text.encode() + json.dumps(model.identity).encode()
    assert len(written) > 5 and b"sk-0123456789" not in everything and b"MY_KEY" in everything


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"url": "http://me:secret@localhost/v1"}, "server.url.*holds a user or password; put the key into"),
        ({"url": "localhost:8080"}, "server.url.*must begin with http:// or https://"),
        ({"url": "http://localhost:99999/v1"}, "server.url.*is no address"),
        ({"url": "http://localhost/v1?key=secret"}, "server.url.*without '\\?' or '#'"),
        ({"truncate": True}, "'truncate' is a setting of protocol: tei"),
        ({"key_env": "sk-secret-0"}, "server.key_env.*must be the name of an environment variable"),
        ({"batch": 3}, "unknown key 'batch'; did you mean batch_texts"),
        ({"protocol": "grpc"}, "server.protocol.*openai"),
        ({"concurrency": 0}, "server.concurrency"),
    ],
)
def test_wrong_settings_are_refused_in_one_line_without_secrets(given, said):
    with pytest.raises(StudyError, match=said) as error:
        h.served(**{"url": "http://localhost/v1", "model": "toy", **given})
    assert "secret" not in str(error.value) and len(str(error.value).splitlines()) == 1


def test_the_page_about_served_models_has_a_study_that_is_read():
    page = (project_root() / "docs" / "served-models.md").read_text(encoding="utf-8")
    spec = ModelSpec(**yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])["models"][0])
    assert spec.server is not None and spec.server.max_tokens == 5_000_000
    keys = {
        word for line in page.splitlines() if line.startswith("| `") for word in line.split("|")[1].split("`")[1::2]
    }
    assert keys | {"url", "model", "protocol", "key_env", "max_requests", "max_tokens"} == set(ServerSpec.model_fields)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"weights": "served"}, "weights: served and server: belong together"),
        ({"server": {"url": "http://localhost/v1"}}, "weights: served and server: belong together"),
        (
            {"weights": "served", "server": {"url": "http://localhost/v1"}, "dtype": "float16"},
            "'dtype' is for weights",
        ),
    ],
)
def test_an_entry_that_is_served_and_loaded_is_refused(given, said):
    from helpers.models.given import given_model

    with pytest.raises(StudyError, match=said):
        given_model("m", given)


@pytest.mark.parametrize(
    ("url", "key_env", "variable"),
    [
        ("https://api.openai.com/v1", None, "OPENAI_API_KEY"),
        ("https://api.openai.com.example.org/v1", None, ""),
        ("http://localhost:8080/v1", None, ""),
        ("http://localhost:8080/v1", "MY_KEY", "MY_KEY"),
    ],
)
def test_a_key_goes_to_the_address_that_it_was_given_for(url, key_env, variable):
    assert ServerSpec(url=url, key_env=key_env).key_variable == variable
