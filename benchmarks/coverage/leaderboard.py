"""Simulations of chapter 04's intervals and tests."""

from benchmarks.coverage.parts import headline, ranks

SIMULATIONS = [*headline.SIMULATIONS, *ranks.SIMULATIONS]
