"""Simulations of chapter 03's intervals and tests."""

from benchmarks.coverage.parts import effects, equivalence, variance

SIMULATIONS = [*effects.SIMULATIONS, *equivalence.SIMULATIONS, *variance.SIMULATIONS]
