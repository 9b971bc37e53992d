"""Do two sets of prompts score differently? A permutation test on the medians, as study 1 used for human prompts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import permutation_test

from helpers.base.stats import holm
from helpers.scores.cells import task_scores
from helpers.study.run import Run

COMPARISON = [
    "model", "task", "first", "second", "first_prompts", "second_prompts", "first_median", "second_median",
    "difference", "p_value", "p_holm", "differs", "resamples",
]  # fmt: skip


def compare_sets(
    scores: pd.DataFrame,
    prompts: pd.DataFrame,
    by: str = "generator",
    resamples: int = 10_000,
    alpha: float = 0.05,
    seed: int = 42,
) -> pd.DataFrame:
    """Difference of the median scores of two prompt sets, per model and task, with a two-sided permutation test.

    scores: a scores table (a row per split and subset), of which `task_scores` makes one score per prompt. prompts: rows
    with task, prompt_id and the column `by` that names the set (generator, source, level); a prompt in two sets counts in
    both. p_holm: Holm's correction over all rows. Sets with fewer than two scored prompts are left out. Labels are
    shuffled `resamples` times, or in every way where there are no more. Where so few shuffles could not give a p-value
    that survives the correction, the smallest ones are computed again with enough (column resamples).
    """
    mean = task_scores(scores.assign(kind="prompt"))
    mean = mean.loc[mean["score"].notna(), ["model", "task", "prompt_id", "score"]]
    sets = prompts.dropna(subset=[by])[["task", "prompt_id", by]].drop_duplicates()
    merged = mean.merge(sets, on=["task", "prompt_id"])
    order = list(dict.fromkeys(sets[by].astype(str)))
    rows: list[dict[str, Any]] = []
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for (model, task), group in merged.groupby(["model", "task"], sort=False):
        parts = {str(n): part["score"].to_numpy(float) for n, part in group.groupby(by, sort=False)}
        for one, other in itertools.combinations(sorted(parts, key=order.index), 2):
            a, b = parts[one], parts[other]
            if len(a) < 2 or len(b) < 2:
                continue
            rows.append({
                "model": model, "task": task, "first": one, "second": other, "first_prompts": len(a),
                "second_prompts": len(b), "first_median": float(np.median(a)), "second_median": float(np.median(b)),
                "difference": float(np.median(a) - np.median(b)), "p_value": median_test(a, b, resamples, seed),
                "resamples": resamples,
            })  # fmt: skip
            pairs.append((a, b))
    enough = math.ceil(10 * len(rows) / alpha)  # the smallest p-value is then a tenth of what the correction asks for
    if enough > resamples:
        for row, (a, b) in zip(rows, pairs, strict=True):
            if row["p_value"] <= 10 / resamples:
                row |= {"p_value": median_test(a, b, enough, seed), "resamples": enough}
    table = pd.DataFrame(rows, columns=COMPARISON)
    table["p_holm"] = holm(table["p_value"].to_numpy(dtype=float))
    table["differs"] = table["p_holm"] < alpha
    return table


def median_test(a: np.ndarray, b: np.ndarray, resamples: int = 10_000, seed: int = 42) -> float:
    """Two-sided p-value of the difference of medians when the labels of the scores are exchanged."""
    result = permutation_test(
        (a, b),
        lambda x, y, axis: np.abs(np.median(x, axis=axis) - np.median(y, axis=axis)),
        permutation_type="independent",
        vectorized=True,
        n_resamples=resamples,
        alternative="greater",  # of the absolute difference: both tails
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def set_column(table: pd.DataFrame) -> str:
    """What tells two prompt sets apart: their generators, else their sources, else their levels."""
    return next((c for c in ("generator", "source") if table[c].nunique(dropna=True) > 1), "level")


def comparison(run: Run, prompts: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The sets of prompts against each other on the run's scores (see `compare_sets`); empty before the sweep."""
    scores = run.table("scores") if run.has_table("scores") else None
    if scores is None:
        scores = pd.DataFrame(columns=["model", "task", "prompt_id", "main_score"])
    return compare_sets(scores, prompts, by=set_column(prompts), seed=seed)
