"""Agreement of models on prompts: known values, siblings, level of the test by simulation."""

import numpy as np
import pytest
from board_cells import cells_of, random_cells

from helpers.sensitivity import claims
from helpers.sensitivity.agreement import agreement_table, kendall_w


def test_w_is_one_for_equal_orders_and_nothing_for_opposite_ones():
    assert kendall_w(np.array([[1, 2, 3], [1, 2, 3]])) == pytest.approx(1)
    assert kendall_w(np.array([[1, 2, 3], [3, 2, 1]])) == pytest.approx(0)


def test_w_is_corrected_for_ties():
    """W = 12 S / (m^2 (n^3 - n) - m T): S squared deviations of the rank sums, T = t^3 - t = 6 for each tie of two."""
    ranks = np.array([[1, 2.5, 2.5, 4], [1.5, 1.5, 3, 4], [1, 2, 3, 4]])  # sums 3.5, 6, 8.5, 12
    assert kendall_w(ranks) == pytest.approx(12 * (4**2 + 1.5**2 + 1**2 + 4.5**2) / (9 * 60 - 3 * (6 + 6)))
    a, b = np.array([1, 2.5, 2.5, 4]), np.array([4, 1.5, 1.5, 3])  # two raters: W = (1 + Spearman) / 2
    assert kendall_w(np.array([a, b])) == pytest.approx((1 + np.corrcoef(a, b)[0, 1]) / 2)


def test_a_constant_model_makes_it_undefined():
    table = agreement_table(cells_of({"a": {"x": [1, 1, 1]}, "b": {"x": [1, 2, 3]}}))
    assert np.isnan(table["kendall_w"].item()) and claims.agreement(table).findings == ()


@pytest.mark.parametrize("scores", [{"a": {"x": [1, 2, 3]}}, {"a": {"x": [1, 2]}, "b": {"x": [1, 2]}}])
def test_one_model_or_two_prompts_say_nothing(scores):
    assert np.isnan(agreement_table(cells_of(scores))["kendall_w"].item())


def test_the_test_of_agreement_keeps_its_level():
    table = agreement_table(random_cells(4, 150, 8, seed=1), permutations=200)
    assert (table["p_value"] <= 0.05).mean() <= 0.09


def test_only_prompts_that_all_models_have_count():
    table = agreement_table(cells_of({"a": {"x": [1, 2, 3, 4]}, "b": {"x": [1, 2, 3]}}))
    assert table["prompts"].item() == 3 and table["kendall_w"].item() == 1


def test_siblings_count_once():
    """Three models of one family with one order, and a fourth with the opposite one: no agreement between families."""
    up, down = {"x": [1, 2, 3, 4, 5]}, {"x": [5, 4, 3, 2, 1]}
    cells = cells_of({"a": up, "b": up, "c": up, "d": down})
    found = agreement_table(cells, families={"a": "f", "b": "f", "c": "f", "d": "g"}).iloc[0]
    assert found["kendall_w"] == pytest.approx(0.25) and found["family_w"] == 0 and found["families"] == 2
    assert found["p_value"] > 0.9
    text = claims.agreement(agreement_table(cells, families={"a": "f", "b": "f", "c": "f", "d": "g"})).findings[0]
    assert "0.25 in the median over tasks and 4 models, 0.00 where each of 2 families counts once" in text


def test_one_family_alone_says_nothing_about_others():
    cells = cells_of({"a": {"x": [1, 2, 3]}, "b": {"x": [1, 2, 3]}})
    table = agreement_table(cells, families=dict.fromkeys("ab", "f"))
    assert np.isnan(table["p_value"].item()) and "one family" in claims.agreement(table).findings[0]


def test_nothing_to_say_on_nothing():
    empty = cells_of({"a": {"x": [np.nan]}})
    assert claims.agreement(agreement_table(empty)).findings == ()
