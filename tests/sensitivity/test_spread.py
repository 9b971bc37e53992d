"""Spread over prompts: hand-checked values, edge cases, and how often the intervals cover."""

import numpy as np
import pytest
from board_cells import cells_of

from helpers.sensitivity.spread import MEASURES, bootstrap_spread, spread, spread_table


def test_one_prompt_has_no_spread():
    got = spread(np.array([[0.5]]))
    assert all(np.isnan(got[k][0]) for k in ("sd", "cv", "iqr", "range", "mad_median")) and got["mean"][0] == 0.5


def test_measures_by_hand():
    got = spread(np.array([[1.0, 2.0, 3.0, 4.0, 10.0]]))
    assert got["mean"][0] == 4 and got["sd"][0] == pytest.approx(np.sqrt(10)) and got["range"][0] == 9
    assert got["cv"][0] == pytest.approx(np.sqrt(10) / 4)
    assert got["iqr"][0] == 2 and got["mad_median"][0] == pytest.approx(1 / 3)


@pytest.mark.parametrize("scores, reliable", [([0.5, 0.6], True), ([-0.1, 0.12], False), ([0.001, 0.002], False)])
def test_a_cv_near_zero_mean_is_marked(scores, reliable):
    assert spread(np.array([scores]))["cv_reliable"][0] == reliable


def test_negative_scores_have_a_positive_cv():
    assert spread(np.array([[-0.5, -0.7]]))["cv"][0] == pytest.approx(0.1 / 0.6)


def test_constant_scores_have_intervals_of_width_zero():
    constant = np.full((1, 15), 0.1)
    assert spread(constant)["sd"][0] == 0 and spread(constant)["cv"][0] == 0
    got = bootstrap_spread(constant, draws=200)
    for measure in MEASURES:
        assert got[measure][0, 0] == got[measure][0, 1] == pytest.approx(0.1 if measure == "mean" else 0)


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_prompts_have_no_interval(n):
    assert np.isnan(bootstrap_spread(np.ones((1, n)), draws=50)["mean"]).all()


@pytest.mark.parametrize("scores", [[0.1, 0.2, 0.35], [0.5] * 14 + [0.4]])
def test_an_end_that_resamples_of_one_value_would_decide_is_not_known(scores):
    """Three prompts, or fourteen equal ones of fifteen: the upper end of the CV is missing, not ten thousand."""
    got = bootstrap_spread(np.array([scores]), draws=500)
    assert np.isnan([got["sd"][0, 1], got["cv"][0, 1], got["mean"][0].sum()]).all()
    assert 0 < got["sd"][0, 0] <= np.std(scores) and np.nanmax(np.abs(got["mean"]), initial=0) < 1


def test_a_mean_of_exactly_zero_has_no_cv():
    assert np.isnan(spread(np.array([[-1.0, 1.0]]))["cv"][0])
    assert np.isnan(spread(np.array([[0.1, 0.2, -0.3]]))["cv"][0])  # whose mean is 9e-18


def test_intervals_do_not_depend_on_the_other_cells():
    rng = np.random.default_rng(1)
    x = rng.random((3, 15))
    together, alone = bootstrap_spread(x, 500), bootstrap_spread(x[1:2], 500)
    assert all(np.allclose(together[m][1], alone[m][0]) for m in MEASURES)


def test_mad_without_sorting_equals_numpy():
    rng = np.random.default_rng(2)
    for n in (3, 4, 15, 16):
        x = rng.random(n)
        from helpers.sensitivity.spread import _mad

        expected = np.median(np.abs(x - np.median(x)))
        assert _mad(np.sort(x)[:, None], np.array([np.median(x)]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("measure, true, least", [("mean", 5.0, 0.93), ("sd", 1.0, 0.88), ("cv", 0.2, 0.88),
                                                   ("iqr", 1.349, 0.85), ("mad_median", 0.6745 / 5, 0.85)])  # fmt: skip
def test_intervals_cover_the_population_at_fifteen_prompts(measure, true, least):
    x = np.random.default_rng(3).normal(5, 1, size=(600, 15))
    low, high = bootstrap_spread(x, draws=800)[measure].T
    assert ((low <= true) & (true <= high)).mean() >= least


def test_cells_may_have_unequal_numbers_of_prompts_and_holes():
    table = spread_table(cells_of({"a": {"x": [1, 2, 3, np.nan], "y": [1, 2]}}), draws=100).set_index("task")
    assert list(table["n_prompts"]) == [3, 2] and list(table["n_missing"]) == [1, 0] and table.loc["x", "mean"] == 2


def test_a_cell_of_holes_only_stays_in_the_table():
    table = spread_table(cells_of({"a": {"x": [np.nan]}}), draws=100)
    assert table["n_prompts"].item() == 0 and np.isnan(table["mean"].item())
