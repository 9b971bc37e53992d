"""Simulations of chapter 04's intervals and tests."""

from benchmarks.coverage.parts import headline, ranks, reliability

SIMULATIONS = [*headline.SIMULATIONS, *ranks.SIMULATIONS, *reliability.SIMULATIONS]
