"""Shares of variance: the jackknife over tasks holds the truth as often as the page says."""

import pytest

from benchmarks.coverage.parts.variance import SIMULATIONS
from benchmarks.coverage.simulation import simulate

FAST = [s for s in SIMULATIONS if s.case.startswith("4 tasks")]


@pytest.mark.parametrize("simulation", FAST, ids=lambda s: f"{s.method}: {s.case}")
def test_the_interval_covers_what_is_promised(simulation):
    rate = simulate(simulation, 60)
    assert rate.lies_within(simulation.least, simulation.most), rate
