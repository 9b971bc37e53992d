"""The export gives every run a path of its own, and leaves stock mteb's path to what stock mteb computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mteb import ResultCache
from studies import STATIC, write_study
from tiny_models import random_sentence_transformer

from helpers.sweep import results
from helpers.sweep.export import export_cells
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import sweep_study

ROWS = given_prompts(["Sentence:"], ["DemoSTS"])


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, Any]]]:
    """The cells of one small run, by kind."""
    folder = tmp_path_factory.mktemp("cells")
    study = write_study(folder, [STATIC], ["DemoSTS"])
    sweep_study(study, folder / "run", ROWS, progress=None)
    return {record["kind"]: (path, record) for path, record in results.current_cells(study, folder / "run", ROWS)}


def exported(folder: Path, cell: tuple[Path, dict[str, Any]], model: dict[str, Any], **keys: Any) -> str:
    """The path below `results` of a cell, had it been computed with these settings."""
    study = write_study(folder, [STATIC | model], ["DemoSTS"], **keys)
    assert export_cells(study, folder, [cell]) == 1
    (path,) = [p for p in (folder / "results").rglob("*.json") if p.name != "model_meta.json"]
    return path.relative_to(folder / "results").as_posix()


@pytest.mark.parametrize("kind", ["default", "prompt"])
def test_every_setting_that_differs_from_stock_has_a_path_of_its_own(
    kind: str, cells: dict[str, tuple[Path, dict[str, Any]]], tmp_path: Path
) -> None:
    changes: list[dict[str, Any]] = [
        *({"model": {"max_length": n}} for n in (8, 16)),
        *({"model": {"template": f"Q{mark} {{instruction}}"}} for mark in ":?"),
        {"model": {"weights": "path:some/folder", "revision": "1"}},
        {"seed": 7},
        {"sweep": {"exact": True}},
        {"model": {}},
    ]
    paths = [exported(tmp_path, cells[kind], change.pop("model", {}), **change) for change in changes]
    assert len(set(paths)) == len(paths)
    if kind == "default":
        revision = cells[kind][1]["model"]["revision"]
        assert paths[-1] == f"dleemiller__WordLlama/{revision}/DemoSTS.json"
        assert "experiments/max_length_8/" in paths[0]


def test_a_bitext_prompt_on_both_sides_has_a_path_of_its_own(
    cells: dict[str, tuple[Path, dict[str, Any]]], tmp_path: Path
) -> None:
    path, record = cells["prompt"]
    cell = path, record | {"task_type": "BitextMining"}
    assert len({exported(tmp_path, cell, {}, sweep={"bitext_side": s}) for s in ("query", "both")}) == 2


def test_two_labels_of_one_model_do_not_overwrite_each_other(tmp_path: Path) -> None:
    weights = f"path:{random_sentence_transformer(tmp_path, 'bert')}"
    models = [
        {"name": "tiny", "label": label, "weights": weights, "max_length": length}
        for label, length in (("whole", None), ("short", 6), ("again", None))
    ]
    study, folder = write_study(tmp_path, models, ["DemoSTS"], baselines=["default"]), tmp_path / "run"
    sweep_study(study, folder, ROWS, progress=None)
    assert results.export_mteb(study, folder, ROWS) == 4  # the third label is the first one once more
    files = list((folder / "results").rglob("DemoSTS.json"))
    scores = results.scores_table(study, folder, ROWS)["main_score"]
    found = {json.loads(p.read_text(encoding="utf-8"))["scores"]["test"][0]["main_score"] for p in files}
    assert len(files) == 4 and found == {round(score, 6) for score in scores}


def test_an_export_removes_only_what_an_earlier_one_wrote(tmp_path: Path) -> None:
    study, folder = write_study(tmp_path, [STATIC], ["DemoSTS"]), tmp_path / "run"
    sweep_study(study, folder, ROWS, progress=None)
    results.export_mteb(study, folder, ROWS)
    other = folder / "results" / "org__model" / "1" / "STS15.json"
    other.parent.mkdir(parents=True)
    other.write_text("{}", encoding="utf-8")
    assert results.export_mteb(study, folder, given_prompts([], ["DemoSTS"])) == 2
    assert len(list((folder / "results").rglob("DemoSTS.json"))) == 2 and other.is_file()


def test_stock_mteb_reads_prompts_where_it_is_asked_for_experiments(tmp_path: Path) -> None:
    weights = f"path:{random_sentence_transformer(tmp_path, 'bert')}"
    models = [{"name": "tiny", "label": f"{n}", "weights": weights, "max_length": n} for n in (None, 8)]
    study, folder = write_study(tmp_path, models, ["DemoSTS"]), tmp_path / "run"
    sweep_study(study, folder, ROWS, progress=None)
    assert results.export_mteb(study, folder, ROWS) == 6
    cache = ResultCache(folder)
    scores = results.scores_table(study, folder, ROWS)
    read = {
        (m.experiment_name is None, round(t.scores["test"][0]["main_score"], 6))
        for m in cache.load_results(load_experiments="match_name").model_results
        for t in m.task_results
    }
    is_plain = (scores["kind"] == "default") & (scores["model"] == "None")
    assert read == {(plain, round(score, 6)) for plain, score in zip(is_plain, scores["main_score"], strict=True)}
    alone = [t for m in cache.load_results().model_results for t in m.task_results]
    assert len(alone) == 1  # without asking, the prompts and every other setting are left out
    told = [json.loads(line) for p in folder.rglob("run_settings.jsonl") for line in p.read_text().splitlines()]
    assert len(told) == 6 and {t["encode_kwargs"]["dtype"] for t in told} == {"float32"}
    cut = [t["encode_kwargs"]["truncated_share"]["both"] for t in told if t["encode_kwargs"]["max_length"] == 8]
    assert len(cut) == 3 and min(cut) > 0
