"""Schedules that can be checked by hand, and costs from a run and from the plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies import STATIC, write_study

from helpers.base.errors import StudyError
from helpers.runner.cli import main
from helpers.sweep.quick import given_prompts
from helpers.sweep.results import scores_table
from helpers.sweep.run import sweep_study
from helpers.sweep.scaling import Cost, makespan, measured_costs, saturation, scaling_table
from helpers.sweep.store import group_folder, read_note


def costs(*seconds: float, models: str = "") -> list[Cost]:
    names = models or "m" * len(seconds)
    return [Cost(m, f"task{n}", s) for n, (m, s) in enumerate(zip(names, seconds, strict=True))]


@pytest.mark.parametrize(
    ("seconds", "gpus", "expected"),
    [
        ((3, 3, 2, 2, 2), 1, 12),
        ((3, 3, 2, 2, 2), 2, 7),  # 3+2+2 and 3+2; the shortest schedule, 6, is not found
        ((2, 2, 2, 3, 3), 2, 7),  # the order given does not matter
        ((8, 1, 1, 1), 2, 8),
        ((8, 1, 1, 1), 64, 8),  # the longest group is the bound
    ],
)
def test_the_longest_group_goes_to_the_first_free_worker(
    seconds: tuple[float, ...], gpus: int, expected: float
) -> None:
    assert makespan(costs(*seconds), gpus) == expected


@pytest.mark.parametrize(
    ("gpus", "fresh", "expected"),
    [
        (1, False, 10 + (5 + 4 + 3) + (5 + 2 + 1)),  # model a then model b: loaded once each
        (2, False, 10 + (5 + 4) + (5 + 1)),  # a4 b1 against b3 a2: 25 and 10+(5+3)+(5+2)=25
        (1, True, 4 * (10 + 5) + 10),
        (2, True, 2 * (10 + 5) + 5),
    ],
)
def test_start_and_loading_are_paid_where_they_occur(gpus: int, fresh: bool, expected: float) -> None:
    some = costs(4, 3, 2, 1, models="aabb") if gpus == 1 else costs(4, 3, 2, 1, models="abab")
    assert makespan(some, gpus, start=10, load=5, fresh=fresh) == expected


def test_speed_up_and_efficiency_are_relative_to_one_gpu() -> None:
    table = scaling_table(costs(6, 3, 3), [1, 2, 4])
    assert table["makespan"].tolist() == [12, 6, 6]
    assert table["speedup"].tolist() == [1, 2, 2]
    assert table["efficiency"].tolist() == [1, 1, 0.5]
    assert saturation(costs(6, 3, 3)) == 2
    assert saturation(costs(*[1] * 100), most=64) is None


def test_no_gpu_is_an_error() -> None:
    with pytest.raises(StudyError, match="at least one GPU"):
        makespan(costs(1), 0)


def test_the_costs_of_a_run_come_from_its_notes(tmp_path: Path) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoSTS"])
    assert measured_costs(study, tmp_path / "run") is None
    sweep_study(study, tmp_path / "run", given_prompts(["a:", "b:"], ["DemoSTS"]), progress=None)
    note = read_note(group_folder(tmp_path / "run", study.models[0], study.tasks[0]))
    assert note is not None and (note.finished, note.computed, note.failed) == (4, 4, 0)
    found = measured_costs(study, tmp_path / "run")
    assert found == [Cost("static", "DemoSTS", pytest.approx(note.seconds))]
    sweep_study(study, tmp_path / "run", given_prompts(["a:", "b:"], ["DemoSTS"]), progress=None)
    assert measured_costs(study, tmp_path / "run") == found  # reading what is there costs nothing
    sweep_study(study, tmp_path / "run", given_prompts(["a:"], ["DemoSTS"]), progress=None)
    table = scores_table(study, tmp_path / "run", given_prompts(["a:"], ["DemoSTS"]))
    assert measured_costs(study, tmp_path / "run") == [  # the cell of "b:" lies there, but is no part of it now
        Cost("static", "DemoSTS", pytest.approx(table["seconds"].sum()))
    ]


def test_the_papers_grid_is_shown_as_an_estimate(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELPERS_RUNS", str(tmp_path))
    assert main(["scaling", "paper-sensitivity", "--gpus", "1", "8", "64"]) == 0
    text = capsys.readouterr().out
    assert "66 groups of 6 models; costs ESTIMATED, not measured" in text
    assert [line.split()[0] for line in text.splitlines()[3:6]] == ["1", "8", "64"]


def test_a_sweep_from_the_command_line_is_measured(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELPERS_RUNS", str(tmp_path / "runs"))
    write_study(tmp_path, [STATIC], ["DemoSTS"], baselines=["none"])
    assert main(["sweep", str(tmp_path / "study.yml"), "--no-wait"]) == 0
    assert capsys.readouterr().out.endswith("1 group: 16 cells computed, 0 reused, 0 failed\n")
    assert main(["scaling", str(tmp_path / "study.yml")]) == 0
    assert "1 group of 1 model; costs measured in this run" in capsys.readouterr().out
