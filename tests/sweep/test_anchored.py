"""Anchored scores: what cancels, what remains as error, and how often the intervals hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from helpers.sweep.anchored import anchored, pseudo_values, spread


def test_what_all_prompts_share_in_a_part_cancels():
    shared = np.array([0.0, 0.2, 0.9, 1.0])
    found = anchored(np.column_stack([shared + 0.1, shared]), shared, whole=0.5, of=100)
    assert found.scores == pytest.approx([0.6, 0.5]) and found.errors == pytest.approx([0, 0], abs=1e-12)


def test_all_items_leave_no_error():
    rng = np.random.default_rng(0)
    items = rng.random((20, 3))
    found = anchored(items, items[:, 0], whole=items[:, 0].mean(), of=20)
    assert found.scores == pytest.approx(items.mean(axis=0)) and found.errors == pytest.approx([0, 0, 0])


def test_pseudo_values_of_a_correlation_are_those_of_leaving_out_each_item():
    rng = np.random.default_rng(1)
    gold, values = rng.integers(0, 4, 12).astype(float), rng.integers(0, 6, (12, 2)).astype(float)  # many ties
    whole = [stats.spearmanr(column, gold).statistic for column in values.T]
    by_hand = [
        [12 * w - 11 * stats.spearmanr(np.delete(c, i), np.delete(gold, i)).statistic for w, c in zip(whole, values.T, strict=True)]
        for i in range(12)
    ]  # fmt: skip
    assert pseudo_values(values, gold) == pytest.approx(np.array(by_hand))


def test_the_corrected_spread_is_the_true_one_on_average():
    rng = np.random.default_rng(2)
    effects = np.linspace(-0.03, 0.03, 15)
    found = []
    for _ in range(300):
        items = rng.random((60, 1)) + effects + rng.normal(0, 0.2, (60, 15))
        estimate = anchored(items, items[:, 0], whole=0.5, of=10**9)
        found.append(np.square(spread(estimate.scores, estimate.covariance)))
    raw, corrected = np.mean(found, axis=0)
    assert corrected == pytest.approx(np.var(effects, ddof=1), rel=0.25) and raw > 2 * corrected


def test_too_few_items_are_refused():
    with pytest.raises(ValueError, match="2 items are too few"):
        anchored(np.ones((2, 1)), np.ones(2), 0.5, 10)
