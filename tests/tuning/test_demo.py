"""The demo's own trainings with fixed seeds: what study 2 found must be seen in small. Takes minutes without a report."""

from __future__ import annotations

import shutil

import pytest

from helpers.study.load import load_study
from helpers.study.run import runs_folder
from helpers.tuning.evaluation import query_scores, searches, seeds_table
from helpers.tuning.sets import tuning_data
from helpers.tuning.train import fine_tune, rows_for
from helpers.tuning.trained import compared, finetuning_of, stacked


@pytest.mark.slow
def test_query_side_negatives_help_among_paraphrases_and_the_ablation_does_not(tmp_path):
    study = load_study("demo")
    finished = (runs_folder() / "demo") / "models"
    if finished.is_dir():  # those of the last report; the identity decides whether they count
        shutil.copytree(finished, tmp_path / "models")
    data, spec = tuning_data(study), finetuning_of(study)
    tuned = [
        fine_tune(study, tmp_path, data, rows_for(spec, data, preset, seed), preset, seed)
        for preset in spec.presets
        for seed in spec.seeds
    ]
    test = searches(data.sets("test"), spec)
    models = compared(study, tmp_path, tuned, {})
    scores = stacked({(preset, seed): query_scores(model, test, study.seed) for preset, seed, model in models})
    table = seeds_table(scores)
    at = table[table["metric"] == "recall_at_1"].set_index(["preset", "pool"])
    gained, still = at.loc[("distractor", "paraphrase")], at.loc[("ablation", "paraphrase")]
    assert gained["low"] > 0 and gained["difference"] > 0.08
    assert still["low"] <= 0
    assert at.loc[("distractor", "normal"), "difference"] >= -0.03
    contrast = seeds_table(scores, "ablation")
    side = contrast[(contrast["metric"] == "recall_at_1") & (contrast["pool"] == "paraphrase")].iloc[0]
    assert side["low"] > 0
