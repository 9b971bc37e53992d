"""How many prompts are enough."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of, random_cells

from helpers.sensitivity.enough import error_curve, recommended
from helpers.sensitivity.words import enough


def test_errors_fall_with_the_square_root_of_the_number_of_prompts():
    curve = error_curve(random_cells(3, 4, 15), sizes=(4, 16), draws=2000).set_index(["measure", "k"])["error"]
    assert curve["mean", 4] / curve["mean", 16] == pytest.approx(2, rel=0.15)


def test_the_error_of_the_mean_is_that_of_theory():
    cells = cells_of({"a": {"x": list(np.random.default_rng(0).normal(1, 0.1, 40))}})
    error = error_curve(cells, sizes=(25,), draws=4000).set_index("measure").loc["mean", "error"]
    x = cells["score"]
    assert error == pytest.approx(1.96 * x.std(ddof=1) / 5 / x.mean(), rel=0.1)


def test_errors_are_those_of_the_population_and_not_of_the_sample():
    """Normal scores with a CV of 0.1: of 15 prompts the CV errs by 0.0366 (95 %), the mean by 1.96 * 0.1 / sqrt(15)."""
    rng = np.random.default_rng(3)
    fresh = rng.normal(1, 0.1, (20_000, 15))
    true = np.quantile(np.abs(fresh.std(1) / fresh.mean(1) - 0.1), 0.95)
    assert true == pytest.approx(0.0366, abs=0.0005)
    cells = cells_of({"a": {f"t{k}": list(rng.normal(1, 0.1, 15)) for k in range(300)}})
    error = error_curve(cells, sizes=(15,)).set_index("measure")["error"]
    assert error["cv"] == pytest.approx(true, rel=0.06)
    assert error["mean"] == pytest.approx(1.96 * 0.1 / np.sqrt(15), rel=0.03)


def test_the_error_of_a_percentile_is_that_of_a_binomial_share():
    """Five above and five below: of two prompts half of the time both lie on one side, an error of 0.5."""
    cells = cells_of({"a": {"x": list(range(10))}}, {"a": {"x": 4.5}})
    curve = error_curve(cells, sizes=(2, 4), level=0.8).set_index(["measure", "k"])["error"]
    assert curve["percentile", 2] == 0.5 and curve["percentile", 4] == 0.25


def test_no_larger_number_than_the_recommended_one_fails():
    """Inside at 8, outside again at 15: 20 is the first from which on it stays inside."""
    errors = {3: 0.3, 5: 0.15, 8: 0.0984, 10: 0.11, 15: 0.1021, 20: 0.09, 30: 0.08}
    curve = pd.DataFrame({"measure": "percentile", "k": list(errors), "error_q90": list(errors.values())})
    assert recommended(curve, {"percentile": 0.1})["k"].item() == 20
    assert recommended(curve, {"percentile": 0.09})["k"].item() == 20  # equal is within
    last = recommended(curve, {"percentile": 0.04}).iloc[0]
    assert last["k"] == 120 and last["extrapolated"]


def test_the_recommended_number_gives_the_wanted_error_on_fresh_prompts():
    rng = np.random.default_rng(1)
    cells = cells_of({"a": {f"t{k}": list(rng.normal(1, 0.1, 15)) for k in range(30)}})
    k = int(recommended(error_curve(cells), {"mean": 0.05}, "error").loc[0, "k"])
    fresh = rng.normal(1, 0.1, size=(4000, k)).mean(1)
    assert (np.abs(fresh - 1) <= 0.05).mean() >= 0.92 and 12 <= k <= 20


def test_a_default_that_beats_all_is_not_taken_as_certain():
    cells = cells_of({"a": {"x": [0.1, 0.2, 0.3, 0.4, 0.5]}}, {"a": {"x": 0.9}})
    curve = error_curve(cells, sizes=(5,)).set_index("measure")
    assert curve.loc["percentile", "error"] > 0


@pytest.mark.parametrize("cells", [cells_of({"a": {"x": [0.1, 0.2]}}), cells_of({"a": {"x": [np.nan] * 6}})])
def test_too_few_prompts_give_no_advice(cells):
    curve = error_curve(cells)
    assert curve.empty and enough(recommended(curve)).findings == ()


def test_constant_scores_need_the_smallest_number():
    curve = error_curve(cells_of({"a": {"x": [0.5] * 6}}))
    advice = recommended(curve).set_index("measure")["k"]
    assert advice["mean"] == 2 and "about 2 prompts" in enough(recommended(curve)).findings[0]


def test_beyond_the_curve_is_said_to_be_extrapolated():
    curve = error_curve(random_cells(1, 3, 10), sizes=(2, 3))
    assert recommended(curve, {"mean": 1e-4})["extrapolated"].all()
