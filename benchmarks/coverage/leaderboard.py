"""Simulations of chapter 04's intervals and tests."""

from benchmarks.coverage.parts import ranks

SIMULATIONS = [*ranks.SIMULATIONS]
