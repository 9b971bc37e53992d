"""A cell that is not what was written is never used: an edited score, exchanged files, edited units."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from studies import STATIC, write_study

from helpers.study.spec import Study
from helpers.sweep import results
from helpers.sweep.files import is_edited, read_cell, write_cell
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import sweep_study
from helpers.sweep.store import group_folder

ROWS = given_prompts(["a:"], ["DemoSTS"])
RECORD = {"slot": {}, "identity": {}, "scores": {}, "main_score": 0.607, "prompt": "é\u2028\n"}


def edit_score(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"main_score": 0.607', '"main_score": 0.999'), encoding="utf-8")


def drop_digest(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([lines[0], *lines[2:]]), encoding="utf-8")


def exchange(path: Path) -> None:
    write_cell(path.with_stem("c-d"), RECORD | {"main_score": 0.999}, pd.DataFrame({"score": [1.0]}))
    shutil.copy(path.with_name("c-d.json"), path)
    shutil.copy(path.with_name("c-d.parquet"), path.with_suffix(".parquet"))


def edit_units(path: Path) -> None:
    pd.DataFrame({"score": [0.9]}).to_parquet(path.with_suffix(".parquet"))


def remove_units(path: Path) -> None:
    path.with_suffix(".parquet").unlink()


@pytest.mark.parametrize("change", [edit_score, drop_digest, exchange, edit_units, remove_units])
def test_only_what_was_written_is_read(change: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "a-b.json"
    write_cell(path, RECORD, pd.DataFrame({"score": [0.5]}))
    record = read_cell(path)
    assert record is not None and record.items() >= RECORD.items() and not is_edited(path)
    change(path)
    assert read_cell(path) is None and is_edited(path)


def edited_run(folder: Path, stale: str) -> tuple[Study, pd.DataFrame]:
    """A finished run in which one cell's score was then changed by hand, and its scores before that."""
    study = write_study(folder, [STATIC], ["DemoSTS"], sweep={"stale": stale})
    sweep_study(study, folder / "run", ROWS, progress=None)
    scores = results.scores_table(study, folder / "run", ROWS)
    path, record = next(results.current_cells(study, folder / "run", ROWS))
    shown = f'"main_score": {record["main_score"]}'
    text = path.read_text(encoding="utf-8")
    assert shown in text
    path.write_text(text.replace(shown, '"main_score": 0.999'), encoding="utf-8")
    return study, scores


def test_an_edited_cell_is_named_and_computed_again(tmp_path: Path) -> None:
    study, before = edited_run(tmp_path, "redo")
    shown = results.scores_table(study, tmp_path / "run", ROWS)
    assert shown["status"].value_counts().to_dict() == {"ok": 2, "missing": 1}
    assert shown.loc[shown["status"] == "missing", "reason"].str.contains("its file was changed").all()
    lines: list[str] = []
    (report,) = sweep_study(study, tmp_path / "run", ROWS, lines.append)
    assert (report.done, report.reused) == (1, 2)
    assert lines[1:] == ["1 stale result of static x DemoSTS computed again: its file changed"]
    after = results.scores_table(study, tmp_path / "run", ROWS)
    pd.testing.assert_frame_equal(before.drop(columns="seconds"), after.drop(columns="seconds"))


def test_an_edited_cell_is_refused_where_the_study_says_so(tmp_path: Path) -> None:
    study, _ = edited_run(tmp_path, "refuse")
    (report,) = sweep_study(study, tmp_path / "run", ROWS, progress=None)
    assert report.done == 0 and "changed its file" in report.reasons[0]
    place = group_folder(tmp_path / "run", study.models[0], study.tasks[0])
    assert not list(place.glob("*.broken"))
