"""How many prompts are enough."""

import numpy as np
import pytest
from board_cells import cells_of, random_cells

from helpers.precision import findings, precision_curve, recommended


def test_errors_fall_with_the_square_root_of_the_number_of_prompts():
    curve = precision_curve(random_cells(3, 4, 15), sizes=(4, 16), draws=2000).set_index(["measure", "k"])[
        "error"
    ]
    assert curve["mean", 4] / curve["mean", 16] == pytest.approx(2, rel=0.15)


def test_the_error_of_the_mean_is_that_of_theory():
    cells = cells_of({"a": {"x": list(np.random.default_rng(0).normal(1, 0.1, 40))}})
    error = precision_curve(cells, sizes=(25,), draws=4000).set_index("measure").loc["mean", "error"]
    x = cells["score"]
    assert error == pytest.approx(1.96 * x.std(ddof=1) / 5 / x.mean(), rel=0.1)


def test_the_recommended_number_gives_the_wanted_precision_on_fresh_prompts():
    rng = np.random.default_rng(1)
    cells = cells_of({"a": {f"t{k}": list(rng.normal(1, 0.1, 15)) for k in range(30)}})
    k = int(recommended(precision_curve(cells), {"mean": 0.05}, "error").loc[0, "k"])
    fresh = rng.normal(1, 0.1, size=(4000, k)).mean(1)
    assert (np.abs(fresh - 1) <= 0.05).mean() >= 0.92 and 12 <= k <= 20


def test_a_default_that_beats_all_is_not_taken_as_certain():
    cells = cells_of({"a": {"x": [0.1, 0.2, 0.3, 0.4, 0.5]}}, {"a": {"x": 0.9}})
    curve = precision_curve(cells, sizes=(5,)).set_index("measure")
    assert curve.loc["percentile", "error"] > 0


@pytest.mark.parametrize("cells", [cells_of({"a": {"x": [0.1, 0.2]}}), cells_of({"a": {"x": [np.nan] * 6}})])
def test_too_few_prompts_give_no_advice(cells):
    curve = precision_curve(cells)
    assert curve.empty and findings(curve, recommended(curve)) == []


def test_constant_scores_need_the_smallest_number():
    curve = precision_curve(cells_of({"a": {"x": [0.5] * 6}}))
    advice = recommended(curve).set_index("measure")["k"]
    assert advice["mean"] == 2 and "about 2 prompts" in findings(curve, recommended(curve))[0]["text"]


def test_beyond_the_curve_is_said_to_be_extrapolated():
    curve = precision_curve(random_cells(1, 3, 10), sizes=(2, 3))
    assert recommended(curve, {"mean": 1e-4})["extrapolated"].all()
