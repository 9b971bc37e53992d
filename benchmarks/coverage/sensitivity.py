"""Simulations of chapter 03's intervals and tests."""

from benchmarks.coverage.parts import effects, variance

SIMULATIONS = [*effects.SIMULATIONS, *variance.SIMULATIONS]
