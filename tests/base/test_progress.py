"""Progress is a line per piece of work, a bar only in JupyterLab, and an estimate that leaves out what is finished."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies import MINILM, STATIC, write_study

from helpers.base import progress
from helpers.sweep import compute as sweep_compute
from helpers.sweep import group as sweep
from helpers.sweep.cell import prompts_of
from helpers.sweep.group import group_line
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import _costs, work_list
from helpers.sweep.store import GroupNote, GroupReport, request_of
from helpers.sweep.work import Work


def test_outside_jupyterlab_there_are_only_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.Progress(2, "group") as bar:
        bar.step("one of two")
    assert bar.bar is None and capsys.readouterr().out == "one of two\n"


def test_a_line_tells_the_time_left_where_it_is_known() -> None:
    report = GroupReport("m", "t", done=3, reused=1, seconds=2.0)
    assert group_line(1, 3, report, 75.0) == "[1/3] m x t: 3 computed, 1 reused in 2.0 s; about 1:15 left"
    assert group_line(3, 3, report, 75.0).endswith("in 2.0 s")


def test_a_long_group_tells_its_scores_its_texts_and_the_time_left(tmp_path, monkeypatch) -> None:
    """The default comes first; then every line names what is done of five scores and of the texts of a pass."""
    monkeypatch.setattr(progress, "EVERY", 0.0)
    study = write_study(tmp_path, [STATIC], ["DemoSTS"])
    lines: list[str] = []
    order = []
    monkeypatch.setattr(sweep_compute, "_try_cell", watched(sweep_compute._try_cell, order))
    rows = given_prompts(["a:", "b:", "c:"], ["DemoSTS"])
    sweep.run_group(study, tmp_path, rows, study.models[0], study.tasks[0], say=lines.append)
    assert order == ["default", "none", "prompt", "prompt", "prompt"]
    assert any(line.startswith("static x DemoSTS: 0 of 5 scores, embedding, ") for line in lines)
    assert any("of 5 scores, about 0:0" in line and "texts" not in line for line in lines)
    assert any(line.endswith(" left of these") for line in lines)


def test_a_quick_group_tells_nothing(tmp_path: Path) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoSTS"])
    lines: list[str] = []
    rows = given_prompts(["a:"], ["DemoSTS"])
    sweep.run_group(study, tmp_path, rows, study.models[0], study.tasks[0], say=lines.append)
    assert lines == []


def watched(real, order: list[str]):
    def try_cell(*given) -> None:
        order.append(given[4].prompt.kind)
        real(*given)

    return try_cell


def test_finished_groups_cost_nothing_and_a_larger_model_more(tmp_path: Path) -> None:
    study = write_study(tmp_path, [STATIC, MINILM | {"parameters": 10}], ["DemoSTS"])
    rows = given_prompts(["a:"], ["DemoSTS"])
    groups = work_list(study)
    open_ones = _costs(Work(study, tmp_path, rows, dict.fromkeys([("static", "DemoSTS")])), groups)
    assert open_ones["minilm", "DemoSTS"] == 10 * open_ones["static", "DemoSTS"] > 0
    request = request_of(study, [p.id for p in prompts_of(study, rows, "DemoSTS")])
    notes = {
        ("static", "DemoSTS"): GroupNote(request, finished=3),
        ("minilm", "DemoSTS"): GroupNote("other", 3),
    }
    costs = _costs(Work(study, tmp_path, rows, notes), groups)
    assert costs["static", "DemoSTS"] == 0 < costs["minilm", "DemoSTS"]
