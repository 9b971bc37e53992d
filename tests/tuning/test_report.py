"""What notebook 06 shows: every figure is a valid chart, the model card says what it must."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.study.spec import ModelSpec
from helpers.study.tuning import FinetuningSpec
from helpers.tuning import charts as figures
from helpers.tuning.card import write_card
from helpers.tuning.evaluation import RECALL_COLUMNS, recall_display
from helpers.tuning.sets import TuningData
from helpers.tuning.train import BASELINE, Tuned


@pytest.fixture
def recalls() -> pd.DataFrame:
    rows = []
    for pool in figures.POOLS:
        for metric in ("recall_at_1", "recall_at_5"):
            rows.append([BASELINE, -1, "T", "default", pool, metric, 0.5, 40, *[np.nan] * 4])
            rows.append(["distractor", 7, "T", "default", pool, metric, 0.75, 40, 0.5, 0.25, 0.1, 0.4])
    return pd.DataFrame(rows, columns=RECALL_COLUMNS)


def test_figures_are_valid_charts(recalls):
    log = pd.DataFrame(
        {"preset": "distractor", "seed": 7, "step": [0, 4], "loss": [np.nan, 0.4], "learning_rate": [np.nan, 1e-4],
         **{f"dev_recall_at_1_{p}": [0.4, 0.5] for p in figures.POOLS}}
    )  # fmt: skip
    gains = pd.DataFrame(
        {"preset": "distractor", "seed": 7, "text": ["<b>a</b>", "b"], "group": "g", "relevant": [True, False],
         "before": [0.1, 0.2], "after": [0.5, 0.2], "gain": [0.4, 0.0]}
    )  # fmt: skip
    effects = pd.DataFrame(
        {"model": "m", "task": ["A", "B"], "task_type": "STS", "before": 0.5, "after": 0.4, "difference": -0.1,
         "low": [-0.2, np.nan], "high": [0.0, np.nan]}
    )  # fmt: skip
    for chart in (
        figures.recall_bars(recalls, BASELINE),
        figures.dev_curves(log),
        figures.loss_curves(log),
        figures.instruction_gains(gains),
        figures.side_effects(effects),
    ):
        assert chart.to_dict()["$schema"].endswith(".json")


def test_a_panel_of_gains_says_how_many_more_tie_with_its_last_row():
    gains = pd.DataFrame(
        {"preset": "p", "seed": 7, "text": list("dcba"), "group": "g", "relevant": True, "before": 0.0,
         "after": [0.5, 0.5, 0.5, 0.75], "gain": [0.5, 0.5, 0.5, 0.75]}
    )  # fmt: skip
    for table in (gains, gains[::-1]):
        shown = str(figures.instruction_gains(table, top=2).to_dict())
        assert "p, seed 7 (2 more tie with the last)" in shown and "'sort': ['a', 'b']" in shown
    assert "more tie" not in str(figures.instruction_gains(gains).to_dict())


def test_recall_table_reads_as_text(recalls):
    shown = recall_display(recalls)
    assert len(shown) == 6
    assert shown["recall_at_1, change"].tolist()[1] == "+0.250 [+0.100, +0.400]"


def test_model_card_names_data_settings_results_and_limits(tmp_path, recalls):
    spec = FinetuningSpec(model="base")
    examples = pd.DataFrame({c: ["x", "y"] for c in ("id", "query", "paraphrase", "target")})
    examples = examples.assign(language="", group=[0, 1], split=["train", "test"])
    data = TuningData("Data <set>", "retrieval", examples, pd.DataFrame({"id": ["z"]}), {})
    base = ModelSpec(name="org/base", revision="abc")
    log = pd.DataFrame({"step": [0, 9]})
    made = ModelSpec(
        name="local/base-x", label="distractor, seed 7", weights=f"path:{tmp_path}/distractor-seed7"
    )
    identity = {"base": {"torch": "2"}}
    tuned = Tuned("distractor", 7, tmp_path, spec.settings("distractor"), made, log, 1.0, False, identity)
    text = write_card(tuned, base, spec, data, recalls, "demo").read_text()
    assert "base_model: org/base" in text and "1 examples to train on" in text
    assert "- learning_rate: 1e-06" in text and "- optimiser steps: 9" in text
    assert "|  | paraphrase | recall_at_1 | 0.500 | 0.750 | +0.250 [+0.100, +0.400] |" in text
    assert "## Limits" in text and "Retrieve Wikipedia" not in text.split("## Limits")[1]
    assert str(Path(tmp_path)) not in text
