"""How a Borda board is distributed when every model's prompt is drawn at random, instead of chosen.

Exact where the joint distribution is small enough, else Monte Carlo with a seed. Arrays hold scores as
(models, tasks, prompts), NaN where a model has no such prompt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.ties import levelled
from helpers.scores.cells import shared_prompts

MODES = ("independent", "shared")

HOLES = ("mteb", "present")


@dataclass(frozen=True)
class PointDraws:
    """Boards: points (n_boards, n_models) with the probability of each; `exact` or `n` Monte Carlo draws."""

    points: np.ndarray
    weight: np.ndarray
    exact: bool

    @property
    def method(self) -> str:
        return "exact" if self.exact else f"Monte Carlo, {len(self.weight):,} draws"


def random_boards(
    values: np.ndarray,
    draws: int = 10_000,
    mode: str = "independent",
    seed: int = 42,
    exact_limit: int = 200_000,
    holes: str = "mteb",
) -> PointDraws:
    """Borda points when prompts are drawn at random, uniformly over those that a model has on a task.

    mode "independent": every model draws its own prompt on every task; "shared": one prompt per task for all models
    (only prompts that all models with the task have). Draws of different tasks are independent.
    Points are mteb's: models beaten, ties half; a model without the task gets 0 on it and is beaten by all who have it.
    holes "present": mean points over the tasks that a model has, against the models that have them (`leaderboard.borda`).
    Exact: the distribution of the points vector is convolved task by task while neither one task's combinations nor
    the number of distinct vectors exceeds `exact_limit`; otherwise `draws` random boards.
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not '{mode}'")
    values = np.asarray(values, dtype=float)
    if values.ndim != 3 or 0 in values.shape[:2]:
        raise ValueError("values must be an array of (models, tasks, prompts) with at least one model and task")
    if holes not in HOLES:
        raise ValueError(f"holes must be one of {', '.join(HOLES)}, not '{holes}'")
    tasks = [_codes(values[:, t]) for t in range(values.shape[1])]
    exact = _exact(tasks, mode, exact_limit)
    if exact is not None:
        return _of_present(exact, tasks, mode) if holes == "present" else exact
    rng = np.random.default_rng(seed)
    total = np.zeros((draws, values.shape[0]), dtype=np.int32)
    for codes in tasks:
        total += _points(_draw(codes, draws, mode, rng))
    boards = PointDraws(total / 2, np.full(draws, 1 / draws), False)
    return _of_present(boards, tasks, mode) if holes == "present" else boards


def rank_table(boards: PointDraws, models: list[str], level: float = 0.95) -> pd.DataFrame:
    """Per model: mean and central `level` interval of its rank, P(rank 1), mean points, and how it was computed.

    Equal points share the best of their ranks. p_low, p_high: the Clopper-Pearson interval of P(rank 1) where the boards
    were drawn (Clopper and Pearson 1934, Biometrika 26), P(rank 1) itself where all were counted. That is the error of
    counting boards of these prompts alone; `certainty.Redrawn.beside` widens it to other prompts.
    """
    ranks = stats.rankdata(-boards.points, method="min", axis=1)
    rows = []
    for k, model in enumerate(models):
        chance = np.bincount(ranks[:, k].astype(int), weights=boards.weight, minlength=len(models) + 1)
        cumulative = np.cumsum(chance)
        first = float(chance[1])
        n = len(boards.weight)
        bounds = (first, first) if boards.exact else stats.binomtest(round(first * n), n).proportion_ci(level)
        rows.append({
            "model": model,
            "mean_rank": float(chance @ np.arange(len(chance))),
            "rank_low": int(np.searchsorted(cumulative, (1 - level) / 2 + 1e-12)),
            "rank_high": int(np.searchsorted(cumulative, (1 + level) / 2 - 1e-12)),
            "best_rank": int(ranks[:, k].min()), "worst_rank": int(ranks[:, k].max()),
            "p_first": first,
            "p_low": bounds[0], "p_high": bounds[1],
            "mean_points": float(boards.weight @ boards.points[:, k]),
            "method": boards.method,
        })  # fmt: skip
    return pd.DataFrame(rows).sort_values(["mean_rank", "model"], ignore_index=True)


def rank_probabilities(boards: PointDraws, models: list[str]) -> pd.DataFrame:
    """P(rank = r) of every model: columns model, rank, probability; impossible ranks have probability 0."""
    ranks = stats.rankdata(-boards.points, method="min", axis=1).astype(int)
    n = len(models)
    chance = [np.bincount(ranks[:, k], weights=boards.weight, minlength=n + 1)[1:] for k in range(n)]
    return pd.DataFrame({
        "model": np.repeat(models, n), "rank": np.tile(np.arange(1, n + 1), n), "probability": np.concatenate(chance),
    })  # fmt: skip


def pairwise_wins(boards: PointDraws, models: list[str], block: int = 500) -> pd.DataFrame:
    """P(row has more points than column), ties counted half: a model x model frame with NaN on the diagonal."""
    n = len(models)
    wins = np.zeros((n, n))
    for start in range(0, len(boards.weight), block):
        p, w = boards.points[start : start + block], boards.weight[start : start + block]
        gap = np.sign(p[:, :, None] - p[:, None, :])
        wins += np.tensordot(w, (gap + 1) / 2, axes=1)
    np.fill_diagonal(wins, np.nan)
    return pd.DataFrame(wins, index=pd.Index(models, name="model"), columns=models)


