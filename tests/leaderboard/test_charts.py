"""Charts of notebooks 03 and 04 are valid and stand on small, odd and empty data."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of, random_cells
from test_gains import query_scores

from helpers.display import marks as display_marks
from helpers.sensitivity import agreement, noise, variance
from helpers.sensitivity import charts as cs
from helpers.sensitivity import enough as precision
from helpers.sensitivity.defaults import sensitivity_table

ONE = cells_of({"a": {"x": [0.5, 0.5]}}, {"a": {"x": 0.5}})
HOLES = cells_of(
    {"a": {"x": [0.5, np.nan, 0.1]}, "b": {"x": [0.2, 0.3, 0.4], "y": [np.nan] * 3}}, {"b": {"x": -0.5}}
)


def charts_of(cells):
    table = sensitivity_table(cells, draws=50)
    yield cs.strips(cells)
    yield cs.percentile_map(table)
    yield cs.cv_strip(table)
    yield cs.error_lines(precision.error_curve(cells, draws=20))
    yield cs.agreement_bars(agreement.agreement_table(cells, permutations=20))
    yield cs.trait_forest(agreement.trait_effects(cells, agreement.traits(cells)))


@pytest.mark.parametrize("cells", [random_cells(3, 3, 6), ONE, HOLES], ids=["plain", "one cell", "holes"])
def test_every_chart_is_valid(cells):
    for chart in charts_of(cells):
        assert chart.to_dict()["$schema"]


def test_charts_of_queries_and_variance_are_valid():
    units = query_scores(0.1)
    assert cs.noise_bars(noise.query_noise(units, draws=50)[0]).to_dict()
    assert cs.variance_bars(variance.variance_components(random_cells(2, 2, 3))).to_dict()


def test_the_hover_of_a_tick_shows_the_prompt_with_its_blanks():
    cells = cells_of({"a": {"x": [0.5]}})
    cells["prompt"] = "Find: "
    data = next(iter(cs.strips(cells).to_dict()["datasets"].values()))
    assert data[0]["shown"] == "Find:␣"


def test_missing_text_is_null_and_not_a_word():
    assert display_marks.plain(pd.DataFrame({"a": pd.array(["x", pd.NA], dtype="string")}))["a"].tolist() == [
        "x",
        None,
    ]
