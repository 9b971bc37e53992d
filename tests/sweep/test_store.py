"""Tables and exports show the results of the study as it was last run, and never an earlier one's in their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from studies import STATIC, write_study
from tiny_models import random_sentence_transformer

from helpers.base.errors import StudyError
from helpers.study.spec import Study
from helpers.sweep import received as sweep_received
from helpers.sweep import results
from helpers.sweep import score as sweep_score
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import sweep_study
from helpers.sweep.store import NAME, group_folder

TASK = "DemoTopicClassification"
ROWS = given_prompts(["a:", "b:"], [TASK])


def study_of(tmp_path: Path, task: Any = TASK, **keys: Any) -> Study:
    """A study whose weights lie in `tmp_path`; keys of the model are given as `model`."""
    path = tmp_path / "model"
    if not path.exists():
        random_sentence_transformer(tmp_path, "bert")
    model = {"name": "tiny", "weights": f"path:{path}"} | keys.pop("model", {})
    return write_study(tmp_path, [model], [task], baselines=["none"], **keys)


def shown(study: Study, folder: Path, rows: pd.DataFrame = ROWS) -> list[Any]:
    """Everything that a run's readers show: the tables and the files of the export with their scores."""
    results.export_mteb(study, folder, rows)
    files = {str(p): p.read_bytes() for p in (folder / "results").rglob("*.json")}
    tables = (results.scores_table, results.query_scores_table, sweep_received.inputs_table)
    return [*(table(study, folder, rows).to_csv() for table in tables), files]


def fail(*given: Any) -> Any:
    raise RuntimeError("no memory")


@pytest.mark.parametrize("change", [{"seed": 7}, {"sweep": {"exact": True}}, {"model": {"max_length": 8}}], ids=str)
def test_going_back_to_an_earlier_setting_shows_its_results_again(change: dict[str, Any], tmp_path: Path) -> None:
    before, after, folder = study_of(tmp_path), study_of(tmp_path, **change), tmp_path / "run"
    sweep_study(before, folder, ROWS, progress=None)
    first = shown(before, folder)
    sweep_study(after, folder, ROWS, progress=None)
    assert shown(after, folder)[0] != first[0]
    (report,) = sweep_study(before, folder, ROWS, progress=None)
    assert report.reused == 3 and shown(before, folder) == first


def test_refused_stale_results_are_failed_and_say_why(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    sweep_study(study_of(tmp_path), folder, ROWS, progress=None)
    refusing = study_of(tmp_path, seed=7, sweep={"stale": "refuse"})
    sweep_study(refusing, folder, ROWS, progress=None)
    scores = results.scores_table(refusing, folder, ROWS)
    assert scores["status"].tolist() == ["failed"] * 3
    assert scores["reason"].str.contains("3 stale results.*changed seed").all()
    with pytest.raises(StudyError, match="3 of 3 cells are not complete"):
        results.require_complete(scores)
    assert results.export_mteb(refusing, folder, ROWS) == 0


def test_a_result_whose_computing_again_fails_is_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    sweep_study(study_of(tmp_path), folder, ROWS, progress=None)
    shown(study_of(tmp_path), folder)
    monkeypatch.setattr("helpers.sweep.compute.evaluate", fail)
    changed = study_of(tmp_path, seed=7)
    sweep_study(changed, folder, ROWS, progress=None)
    scores = results.scores_table(changed, folder, ROWS)
    assert set(scores["status"]) == {"failed"} and set(scores["reason"]) == {"RuntimeError: no memory"}
    assert results.export_mteb(changed, folder, ROWS) == 0
    assert not list((folder / "results").rglob("*.json"))


def test_results_of_a_model_that_cannot_be_loaded_any_more_are_failed(tmp_path: Path) -> None:
    study, folder = study_of(tmp_path), tmp_path / "run"
    sweep_study(study, folder, ROWS, progress=None)
    (tmp_path / "model").rename(tmp_path / "elsewhere")
    sweep_study(study, folder, ROWS, progress=None)
    scores = results.scores_table(study, folder, ROWS)
    assert set(scores["status"]) == {"failed"} and scores["reason"].str.contains("there is no folder").all()
    (tmp_path / "elsewhere").rename(tmp_path / "model")
    assert sweep_study(study, folder, ROWS, progress=None)[0].reused == 3
    assert set(results.scores_table(study, folder, ROWS)["status"]) == {"ok"}


def test_settings_that_a_group_was_not_run_with_have_no_results_yet(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    sweep_study(study_of(tmp_path), folder, ROWS, progress=None)
    scores = results.scores_table(study_of(tmp_path, seed=7), folder, ROWS)
    assert scores["status"].tolist() == ["missing"] * 3


def test_a_run_folder_without_lists_shows_the_newest_result_of_every_slot(tmp_path: Path) -> None:
    study, folder = study_of(tmp_path), tmp_path / "run"
    sweep_study(study, folder, ROWS, progress=None)
    first = results.scores_table(study, folder, ROWS)
    (group_folder(folder, study.models[0], study.tasks[0]) / NAME).unlink()
    pd.testing.assert_frame_equal(results.scores_table(study, folder, ROWS), first)


def test_stale_results_that_are_computed_again_are_named_once_per_group(tmp_path: Path) -> None:
    folder, lines = tmp_path / "run", list[str]()
    sweep_study(study_of(tmp_path), folder, ROWS, progress=None)
    sweep_study(study_of(tmp_path, seed=7), folder, ROWS, lines.append)
    assert lines[1:] == [f"3 stale results of tiny x {TASK} computed again: seed changed"]


@pytest.mark.parametrize("has_list", [True, False])
def test_a_subset_that_fails_has_a_row_of_its_own(
    has_list: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sweep_score.evaluate

    def evaluate(encoder: Any, task: Any, cell: Any) -> Any:
        return fail() if cell.slot["subset"] == "eng-deu" else real(encoder, task, cell)

    monkeypatch.setattr("helpers.sweep.compute.evaluate", evaluate)
    study, rows = (
        write_study(tmp_path, [STATIC], ["DemoBitextMining"]),
        given_prompts(["a:"], ["DemoBitextMining"]),
    )
    sweep_study(study, tmp_path / "run", rows, progress=None)
    if not has_list:
        (group_folder(tmp_path / "run", study.models[0], study.tasks[0]) / NAME).unlink()
    scores = results.scores_table(study, tmp_path / "run", rows)
    failed = scores[scores["status"] == "failed"]
    assert len(scores) == 9 and failed["subset"].tolist() == ["eng-deu"] * 3
    assert set(failed["reason"]) == {"RuntimeError: no memory"}
