"""Names from data stay below their folder: labels, revisions, manifests, lists and links of a run folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from studies import STATIC, write_study

from helpers.base.errors import StudyError
from helpers.base.paths import below, is_plain, safe_name
from helpers.study.spec import ModelSpec, TaskSpec
from helpers.sweep.export import export_cells
from helpers.sweep.ray import Files, store
from helpers.sweep.store import group_folder, read_cells

ODD = ["", ".", "..", "../..", "/etc", "a/b", "a\\b", "a\0b", "CON", "nul.txt", ".hidden", "end.", "é" * 60,
       "漢" * 90, "x" * 300, "a?", "a*", "a-123abc", "\ud800"]  # fmt: skip


def test_every_name_is_one_part_of_a_path_and_two_names_are_two_parts(tmp_path: Path) -> None:
    parts = [safe_name(name) for name in ODD]
    assert len(set(parts)) == len(ODD) and all(map(is_plain, parts))
    for part in parts:
        (tmp_path / f".{part}.json.abcdefgh.part").write_text("")  # a temporary file beside it fits
    assert not set(parts) & {"CON", "nul.txt", ".hidden", "end."}
    assert [safe_name(n) for n in ("WordLlama", "all-MiniLM-L6-v2")] == ["WordLlama", "all-MiniLM-L6-v2"]


@pytest.mark.parametrize("part", ["..", "../x", "a/../../x", "/etc/passwd", "", ".", "a\0b", "out/x"])
def test_what_leads_out_of_its_folder_is_refused(part: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    with pytest.raises(StudyError, match="does not lie below the folder run/"):
        below(folder, part)
    assert below(folder, "a/b", "c") == folder / "a/b/c"


def test_labels_of_dots_stay_in_their_place(tmp_path: Path) -> None:
    for label in (".", "..", "../../x"):
        place = group_folder(tmp_path, ModelSpec(name="m", label=label), TaskSpec(name="DemoSTS"))
        assert place.parent.parent == tmp_path / "cells" and place.resolve() == place


def cell(**model: Any) -> tuple[Path, dict[str, Any]]:
    slot = {"model": "static", "task": "DemoSTS", "prompt_id": "default", "application": "default",
            "subset": "default", "split": "test"}  # fmt: skip
    record = {
        "slot": slot, "kind": "default", "prompt": None, "separator": None, "task_type": "STS", "languages": ["eng-Latn"],
        "model": {"name": "dleemiller/WordLlama", "revision": "1", "weights": "0" * 64} | model,
        "scores": {"main_score": 0.5}, "identity": {"versions": {"mteb": "2"}}, "dataset_revision": "1", "seconds": 1.0,
        "at": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip
    return Path("a-b.json"), record


def test_a_revision_that_climbs_is_exported_inside(tmp_path: Path) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoSTS"])
    run = tmp_path / "deep" / "run"
    assert export_cells(study, run, [cell(revision="../../../../evil")]) == 1
    assert {p.relative_to(tmp_path).parts[:3] for p in tmp_path.rglob("DemoSTS.json")} == {("deep", "run", "results")}


def test_a_forged_list_of_exports_removes_nothing_outside(tmp_path: Path) -> None:
    study, run, mine = write_study(tmp_path, [STATIC], ["DemoSTS"]), tmp_path / "run", tmp_path / "mine.json"
    mine.write_text("{}")
    kept = run / "cells" / "kept.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    (run / "results").mkdir()
    (run / "results" / "out").symlink_to(tmp_path)
    names = [
        "../mine.json",
        "results/../../mine.json",
        str(mine),
        "results/out/mine.json",
        "cells/kept.json",
        "results",
    ]
    (run / "cells" / "exported.json").write_text(json.dumps({name: [] for name in names}))
    export_cells(study, run, [cell()])
    assert mine.is_file() and kept.is_file() and (run / "results" / "out").is_symlink()


@pytest.mark.parametrize("forged", [[[1, 2]], {"results/folder": []}, {"results/a": 1}, [], "x", None])
def test_a_forged_list_of_exports_stops_no_export(forged: Any, tmp_path: Path) -> None:
    study, run = write_study(tmp_path, [STATIC], ["DemoSTS"]), tmp_path / "run"
    (run / "results" / "folder").mkdir(parents=True)
    (run / "cells").mkdir()
    (run / "cells" / "exported.json").write_text(json.dumps(forged))
    assert export_cells(study, run, [cell()]) == 1
    assert (run / "results" / "folder").is_dir() and len(list(run.rglob("DemoSTS.json"))) == 1


def test_a_forged_list_of_cells_names_no_file_outside(tmp_path: Path) -> None:
    rows = [["../../mine", "default", "test", "none"]]
    (tmp_path / "current.json").write_text(json.dumps({"settings": "s", "cells": rows}))
    assert read_cells(tmp_path, "s") is None


def test_files_of_another_node_stay_in_the_run_folder(tmp_path: Path) -> None:
    for files in (Files({"../evil.json": b"{}"}), Files({}, ("../mine",))):
        with pytest.raises(StudyError, match="does not lie below"):
            store(tmp_path / "run", files)


@pytest.mark.parametrize("names", [{"subsets": ["../x"]}, {"split": "/etc"}, {"name": "x" * 300}, {"name": ".."}])
def test_names_of_tasks_are_names_of_files(names: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="plain name"):
        TaskSpec(**{"name": "DemoSTS"} | names)


def test_labels_that_a_file_system_may_take_for_one_are_refused(tmp_path: Path) -> None:
    models = [STATIC | {"label": label} for label in ("Model", "model")]
    with pytest.raises(StudyError, match="'Model' and 'model'"):
        write_study(tmp_path, models, ["DemoSTS"])
