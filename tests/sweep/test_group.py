"""The sweep computes what stock mteb computes, once, and loses nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from studies import MINILM, STATIC, write_study
from tiny_models import random_sentence_transformer

from helpers.base.errors import StudyError
from helpers.models.load import load_model
from helpers.study.spec import ModelSpec, TaskSpec
from helpers.sweep import received as sweep_received
from helpers.sweep import results
from helpers.sweep.probe import PROBE_TEXTS
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import sweep_study
from helpers.sweep.store import group_folder
from helpers.tasks.load import load_task


def sweep(study: Any, folder: Path, prompts: pd.DataFrame) -> pd.DataFrame:
    sweep_study(study, folder, prompts, progress=None)
    return results.scores_table(study, folder, prompts)


def stock_score(spec: dict[str, Any], task: Any, prompts: dict[str, str] | None = None) -> float:
    """The main score of a plain `mteb.evaluate` of the same model and task."""
    import mteb

    wrapper = load_model(ModelSpec(**spec)).wrapper
    if prompts is not None:
        wrapper.model_prompts = prompts
    found = mteb.evaluate(wrapper, task, cache=None, co2_tracker=False, encode_kwargs={"batch_size": 32})
    return float(np.mean([s["main_score"] for s in found.task_results[0].scores[task.eval_splits[0]]]))


# What is read of whole data, so that a slow processor takes seconds: pairs, and queries with as many other documents.
PAIRS, QUERIES, OTHERS = 400, 40, 80


def smaller(name: str, source: Path, root: Path) -> Path:
    """The folder of a part of a real task's data; a link to all of it where the task is small."""
    folder = root / name
    if name == "STS15":
        folder.mkdir(parents=True)
        pairs = pd.read_parquet(source / name / "test.parquet")
        pairs.sample(PAIRS, random_state=0).to_parquet(folder / "test.parquet")
    elif name == "SciFact":
        folder.mkdir(parents=True)
        parts = {part: pd.read_parquet(source / name / f"{part}.parquet") for part in ("queries", "corpus", "qrels")}
        asked = parts["queries"].sample(QUERIES, random_state=0)
        judged = parts["qrels"][parts["qrels"]["query-id"].isin(asked["_id"])]
        is_judged = parts["corpus"]["_id"].isin(judged["corpus-id"])
        others = parts["corpus"][~is_judged].sample(OTHERS, random_state=0)
        corpus = pd.concat([parts["corpus"][is_judged], others])
        for part, rows in {"queries": asked, "corpus": corpus, "qrels": judged}.items():
            rows.to_parquet(folder / f"{part}.parquet")
    else:
        root.mkdir(parents=True)
        folder.symlink_to(source / name)
    return root


@pytest.mark.parametrize(
    ("name", "subsets"), [("STS15", None), ("TweetSentimentClassification", ["english"]), ("SciFact", None)]
)
def test_the_default_on_real_data_equals_a_plain_mteb_evaluate(
    name: str, subsets: list[str] | None, task_data: Path, tmp_path: Path
) -> None:
    task: dict[str, Any] = {"name": name, "subsets": subsets}
    root = smaller(name, task_data, tmp_path / "data")
    study = write_study(tmp_path, [MINILM], [task], data_root=str(root), baselines=["default"])
    scores = sweep(study, tmp_path / "run", given_prompts([], [name]))
    assert scores["status"].tolist() == ["ok"]
    stock = stock_score(MINILM, load_task(TaskSpec(**task), study))
    assert abs(scores["main_score"].item() - stock) <= 1e-6


