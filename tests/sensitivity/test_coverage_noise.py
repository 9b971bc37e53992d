"""Test-set noise: prompts that are alike are told apart no more often than promised, intervals hold the truth."""

import pytest

from benchmarks.coverage.parts.noise import SIMULATIONS
from benchmarks.coverage.simulation import simulate


@pytest.mark.parametrize("simulation", SIMULATIONS, ids=lambda s: f"{s.method}: {s.case}")
def test_the_rate_is_what_is_promised(simulation):
    rate = simulate(simulation, 25)
    assert rate.lies_within(simulation.least, simulation.most), rate
