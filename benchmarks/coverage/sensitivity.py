"""Simulations of chapter 03's intervals and tests."""

from benchmarks.coverage.parts import effects, equivalence, noise, variance

SIMULATIONS = [*effects.SIMULATIONS, *noise.SIMULATIONS, *equivalence.SIMULATIONS, *variance.SIMULATIONS]
