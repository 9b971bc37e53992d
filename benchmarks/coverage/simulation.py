"""One simulated setting of an interval or a test, and how often it did what it should."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Simulation:
    """Data are drawn from a truth that is known, the package's own function is called, and its answer is checked.

    `trial` draws one data set with the generator it is given and returns whether the interval holds the truth (kind
    "interval"), or whether the test rejects (kind "test" where nothing is there, kind "power" where something is): a
    bool, or a share where one data set has many intervals; None where the method declines (too few units): declined
    trials are counted apart. `least` and `most` are what the suite promises about the rate.
    """

    method: str  # as the report calls it: "share, Wilson interval"
    kind: Literal["interval", "test", "power"]
    case: str  # sizes and shape of the data: "5 queries, share .2"
    nominal: float  # .95 of an interval, .05 of a test; of a power what is expected
    trial: Callable[[np.random.Generator], float | bool | None]
    least: float = 0.0
    most: float = 1.0


@dataclass(frozen=True)
class Rate:
    """How often: `rate` of `repeats` data sets that gave an answer, with its Monte Carlo standard error."""

    rate: float
    error: float
    repeats: int
    declined: float

    def lies_within(self, least: float, most: float) -> bool:
        """True unless the rate is further outside than four Monte Carlo errors (a test that fails once in 16,000 runs)."""
        slack = 4 * max(self.error, (0.05 * 0.95 / self.repeats) ** 0.5)
        return least - slack <= self.rate <= most + slack


def simulate(simulation: Simulation, repeats: int, seed: int = 0) -> Rate:
    """Run `repeats` data sets, each with its own generator, so that the first ones stay when more are asked for.

    Raises ValueError where the method declined every one of them.
    """
    answers = [simulation.trial(np.random.default_rng([seed, i])) for i in range(repeats)]
    given = np.array([float(answer) for answer in answers if answer is not None])
    if not given.size:
        raise ValueError(f"{simulation.method}, {simulation.case}: no answer in {repeats} data sets")
    error = float(given.std() / given.size**0.5)
    return Rate(float(given.mean()), error, int(given.size), 1 - given.size / repeats)
