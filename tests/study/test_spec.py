"""A study file is one validated object; mistakes are named with the file, the key and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from helpers.base.errors import StudyError
from helpers.base.files import project_path, project_root
from helpers.base.names import unknown
from helpers.runner.checks import check_names
from helpers.study.load import load_study, study_names

MINIMAL = {
    "name": "tiny",
    "title": "Tiny",
    "steps": ["01", "02"],
    "models": [{"name": "sentence-transformers/all-MiniLM-L6-v2"}],
    "tasks": [{"name": "DemoSTS"}],
    "prompts": {"source": "file", "file": "data/demo/prompts.yml"},
}


def written(tmp_path: Path, **changes: object) -> Path:
    path = tmp_path / "tiny.yml"
    path.write_text(yaml.safe_dump(MINIMAL | changes), encoding="utf-8")
    return path


def test_a_label_defaults_to_the_last_part_of_the_name(tmp_path: Path) -> None:
    assert load_study(written(tmp_path)).models[0].label == "all-MiniLM-L6-v2"


def test_an_unknown_study_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(StudyError, match="unknown study 'dmo'; did you mean demo"):
        load_study("dmo")


def test_an_unknown_key_names_file_key_and_suggestion(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"tiny.yml: modles: unknown key 'modles'; did you mean models"):
        load_study(written(tmp_path, modles=[]))


def test_an_unknown_nested_key_is_suggested_from_its_own_level(tmp_path: Path) -> None:
    model = {"name": "sentence-transformers/all-MiniLM-L6-v2", "revison": "x"}
    with pytest.raises(StudyError, match="unknown key 'revison'; did you mean revision"):
        load_study(written(tmp_path, models=[model]))


def test_an_unknown_task_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"unknown task 'STS51'; did you mean .*STS15"):
        check_names(load_study(written(tmp_path, tasks=[{"name": "STS51"}])))


def test_an_unknown_model_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    model = {"name": "sentence-transformers/all-MiniLM-L6-v3"}
    with pytest.raises(StudyError, match=r"unknown model .*did you mean .*all-MiniLM-L6-v2"):
        check_names(load_study(written(tmp_path, models=[model])))


def test_an_unknown_subset_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="unknown subset 'deu-en'; did you mean deu-eng"):
        check_names(load_study(written(tmp_path, tasks=[{"name": "Tatoeba", "subsets": ["deu-en"]}])))


def test_two_models_may_not_share_a_label(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="names two models"):
        load_study(written(tmp_path, models=[*MINIMAL["models"], *MINIMAL["models"]]))  # type: ignore[misc]


def test_a_task_is_listed_once(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="the task 'STS15' is listed twice"):
        load_study(written(tmp_path, tasks=[{"name": "STS15"}] * 2))


def test_yaml_that_is_no_mapping_is_named(tmp_path: Path) -> None:
    path = tmp_path / "list.yml"
    path.write_text("- 1\n", encoding="utf-8")
    with pytest.raises(StudyError, match="holds a mapping of keys, not a list"):
        load_study(path)


def test_an_override_reaches_into_the_study_and_none_changes_nothing(tmp_path: Path) -> None:
    study = load_study(written(tmp_path), **{"sweep.exact": True, "seed": None})
    assert study.sweep.exact and study.seed == 42


@pytest.mark.parametrize("name", study_names())
def test_every_committed_study_names_only_known_models_and_tasks(name: str) -> None:
    study = load_study(name)
    assert study.name == name
    check_names(study)


def test_nothing_near_lists_what_is_known() -> None:
    assert unknown("task", "zzz", ["a", "b"]) == "unknown task 'zzz'; known: a, b"


def test_every_path_of_a_study_may_begin_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "data").mkdir()
    study = load_study(written(tmp_path, data_root="~/data"))
    assert study.task_data_root() == (tmp_path / "data").resolve()
    assert load_study("~/tiny.yml").name == "tiny"
    assert project_path("~/m", tmp_path / "elsewhere") == tmp_path / "m"
    assert project_path("m") == project_root() / "m"
    with pytest.raises(StudyError, match="home folder"):
        project_path("~nobody-of-this-name/m")
