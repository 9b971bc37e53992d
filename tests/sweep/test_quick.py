"""Models, tasks and prompts given in Python: the same engine, one folder, nothing computed twice."""

import pandas as pd
import pytest
import yaml
from studies import MINILM, STATIC

import helpers as h
from helpers.base.errors import StudyError
from helpers.models.given import _OBJECTS
from helpers.models.load import load_model
from helpers.study.spec import ModelSpec
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import sweep_study

FAQ = [
    ("how long does bread keep?", "bread keeps four days"),
    ("who feeds the cat?", "the neighbour feeds the cat"),
]
PROMPTS = ["query: ", "Find: ", ""]


@pytest.fixture(scope="module")
def static():
    return load_model(ModelSpec(**STATIC)).st


@pytest.fixture(scope="module")
def first(static, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "mine"
    models = {"object": static, "named": "package:wordllama", "function": h.embedder(static.encode, "1")}
    tasks = ["DemoSTS", h.retrieval_task("faq", FAQ)]
    return folder, models, tasks, h.run_sweep(models, tasks, PROMPTS, folder=folder, progress=None)


def score(scores: pd.DataFrame, model: str, task: str, prompt: str) -> float:
    rows = scores[(scores["model"] == model) & (scores["task"] == task) & (scores["prompt"] == prompt)]
    return float(rows["main_score"].item())


def test_every_kind_of_model_scores_alike_and_every_cell_is_there(first):
    _, _, _, scores = first
    assert len(scores) == 3 * 2 * (3 + 2) and set(scores["status"]) == {"ok"}
    for task in ("DemoSTS", "faq"):
        for prompt in PROMPTS:
            values = [score(scores, model, task, prompt) for model in ("object", "named", "function")]
            assert values == pytest.approx([values[0]] * 3, abs=1e-9)


def test_a_prompt_stands_before_the_text_exactly_as_given(first):
    run = h.load_run(first[0])
    strings = run.table("inputs")["string"]
    assert "query: how long does bread keep?" in set(strings)
    assert (run.table("prompts")["text"].dropna() == "query: ").any()


def test_a_second_call_computes_nothing_and_a_new_prompt_only_itself(first):
    folder, models, tasks, scores = first
    told: list[str] = []
    again = h.run_sweep(models, tasks, PROMPTS, folder=folder, progress=told.append)
    assert sum("0 computed, 5 reused" in line for line in told) == 6
    pd.testing.assert_frame_equal(again, scores)
    told.clear()
    h.run_sweep(models, tasks, [*PROMPTS, "Q "], folder=folder, progress=told.append)
    assert sum("1 computed, 5 reused" in line for line in told) == 6


def test_the_folder_is_a_study_that_another_process_reads(first, monkeypatch):
    folder, models, tasks, _ = first
    h.run_sweep(models, tasks, PROMPTS, folder=folder, progress=None)
    run = h.load_run(folder)
    assert run.folder == folder and [m.label for m in run.study.models] == ["object", "named", "function"]
    monkeypatch.setattr("helpers.models.given._OBJECTS", {})
    reports = sweep_study(run.study, run.folder, run.table("prompts"), None)
    assert [r.done + r.failed for r in reports] == [0] * 6 and sum(r.reused for r in reports) == 30


def test_the_tables_of_the_chapters_work_on_the_scores(first):
    _, _, _, scores = first
    table = h.sensitivity_table(scores, draws=200)
    assert set(table["model"]) == {"object", "named", "function"} and (table["n_prompts"] == 3).all()
    assert set(h.choose_prompt(scores)["task"]) == {"DemoSTS", "faq"}


def test_a_model_of_mteb_keeps_its_own_prompt_rules(static, tmp_path):
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper

    wrapped = SentenceTransformerEncoderWrapper(static, model_prompts={"query": "mine: "})
    task = h.retrieval_task("faq", FAQ)
    h.run_sweep({"m": wrapped}, [task], ["a: "], folder=tmp_path / "x", progress=None)
    inputs = (
        h.load_run(tmp_path / "x").table("inputs").query("side == 'query' and sample == 0").set_index("kind")["string"]
    )
    assert inputs["default"] == "mine: how long does bread keep?" and inputs["none"] == "how long does bread keep?"
    assert inputs["prompt"] == "a: how long does bread keep?"


def test_truncated_vectors_and_a_default_prompt_of_an_object_count(tmp_path):
    st = load_model(ModelSpec(**STATIC)).st
    whole = h.run_sweep({"m": st}, ["DemoSTS"], ["a: "], folder=tmp_path / "whole", progress=None)
    st.truncate_dim, st.prompts, st.default_prompt_name = 32, {"d": "own: "}, "d"
    cut = h.run_sweep({"m": st}, ["DemoSTS"], ["own: "], folder=tmp_path / "cut", progress=None)
    assert score(cut, "m", "DemoSTS", "own: ") == pytest.approx(cut.query("kind == 'default'")["main_score"].item())
    assert cut.query("kind == 'none'")["main_score"].item() != whole.query("kind == 'none'")["main_score"].item()


def test_an_mteb_task_object_and_a_model_of_the_study_file_are_taken(tmp_path):
    task = h.load_task(h.load_study("demo").tasks[0])
    scores = h.run_sweep(
        [ModelSpec(**MINILM)], [task], ["a: "], baselines=["none"], folder=tmp_path / "x", progress=None
    )
    assert set(scores["model"]) == {"minilm"} and set(scores["kind"]) == {"prompt", "none"}


@pytest.mark.parametrize(
    ("given", "tasks", "rows"),
    [
        (["a ", ""], ["A", "B"], [("A", "a "), ("A", ""), ("B", "a "), ("B", "")]),
        ({"A": ["x"], "B": ["y"]}, ["A", "B"], [("A", "x"), ("B", "y")]),
        ({"A": {"task": ["x"], "task+dataset": ["y"]}}, ["A"], [("A", "x"), ("A", "y")]),
        (["x", "x"], ["A"], [("A", "x")]),
        (pd.DataFrame({"text": [" x "]}), ["A", "B"], [("A", " x "), ("B", " x ")]),
        (
            pd.DataFrame({"task": ["A", "B", "C"], "prompt": ["x", "y", "z"]}),
            ["A", "B"],
            [("A", "x"), ("B", "y")],
        ),
    ],
)
def test_prompts_in_any_form_are_taken_as_they_are(given, tasks, rows):
    assert [tuple(row) for row in given_prompts(given, tasks)[["task", "text"]].values] == rows


def test_prompts_of_a_file_are_taken_as_they_are(tmp_path):
    (tmp_path / "p.csv").write_text('text\n" NA "\nnull\n', encoding="utf-8")
    (tmp_path / "p.yml").write_text(yaml.safe_dump({"A": {"task": [" x"]}}), encoding="utf-8")
    assert list(given_prompts(tmp_path / "p.csv", ["A"])["text"]) == [" NA ", "null"]
    assert list(given_prompts(str(tmp_path / "p.yml"), ["A"])["text"]) == [" x"]


WRONG = {
    "no label": (lambda s: {"models": [s]}, 'SentenceTransformer has no label; give {"mine": model}'),
    "no model": (lambda s: {"models": {}}, "models: there is none"),
    "one model without a list": (lambda s: {"models": "package:wordllama"}, 'models: give {label: model}'),
    "an unknown package": (lambda s: {"models": {"m": "package:numpy"}}, "unknown model package 'numpy'"),
    "an unknown task": (lambda s: {"tasks": ["STS51"]}, "unknown task 'STS51'; did you mean"),
    "no task": (lambda s: {"tasks": [5]}, "tasks: int is no task"),
    "a bare prompt": (lambda s: {"prompts": "query: "}, "a single prompt is given as a list: [prompt]"),
    "a prompt that is no text": (lambda s: {"prompts": ["a", 5]}, "prompts: DemoSTS[1]: 5 is not a text"),
    "prompts of another task": (lambda s: {"prompts": {"STS15": ["a"]}}, "prompts: unknown task 'STS15'; known: DemoSTS"),
    "a task without prompts": (lambda s: {"prompts": {"DemoSTS": []}}, "there is none for the task DemoSTS"),
    "a table without texts": (lambda s: {"prompts": pd.DataFrame({"x": ["a"]})}, "there is no column 'text'"),
    "an unknown baseline": (lambda s: {"baselines": ["best"]}, "baselines"),
    "an unknown setting": (lambda s: {"worker": 2}, "unknown key 'worker'; did you mean workers"),
    "an object in several processes": (lambda s: {"models": {"m": s}, "workers": 2}, "one process; set workers: 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_swept_is_refused_before_anything_is_computed(case, static, tmp_path):
    change, said = WRONG[case]
    call = {"models": ["package:wordllama"], "tasks": ["DemoSTS"], "prompts": ["a"]} | change(static)
    with pytest.raises(StudyError) as error:
        h.run_sweep(**call, folder=tmp_path / "run", progress=None)
    assert said in str(error.value) and len(str(error.value).splitlines()) == 1
    assert not (tmp_path / "run" / "cells").exists()


def test_objects_do_not_stay_under_a_label_that_was_given_anew(static):
    from helpers.models.given import given_model

    given_model("again", static)
    given_model("again", h.embedder(static.encode, "2"))
    assert _OBJECTS["again"] is not static
