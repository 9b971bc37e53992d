"""Figures of chapter 03: every encoded field is in the data, as many marks as a person counts, and a reason where there is none."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of, random_cells
from chart_checks import fields_exist, rows_drawn
from test_gains import query_scores

from helpers.display.figure import Absent, Figure
from helpers.sensitivity import charts, figures
from helpers.sensitivity.agreement import agreement_table
from helpers.sensitivity.defaults import sensitivity_table
from helpers.sensitivity.enough import error_curve, recommended
from helpers.sensitivity.noise import query_noise
from helpers.sensitivity.variance import variance_components
from helpers.sensitivity.wording import trait_effects, traits

PLAIN = random_cells(3, 3, 6)  # models, tasks, prompts; and a default for every model and task
ONE = cells_of({"a": {"x": [0.5, 0.5]}}, {"a": {"x": 0.5}})
HOLES = cells_of({"a": {"x": [0.5, np.nan, 0.1]}, "b": {"x": [0.2, 0.3, 0.4], "y": [np.nan] * 3}}, {"b": {"x": -0.5}})


def figures_of(cells):
    table = sensitivity_table(cells, draws=50)
    curve = error_curve(cells, draws=20)
    yield figures.distribution(cells)
    yield figures.percentiles(table)
    yield figures.cv(table)
    yield figures.variance(variance_components(cells, intervals=False))
    yield figures.agreement(agreement_table(cells, permutations=20))
    yield figures.traits(trait_effects(cells, traits(cells)))
    yield figures.enough(curve, recommended(curve))


@pytest.mark.parametrize("cells, absent", [
    (PLAIN, {"fig-traits"}), (ONE, {"fig-variance", "fig-agreement", "fig-traits", "fig-enough"}),
    (HOLES, {"fig-agreement", "fig-traits", "fig-enough"}),
], ids=["plain", "one cell", "holes"])  # fmt: skip
def test_every_figure_has_its_fields_or_a_reason(cells, absent):
    shown = list(figures_of(cells))
    for figure in shown:
        if isinstance(figure, Figure):
            fields_exist(figure.chart)
            assert figure.said.title and figure.alt
        else:
            assert figure.reason.endswith(".")
    assert {figure.name for figure in shown if isinstance(figure, Absent)} == absent


def test_a_strip_has_a_tick_per_prompt_a_mean_and_a_default_per_cell():
    drawn = rows_drawn(figures.distribution(PLAIN).chart)
    assert sorted(drawn.values()) == [9, 9, 54]
    assert sum(rows_drawn(figures.distribution(HOLES).chart).values()) == 5 + 2 + 1


def test_the_map_of_percentiles_has_a_tile_a_number_and_a_sign_per_default():
    chart = figures.percentiles(sensitivity_table(PLAIN, draws=50)).chart
    fields_exist(chart)
    assert list(rows_drawn(chart).values()) == [9, 9, 9]


def test_a_coefficient_of_variation_is_a_point_per_cell_and_a_bar_and_median_per_model():
    assert sorted(rows_drawn(figures.cv(sensitivity_table(PLAIN, draws=50)).chart).values()) == [3, 3, 9]


@pytest.mark.parametrize("intervals, layers", [(False, [10]), (True, [10, 4])])
def test_variance_has_two_bars_per_source_that_one_task_shows(intervals, layers):
    """Model, model x task, prompt and the rest, and what tasks share, in score units and in each task's own."""
    table = variance_components(random_cells(2, 4, 3), intervals)
    assert list(rows_drawn(figures.variance(table).chart).values()) == layers


def test_noise_has_three_points_per_test_set_and_says_why_it_is_absent():
    table = query_noise(query_scores(0.3), draws=50)[0]
    figure = figures.noise(table, ["m"])
    fields_exist(figure.chart)
    assert sum(rows_drawn(figure.chart).values()) == 3 and figure.findings[0]["figure"] == "fig-noise"
    other = figures.noise(table, ["another model"])
    assert isinstance(other, Absent) and "not at hand" in other.findings[0]["text"]


def test_agreement_has_a_bar_per_task():
    assert list(rows_drawn(figures.agreement(agreement_table(PLAIN, permutations=20)).chart).values()) == [3]


def test_a_trait_has_a_point_and_an_interval_beside_the_line_at_zero():
    cells = random_cells(2, 2, 20)
    cells["prompt"] = [
        ("w " * (1 + int(p[1:]) % 7) + ":" * (int(p[1:]) % 2)) if p[0] == "p" else None for p in cells["prompt_id"]
    ]
    cells["prompt_id"] = cells["task"] + cells["prompt_id"]
    effects = trait_effects(cells, traits(cells))
    assert effects["effect"].notna().sum() == 2  # words (characters go with them) and a final colon
    chart = figures.traits(effects).chart
    fields_exist(chart)
    assert sorted(rows_drawn(chart).values()) == [1, 2, 2]


def test_enough_has_two_lines_per_measure_with_a_point_per_number():
    curve = error_curve(PLAIN, sizes=(2, 4, 8), draws=20)
    figure = figures.enough(curve, recommended(curve))
    fields_exist(figure.chart)
    assert list(rows_drawn(figure.chart).values()) == [18, 18]  # corners of lines, points


def test_the_hover_of_a_tick_shows_the_prompt_with_its_blanks():
    cells = cells_of({"a": {"x": [0.5]}}).assign(prompt="Find: ")
    data = next(iter(charts.strips(cells).to_dict()["datasets"].values()))
    assert data[0]["shown"] == "Find:␣"


def test_cells_without_a_default_have_a_sentence_without_a_link():
    table = sensitivity_table(cells_of({"a": {"x": [0.1, 0.2]}}), draws=50)
    figure = figures.percentiles(table)
    assert isinstance(figure, Absent) and "figure" not in figure.findings[0]
    assert isinstance(figures.cv(pd.DataFrame({"model": []})), Absent)
