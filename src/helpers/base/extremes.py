"""Best and worst prompts, compared over equal numbers of prompts: of more prompts the best one is better by chance alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

CELL = ["model", "task"]


def pick_weights(n: int, k: int) -> np.ndarray:
    """P(the i-th best of n prompts is the best of k drawn without replacement), i = 0 .. n - 1: C(n-1-i, k-1) / C(n, k)."""
    i = np.arange(n)
    free = n - 1 - i
    with np.errstate(invalid="ignore"):
        log = (special.gammaln(free + 1) - special.gammaln(k) - special.gammaln(np.maximum(free - k + 2, 1))) - (
            special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
        )
    return np.where(free >= k - 1, np.exp(log), 0.0)


def numbers_of_prompts(cells: pd.DataFrame) -> pd.DataFrame:
    """Per task the fewest and the most scored prompts that a model has on it; models without any do not count."""
    known = cells[(cells["kind"] == "prompt") & cells["score"].notna()]
    counts = known.groupby(CELL, observed=True).size().groupby(level="task")
    return counts.agg(fewest="min", most="max")


def extreme_scores(cells: pd.DataFrame, end: str, with_default: bool = False) -> pd.Series:
    """The best or worst prompt's score per (model, task), in expectation over equal numbers of prompts.

    end: "best" or "worst". Of a model's n prompts on a task, k are drawn, k the fewest that any model has there
    (`numbers_of_prompts`); the expected extreme is exact (`pick_weights`), and where all models have k prompts it is the
    best or worst score itself. with_default: the default competes with the drawn prompts.
    """
    sign = {"best": 1, "worst": -1}[end]
    known = cells[cells["score"].notna()]
    default = known[known["kind"] == "default"].groupby(CELL, observed=True)["score"].mean()
    prompts = {k: g.to_numpy(float) for k, g in known[known["kind"] == "prompt"].groupby(CELL, observed=True)["score"]}
    fewest = numbers_of_prompts(cells)["fewest"]
    found = dict(default) if with_default else {}
    for (model, task), scores in prompts.items():
        ordered = np.sort(sign * scores)[::-1]
        if (model, task) in found:
            ordered = np.maximum(ordered, sign * default[model, task])
        k = int(fewest[task])
        found[model, task] = sign * float(ordered[0] if k == len(ordered) else pick_weights(len(ordered), k) @ ordered)
    index = pd.MultiIndex.from_tuples(found, names=CELL) if found else pd.MultiIndex.from_arrays([[], []], names=CELL)
    return pd.Series(list(found.values()), index=index, dtype=float).sort_index()
