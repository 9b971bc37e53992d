"""Reliability of a board: does the jackknife's interval hold the coefficient of other tasks and prompts?"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from benchmarks.coverage.simulation import Simulation
from helpers.leaderboard.reliability import reliability_curve

TRUE = np.sqrt([0.5, 0.2, 0.1, 0.2])  # model, model x task, prompt, the rest


def covers(rng: np.random.Generator, tasks: int, models: int, prompts: int, skewed: bool = False) -> bool | None:
    def draw(*size: int) -> np.ndarray:
        return rng.exponential(size=size) - 1 if skewed else rng.normal(size=size)

    own = draw(models, 1, 1)
    own /= own.std(ddof=1)  # the coefficient is one of these models
    unit = np.exp(0.5 * rng.normal(size=(1, tasks, 1)))
    parts = own, draw(models, tasks, 1), draw(1, tasks, prompts), draw(models, tasks, prompts)
    scores = unit * sum(size * part for size, part in zip(TRUE, parts, strict=True))
    rows = [
        (f"m{m}", f"t{t:02d}", f"{t}.{k}", scores[m, t, k])
        for m in range(models) for t in range(tasks) for k in range(prompts)
    ]  # fmt: skip
    cells = pd.DataFrame(rows, columns=["model", "task", "prompt_id", "score"]).assign(kind="prompt")
    row = reliability_curve(cells).query("n_tasks == 11 and n_prompts == 15").iloc[0]
    truth = TRUE[0] ** 2 / (TRUE[0] ** 2 + TRUE[1] ** 2 / 11 + TRUE[3] ** 2 / 165)
    return bool(row["low"] <= truth <= row["high"]) if np.isfinite(row["low"]) else None


SIMULATIONS = [
    Simulation("reliability on 11 tasks with 15 prompts, jackknife over tasks", "interval",
               f"{t} tasks, {m} models, {p} {'skewed' if skewed else 'prompts'}", 0.95,
               partial(covers, tasks=t, models=m, prompts=p, skewed=skewed), 0.85, 1.0)
    for t, m, p, skewed in [(5, 3, 5, False), (5, 6, 15, True), (11, 6, 15, False), (11, 6, 15, True)]
]  # fmt: skip