SAMPLED = ("DemoTopicClassification", "DemoTopicClustering")  # one flipped prediction moves these scores


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", ["DemoRetrieval", "DemoSTS", "DemoBitextMining", "TwitterSemEval2015", *SAMPLED])
def test_a_prompt_gives_the_score_of_stock_mteb_with_the_same_prompt(name: str, exact: bool, tmp_path: Path) -> None:
    spec = {"name": "tiny", "weights": f"path:{random_sentence_transformer(tmp_path, 'bert')}"}
    task = {"name": name, "subsets": ["eng-deu"] if name == "DemoBitextMining" else None}
    write_pairs(tmp_path / "data" / "TwitterSemEval2015")
    study = write_study(
        tmp_path,
        [spec],
        [task],
        sweep={"exact": exact, "bitext_side": "both"},
        data_root=str(tmp_path / "data"),
        baselines=[],
    )
    ours = sweep(study, tmp_path / "run", given_prompts(["Represent this:"], [name]))["main_score"].item()
    keys = {f"{name}-query": "Represent this: "} if name == "DemoRetrieval" else {name: "Represent this: "}
    tolerance = 1e-9 if exact else 2e-3 if name in SAMPLED else 1e-5
    assert ours == pytest.approx(stock_score(spec, load_task(study.tasks[0], study), keys), abs=tolerance)


def write_pairs(folder: Path) -> None:
    """Sentence pairs of the demo in the columns of a stock pair classification task: paraphrase or not."""
    from helpers.tasks.demo import read_jsonl

    folder.mkdir(parents=True)
    rows = [(r["sentence1"], r["sentence2"], int(r["score"] >= 3)) for r in read_jsonl("sts")]
    pd.DataFrame(rows, columns=["sent1", "sent2", "labels"]).to_parquet(folder / "test.parquet")


def test_a_second_run_reuses_every_cell_and_embeds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoSTS", "DemoRetrieval"])
    prompts = given_prompts({"DemoSTS": ["a:", "b:"], "DemoRetrieval": ["c:"]}, ["DemoSTS", "DemoRetrieval"])
    first = sweep(study, tmp_path / "run", prompts)

    import helpers.models.embed

    def refuse(*args: Any) -> None:
        raise AssertionError("a text was embedded again")

    monkeypatch.setattr(helpers.models.embed, "encode", refuse)
    pd.testing.assert_frame_equal(first, sweep(study, tmp_path / "run", prompts))


def test_a_further_prompt_embeds_no_document_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoRetrieval"])
    sweep(study, tmp_path / "run", given_prompts(["a:"], ["DemoRetrieval"]))
    seen: list[str] = []
    import helpers.models.embed as embeddings

    real = embeddings.encode
    monkeypatch.setattr(embeddings, "encode", lambda model, s, p, role: (seen.extend(s), real(model, s, p, role))[1])
    sweep(study, tmp_path / "run", given_prompts(["a:", "b:"], ["DemoRetrieval"]))
    embedded = [s for s in seen if not s.endswith(PROBE_TEXTS)]
    assert len(embedded) == 128 and all(s.startswith("b: ") for s in embedded)


def test_prompts_that_mteb_would_put_into_one_folder_stay_apart(tmp_path: Path) -> None:
    texts = ["Query:", "Query?", "Query_"]
    study = write_study(tmp_path, [STATIC], ["DemoSTS"], baselines=["none"])
    prompts = given_prompts(texts, ["DemoSTS"])
    scores = sweep(study, tmp_path / "run", prompts)
    assert scores[scores["kind"] == "prompt"]["main_score"].nunique() == 3
    assert results.export_mteb(study, tmp_path / "run", prompts) == 4
    assert len(list((tmp_path / "run" / "results").rglob("DemoSTS.json"))) == 4


def test_an_export_is_read_by_stock_mteb_with_the_same_scores(tmp_path: Path) -> None:
    from mteb.cache import ResultCache

    study = write_study(tmp_path, [STATIC], ["DemoSTS"])
    prompts = given_prompts(["Sentence:"], ["DemoSTS"])
    scores = sweep(study, tmp_path / "run", prompts)
    results.export_mteb(study, tmp_path / "run", prompts)
    loaded = ResultCache(tmp_path / "run").load_results(load_experiments="match_name", require_model_meta=True)
    read = {
        (m.model_meta.experiment_kwargs or {}).get("prompt_id", "default"): m.task_results[0].scores["test"][0][
            "main_score"
        ]
        for m in loaded.model_results
    }
    ours = dict(zip(scores["prompt_id"], scores["main_score"], strict=True))
    assert read == pytest.approx(ours, abs=1e-6)


