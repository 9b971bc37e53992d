"""The demo's own trainings with fixed seeds: what study 2 found must be seen in small. Takes minutes without a report."""

from __future__ import annotations

import shutil

import pytest

from helpers.study.load import load_study
from helpers.study.run import run_folder
from helpers.tuning.evaluation import contrast_table, recall_table
from helpers.tuning.sets import tuning_data
from helpers.tuning.study import recall_scores
from helpers.tuning.train import BASELINE, fine_tune


@pytest.mark.slow
def test_query_side_negatives_help_among_paraphrases_and_the_ablation_does_not(tmp_path):
    study = load_study("demo")
    finished = run_folder("demo") / "models"
    if finished.is_dir():  # those of the last report; the identity decides whether they count
        shutil.copytree(finished, tmp_path / "models")
    data = tuning_data(study)
    tuned = fine_tune(study, tmp_path, data)
    scores = recall_scores(study, tmp_path, data, tuned)
    table = recall_table(scores, BASELINE, 2000, 42)
    at = table[table["metric"] == "recall_at_1"].set_index(["preset", "pool"])
    gained, still = at.loc[("distractor", "paraphrase")], at.loc[("ablation", "paraphrase")]
    assert gained["low"] > 0 and gained["difference"] > 0.08
    assert still["low"] <= 0
    assert at.loc[("distractor", "normal"), "difference"] >= -0.03
    contrast = contrast_table(scores, "ablation", 2000, 42)
    side = contrast[(contrast["metric"] == "recall_at_1") & (contrast["pool"] == "paraphrase")].iloc[0]
    assert side["low"] > 0
