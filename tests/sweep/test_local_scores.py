"""Sweeps of local task data score what plain mteb scores on the same rows; faults of data are told as such."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import mteb
import pandas as pd
import pytest
from datasets import Dataset, DatasetDict
from local_tasks import DOCUMENTS, PAIRS, QRELS, QUERIES, TASKS, TOP_RANKED, spec, tables, write
from studies import STATIC, write_study

from helpers.models.load import load_model
from helpers.runner.plan import plan_text
from helpers.study.spec import ModelSpec, Study
from helpers.sweep.cost import plan_table
from helpers.sweep.counts import text_counts
from helpers.sweep.encoder import SweepEncoder
from helpers.sweep.files import read_cell
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import sweep_study


@cache
def wrapper() -> Any:
    return load_model(ModelSpec(**STATIC)).wrapper


def stock(name: str, dataset: Any, subsets: list[str] | None = None) -> dict[tuple[str, str], float]:
    """Scores by split and subset of plain mteb on rows that the test puts together itself."""
    task = mteb.get_task(name, hf_subsets=subsets)
    task.dataset, task.data_loaded = dataset, True
    result = mteb.evaluate(wrapper(), task, cache=None, co2_tracker=False).task_results[0]
    return {(s, row["hf_subset"]): row["main_score"] for s, rows in result.scores.items() for row in rows}


def swept(study: Study, folder: Path) -> dict[tuple[str, str], float]:
    """Scores by split and subset of the sweep's baseline "none"."""
    reports = sweep_study(study, folder, given_prompts([], []), progress=None)
    assert [r.reasons for r in reports] == [[]] * len(reports)
    found = {}
    for path in (folder / "cells").rglob("*-*.json"):
        record = read_cell(path)
        assert record is not None
        found[record["slot"]["split"], record["slot"]["subset"]] = record["main_score"]
    return found


def study_of(tmp_path: Path, *tasks: dict[str, Any]) -> Study:
    return write_study(tmp_path, [STATIC], list(tasks), data_root=str(tmp_path / "data"), baselines=["none"])


def searched(qrels: dict[str, dict[str, int]], candidates: Any = None) -> dict[str, Any]:
    corpus = DOCUMENTS.assign(title="").rename(columns={"_id": "id"})
    queries = QUERIES[QUERIES["_id"].isin(list(qrels))].rename(columns={"_id": "id"})
    return {
        "corpus": Dataset.from_pandas(corpus, preserve_index=False),
        "queries": Dataset.from_pandas(queries, preserve_index=False),
        "relevant_docs": qrels,
        "top_ranked": candidates,
    }


def test_reranking_orders_the_given_candidates(tmp_path) -> None:
    write(tmp_path / "data", TASKS["Reranking"], tables("Reranking"))
    qrels = {"q0": {"d0": 1}, "q1": {"d1": 1}, "q2": {"d2": 2, "d3": 1}}
    candidates = dict(zip(TOP_RANKED["query-id"], TOP_RANKED["corpus-ids"], strict=True))
    right = stock(TASKS["Reranking"], {"default": {"test": searched(qrels, candidates)}})
    whole = stock(TASKS["Reranking"], {"default": {"test": searched(qrels)}})
    assert swept(study_of(tmp_path, spec("Reranking")), tmp_path / "run") == pytest.approx(right, abs=1e-9)
    assert right != whole


def test_splits_are_scored_with_judgements_of_their_own(tmp_path) -> None:
    files = tables("Retrieval") | {"qrels/dev": QRELS.head(2), "qrels/test": QRELS.tail(2)}
    write(tmp_path / "data", "MLQuestions", {k: v for k, v in files.items() if k != "qrels"})
    splits = {
        "dev": searched({"q0": {"d0": 1}, "q1": {"d1": 1}}),
        "test": searched({"q2": {"d2": 2, "d3": 1}}),
    }
    right = stock("MLQuestions", {"default": splits})
    assert len(right) == 2
    assert swept(study_of(tmp_path, {"name": "MLQuestions"}), tmp_path / "run") == pytest.approx(right, abs=1e-9)


