"""The prediction interval of the headline holds a default that is a prompt like the others as often as it says."""

import pytest

from benchmarks.coverage.parts.headline import SIMULATIONS
from benchmarks.coverage.simulation import simulate


@pytest.mark.parametrize("simulation", SIMULATIONS, ids=lambda s: s.case)
def test_a_default_like_the_prompts_lies_within(simulation):
    rate = simulate(simulation, 400)
    assert rate.lies_within(simulation.least, simulation.most), rate
