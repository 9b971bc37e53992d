"""Where a default stands among the prompts: percentile, interval, labels; coverage and level by simulation."""

import numpy as np
import pytest
from board_cells import cells_of, random_cells

from helpers.base.stats import adjusted
from helpers.sensitivity.defaults import model_summary, percentile_of, sensitivity_table, tail_p_value
from helpers.sensitivity.words import completeness, percentiles


@pytest.mark.parametrize("value, share", [(0.0, 0.0), (2.5, 0.5), (2.0, 0.375), (9.0, 1.0), (4.0, 0.875)])
def test_ties_count_half(value, share):
    assert percentile_of(value, np.array([1.0, 2.0, 3.0, 4.0]))[0] == share


def test_the_interval_of_fifteen_of_fifteen_is_the_clopper_pearson_one():
    share, low, high = percentile_of(2.0, np.arange(15) / 15)
    assert (share, high) == (1.0, 1.0) and low == pytest.approx(0.025 ** (1 / 15))


@pytest.mark.parametrize("value, scores", [(np.nan, [1.0]), (1.0, []), (1.0, [np.nan])])
def test_nothing_to_compare_gives_nan(value, scores):
    assert np.isnan(percentile_of(value, np.array(scores))).all()


@pytest.mark.parametrize("digits", [None, 1])
def test_the_interval_covers_the_true_percentile_with_and_without_ties(digits):
    rng = np.random.default_rng(0)
    draws = rng.random((2000, 15)) if digits is None else rng.integers(0, 10, (2000, 15)) / 10
    true = 0.7 if digits is None else 0.75  # of ten equally likely values, seven lie below 0.7 and one equals it
    hit = [low <= true <= high for _, low, high in (percentile_of(0.7, row) for row in draws)]
    assert np.mean(hit) >= 0.95


def test_the_sign_test_is_a_special_case():
    assert tail_p_value(15, 0, 15, tail=0.5) == pytest.approx(2 / 2**15)


def test_a_default_at_the_edge_of_the_middle_part_is_rejected_no_more_often_than_asked():
    rng = np.random.default_rng(1)
    below = rng.binomial(15, 0.75, size=4000)
    p = np.array([tail_p_value(b, 15 - b, 15) for b in range(16)])[below]
    assert (p <= 0.05).mean() <= 0.05


def test_the_false_discovery_rate_holds_when_no_default_lies_in_a_tail():
    rng = np.random.default_rng(2)
    p = np.array([tail_p_value(b, 15 - b, 15) for b in range(16)])
    wrong = [(adjusted(p[rng.binomial(15, rng.uniform(0.25, 0.75, size=40))]) <= 0.05).any() for _ in range(200)]
    assert np.mean(wrong) <= 0.07  # nothing is true here, so every label is false: 0.05 and simulation noise


def test_labels_follow_from_place_and_evidence():
    scores = {"m": {f"t{k}": list(np.linspace(0, 1, 15)) for k in range(4)}}
    cells = cells_of(scores, {"m": {"t0": 2.0, "t1": -1.0, "t2": 0.5, "t3": 0.9}})
    table = sensitivity_table(cells, draws=100).set_index("task")["label"]
    assert list(table) == ["inflated", "deflated", "representative", "undecided"]


def test_thresholds_are_arguments():
    cells = cells_of({"m": {"t": list(np.linspace(0, 1, 60))}}, {"m": {"t": 0.9}})
    assert sensitivity_table(cells, draws=50, tail=0.05)["label"].item() == "representative"
    assert sensitivity_table(cells, draws=50, tail=0.5)["label"].item() == "inflated"


@pytest.mark.parametrize("scores, default, label", [
    ({"m": {"t": [0.5]}}, {"m": {"t": 0.5}}, "undecided"),
    ({"m": {"t": [0.5, 0.5, 0.5]}}, {"m": {"t": 0.5}}, "undecided"),
    ({"m": {"t": [0.5] * 15}}, {"m": {"t": 0.5}}, "representative"),
    ({"m": {"t": [0.5, 0.6]}}, {}, "no default"),
    ({"m": {"t": [np.nan]}}, {"m": {"t": 0.5}}, "no prompts"),
    ({"m": {"t": [-0.5, -0.4]}}, {"m": {"t": -0.45}}, "undecided"),
])  # fmt: skip
def test_small_and_degenerate_cells_have_a_label(scores, default, label):
    table = sensitivity_table(cells_of(scores, default), draws=50)
    assert table["label"].item() == label and len(model_summary(table)) == 1 and percentiles(table).findings


@pytest.mark.parametrize("n, label", [(2, "undecided"), (10, "undecided"), (12, "representative")])
def test_a_place_in_the_middle_says_something_where_a_tail_could_have_been_shown(n, label):
    """0.75^11 = 0.042 is the first p-value below 0.05 that a default beyond all prompts can have."""
    cells = cells_of({"m": {"t": list(np.linspace(0, 1, n))}}, {"m": {"t": 0.5}})
    assert sensitivity_table(cells, draws=50)["label"].item() == label


def test_rounding_decides_nothing():
    """The mean of fifteen times 0.1 + 0.1 k is not always that number in floating point."""
    values = {f"t{k}": 0.1 + 0.1 * k for k in range(11)}
    table = sensitivity_table(cells_of({"m": {t: [v] * 15 for t, v in values.items()}}, {"m": values}), draws=50)
    assert not table["above_mean"].any() and table["percentile"].eq(0.5).all()
    near = sensitivity_table(cells_of({"m": {"t": [0.1 + 0.2] * 15}}, {"m": {"t": 0.3}}), draws=50).iloc[0]
    assert near["percentile"] == 0.5 and near["at_or_above_best"] and near["at_or_below_worst"]


def test_a_default_without_any_prompt_is_kept():
    cells = cells_of({"m": {"t": []}}, {"m": {"t": 0.5}})
    assert sensitivity_table(cells)["label"].item() == "no prompts"


def test_findings_change_with_the_data_and_survive_none():
    cells = random_cells(2, 4, 15)
    turned = cells.assign(score=1 - cells["score"])
    assert percentiles(sensitivity_table(cells, draws=100)) != percentiles(sensitivity_table(turned, draws=100))
    assert percentiles(sensitivity_table(cells.iloc[:0])).findings == ()


def test_what_so_few_prompts_can_show_is_said():
    """Fifteen prompts: p = 0.0134 at best, so of 40 defaults 11 must lie beyond all prompts (40 * 0.0134 / 0.05 = 10.7)."""
    cells = random_cells(4, 10, 15)
    said = percentiles(sensitivity_table(cells, draws=50)).findings[-1]
    assert "none of 40 defaults can be labelled unless 11 lie beyond all prompts" in said
    few = percentiles(sensitivity_table(random_cells(1, 2, 5), draws=50)).findings[-1]
    assert "(at most 5) cannot prove that any default lies in a tail" in few


def test_unequal_numbers_of_prompts_are_said():
    cells = cells_of({"m": {"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2]}}, {"m": {"a": 0.2, "b": 0.2}})
    assert any(
        "unequal numbers of prompts (2 to 3)" in f["text"] for f in completeness(sensitivity_table(cells, draws=50))
    )