def _of_present(boards: PointDraws, tasks: list[np.ndarray], mode: str) -> PointDraws:
    """Mean points over the tasks that a model has: who lacks a task was counted as beaten there, by everybody alike."""
    there = np.stack(
        [(codes >= 0).any(axis=1) & (mode != "shared" or len(shared_prompts(codes)) > 0) for codes in tasks]
    )
    given = (there * (~there).sum(axis=1, keepdims=True)).sum(axis=0)
    own = (boards.points - given) / np.maximum(there.sum(axis=0), 1)
    return PointDraws(levelled(own), boards.weight, boards.exact)


def _codes(scores: np.ndarray) -> np.ndarray:
    """Scores of one task (models, prompts) as dense ranks from 1, -1 for a hole: comparing codes compares scores.

    Scores that `ties.compare` calls equal share a code.
    """
    out = np.full(scores.shape, -1, dtype=np.int32)
    finite = np.isfinite(scores)
    if finite.any():
        out[finite] = np.unique(levelled(scores[finite]), return_inverse=True)[1] + 1
    return out


def _draw(codes: np.ndarray, draws: int, mode: str, rng: np.random.Generator) -> np.ndarray:
    """Codes of one random prompt per model: (draws, models)."""
    n_models = len(codes)
    if mode == "shared":
        columns = shared_prompts(codes)
        if not len(columns):
            return np.full((draws, n_models), -1, dtype=np.int32)
        return np.ascontiguousarray(codes[:, rng.choice(columns, size=draws)].T)
    packed = -np.sort(-codes, axis=1)  # holes (-1) go to the end
    count = np.maximum((codes >= 0).sum(axis=1), 1)
    if (count == count[0]).all():
        pick = rng.integers(0, count[0], size=(draws, n_models), dtype=np.uint16)
    else:
        pick = rng.integers(0, count, size=(draws, n_models), dtype=np.uint16)
    flat = pick + (np.arange(n_models, dtype=np.int32) * packed.shape[1])
    return packed.ravel().take(flat)


def _points(drawn: np.ndarray, block: int = 1000) -> np.ndarray:
    """Twice the Borda points of each row of codes, as whole numbers; holes (-1) get 0."""
    out = np.empty(drawn.shape, dtype=np.int32)
    for start in range(0, len(drawn), block):  # blocks that stay in the processor's cache
        out[start : start + block] = _points_of(drawn[start : start + block])
    return out


def _points_of(drawn: np.ndarray) -> np.ndarray:
    rows, n = drawn.shape
    bits = max(1, (n - 1).bit_length())  # code and model in one number, so that one sort orders both
    key = (drawn.astype(np.int32) << bits) | np.arange(n, dtype=np.int32)
    key.sort(axis=1)
    code, model = key >> bits, key & ((1 << bits) - 1)
    place = np.broadcast_to(np.arange(n, dtype=np.int32), key.shape)
    new = np.ones(key.shape, dtype=bool)
    np.not_equal(code[:, 1:], code[:, :-1], out=new[:, 1:])
    twice = 2 * place
    if not new.all():  # first and last place of every group of equal codes
        first = np.maximum.accumulate(np.where(new, place, 0), axis=1)
        ends = np.ones(key.shape, dtype=bool)
        ends[:, :-1] = new[:, 1:]
        last = np.minimum.accumulate(np.where(ends, place, n - 1)[:, ::-1], axis=1)[:, ::-1]
        twice = np.where(code < 0, 0, first + last)
    out = np.empty(rows * n, dtype=np.int32)
    out[model + (np.arange(rows, dtype=np.int32) * n)[:, None]] = twice
    if (key[:, 0] < 0).any():
        out[(drawn < 0).ravel()] = 0
    return out.reshape(rows, n)


def _exact(tasks: list[np.ndarray], mode: str, limit: int) -> PointDraws | None:
    """The joint distribution of points, convolved over tasks; None where it would grow beyond the limit.

    A vector of doubled points is one whole number in a base that no sum exceeds, so adding vectors is adding numbers.
    """
    n = len(tasks[0])
    base = 2 * max(n - 1, 1) * len(tasks) + 1
    if n * math.log2(base) > 62:
        return None
    digits = base ** np.arange(n, dtype=np.int64)
    states: np.ndarray = np.zeros(1, dtype=np.int64)
    weight: np.ndarray = np.ones(1)
    for codes in tasks:
        if mode == "shared":
            columns = shared_prompts(codes)
            outcomes = codes[:, columns].T if len(columns) else np.full((1, n), -1, dtype=np.int32)
        else:
            own = [row[row >= 0] if (row >= 0).any() else np.array([-1], dtype=np.int32) for row in codes]
            if math.prod(len(o) for o in own) > limit:
                return None
            outcomes = np.stack([g.ravel() for g in np.meshgrid(*own, indexing="ij")], axis=1)
        vectors, count = np.unique(_points(outcomes) @ digits, return_counts=True)
        if len(states) * len(vectors) > 20 * limit:
            return None
        states, place = np.unique((states[:, None] + vectors).ravel(), return_inverse=True)
        weight = np.bincount(place, weights=(weight[:, None] * (count / count.sum())).ravel())
        if len(states) > limit:
            return None
    return PointDraws(states[:, None] // digits % base / 2, weight, True)
