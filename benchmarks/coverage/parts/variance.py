"""Variance components: does the interval of each source's share hold the truth?"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from benchmarks.coverage.simulation import Simulation
from helpers.sensitivity.variance import variance_components

TRUE = {"model": 0.35, "model x task": 0.35, "prompt": 0.12, "model x prompt + residual": 0.18}


def covers(
    rng: np.random.Generator, source: str, tasks: int, models: int, prompts: int, scales: float = 0.0,
    shared: float = 0.0, skewed: bool = False,
) -> bool | None:  # fmt: skip
    """Tasks with own units (scales: their spread, log); three tasks share a part of the prompts, as good in each."""
    sd = {k: np.sqrt(v) for k, v in TRUE.items()}

    def draw(*size: int) -> np.ndarray:
        return (rng.exponential(size=size) - 1) if skewed else rng.normal(size=size)

    model = draw(models)
    model *= sd["model"] / model.std(ddof=1)  # the share is one of these models
    common, goodness = int(prompts * shared), draw(prompts)
    rows = []
    for t in range(tasks):
        goodness = draw(prompts) if t % 3 == 0 else goodness
        prompt = sd["prompt"] * np.where(np.arange(prompts) < common, goodness, draw(prompts))
        own = sd["model x task"] * draw(models)
        scores = model[:, None] + own[:, None] + prompt + sd["model x prompt + residual"] * draw(models, prompts)
        scores = 0.5 + 0.1 * rng.normal() + 0.02 * np.exp(scales * rng.normal()) * scores
        ids = [f"{t // 3}-{k}" if k < common else f"{t}.{k}" for k in range(prompts)]
        rows += [(f"m{m}", f"t{t:02d}", ids[k], scores[m, k]) for m in range(models) for k in range(prompts)]
    cells = pd.DataFrame(rows, columns=["model", "task", "prompt_id", "score"]).assign(kind="prompt")
    found = variance_components(cells).set_index("source").loc[source]
    others = model + sd["model x task"] * draw(2_000, models)  # of these models on other tasks
    total = others.var(axis=1, ddof=1) + TRUE["prompt"] + TRUE["model x prompt + residual"]
    others /= np.sqrt(total)[:, None]
    on_all = others.mean(axis=0).var(ddof=1)
    truth = {"model": on_all, "model x task": others.var(axis=1, ddof=1).mean() - on_all}.get(source)
    truth = np.mean(TRUE[source] / total) if truth is None else truth
    return bool(found["low"] <= truth <= found["high"]) if np.isfinite(found["low"]) else None


# source, case, shape
_CASES = [
    ("prompt", "4 tasks, 3 models, 5 prompts", {"tasks": 4, "models": 3, "prompts": 5}),
    ("prompt", "5 tasks, 3 models, 15 skewed", {"tasks": 5, "models": 3, "prompts": 15, "skewed": True}),
    ("prompt", "11 tasks, 6 models, 15 prompts", {"tasks": 11, "models": 6, "prompts": 15}),
    ("prompt", "11 tasks, 6 models, 15 prompts, a third shared by tasks", {"tasks": 11, "models": 6, "prompts": 15, "shared": 1 / 3}),
    ("prompt", "11 tasks, 6 models, 40 prompts", {"tasks": 11, "models": 6, "prompts": 40}),
    ("model x prompt + residual", "4 tasks, 3 models, 5 skewed", {"tasks": 4, "models": 3, "prompts": 5, "skewed": True}),
    ("model x prompt + residual", "11 tasks, 6 models, 15 prompts", {"tasks": 11, "models": 6, "prompts": 15}),
    ("model x task", "5 tasks, 3 models, 15 prompts", {"tasks": 5, "models": 3, "prompts": 15}),
    ("model", "11 tasks, 6 models, 15 prompts", {"tasks": 11, "models": 6, "prompts": 15}),
]  # fmt: skip

SIMULATIONS = [
    Simulation(
        f"share of variance: {source}, jackknife over tasks", "interval", f"{case}, tasks in different units", 0.95,
        partial(covers, source=source, scales=0.8, **shape), 0.88, 0.98,
    ) for source, case, shape in _CASES
]  # fmt: skip
