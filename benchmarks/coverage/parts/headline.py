"""The prediction interval of the headline: does a default that is a prompt like the others lie in it?"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.coverage.simulation import Simulation
from helpers.leaderboard.draws import predicted

SHAPES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "skewed to low scores": lambda rng, size: -rng.gamma(2.0, size=size),
}

# 1,500 data sets each gave .935 to .974.
LEAST = 0.93


def default_is_predicted(rng: np.random.Generator, shape: str, prompts: int, tasks: int) -> bool:
    """Scores of `prompts` prompts and one more, the default, per task; tasks differ in spread by a factor of ten."""
    spread = np.geomspace(0.005, 0.05, tasks)
    scores = 0.6 + spread[:, None] * SHAPES[shape](rng, (tasks, prompts + 1))
    low, high = predicted(list(scores[:, 1:]))
    return bool(low <= scores[:, 0].mean() <= high)


SIMULATIONS = [
    Simulation(
        "headline, prediction interval", "interval", f"{tasks} tasks x {prompts} prompts, {shape}", 0.95,
        partial(default_is_predicted, shape=shape, prompts=prompts, tasks=tasks), LEAST, 0.98,
    )
    for shape in SHAPES for tasks in (1, 11) for prompts in (2, 3, 5, 8, 15, 54)
]  # fmt: skip
