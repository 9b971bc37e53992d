"""Prompts and tasks that could have been others: a two-level bootstrap of the scores of prompts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.scores.cells import PromptScores, as_cells

SMOOTHING = 0.5


def strata(cells: pd.DataFrame, prompts: PromptScores) -> list[np.ndarray]:
    """For every task the stratum of each of its prompts (whole numbers, in the order of `prompts.ids`).

    A stratum is a level of information and a generator (columns `level` and `source`), because that is how prompts were
    asked for: so many of each. A task with a stratum of fewer than three prompts is one stratum.
    """
    cells = as_cells(cells)
    by = [c for c in ("level", "source") if c in cells]
    known = cells[cells["kind"] == "prompt"].drop_duplicates(["task", "prompt_id"]).set_index(["task", "prompt_id"])
    out = []
    for task, ids in zip(prompts.tasks, prompts.ids, strict=True):
        if not ids or not by:
            out.append(np.zeros(len(ids), dtype=int))
            continue
        own = known.loc[[(task, i) for i in ids], by].fillna("").astype(str).agg("|".join, axis=1)
        small = own.value_counts().min() < 3
        out.append(np.zeros(len(ids), dtype=int) if small else pd.factorize(own)[0])
    return out


def resampled(
    values: np.ndarray,
    strata: list[np.ndarray],
    rng: np.random.Generator,
    tasks: bool = False,
    smoothing: float = SMOOTHING,
) -> np.ndarray:
    """Scores (models, tasks, prompts) of as many other prompts, and with `tasks` of as many other tasks.

    Within a task and stratum prompts are drawn with replacement, the same for all models, so that what models share
    stays shared. To every drawn prompt comes noise with `smoothing`^2 of the covariance that the models' scores have over
    the stratum's prompts, and the sum is drawn in until the expected variance of the sample is the unbiased one: without
    noise a model that no prompt at hand overtakes could not be overtaken by any other. Holes stay holes. Tasks are drawn
    with replacement, each with its own prompts. Silverman & Young (1987), The bootstrap: to smooth or not to smooth?,
    Biometrika; Davison & Hinkley (1997), Bootstrap Methods and their Application, section 3.8 for two levels.
    """
    n_tasks = values.shape[1]
    chosen = np.atleast_1d(rng.integers(0, n_tasks, size=n_tasks)) if tasks else np.arange(n_tasks)
    out = np.full(values.shape, np.nan)
    for place, t in enumerate(chosen):
        for stratum in np.unique(strata[t]):
            own = np.flatnonzero(strata[t] == stratum)
            out[:, place, own] = _other_prompts(values[:, t, own], rng, smoothing)
    return out


def _other_prompts(scores: np.ndarray, rng: np.random.Generator, smoothing: float) -> np.ndarray:
    n = scores.shape[1]
    here = np.isfinite(scores)
    count = here.sum(axis=1, keepdims=True)
    mean = np.where(here, scores, 0.0).sum(axis=1, keepdims=True) / np.maximum(count, 1)
    off = np.where(here, scores - mean, 0.0)
    drawn = rng.integers(0, n, n)
    noise = off @ rng.normal(size=(n, n)) / np.sqrt(np.maximum(count, 1))
    wide = np.sqrt(count / np.maximum(count - 1, 1) / (1 + smoothing**2))
    return np.where(here[:, drawn], mean + wide * (off[:, drawn] + smoothing * noise), np.nan)
