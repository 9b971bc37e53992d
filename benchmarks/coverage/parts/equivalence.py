"""Two sets of prompts: size of the tests of a difference and of equivalence, coverage of the difference and of Cliff's delta."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from benchmarks.coverage.simulation import Simulation
from helpers.sensitivity.sets import compare_sets

MARGIN = 0.01


def drawn(
    rng: np.random.Generator, shift: float, tasks: int, models: int, first: int, second: int, by_task: float = 0.0,
    unit: float = 0.02, skewed: bool = False, digits: int | None = None, shared: float = 0.0,
) -> tuple[pd.Series, float]:  # fmt: skip
    """The pooled row of a study's comparison, and the true Cliff's delta of tasks like these.

    shift: mean difference of the sets over all tasks that could be chosen, by_task: its standard deviation over tasks;
    unit: standard deviation of a prompt's goodness, which all models share in half; shared: the part of either set's
    prompts that three tasks in a row share, as good in each.
    """

    def draw(*size: int) -> np.ndarray:
        if skewed:
            return (np.exp(rng.normal(size=size)) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
        return rng.normal(size=size)

    n, rows, goodness = first + second, [], draw(first + second)
    in_first = np.arange(n) < first
    common = np.where(in_first, np.arange(n) < first * shared, np.arange(n) - first < second * shared)
    for t in range(tasks):
        goodness = draw(n) if t % 3 == 0 else goodness
        own = np.where(common, goodness, draw(n)) + draw(models, n)
        scores = 0.6 + unit * own / np.sqrt(2) + (shift + by_task * rng.normal()) * in_first
        scores = scores if digits is None else scores.round(digits)
        ids = [f"{t // 3}-{k}" if common[k] else f"{t}.{k}" for k in range(n)]
        rows += [
            (f"m{m}", f"t{t:02d}", ids[k], scores[m, k], "a" if in_first[k] else "b")
            for m in range(models)
            for k in range(n)
        ]
    table = pd.DataFrame(rows, columns=["model", "task", "prompt_id", "score", "source"]).assign(kind="prompt")
    found = compare_sets(table, table, MARGIN, kinds=["source"]).iloc[0]
    a, b = 0.6 + unit * (draw(2, 5_000) + draw(2, 5_000)) / np.sqrt(2)
    a += shift + by_task * rng.normal(size=a.size)
    a, b = (a, b) if digits is None else (a.round(digits), b.round(digits))
    return found, float(np.sign(a - b).mean())


def check(rng: np.random.Generator, what: str, shift: float, **shape: object) -> bool:
    found, delta = drawn(rng, shift, **shape)
    if what in ("p_value", "p_equivalent"):
        return bool(found[what] <= 0.05)
    if what == "difference":
        return bool(found["low"] <= shift <= found["high"])
    return bool(found["delta_low"] <= delta <= found["delta_high"])


_SHAPES = {
    "1 task, 3 models, 5 against 5 prompts": {"tasks": 1, "models": 3, "first": 5, "second": 5},
    "1 task, 2 models, 40 against 10 skewed": {"tasks": 1, "models": 2, "first": 40, "second": 10, "skewed": True},
    "3 tasks, 3 models, 5 against 5, tied, differences by task":
        {"tasks": 3, "models": 3, "first": 5, "second": 5, "digits": 2, "by_task": 0.02},
    "11 tasks, 3 models, 5 against 5, a third shared by tasks": {"tasks": 11, "models": 3, "first": 5, "second": 5, "shared": 0.4},
    "11 tasks, 2 models, 40 against 10, differences by task":
        {"tasks": 11, "models": 2, "first": 40, "second": 10, "by_task": 0.02},
}  # fmt: skip

_CHECKS = [
    ("difference of two sets, t over tasks", "test", "p_value", 0.0, 0.05, 0.0, 0.09),
    ("Cliff's delta of two sets", "interval", "delta", 0.01, 0.95, 0.92, 1.0),
]  # fmt: skip

_EQUIVALENCE = [
    ("test", "1 task, 3 models, 5 against 5 prompts", {"tasks": 1, "models": 3, "first": 5, "second": 5, "unit": 0.004}),
    ("test", "3 tasks, 3 models, 5 against 5 prompts", {"tasks": 3, "models": 3, "first": 5, "second": 5, "unit": 0.004}),
    ("test", "11 tasks, 2 models, 40 against 10, differences by task",
     {"tasks": 11, "models": 2, "first": 40, "second": 10, "by_task": 0.005}),
    ("power", "11 tasks, 3 models, 14 against 14, sd of prompts .02", {"tasks": 11, "models": 3, "first": 14, "second": 14}),
]  # fmt: skip

SIMULATIONS = [
    Simulation(method, kind, case, nominal, partial(check, what=what, shift=shift, **shape), least, most)
    for method, kind, what, shift, nominal, least, most in _CHECKS for case, shape in _SHAPES.items()
] + [
    Simulation(
        f"equivalence of two sets, TOST {'at the margin' if kind == 'test' else 'without a difference'}", kind, case,
        0.05 if kind == "test" else 0.8,
        partial(check, what="p_equivalent", shift=MARGIN if kind == "test" else 0.0, **shape),
        *((0.0, 0.07) if kind == "test" else (0.8, 1.0)),
    ) for kind, case, shape in _EQUIVALENCE
]  # fmt: skip
