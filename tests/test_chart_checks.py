"""The chart checks find what is wrong in a chart, and count what is drawn."""

from __future__ import annotations

import altair as alt
import pandas as pd
import pytest
from chart_checks import fields_exist, rows_drawn

DATA = pd.DataFrame({"model": ["a", "a", "b"], "task": ["x", "y", "x"], "score": [1.0, 2.0, 3.0]})
BASE = alt.Chart(DATA).encode(y="model:N")
TICKS = BASE.mark_tick().encode(x="score:Q")


@pytest.mark.parametrize(
    ("chart", "field", "layer"),
    [
        (BASE.mark_tick().encode(x="scores:Q"), "scores", "chart: tick"),
        (TICKS + BASE.mark_rule().encode(x="mean(low):Q"), "low", r"layer\[1\]: rule"),
        (TICKS.encode(tooltip=["model:N", "gone:Q"]), "gone", "tick"),
        (TICKS.facet(row="tasks:N"), "tasks", "facet"),
        (TICKS.transform_filter("datum.kind == 'prompt'"), "kind", "filter"),
        (TICKS.transform_filter(alt.datum["a set"] == "x"), "a set", "filter"),
        (TICKS.encode(color=alt.condition("datum.low > 1", alt.value("red"), alt.value("blue"))), "low", "tick"),
        (TICKS.encode(y=alt.Y("model:N", sort=alt.EncodingSortField("rank"))), "rank", "tick"),
        (TICKS.add_params(alt.selection_point(fields=["modell"])), "modell", "selection"),
        (BASE.mark_tick().encode(x=alt.X(alt.repeat(), type="quantitative")).repeat(["score", "cv"]), "cv", "tick"),
    ],
)  # fmt: skip
def test_a_field_that_no_row_has_is_named(chart, field, layer):
    with pytest.raises(AssertionError, match=rf"'{field}' in .*{layer}"):
        fields_exist(chart)


@pytest.mark.parametrize(
    "chart",
    [
        TICKS.facet(row="task:N"),
        alt.vconcat(TICKS, TICKS.encode(detail="task:N")),
        TICKS.transform_calculate(twice="2 * datum.score").encode(x="twice:Q"),
        TICKS.transform_fold(["score"], as_=["what", "number"]).encode(x="number:Q", color="what:N"),
        TICKS.transform_aggregate(best="max(score)", groupby=["model"]).encode(x="best:Q"),
        TICKS.encode(tooltip=["model", "count()"]),
    ],
)
def test_fields_of_the_data_and_of_transforms_pass(chart):
    fields_exist(chart)


def test_marks_are_counted_per_layer_over_all_panels():
    chart = (TICKS + BASE.mark_rule().encode(x="mean(score):Q")).facet(row="task:N")
    assert rows_drawn(chart) == {"layer_0": 3, "layer_1": 3}
    assert rows_drawn(TICKS.transform_filter("datum.score > 1")) == {"marks": 2}
    assert rows_drawn(BASE.mark_tick().encode(x="mean(score):Q")) == {"marks": 2}