def test_subsets_are_scored_with_rows_of_their_own(tmp_path) -> None:
    one, two = PAIRS.head(5), PAIRS.tail(6)
    write(tmp_path / "data", "Tatoeba", {"deu-eng": one, "fra-eng/test": two})
    rows = {
        subset: DatasetDict({"test": Dataset.from_pandas(part, preserve_index=False)})
        for subset, part in (("deu-eng", one), ("fra-eng", two))
    }
    right = stock("Tatoeba", rows, ["deu-eng", "fra-eng"])
    task = {"name": "Tatoeba", "subsets": ["deu-eng", "fra-eng"]}
    assert swept(study_of(tmp_path, task), tmp_path / "run") == pytest.approx(right, abs=1e-9)


@pytest.mark.parametrize("kind", ["PairClassification", "Classification", "Clustering", "ClusteringSets"])
def test_rows_of_other_types_score_as_in_plain_mteb(tmp_path, kind) -> None:
    write(tmp_path / "data", TASKS[kind], tables(kind))
    splits = DatasetDict({s: Dataset.from_pandas(t, preserve_index=False) for s, t in tables(kind).items()})
    subsets = spec(kind).get("subsets")
    right = stock(TASKS[kind], {subsets[0]: splits} if subsets else splits, subsets)
    assert swept(study_of(tmp_path, spec(kind)), tmp_path / "run") == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("kind", TASKS)
def test_the_plan_counts_the_texts_that_mteb_hands_to_the_model(tmp_path, monkeypatch, kind) -> None:
    """One baseline: texts with prompt and documents are counted once each."""
    write(tmp_path / "data", TASKS[kind], tables(kind))
    study, handed = study_of(tmp_path, spec(kind)), {}
    real = SweepEncoder.vectors

    def spy(self: SweepEncoder, side: str, texts: list[str]) -> Any:
        handed[side, tuple(texts)] = len(texts)
        return real(self, side, texts)

    monkeypatch.setattr(SweepEncoder, "vectors", spy)
    swept(study, tmp_path / "run")
    sided, shared, _ = text_counts(study.tasks[0], study)
    assert (sided or 0) + (shared or 0) == sum(handed.values()) > 0


def test_all_scored_splits_are_counted(tmp_path) -> None:
    """Two and one queries with judgements, and eight documents that both splits search."""
    files = tables("Retrieval") | {"qrels/dev": QRELS.head(2), "qrels/test": QRELS.tail(2)}
    write(tmp_path / "data", "MLQuestions", files)
    study = study_of(tmp_path, {"name": "MLQuestions"})
    assert text_counts(study.tasks[0], study)[:2] == (3, 8)


def test_one_task_with_bad_data_does_not_keep_the_others_from_the_plan(tmp_path) -> None:
    write(tmp_path / "data", TASKS["STS"], tables("STS"))
    write(tmp_path / "data", TASKS["Reranking"], tables("Retrieval"))
    (tmp_path / "p.yml").write_text(f"{{STS15: {{task: ['One:']}}, {TASKS['Reranking']}: {{task: ['One:']}}}}")
    prompts = {"source": "file", "file": str(tmp_path / "p.yml"), "levels": ["task"]}
    study = write_study(
        tmp_path,
        [STATIC],
        [spec("STS"), spec("Reranking")],
        data_root=str(tmp_path / "data"),
        prompts=prompts,
        baselines=["none"],
    )
    table = plan_table(study, tmp_path / "run").set_index("task")
    assert table.loc["STS15", "texts"] == 32 and pd.isna(table.loc[TASKS["Reranking"], "texts"])
    text = plan_text(study, tmp_path / "run")
    assert f"cannot run here: task {TASKS['Reranking']}: {TASKS['Reranking']}/top_ranked.parquet is missing" in text


def test_the_reason_of_a_failed_cell_says_what_was_being_done(tmp_path, monkeypatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise ValueError("Found array with 0 sample(s)")

    write(tmp_path / "data", "STS15", tables("STS"))
    monkeypatch.setattr("mteb.abstasks.sts.AbsTaskSTS.evaluate", fail)
    study = study_of(tmp_path, spec("STS"))
    (report,) = sweep_study(study, tmp_path / "run", given_prompts([], []), progress=None)
    assert report.reasons == ["evaluating STS15 (default, test): ValueError: Found array with 0 sample(s)"]
