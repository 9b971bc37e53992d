"""Effects of traits over tasks and agreement of families: a test finds nothing more often than it says."""

import pytest

from benchmarks.coverage.parts.effects import SIMULATIONS
from benchmarks.coverage.simulation import simulate

FAST = [s for s in SIMULATIONS if s.case.startswith("3 tasks, 3 models, 15 tied") or "three of them siblings" in s.case]


@pytest.mark.parametrize("simulation", FAST, ids=lambda s: f"{s.method}: {s.case}")
def test_the_size_is_what_is_promised(simulation):
    rate = simulate(simulation, 120)
    assert rate.lies_within(simulation.least, simulation.most), rate
