"""Ranks under random prompts: does the interval of P(rank 1) hold its value over all prompts, the one of ranks the rank?"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.coverage.simulation import Simulation
from helpers.leaderboard.certainty import order_table, redrawn
from helpers.leaderboard.random_ranks import pairwise_wins, random_boards, rank_table
from helpers.scores.cells import PromptScores


def draw(
    rng: np.random.Generator, tasks: int, prompts: int, models: int = 6, shape: str = "normal", gap: float = 0.4
) -> tuple[PromptScores, np.ndarray, np.ndarray]:
    """Scores of `prompts` prompts and of 400 that stand for all, and where the next tasks would put the models.

    Models lie `gap` apart and differ by task as much as prompts do; half of a prompt's effect is shared by all models.
    """
    mean = gap * np.arange(models)[::-1, None, None]
    own = rng.normal(size=(2, models, tasks, 1))

    def noise(n: int) -> np.ndarray:
        off = (rng.normal(size=(1, tasks, n)) + rng.normal(size=(models, tasks, n))) / np.sqrt(2)
        return -np.exp(off) if shape == "skewed" else off

    some, many = (mean + own[0] + noise(n) for n in (prompts, 400))
    other = mean + own[1] + noise(1)
    if shape == "tied":
        some, many, other = some.round(0), many.round(0), other.round(0)
    names = [f"m{k}" for k in range(models)], [f"t{k:02d}" for k in range(tasks)]
    return PromptScores(some, *names, [[f"p{k}" for k in range(prompts)]] * tasks), many, other


def answer(rng: np.random.Generator, what: str, level: int = 1, **shape: object) -> float | bool | None:
    data, many, other = draw(rng, **shape)
    strata = [np.arange(len(i)) % level for i in data.ids]
    boards = random_boards(data.values, 2_000, exact_limit=0)
    few = 2 if what == "order" else 60  # the test of an order takes no samples
    found = redrawn(data, strata, samples=few, per_sample=200, seed=int(rng.integers(2**31)), tasks=what == "rank")
    if what == "order":
        orders = order_table(pairwise_wins(boards, data.models), found, data)
        return None if orders["p_holm"].isna().all() else bool((orders["p_holm"] < 0.05).any())
    table = found.beside(rank_table(boards, data.models)).set_index("model").sort_index()
    if what == "rank":
        real = rank_table(random_boards(other), data.models).set_index("model").sort_index()["mean_rank"]
        inside = (table["rank_low_tasks"] <= real) & (real <= table["rank_high_tasks"])
        return None if table["rank_low_tasks"].isna().all() else float(inside.mean())
    truth = (
        rank_table(random_boards(many, 4_000, exact_limit=0), data.models).set_index("model").sort_index()["p_first"]
    )
    leader = table["p_first"].idxmax()
    return bool(table.loc[leader, "p_low"] - 0.01 <= truth[leader] <= table.loc[leader, "p_high"] + 0.01)


_FIRST = [
    ("1 task, 15 prompts", {"tasks": 1, "prompts": 15}),
    ("5 tasks, 5 prompts", {"tasks": 5, "prompts": 5}),
    ("5 tasks, 15 skewed", {"tasks": 5, "prompts": 15, "shape": "skewed"}),
    ("11 tasks, 15 prompts", {"tasks": 11, "prompts": 15}),
    ("11 tasks, 15 prompts of 3 levels", {"tasks": 11, "prompts": 15, "level": 3}),
    ("11 tasks, 15 tied scores", {"tasks": 11, "prompts": 15, "shape": "tied"}),
    ("5 tasks, 54 prompts", {"tasks": 5, "prompts": 54}),
]

SIMULATIONS = [
    Simulation("P(rank 1) of the leader, bootstrap over prompts", "interval", f"{case}, 6 models", 0.95,
               partial(answer, what="first", **shape), 0.88, 1.0)
    for case, shape in _FIRST
] + [
    Simulation("rank on as many other tasks, two-level bootstrap", "interval", f"{n} tasks, 15 prompts, 6 models {apart}", 0.95,
               partial(answer, what="rank", tasks=n, prompts=15, gap=gap), 0.9, 1.0)
    for n, gap, apart in [(6, 0.4, "apart"), (11, 0.4, "apart"), (11, 0.1, "close together")]
] + [
    Simulation("order of two models on other tasks, sign flips", "test", f"{n} tasks, 15 prompts, 6 equal models, any pair", 0.05,
               partial(answer, what="order", tasks=n, prompts=15, gap=0.0), 0.0, 0.06)
    for n in (6, 11)
]  # fmt: skip
