"""Prompt ids, prompt files and the prompt table."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest

from helpers.base.errors import StudyError
from helpers.base.files import project_root
from helpers.prompts.files import read_prompts, write_prompts
from helpers.prompts.prompt import COLUMNS, Prompt, prompt_id
from helpers.prompts.table import prompt_table
from helpers.study.load import load_study
from helpers.study.prompts import LEVELS, PromptsSpec, expected_count
from helpers.study.spec import Study, TaskSpec


def study(file: Path | list[Path] | str, tasks=("DemoSTS",), **settings) -> Study:
    files = [str(f) for f in file] if isinstance(file, list) else str(file)
    spec = {"source": "file", "file": files, **settings}
    return Study(name="toy-prompts", title="Toy", steps=["01"], tasks=[TaskSpec(name=t) for t in tasks], prompts=spec)


def yaml_file(folder: Path, text: str) -> Path:
    path = folder / "prompts.yml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", ["", "Query:", "Query: ", "Frage: Ä", "a\nb", "\u202e"])
def test_an_id_is_the_hash_of_the_exact_text(text):
    assert prompt_id(text) == hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
    assert Prompt(text=text).id == prompt_id(text)


def test_prompts_that_mteb_confuses_have_ids_of_their_own():
    assert len({prompt_id(t) for t in ("Query:", "Query?", "Query_", "Query: ", "query:")}) == 5


def test_baselines_have_no_text():
    assert [Prompt(kind=k).id for k in ("none", "default")] == ["none", "default"]
    assert Prompt(text="x", level=float("nan")).level is None
    with pytest.raises(ValueError, match="has no text"):
        Prompt(text="x", kind="none")
    with pytest.raises(ValueError, match="needs text"):
        Prompt()


def test_a_file_gives_its_texts_unchanged_and_then_the_baselines(tmp_path):
    path = yaml_file(tmp_path, 'DemoSTS:\n  task: [" Query:  ", "b"]\n  task+dataset: ["c\\n"]\nOther: {task: [x]}\n')
    table = prompt_table(study(path))

    assert list(table.columns) == COLUMNS
    assert table["text"].tolist() == [" Query:  ", "b", "c\n", None, None]
    assert table["prompt_id"].tolist()[3:] == ["none", "default"]
    assert table["level"].tolist() == ["task", "task", "task+dataset", None, None]


def test_the_same_table_comes_back_from_parquet(tmp_path):
    table = prompt_table(study(yaml_file(tmp_path, "DemoSTS: {task: [a, bb]}")))
    table.to_parquet(tmp_path / "t.parquet")
    again = pd.read_parquet(tmp_path / "t.parquet")
    assert [Prompt(text=r.text, kind=r.kind, level=r.level).id for r in again.itertuples()] == table[
        "prompt_id"
    ].tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("DemoSTS: {task: [Query: x]}", "put it in quotes"),
        ("DemoSTS: {tasks: [a]}", "unknown level 'tasks'; did you mean task"),
        ("DemoSTS: [a]", "DemoSTS: must map levels"),
        ("DemoSTS: {task: a}", "must be a list"),
        ("DemoST: {task: [a]}", "no prompts for 'DemoSTS'.*did you mean DemoST"),
        ("a: [", "not readable"),
    ],
)
def test_a_faulty_file_is_named_with_key_and_remedy(tmp_path, content, message):
    with pytest.raises(StudyError, match=message) as caught:
        prompt_table(study(yaml_file(tmp_path, content)))
    assert "prompts.yml" in str(caught.value)


def test_an_absent_file_is_named():
    with pytest.raises(StudyError, match=r"nothing\.yml: there is no such prompt file"):
        prompt_table(study("data/nothing.yml"))


def test_only_the_levels_of_the_study_are_used(tmp_path):
    path = yaml_file(tmp_path, "DemoSTS: {task: [a], task+dataset: [bb]}")
    assert prompt_table(study(path, levels=["task+dataset"]))["text"].dropna().tolist() == ["bb"]


def test_generated_prompts_not_there_yet_are_asked_for_by_name():
    wanted = study("x").model_copy(update={"prompts": PromptsSpec(source="generate")})
    with pytest.raises(StudyError, match="15 prompts are not generated yet; set OPENAI_BASE_URL"):
        prompt_table(wanted)


def test_a_written_file_is_read_again(tmp_path):
    record = {"task": "DemoSTS", "text": " x:", "level": "task", "source": "llm", "generator": "m", "seed": 1}
    write_prompts(tmp_path / "p.json", [record])
    row = read_prompts(tmp_path / "p.json").iloc[0]
    assert (row["text"], row["prompt_id"], row["generator"]) == (" x:", prompt_id(" x:"), "m")


@pytest.mark.parametrize("content", ['{"prompts": []}', '[{"task": "DemoSTS"}]', "[1]", "{"])
def test_json_of_another_kind_is_refused(tmp_path, content):
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(StudyError, match=r"p\.json"):
        read_prompts(tmp_path / "p.json")


def test_a_published_record_has_its_level_from_its_context(tmp_path):
    base = {"n": 5, "task": "DemoSTS", "task_description": "sts", "generation_meta": {"prompt": "x"}}
    contexts = [("", ""), ("about", ""), ("about", "eng")]
    records = [
        base | {"dataset_description": d, "language": code, "generated_prompt": f"p{i}"}
        for i, (d, code) in enumerate(contexts)
    ]
    path = tmp_path / "org-model-gen-prompts.json"
    path.write_text(json.dumps(records))
    table = prompt_table(study(path, source="published"))

    assert table["level"].tolist()[:3] == list(LEVELS)
    assert set(table["generator"].dropna()) == {"org-model"}
    assert set(table["source"].dropna()) == {"published"}


def test_files_are_ascribed_as_the_study_says(tmp_path):
    path = yaml_file(tmp_path, "DemoSTS: {task: [a]}")
    own = {"path": str(path), "source": "human", "generator": "two annotators"}
    wanted = Study(
        name="toy-prompts",
        title="Toy",
        steps=["01"],
        tasks=[TaskSpec(name="DemoSTS")],
        prompts={"file": [own]},
    )
    row = prompt_table(wanted).iloc[0]
    assert (row["source"], row["generator"]) == ("human", "two annotators")


def test_expected_counts_are_those_of_study_1():
    assert expected_count(11) == 165
    assert expected_count(11) * 6 == 990


@pytest.mark.parametrize("name", ["demo", "small"])
def test_the_prompts_of_a_study_are_fifteen_per_task_and_pass_every_check(name):
    from helpers.prompts.checks import decide
    from helpers.prompts.context import contexts_of
    from helpers.prompts.table import candidates
    from helpers.study.load import load_study

    wanted = load_study(name)
    assert wanted.prompts is not None
    found = candidates(wanted)
    counts = found.groupby(["task", "level"]).size()
    assert counts.index.get_level_values("task").nunique() == len(wanted.tasks)
    assert set(counts) == {5} and len(counts) == 3 * len(wanted.tasks)
    decided = decide(found, wanted, contexts_of(wanted))
    assert decided["kept"].all()
    assert decided.loc[decided["rules"] != "", ["text", "reasons"]].values.tolist() == []


def test_the_published_prompts_are_read_from_their_archive(shared_data, tmp_path):
    import tarfile

    name = "data/prompts/openai-gpt-oss-120b-gen-prompts.json"
    with tarfile.open(shared_data / "published" / "results_v1.tar.gz") as archive:
        archive.extract(name, tmp_path, filter="data")
    found = read_prompts(tmp_path / name)
    expected = pd.read_parquet(shared_data / "published" / "prompts.parquet")
    expected = expected[expected["generator"] == "openai-gpt-oss-120b"]

    assert found["text"].tolist() == expected["prompt"].tolist()
    assert found["level"].tolist() == expected["level"].tolist()


def test_every_task_of_a_study_without_prompts_key_is_told():
    wanted = load_study(project_root() / "data" / "studies" / "paper-geometry.yml")
    if wanted.prompts is None:
        with pytest.raises(StudyError, match="'prompts' is missing"):
            prompt_table(wanted)


def test_a_csv_is_read_text_by_text(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('task,text,level\nDemoSTS,"NA ",task\nDemoSTS,,\n', encoding="utf-8")
    table = read_prompts(path)
    assert table["text"].tolist() == ["NA ", ""] and table["level"].notna().tolist() == [True, False]
    path.write_text("prompt\na\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"p\.csv: there is no column 'task'; it has prompt"):
        read_prompts(path)
