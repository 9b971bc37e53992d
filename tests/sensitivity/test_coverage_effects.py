"""Effects of traits over tasks and agreement of families: a test finds nothing more often than it says."""

import pytest

from benchmarks.coverage.parts.effects import SIMULATIONS
from benchmarks.coverage.simulation import simulate


@pytest.mark.parametrize("simulation", SIMULATIONS, ids=lambda s: f"{s.method}: {s.case}")
def test_the_size_is_what_is_promised(simulation):
    rate = simulate(simulation, 60)
    assert rate.lies_within(simulation.least, simulation.most), rate
