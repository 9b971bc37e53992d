"""The shared statistics agree with the libraries and with what a person can count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from helpers.base.stats import adjusted, correlations, paired_interval, score_draws, unit_scores


def test_correlations_are_spearmans(rng=np.random.default_rng(1)):  # noqa: B008
    rows, other = rng.integers(0, 6, (5, 20)).astype(float), rng.normal(size=20)
    rows[4] = 3.0
    expected = [stats.spearmanr(row, other).statistic for row in rows[:4]]
    assert correlations(rows, other)[:4] == pytest.approx(expected)
    assert np.isnan(correlations(rows, other)[4]) and np.isnan(correlations(rows, np.ones(20))).all()


def test_columns_of_a_draw_see_the_same_units():
    units = np.arange(6.0)[:, None] + np.array([0.0, 2.0])
    draws = score_draws(units, 50, seed=1)
    assert draws.shape == (50, 2) and draws[:, 1] - draws[:, 0] == pytest.approx(2.0)
    assert np.unique(draws[:, 0]).size > 10


def test_the_bootstrap_error_of_a_mean_is_the_textbooks():
    x = np.random.default_rng(2).normal(size=(400, 1))
    assert score_draws(x, 4000, seed=3).std() == pytest.approx(x.std() / 20, rel=0.05)


def test_with_gold_the_score_is_a_rank_correlation():
    units, gold = np.array([[1.0, 4.0], [2.0, 3.0], [3.0, 2.0], [4.0, 1.0]]), np.array([1.0, 2.0, 3.0, 4.0])
    assert unit_scores(units, gold).tolist() == [1.0, -1.0]
    draws = score_draws(units, 20, 42, gold)
    known = draws[np.isfinite(draws[:, 0])]
    assert known[:, 0] == pytest.approx(1.0) and known[:, 1] == pytest.approx(-1.0)


def test_an_interval_needs_two_queries_in_every_group():
    assert np.isnan(paired_interval([np.array([1.0]), np.array([1.0, 2.0])], 100, 1)).all()
    assert paired_interval([np.full(5, 0.25), np.full(3, 0.75)], 100, 1) == (0.5, 0.5)


def test_a_missing_p_value_is_not_a_test():
    assert adjusted(np.array([0.01, np.nan, 0.04])) == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)
