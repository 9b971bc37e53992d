"""Recall as a reader sees it, and what the model card must say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.study.spec import ModelSpec
from helpers.study.tuning import FinetuningSpec
from helpers.tuning.card import write_card
from helpers.tuning.evaluation import RECALL_COLUMNS, recall_display
from helpers.tuning.sets import TuningData
from helpers.tuning.trained import BASELINE, Tuned


@pytest.fixture
def recalls() -> pd.DataFrame:
    rows = []
    for pool in ("normal", "random", "paraphrase"):
        for metric in ("recall_at_1", "recall_at_5"):
            rows.append([BASELINE, -1, "T", "default", pool, metric, 0.5, 40, *[np.nan] * 4])
            rows.append(["distractor", 7, "T", "default", pool, metric, 0.75, 40, 0.5, 0.25, 0.1, 0.4])
    return pd.DataFrame(rows, columns=RECALL_COLUMNS)


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
    made = ModelSpec(name="local/base-x", label="distractor, seed 7", weights=f"path:{tmp_path}/distractor-seed7")
    identity = {"base": {"torch": "2"}}
    tuned = Tuned("distractor", 7, tmp_path, spec.settings("distractor"), made, log, 1.0, False, identity)
    text = write_card(tuned, base, spec, data, recalls, "demo").read_text()
    assert "base_model: org/base" in text and "1 examples to train on" in text
    assert "- learning_rate: 1e-06" in text and "- optimiser steps: 9" in text
    assert "|  | paraphrase | recall_at_1 | 0.500 | 0.750 | +0.250 [+0.100, +0.400] |" in text
    assert "## Limits" in text and "Retrieve Wikipedia" not in text.split("## Limits")[1]
    assert str(Path(tmp_path)) not in text
