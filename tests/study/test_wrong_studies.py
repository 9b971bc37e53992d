"""Every wrong study is one short line that names the place, found before anything runs and within a moment."""

from __future__ import annotations

import copy
import os
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from helpers.base.errors import StudyError
from helpers.base.yaml import parse_json, parse_yaml
from helpers.runner.plan import plan_text
from helpers.study.load import load_study

BASE: dict[str, Any] = {
    "name": "w", "title": "W", "steps": ["02"], "tasks": [{"name": "DemoSTS"}],
    "models": [{"name": "dleemiller/WordLlama", "label": "static", "weights": "package:wordllama"}],
    "prompts": {"source": "file", "file": "data/demo/prompts.yml"},
}  # fmt: skip
GEOMETRY: dict[str, Any] = {"steps": ["05"], "geometry": {"tasks": [{"name": "DemoRetrieval"}]}}
SERVED = {"name": "static", "weights": "served", "server": {"url": "http://localhost:1/v1"}}
TUNING: dict[str, Any] = {"steps": ["06"], "finetuning": {"model": "static", "data": "demo"}}
LONG = "x" * 300
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(10)
)


def study(place: str, value: Any, base: dict[str, Any] | None = None) -> str:
    """The text of a study in which one dotted place holds another value."""
    content: Any = copy.deepcopy(BASE | (base or {}))
    *parents, last = place.split(".")
    inside = content
    for parent in parents:
        inside = inside[int(parent)] if isinstance(inside, list) else inside.setdefault(parent, {})
    inside[last] = value
    return yaml.safe_dump(content)


WRONG: list[tuple[str, str]] = [
    ("", "holds a mapping of keys, not nothing"),
    ("[1, 2]", "not a list of 2"),
    ("name: [", "line 2, column 1: not readable as YAML"),
    ("name:\n\t- x", "line 2, column 1"),
    ("name: w\nsweep:\n  workers: 1\n  workers: 2\n", "'workers' stands twice, in line 3 and in line 4"),
    (BOMB, "unfolds to more than 1,000,000 entries"),
    ("name: &a [*a]", "refers to itself"),
    ("[" * 50_000, "w.yml: "),
    ("name: w\n---\nname: v", "another document"),
    ("name: !!python/object:os.system x", "could not determine a constructor"),
    ("name: 2026-99-99", "month must be in 1..12"),
    (f"seed: {'9' * 5000}", "4300 digits"),
    ("name: \0", "control characters are not allowed"),
    (study("name", LONG), "name: must have at most 100 characters"),
    (study("name", "A B"), "name: does not have the form"),
    (study("title", None), "title: must be text (given: nothing)"),
    (study("models.0.label", "a\rb"), "models.0: the label 'a\\rb' holds a line break"),
    (study("models.0.label", "a\u2028b"), "holds a line break"),
    (study("models.0.label", "a\x1b[31mb"), "holds a line break or a control character"),
    (study("seed", "x" * 10**6), "seed: must be a whole number (given: 'xxx"),
    (study("seed", True), "seed: must be a number (given: true; YAML reads yes"),
    (study("modles", []), "did you mean models?"),
    (study("steps", []), "steps: needs at least 1 entry"),
    (study("steps", [2]), "steps.0: must be '01', '02'"),
    (study("baselines", ["none", "none"]), "baselines: 'none' is listed twice"),
    (study("models", None), "models: must be a list (given: nothing)"),
    (study("models", ["x"]), "models.0: must be keys with values (given: 'x')"),
    (study("models", []), "need the key 'models'"),
    (study("models.0.name", LONG), "models.0.name: must have at most 200 characters"),
    (study("models.0.name", None), "models.0.name: must be text"),
    (study("models.0.max_length", -1), "models.0.max_length: must be greater than 0 (given: -1)"),
    (study("tasks.0.name", "STS51"), "unknown task 'STS51'; did you mean"),
    (study("tasks.0.name", LONG), "tasks.0.name: must be a plain name"),
    (study("tasks.0.subsets", ["../x"]), "must be a plain name"),
    (study("tasks.0.split", "nope"), "unknown split 'nope'"),
    (study("prompts", "data/demo/prompts.yml"), "prompts: must be keys with values"),
    (study("prompts.file", 5), "prompts.file: must be text or keys with values or a list (given: 5)"),
    (study("prompts.file", {"path": "x", "bad": 1}), "prompts.file.bad: unknown key"),
    (study("prompts.file", "data/demo"), "demo is a folder; name a file"),
    (study("prompts.file", LONG), "there is no such prompt file"),
    (study("prompts.per_level", 0), "greater than or equal to 1 (given: 0)"),
    (study("prompts.review_file", "data/demo"), "demo is a folder; name a CSV file"),
    (study("prompts.generator", {"timeout": float("inf")}), "must be a finite number"),
    (study("prompts.generator", {"temprature": 1}), "did you mean temperature"),
    (study("data_root", LONG), "data_root names 'xxx"),
    (study("sweep.ray", 5), "sweep.ray: must be keys with values (given: 5)"),
    (study("results_from", {"path": "nope"}), "results_from.path: 'nope' does not exist"),
    (study("geometry.models", ["nope"], GEOMETRY), "geometry.models: unknown model label 'nope'"),
    (study("geometry.tasks.0.name", "DemoSTS", GEOMETRY), "DemoSTS is STS; geometry and distractors need"),
    (study("geometry.map_task", "nope", GEOMETRY), "geometry.map_task: unknown task 'nope'"),
    (study("geometry.instructions", "data", GEOMETRY), "instruction bank: data is a folder"),
    (study("geometry.instructions", "README.md", GEOMETRY), "not readable as YAML"),
    (study("geometry.tasks.0.paraphrases", "nope", GEOMETRY), "paraphrases: 'nope' does not exist"),
    (study("finetuning.model", "nope", TUNING), "finetuning.model: unknown model label 'nope'"),
    (study("models", [SERVED], TUNING), "finetuning.model: static is served; training needs weights that are here"),
    (study("models.0.server", {"url": "http://me:hidden@x/v1"}), "server.url: holds a user or password"),
    (study("models.0.server", SERVED["server"]), "weights: served and server: belong together; give both or neither"),
    (study("finetuning.data", "jsonl:data", TUNING), "'data' is a folder, not a file"),
    (study("finetuning.data", "task:nope", TUNING), "finetuning.data: unknown task 'nope'"),
    (study("finetuning.training", {"epochs": -1}, TUNING), "epochs: must be greater than 0"),
    (study("finetuning.variants", {"a/b": {}}, TUNING), "must be a plain name"),
    (study("finetuning.swept_presets", ["lora"], TUNING), "swept_presets: unknown preset 'lora'"),
    (study("finetuning.side_effects", ["nope"], TUNING), "side_effects: unknown task 'nope'"),
    (study("finetuning.out_of_domain", [{"name": "nope"}], TUNING), "out_of_domain: unknown task 'nope'"),
]  # fmt: skip


