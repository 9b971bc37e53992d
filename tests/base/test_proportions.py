"""Paired proportions: Newcombe's own example, its symmetry, its floor, means over languages, a further source."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.base.proportions import paired_proportions


def outcomes(both: int, only_after: int, only_before: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    counts = [both, only_after, only_before, neither]
    return np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)


def test_fewer_than_ten_units_have_no_interval():
    assert np.isnan(paired_proportions([outcomes(3, 3, 1, 2)])).all()
    assert np.isnan(paired_proportions([outcomes(9, 9, 9, 9), outcomes(1, 0, 0, 0)])).all()
    assert np.isnan(paired_proportions([])).all()


def test_turning_the_pair_turns_the_interval():
    after, before = outcomes(20, 9, 2, 6)
    low, high = paired_proportions([(after, before)])
    assert paired_proportions([(before, after)]) == pytest.approx((-high, -low))


def test_no_change_at_all_is_not_certain():
    low, high = paired_proportions([outcomes(12, 0, 0, 0)])
    assert low == pytest.approx(-high) and high > 0.15


def test_several_languages_and_a_further_source_join_by_squares():
    one = outcomes(20, 9, 2, 6)
    low, high = paired_proportions([one])
    d = 7 / 37
    assert paired_proportions([one] * 4) == pytest.approx((d - (d - low) / 2, d + (high - d) / 2))
    wider = paired_proportions([one], sd=0.1, df=2)
    assert wider[0] == pytest.approx(d - np.hypot(d - low, 0.1 * 4.3027), abs=1e-4)


def test_means_over_seeds_are_surer_than_one_seed():
    rng = np.random.default_rng(0)
    seeds = (rng.random((60, 5)) < 0.6).astype(float)
    before = np.zeros(60)
    one, five = (np.ptp(paired_proportions([(a, before)])) for a in (seeds[:, 0], seeds.mean(axis=1)))
    assert five < 0.75 * one