def test_no_prompt_reaches_a_document(tmp_path: Path) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoRetrieval"], baselines=["none"])
    prompts = given_prompts(["Find it:"], ["DemoRetrieval"])
    sweep(study, tmp_path / "run", prompts)
    inputs = sweep_received.inputs_table(study, tmp_path / "run", prompts)
    prompted = inputs[inputs["kind"] == "prompt"].set_index("side")["string"]
    assert prompted["query"].str.startswith("Find it: ").all()
    assert not prompted["document"].str.contains("Find it").any()


def test_bitext_prompts_meet_only_the_side_that_is_searched_with(tmp_path: Path) -> None:
    task = {"name": "DemoBitextMining", "subsets": ["eng-deu"]}
    study = write_study(tmp_path, [STATIC], [task], baselines=["none"])
    prompts = given_prompts(["Translate:"], ["DemoBitextMining"])
    sweep(study, tmp_path / "run", prompts)
    inputs = sweep_received.inputs_table(study, tmp_path / "run", prompts)
    prompted = inputs[inputs["kind"] == "prompt"].set_index("side")["string"]
    assert prompted["both"].str.startswith("Translate: ").all()
    assert not prompted["plain"].str.contains("Translate").any()


def test_clustering_scores_do_not_depend_on_the_order_of_prompts(tmp_path: Path) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoTopicClustering"], baselines=["none"])
    one = sweep(study, tmp_path / "one", given_prompts(["a:", "b:"], ["DemoTopicClustering"]))
    two = sweep(study, tmp_path / "two", given_prompts(["b:", "a:"], ["DemoTopicClustering"]))
    pd.testing.assert_series_equal(one.set_index("prompt_id")["main_score"], two.set_index("prompt_id")["main_score"])


def test_a_truncated_result_is_moved_aside_and_computed_again(tmp_path: Path) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoSTS"])
    prompts = given_prompts(["a:"], ["DemoSTS"])
    first = sweep(study, tmp_path / "run", prompts)
    place = group_folder(tmp_path / "run", study.models[0], study.tasks[0])
    victim = sorted(place.glob("*.json"))[0]
    victim.write_text(victim.read_text(encoding="utf-8")[:100], encoding="utf-8")
    report = sweep_study(study, tmp_path / "run", prompts, progress=None)[0]
    assert (report.done, report.reused) == (1, 2)
    again = results.scores_table(study, tmp_path / "run", prompts)
    pd.testing.assert_frame_equal(first.drop(columns="seconds"), again.drop(columns="seconds"))
    assert list(place.glob("*.broken"))


def test_changed_data_never_serve_an_old_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoSTS"], baselines=["none"])
    prompts = given_prompts(["a:"], ["DemoSTS"])
    sweep(study, tmp_path / "run", prompts)
    import helpers.tasks.demo as demo

    rows = demo.read_jsonl("sts")
    monkeypatch.setattr(demo, "read_jsonl", lambda name: [r | {"score": 5 - r["score"]} for r in rows])
    report = sweep_study(study, tmp_path / "run", prompts, progress=None)[0]
    assert report.done == 2 and "changed data" in report.stale[0]
    refusing = study.model_copy(update={"sweep": study.sweep.model_copy(update={"stale": "refuse"})})
    monkeypatch.setattr(demo, "read_jsonl", lambda name: [r | {"score": 0.5 * r["score"]} for r in rows])
    assert "stale" in sweep_study(refusing, tmp_path / "run", prompts, progress=None)[0].reasons[0]


