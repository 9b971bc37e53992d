"""Two sets of prompts: sizes of both tests and coverage of Cliff's delta are what is promised."""

import pytest

from benchmarks.coverage.parts.equivalence import SIMULATIONS
from benchmarks.coverage.simulation import simulate

FAST = [s for s in SIMULATIONS if s.case.startswith("3 tasks")]


@pytest.mark.parametrize("simulation", FAST, ids=lambda s: f"{s.method}: {s.case}")
def test_the_rate_is_what_is_promised(simulation):
    rate = simulate(simulation, 50)
    assert rate.lies_within(simulation.least, simulation.most), rate