def line_of(text: str, folder: Path) -> str:
    """What `helpers plan` says of a study file with this text."""
    path = folder / "w.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        plan_text(load_study(path))
    return str(caught.value)


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[f"{n}" for n in range(len(WRONG))])
def test_a_wrong_study_is_one_short_line(text: str, said: str, tmp_path: Path) -> None:
    began = time.process_time()
    line = line_of(text, tmp_path)
    assert said in line and "\n" not in line and len(line) < 400
    assert not any(word in line for word in ("NoneType", "Value error", "pydantic", "Traceback"))
    assert time.process_time() - began < 20


def test_a_key_where_its_variable_belongs_is_not_shown(tmp_path: Path) -> None:
    for generator in ({"key_env": "sk-secret-1"}, {"extra": {"api_key": "sk-secret-1"}}):
        assert "sk-secret" not in line_of(study("prompts.generator", generator), tmp_path)


PROMPTS: list[tuple[str, str, str]] = [
    ("p.yml", "DemoSTS:\n  task: [a]\nDemoSTS:\n  task: [b]\n", "'DemoSTS' stands twice, in line 1 and in line 3"),
    ("p.yml", "DemoSTS:\n  task:\n    - Query:\n", "DemoSTS.task[0]: keys with values (Query) is not text"),
    ("p.yml", "DemoSTS:\n  task:\n", "DemoSTS.task: must be a list of prompts"),
    ("p.yml", "DemoSTS: [1", "not readable as YAML"),
    ("p.yml", "", "neither task -> level -> prompts"),
    ("p.json", '{"a": 1, "a": 2}', "the key 'a' stands twice"),
    ("p.json", "[" * 100_000, "nested too deeply"),
    ("p.json", "[1]", "record 0: task is not text (given: 1)"),
    ("p.json", '{"format": "helpers-prompts/1", "prompts": 5}', "prompts must be a list"),
    ("p.json", '{"format": "helpers-prompts/1", "prompts": [{"task": "DemoSTS", "text": "\\ud800"}]}', "half a character"),
    ("p.json", '{"format": "helpers-prompts/1", "prompts": [{"task": "DemoSTS", "text": "a", "source": 5}]}', "source must be text"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "said"), PROMPTS)
def test_a_wrong_prompt_file_is_one_short_line(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    line = line_of(study("prompts.file", str(tmp_path / name)), tmp_path)
    assert said in line and "\n" not in line and len(line) < 300 and name in line


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
@pytest.mark.parametrize("content", ["/dev/zero", "pipe"])
def test_what_is_no_regular_file_is_not_read(content: str, tmp_path: Path) -> None:
    if content == "pipe":
        content = str(tmp_path / "pipe")
        os.mkfifo(content)
    assert "cannot be read (no regular file)" in line_of(study("prompts.file", content), tmp_path)


def test_what_yaml_may_say_is_read_as_it_stands() -> None:
    text = "a: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}\nd: |\n  two\n  lines\n"
    assert parse_yaml(text, "f") == yaml.safe_load(text) and parse_yaml("", "f") is None
    assert parse_json('{"a": [1, {"b": null}]}', "f") == {"a": [1, {"b": None}]}
