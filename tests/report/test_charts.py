"""The charts that put studies side by side."""

from __future__ import annotations

import pandas as pd
from chart_checks import fields_exist, rows_drawn

from helpers.report import charts


def test_an_interval_a_mean_and_a_default_per_model_and_study():
    numbers = {
        "default": 0.5,
        "prompt_mean": 0.4,
        "low": 0.3,
        "high": 0.6,
        "percentile": 0.9,
        "verdict": "high",
    }
    ranks = {"rank": 1, "rank_low": 1, "rank_high": 2}
    models = pd.DataFrame([{"study": s, "model": m, **numbers, **ranks} for s in "xy" for m in "ab"])
    models.loc[0, "prompt_mean"] = None
    chart = charts.intervals(models)
    fields_exist(chart)
    drawn = rows_drawn(chart)
    assert list(drawn.values()) == [1, 1, 1, 2, 2, 2]  # the first model of study x has no prompts


def test_a_line_and_three_pools_per_model():
    row = {"study": "x", "task": "t", "normal": 0.9, "random": 0.8, "paraphrase": 0.3}
    chart = charts.pools(pd.DataFrame([{**row, "model": m} for m in "ab"]))
    fields_exist(chart)
    assert list(rows_drawn(chart).values()) == [2, 6]