def test_a_task_without_data_fails_alone_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    study = write_study(tmp_path, [STATIC], ["STS15", "DemoSTS"], data_root=str(tmp_path / "data"), baselines=["none"])
    prompts = given_prompts(["a:"], ["STS15", "DemoSTS"])
    scores = sweep(study, tmp_path / "run", prompts)
    status = scores.groupby("task")["status"].unique().map(list).to_dict()
    assert status == {"DemoSTS": ["ok"], "STS15": ["failed"]}
    assert "EMBEDDING_TASK_DATA" in scores.loc[scores["task"] == "STS15", "reason"].iloc[0]
    with pytest.raises(StudyError, match="2 of 4 cells are not complete"):
        results.require_complete(scores)


def test_killed_in_the_middle_the_next_run_ends_with_the_undisturbed_table(tmp_path: Path) -> None:
    program = (
        "import sys, pandas as pd; from pathlib import Path; from helpers.study.load import load_study;"
        "from helpers.sweep.run import sweep_study;"
        "sweep_study(load_study(sys.argv[1]), Path(sys.argv[2]), pd.read_parquet(sys.argv[3]))"
    )
    tasks = ["DemoSTS", "DemoTopicClustering", "DemoRetrieval"]
    study = write_study(tmp_path, [STATIC], tasks)
    prompts = given_prompts([f"prompt {n}:" for n in range(12)], tasks)
    prompts.to_parquet(tmp_path / "prompts.parquet")
    command = [
        sys.executable,
        "-c",
        program,
        str(tmp_path / "study.yml"),
        str(tmp_path / "run"),
        str(tmp_path / "prompts.parquet"),
    ]
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cells = tmp_path / "run" / "cells"
    give_up = time.monotonic() + 400
    while len(list(cells.rglob("*-*.json"))) < 16 and worker.poll() is None and time.monotonic() < give_up:
        time.sleep(0.02)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    there = len(list(cells.rglob("*-*.json")))
    assert 16 <= there < 42
    reports = sweep_study(study, tmp_path / "run", prompts, progress=None)
    assert sum(r.done for r in reports) == 42 - there
    resumed = results.scores_table(study, tmp_path / "run", prompts)
    undisturbed = sweep(study, tmp_path / "other", prompts)
    pd.testing.assert_frame_equal(resumed.drop(columns="seconds"), undisturbed.drop(columns="seconds"))


def test_a_cell_file_is_readable_json_with_its_identity(tmp_path: Path) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoSTS"], baselines=["none"])
    sweep(study, tmp_path / "run", given_prompts(["a:"], ["DemoSTS"]))
    place = group_folder(tmp_path / "run", study.models[0], study.tasks[0])
    records = [json.loads(p.read_text(encoding="utf-8")) for p in place.glob("*-*.json")]
    assert {r["identity"]["prefixes"][2] for r in records} == {"a: ", ""}
    assert all({"data", "versions", "model", "seed"} <= set(r["identity"]) for r in records)


@pytest.mark.parametrize("name", ["DemoRetrieval", "DemoTopicClassification"])
def test_the_mean_of_a_cells_units_is_its_score(name: str, tmp_path: Path) -> None:
    study = write_study(tmp_path, [STATIC], [name], baselines=["none"])
    prompts = given_prompts(["a:"], [name])
    scores = sweep(study, tmp_path / "run", prompts).set_index("prompt_id")["main_score"]
    units = results.query_scores_table(study, tmp_path / "run", prompts)
    means = units.groupby("prompt_id")["score"].mean()
    assert len(means) == 2 and means.to_dict() == pytest.approx(scores.to_dict(), abs=1e-5)


def test_the_cosines_of_the_pairs_of_an_sts_cell_order_them_as_its_score_says(tmp_path: Path) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoSTS"], baselines=["none"])
    prompts = given_prompts(["a:"], ["DemoSTS"])
    scores = sweep(study, tmp_path / "run", prompts).set_index("prompt_id")["main_score"]
    units = results.query_scores_table(study, tmp_path / "run", prompts)
    assert units.groupby("prompt_id").size().tolist() == [168, 168]  # pairs
    for prompt_id, part in units.groupby("prompt_id"):
        rho = spearmanr(part["score"], part["gold"]).statistic
        assert rho == pytest.approx(scores[prompt_id], abs=1e-4)  # equal pairs differ in a last bit
