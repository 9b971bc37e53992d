"""The gain of trying k prompts and reporting the best, and what of it is honest."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.base.extremes import pick_weights
from helpers.base.stats import unit_scores
from helpers.base.ties import compare, levelled
from helpers.sensitivity.noise import KEY

# What a run has where it kept no scores of single queries.
NO_QUERIES = pd.DataFrame(columns=[*KEY, "prompt_id", "query_id", "score", "gold"])


def best_of_k(cells: pd.DataFrame, sizes: tuple[int, ...] | None = None) -> pd.DataFrame:
    """The p-hacking curve: expected score of the best of k prompts, against one random prompt.

    Exact over all subsets of k of a cell's prompts (no simulation), then the mean over a model's tasks. Only cells with
    at least k prompts count, and a k is left out where a model has fewer such cells than at k = 1. Columns model, k,
    score (mean over tasks of the expected best), gain (over k = 1), share_beating_default (share of tasks in which
    the expected best of k beats the default; NaN without defaults), cells. This gain is an upper figure: it chooses and
    scores on the same test set.
    """
    prompts = cells[(cells["kind"] == "prompt") & cells["score"].notna()]
    default = cells[cells["kind"] == "default"].groupby(["model", "task"])["score"].mean()
    rows = []
    for model, part in prompts.groupby("model", sort=True):
        ordered = {task: np.sort(g["score"].to_numpy(float))[::-1] for task, g in part.groupby("task")}
        smallest = min(len(x) for x in ordered.values())
        first = None
        for k in sizes or range(1, smallest + 1):
            if k > smallest:
                break
            best = {task: float(pick_weights(len(x), k) @ x) for task, x in ordered.items()}
            score = float(np.mean(list(best.values())))
            first = score if first is None else first
            beats = [
                compare(v, default[model, t]) > 0
                for t, v in best.items()
                if np.isfinite(default.get((model, t), np.nan))
            ]
            rows.append({"model": model, "k": k, "score": score, "gain": score - first,
                         "share_beating_default": float(np.mean(beats)) if beats else np.nan, "cells": len(best)})  # fmt: skip
    return pd.DataFrame(rows, columns=["model", "k", "score", "gain", "share_beating_default", "cells"])


def honest_best_of_k(
    query_scores: pd.DataFrame, splits: int = 200, sizes: tuple[int, ...] | None = None, seed: int = 42
) -> pd.DataFrame:
    """The same gain when the prompt is chosen on one half of the queries and scored on the other.

    query_scores: as for `noise.query_noise`, written prompts only. For every (model, task, subset, split) the units are
    halved at random `splits` times; of k random prompts (exact over all subsets) the best on the first half is taken.
    Columns model, task, subset, split, k, reported (its score on the half that chose it, less the mean of all prompts
    there) and honest (its score on the other half, less the mean there): means over splits. reported - honest is the
    bias of reporting the number that one chose by. Test sets with fewer than 4 units or 2 prompts are left out.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for key, part in query_scores.groupby(KEY, sort=True, observed=True):
        wide = part.pivot_table(index="query_id", columns="prompt_id", values="score").dropna(axis=0)
        n, p = wide.shape
        if n < 4 or p < 2:
            continue
        units = wide.to_numpy(float)
        gold = None
        if "gold" in part and part["gold"].notna().any():
            gold = part.drop_duplicates("query_id").set_index("query_id")["gold"].reindex(wide.index).to_numpy(float)
        choose, check = np.empty((splits, p)), np.empty((splits, p))
        for s in range(splits):
            order = rng.permutation(n)
            for half, out in ((order[: n // 2], choose), (order[n // 2 :], check)):
                out[s] = unit_scores(units[half], None if gold is None else gold[half])
        known = np.isfinite(choose).all(axis=1) & np.isfinite(check).all(axis=1)
        if not known.any():
            continue
        choose, check = choose[known], check[known]
        # Equal scores are broken at random, not by the order of the prompts.
        ranking = np.lexsort((rng.random(choose.shape), -levelled(choose)), axis=1)
        first, second = np.take_along_axis(choose, ranking, 1), np.take_along_axis(check, ranking, 1)
        for k in sizes or range(1, p + 1):
            if k > p:
                break
            weights = pick_weights(p, k)
            rows.append(dict(zip(KEY, key, strict=True)) | {
                "k": k, "reported": float((first @ weights - choose.mean(1)).mean()),
                "honest": float((second @ weights - check.mean(1)).mean()),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=[*KEY, "k", "reported", "honest"])


def largest_choice(honest: pd.DataFrame) -> pd.DataFrame:
    """The rows of `honest_best_of_k` with the most prompts to choose from, one per test set."""
    return honest.loc[honest.groupby(KEY)["k"].idxmax()]
