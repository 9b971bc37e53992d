"""The figures of notebook 06 draw what their tables hold; where there is nothing to draw they say so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from chart_checks import fields_exist, rows_drawn

from helpers.display.figure import Absent
from helpers.tuning import charts, figures
from helpers.tuning.evaluation import RECALL_COLUMNS
from helpers.tuning.trained import BASELINE

POOLS = ("normal", "random", "paraphrase")


def marks(figure) -> dict[str, int]:
    """How many marks each layer draws, after a check of the fields."""
    fields_exist(figure.chart)
    return rows_drawn(figure.chart)


@pytest.fixture
def recalls() -> pd.DataFrame:
    rows = []
    for pool in POOLS:
        for metric in ("recall_at_1", "recall_at_5"):
            rows.append([BASELINE, -1, "T", "default", pool, metric, 0.5, 40, *[np.nan] * 4])
            rows.append(["distractor", 7, "T", "default", pool, metric, 0.75, 40, 0.5, 0.25, 0.1, 0.4])
    return pd.DataFrame(rows, columns=RECALL_COLUMNS)


@pytest.fixture
def changes(recalls) -> pd.DataFrame:
    return recalls[recalls["preset"] != BASELINE].drop(columns="seed").assign(n_seeds=1, seed_sd=np.nan)


@pytest.fixture
def log() -> pd.DataFrame:
    dev = {f"dev_recall_at_1_{pool}": [0.4, 0.5, 0.6] for pool in POOLS}
    return pd.DataFrame(
        {"preset": ["a", "a", "b"], "seed": 7, "step": [0, 4, 4], "loss": [np.nan, 0.4, 0.3], "learning_rate": 1e-4, **dev}
    )  # fmt: skip


@pytest.fixture
def gains() -> pd.DataFrame:
    return pd.DataFrame(
        {"preset": "p", "seed": 7, "instruction_id": list("dcba"), "text": ["<b>d</b>", "c", "b", "a"], "group": "g",
         "n": 12, "control": False, "relevant": [True, False, False, True], "before": 0.0, "after": [0.5, 0.5, 0.5, 0.75],
         "gain": [0.5, 0.5, 0.5, 0.75]}
    )  # fmt: skip


def test_recall_has_a_dot_per_model_and_pool_and_an_interval_where_there_is_one(recalls, changes):
    assert marks(figures.recall(recalls, changes)) == {"layer_0": 3, "layer_1": 6}
    languages = pd.concat([recalls.assign(language=name) for name in ("Finnish", "German", "mean")])
    assert marks(figures.recall(languages, changes))["layer_1"] == 18


def test_a_dose_response_has_a_point_per_share_and_pool_and_an_interval_where_there_is_one(changes):
    lowest = changes.assign(share=0.0, preset="ablation", difference=np.nan, low=np.nan, high=np.nan)
    drawn = marks(figures.dose(pd.concat([lowest, changes.assign(share=0.5), changes.assign(share=1.0)])))
    assert sorted(drawn.values()) == [6, 9, 9]  # spans, lines, points


def test_curves_have_a_point_per_measurement(log):
    assert figures.dev(log).chart.to_dict()["facet"]["column"]["sort"] == ["a, seed 7", "b, seed 7"]
    assert marks(figures.dev(log))["layer_1"] == 9 and marks(figures.loss(log))["layer_1"] == 2  # points


def test_gains_have_a_row_per_instruction(gains):
    both = pd.concat([gains, gains.assign(seed=8)])
    assert sum(marks(figures.instruction_gains(both)).values()) == 3 * 8
    plain = gains.assign(instruction_id="none", group="none")[:1]
    assert sum(marks(figures.instruction_gains(pd.concat([gains, plain]))).values()) == 3 * 4


def test_a_panel_of_gains_says_how_many_more_tie_with_its_last_row(gains):
    gains = gains.assign(text=gains["instruction_id"])
    for table in (gains, gains[::-1]):
        shown = str(charts.instruction_gains(table, top=2).to_dict())
        assert "p, seed 7 (2 more tie with the last)" in shown and "'sort': ['a', 'b']" in shown
    assert "more tie" not in str(charts.instruction_gains(gains).to_dict())


def test_side_effects_have_the_line_at_0_an_interval_where_there_is_one_and_a_dot_per_task_and_model():
    effects = pd.DataFrame(
        {"model": ["m", "m", "n"], "task": ["A", "B", "A"], "task_type": "STS", "before": 0.5, "after": 0.4,
         "difference": -0.1, "low": [-0.2, np.nan, -0.3], "high": [0.0, np.nan, 0.1]}
    )  # fmt: skip
    assert sorted(marks(figures.side_effects(effects)).values()) == [1, 2, 3]


def test_where_there_is_nothing_to_draw_a_sentence_says_so(recalls, changes, log, gains):
    effects = pd.DataFrame(columns=["model", "task", "difference", "low", "high"])
    dev = log.drop(columns=[f"dev_recall_at_1_{pool}" for pool in POOLS])
    absent = [figures.dev(dev), figures.loss(log[:0]), figures.recall(recalls[:0], changes[:0]), figures.dose(changes[:0].assign(share=0.0)),
              figures.instruction_gains(gains[:0]), figures.side_effects(effects)]  # fmt: skip
    assert all(isinstance(f, Absent) and f.reason.endswith(".") and f.findings == [] for f in absent)
