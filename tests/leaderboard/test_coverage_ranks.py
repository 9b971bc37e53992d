"""Ranks under random prompts: intervals hold the truth, orders of equal models are not found."""

import pytest

from benchmarks.coverage.parts.ranks import SIMULATIONS
from benchmarks.coverage.simulation import simulate

FAST = [s for s in SIMULATIONS if s.case.startswith(("1 task", "5 tasks, 5 ", "6 tasks"))]


@pytest.mark.parametrize("simulation", FAST, ids=lambda s: f"{s.method}: {s.case}")
def test_the_rate_is_what_is_promised(simulation):
    rate = simulate(simulation, 12)
    assert rate.lies_within(simulation.least, simulation.most), rate
