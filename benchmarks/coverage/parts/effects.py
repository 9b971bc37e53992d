"""Traits of wording over tasks: how often a trait without an effect on tasks like these is found, and agreement's test."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from benchmarks.coverage.simulation import Simulation
from helpers.sensitivity.agreement import agreement_table
from helpers.sensitivity.wording import trait_effects


def prompt_table(
    rng: np.random.Generator,
    tasks: int,
    models: int,
    prompts: int,
    shared: float = 0.0,
    by_task: float = 0.0,
    skewed: bool = False,
    digits: int | None = None,
    scales: float = 0.5,
) -> pd.DataFrame:
    """Scores of prompts of which every third has a trait (column `named`) and each has a length (column `n_words`).

    shared: the part of the prompts that three tasks in a row have in common, with the same goodness in each; by_task:
    standard deviation over tasks of the trait's effect, whose mean is 0, in units of the prompts' own; scales: spread
    of the tasks' own units (log); skewed: log-normal goodness; digits: scores are rounded, so they tie.
    """
    goodness, common = rng.normal(size=prompts), int(prompts * shared)
    words, rows = rng.poisson(4, size=prompts) + 1, []
    for t in range(tasks):
        if t % 3 == 0:
            goodness, words = rng.normal(size=prompts), rng.poisson(4, size=prompts) + 1
        own = np.where(np.arange(prompts) < common, goodness, rng.normal(size=prompts))
        own = np.exp(own) if skewed else own
        lengths = np.where(np.arange(prompts) < common, words, rng.poisson(4, size=prompts) + 1)
        named = np.arange(prompts) % 3 == 0
        ids = [f"{t // 3}-{k}" if k < common else f"{t}.{k}" for k in range(prompts)]
        turned, sloped = by_task * rng.normal(size=2)
        good = own + turned * named + sloped * lengths / 2
        unit = 0.02 * np.exp(scales * rng.normal())
        scores = 0.6 + unit * (good + rng.normal(size=(models, prompts)))
        scores = scores if digits is None else scores.round(digits)
        rows += [
            (f"m{m}", f"t{t:02d}", ids[k], scores[m, k], named[k], lengths[k])
            for m in range(models) for k in range(prompts)
        ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["model", "task", "prompt_id", "score", "named", "n_words"])
    return table.assign(kind="prompt", prompt="")


def rejects(rng: np.random.Generator, trait: str, **shape: object) -> bool | None:
    cells = prompt_table(rng, **shape)
    texts = cells[["task", "prompt_id", "prompt", trait]].drop_duplicates()
    p_value = trait_effects(cells, texts, [trait], min_texts=3)["p_value"].item()
    return None if np.isnan(p_value) else p_value <= 0.05


def agrees(rng: np.random.Generator, prompts: int, families: list[int], digits: int | None = None) -> bool:
    """Families order the prompts each in its own way, siblings nearly alike."""
    own = rng.normal(size=(len(families), prompts))
    scores = np.repeat(own, families, axis=0) + 0.5 * rng.normal(size=(sum(families), prompts))
    scores = scores if digits is None else scores.round(digits)
    names = {f"m{m}": f"f{f}" for m, f in enumerate(np.repeat(np.arange(len(families)), families))}
    rows = [(f"m{m}", "t", f"p{k}", v, "prompt") for m, values in enumerate(scores) for k, v in enumerate(values)]
    cells = pd.DataFrame(rows, columns=["model", "task", "prompt_id", "score", "kind"])
    return (
        agreement_table(cells, permutations=200, seed=int(rng.integers(2**31)), families=names)["p_value"].item()
        <= 0.05
    )


# trait, case, shape
_TRAITS = [
    ("named", "1 task, 6 models, 9 prompts", {"tasks": 1, "models": 6, "prompts": 9}),
    ("named", "1 task, 3 models, 54 skewed", {"tasks": 1, "models": 3, "prompts": 54, "skewed": True}),
    ("named", "2 tasks, 3 models, 15 prompts, effects differ by task", {"tasks": 2, "models": 3, "prompts": 15, "by_task": 1.0}),
    ("named", "3 tasks, 3 models, 15 tied scores, effects differ by task",
     {"tasks": 3, "models": 3, "prompts": 15, "by_task": 1.0, "digits": 2}),
    ("named", "11 tasks, 6 models, 15 prompts, effects differ by task", {"tasks": 11, "models": 6, "prompts": 15, "by_task": 1.0}),
    ("named", "11 tasks, 6 models, 15 prompts, a third shared by tasks", {"tasks": 11, "models": 6, "prompts": 15, "shared": 1 / 3}),
    ("n_words", "1 task, 6 models, 5 prompts", {"tasks": 1, "models": 6, "prompts": 5}),
    ("n_words", "3 tasks, 6 models, 5 prompts, effects differ by task", {"tasks": 3, "models": 6, "prompts": 5, "by_task": 1.0}),
    ("n_words", "11 tasks, 3 models, 15 skewed, effects differ by task",
     {"tasks": 11, "models": 3, "prompts": 15, "by_task": 1.0, "skewed": True}),
    ("n_words", "11 tasks, 6 models, 15 prompts, a third shared by tasks", {"tasks": 11, "models": 6, "prompts": 15, "shared": 1 / 3}),
]  # fmt: skip

_AGREEMENT = [
    ("4 families, 5 prompts", {"prompts": 5, "families": [1, 1, 1, 1]}),
    ("4 families of 6 models, three of them siblings, 15 prompts", {"prompts": 15, "families": [3, 1, 1, 1]}),
    ("2 families of 5 models, 54 tied scores", {"prompts": 54, "families": [3, 2], "digits": 0}),
]

SIMULATIONS = [
    Simulation(
        f"effect of a {'count' if trait == 'n_words' else 'yes-or-no trait'}, tasks as a sample", "test", case, 0.05,
        partial(rejects, trait=trait, **shape), most=0.1 if case.startswith("3 tasks") else 0.07,
    ) for trait, case, shape in _TRAITS
] + [
    Simulation("agreement of families, permutation of Kendall's W", "test", case, 0.05, partial(agrees, **shape), 0.02, 0.07)
    for case, shape in _AGREEMENT
]  # fmt: skip
