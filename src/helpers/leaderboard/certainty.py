"""How sure the ranks of random prompts are: other prompts, and other tasks, would give other probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.stats import holm, sign_flip
from helpers.leaderboard.random_ranks import PointDraws, pairwise_wins, random_boards
from helpers.scores.board import borda_points
from helpers.scores.cells import PromptScores
from helpers.scores.resample import resampled

TASKS = 6  # with fewer a sign-flip test over tasks cannot find anything at 5 %


@dataclass(frozen=True)
class Redrawn:
    """What `n` bootstrap samples give: p_first (n, models), wins (n, models, models) with other prompts; ranks (models,
    models) the probability of rank 1, 2, ... with other prompts and tasks, None with fewer than `TASKS` tasks."""

    models: list[str]
    p_first: np.ndarray
    wins: np.ndarray
    ranks: np.ndarray | None
    draws: int

    def beside(self, table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
        """A `rank_table` with p_low and p_high: the interval of P(rank 1) over other prompts for the same tasks (bootstrap,
        no narrower than `rank_table`'s own, which counts the random boards); and for other tasks, too, p_first_tasks and
        the interval of the rank, rank_low_tasks to rank_high_tasks (missing with fewer than `TASKS` tasks)."""
        place = [self.models.index(m) for m in table["model"]]
        low, high = np.quantile(self.p_first[:, place], [(1 - level) / 2, (1 + level) / 2], axis=0)
        most = _most(self.draws, level)
        low, high = np.minimum(low, most), np.maximum(high, 1 - most)
        out = table.assign(p_low=np.fmin(low, table["p_low"]), p_high=np.fmax(high, table["p_high"]))
        if self.ranks is None:
            return out.assign(p_first_tasks=np.nan, rank_low_tasks=np.nan, rank_high_tasks=np.nan)
        chance = np.cumsum(self.ranks[place], axis=1)
        return out.assign(
            p_first_tasks=chance[:, 0],
            rank_low_tasks=(chance < (1 - level) / 2 + 1e-12).sum(axis=1) + 1.0,
            rank_high_tasks=(chance < (1 + level) / 2 - 1e-12).sum(axis=1) + 1.0,
        )


def redrawn(
    prompts: PromptScores,
    strata: list[np.ndarray],
    samples: int = 300,
    per_sample: int = 600,
    mode: str = "independent",
    holes: str = "mteb",
    seed: int = 42,
    tasks: bool = True,
) -> Redrawn:
    """Random boards (`random_boards`, `per_sample` each) of `samples` bootstrap samples of the prompts (`scores.resample`),
    and with `tasks` of as many in which the tasks are drawn as well."""
    rng = np.random.default_rng(seed)
    n = len(prompts.models)
    first, wins, ranks = np.empty((samples, n)), np.empty((samples, n, n)), np.zeros((n, n))
    many = tasks and len(prompts.tasks) >= TASKS
    for k in range(samples):
        boards = _boards(resampled(prompts.values, strata, rng), per_sample, mode, holes, rng)
        first[k] = (_ranks(boards) == 1).mean(axis=0)
        wins[k] = pairwise_wins(boards, prompts.models).to_numpy()
        if many:
            other = _ranks(_boards(resampled(prompts.values, strata, rng, tasks=True), per_sample, mode, holes, rng))
            ranks += [np.bincount(column, minlength=n + 1)[1:] / per_sample / samples for column in other.T]
    return Redrawn(list(prompts.models), first, wins, ranks if many else None, per_sample)


def order_table(wins: pd.DataFrame, found: Redrawn, prompts: PromptScores, level: float = 0.95) -> pd.DataFrame:
    """Every pair of models, the likelier winner first: is their order certain?

    Columns: winner, loser; probability that the winner has more points under random prompts (ties half) and its interval
    low, high over other prompts for these tasks; verdict "certain" where even `low` is `level` or more, "open" where the
    interval holds one half, else "likely". For other tasks: p_tasks and p_holm (over all pairs), the exact sign-flip test
    of the difference in mean Borda points over tasks, missing with fewer than `TASKS` tasks that both models have.
    """
    rows = []
    points = _mean_points(prompts)
    for a, b in combinations(range(len(found.models)), 2):
        one, other = (a, b) if wins.iloc[a, b] >= wins.iloc[b, a] else (b, a)
        low, high = np.quantile(found.wins[:, one, other], [(1 - level) / 2, (1 + level) / 2])
        value = float(wins.iloc[one, other])
        most = _most(found.draws, level)
        low, high = min(low, value, most), max(high, value, 1 - most)
        gap = points[one] - points[other]
        gap = gap[np.isfinite(gap)]
        rows.append({
            "winner": found.models[one], "loser": found.models[other], "probability": value, "low": low, "high": high,
            "verdict": "certain" if low >= level else "open" if low <= 0.5 else "likely",
            "p_tasks": float(sign_flip(gap)) if len(gap) >= TASKS else np.nan,
        })  # fmt: skip
    columns = ["winner", "loser", "probability", "low", "high", "verdict", "p_tasks"]
    table = pd.DataFrame(rows, columns=columns)
    p = table["p_tasks"].to_numpy(float)
    adjusted = np.full(len(p), np.nan)
    adjusted[np.isfinite(p)] = holm(p[np.isfinite(p)])
    return table.assign(p_holm=adjusted)


def _most(draws: int, level: float) -> float:
    """Clopper-Pearson's lower end where all of `draws` boards agree: what none of them shows is not impossible."""
    return ((1 - level) / 2) ** (1 / draws)


def _mean_points(prompts: PromptScores) -> np.ndarray:
    """Borda points of the models' mean scores on each task, (models, tasks); NaN where a model has no score."""
    some = np.isfinite(prompts.values)
    mean = np.where(some, prompts.values, 0).sum(axis=2) / np.maximum(some.sum(axis=2), 1)
    mean = pd.DataFrame(np.where(some.any(axis=2), mean, np.nan))
    return borda_points(mean, "present").to_numpy(float)


def _boards(values: np.ndarray, draws: int, mode: str, holes: str, rng: np.random.Generator) -> PointDraws:
    return random_boards(values, draws, mode, int(rng.integers(2**31)), exact_limit=0, holes=holes)


def _ranks(boards: PointDraws) -> np.ndarray:
    return stats.rankdata(-boards.points, method="min", axis=1).astype(int)
