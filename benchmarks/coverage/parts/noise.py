"""Test-set noise: is a difference between two prompts that are alike called one, does its interval hold the truth?"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from benchmarks.coverage.simulation import Simulation
from helpers.sensitivity.noise import query_noise


def unit_table(rng: np.random.Generator, units: int, prompts: int, shape: str, shift: float = 0.0) -> pd.DataFrame:
    """Scores of queries whose difficulty all prompts share; the first prompt is `shift` better.

    shape "normal"; "skewed": few queries move, and far; "hits": 0 or 1; "ranks": coarse as nDCG@10, many at 0 and 1;
    "sts": similarities with a gold score.
    """
    hard = rng.normal(size=units)[:, None]
    off = rng.normal(size=(units, prompts))
    gold = np.full(units, np.nan)
    if shape == "skewed":
        off = rng.exponential(size=(units, prompts)) ** 2
    scores = 0.5 + 0.2 * hard + 0.1 * off
    if shape == "hits":
        scores = (hard + 0.6 * off > 0).astype(float)
    if shape == "ranks":
        place = np.floor(np.exp(np.clip(1 + hard + 0.4 * off, 0, 4)))
        scores = np.where(place <= 10, 1 / np.log2(1 + place), 0.0)
    if shape == "sts":
        gold = (2.5 + hard[:, 0] + 0.5 * rng.normal(size=units)).round()
    scores[:, 0] += shift
    return pd.DataFrame({
        "model": "m", "task": "t", "subset": "default", "split": "test",
        "prompt_id": np.tile([f"p{k:02d}" for k in range(prompts)], units),
        "query_id": np.repeat([f"q{k:04d}" for k in range(units)], prompts),
        "score": scores.ravel(), "gold": np.repeat(gold, prompts),
    })  # fmt: skip


def _pair(rng: np.random.Generator, answer: str, **shape: object) -> float | bool | None:
    draws = 200 if answer == "interval" else 20  # the test takes none
    pairs = query_noise(unit_table(rng, **shape), draws=draws, seed=int(rng.integers(2**31)))[1]
    if pairs.empty:
        return None
    if answer == "size":
        return float((pairs["p_value"] < 0.05).mean())
    if answer == "any":
        return bool((pairs["q_value"] < 0.05).any())
    return float(((pairs["low"] <= 0) & (pairs["high"] >= 0)).mean())


_SHAPES = [
    (20, 5, "normal"), (20, 5, "hits"), (20, 5, "ranks"), (20, 5, "skewed"), (20, 5, "sts"),
    (50, 5, "hits"), (100, 15, "ranks"), (300, 5, "skewed"), (1000, 5, "hits"),
]  # fmt: skip

SIMULATIONS = [
    Simulation("difference of two prompts, sign flips", "test", f"{n} queries, {shape}, {k} prompts", 0.05,
               partial(_pair, answer="size", units=n, prompts=k, shape=shape), 0.0, 0.06)
    for n, k, shape in _SHAPES
] + [
    Simulation("difference of two prompts, false discoveries", "test", f"{n} queries, {shape}, {k} prompts", 0.05,
               partial(_pair, answer="any", units=n, prompts=k, shape=shape), 0.0, 0.06)
    for n, k, shape in [(20, 5, "hits"), (20, 15, "skewed"), (100, 15, "ranks")]
] + [
    Simulation("difference of two prompts, t interval with a bootstrap error", "interval", f"{n} queries, {shape}, {k} prompts",
               0.95, partial(_pair, answer="interval", units=n, prompts=k, shape=shape), 0.93, 1.0)
    for n, k, shape in [(20, 5, "hits"), (20, 5, "skewed"), (20, 5, "sts"), (100, 15, "ranks"), (1000, 2, "hits")]
] + [
    Simulation("difference of two prompts, sign flips", "power", "20 queries, normal, one prompt a standard deviation better", 0.8,
               lambda rng: query_noise(unit_table(rng, 20, 2, "normal", 0.1), draws=100)[1]["p_value"].item() < 0.05, 0.6, 1.0)
]  # fmt: skip
