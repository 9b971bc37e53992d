"""Do two sets of prompts score differently, or are they equivalent? Human against generated, level against level."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.stats import holm
from helpers.base.ties import compare
from helpers.sensitivity.pooling import Estimate, difference, over_tasks

KINDS = ("source", "generator", "level")

ALL = "all tasks"

COMPARISON = [
    "kind", "first", "second", "task", "models", "tasks", "first_prompts", "second_prompts", "difference", "low", "high",
    "delta", "delta_low", "delta_high", "p_value", "p_equivalent", "p_holm", "p_equivalent_holm", "verdict",
]  # fmt: skip


def compare_sets(
    scores: pd.DataFrame,
    cells: pd.DataFrame,
    margin: float = 0.01,
    alpha: float = 0.05,
    level: float = 0.95,
    kinds: Sequence[str] = KINDS,
) -> pd.DataFrame:
    """Every two sources, generators and levels of prompts against each other: one row per task, one for `ALL` of them.

    scores: a scores table, of which the columns `kinds` say which sets a prompt is in ("a|b": both; such a prompt is in
    no comparison of a with b); cells: its `task_scores`. difference: mean score of the first set less that of the
    second, mean over the models that have two prompts of each; delta: Cliff's, the share of pairs in which the first
    set's prompt scores higher less the share in which it scores lower, mean over these models (`dominance`). Tasks are
    pooled as a sample (`pooling.over_tasks`), so that a difference that turns from task to task is none; one task alone
    (column tasks) tells about itself. Both with `level` intervals; those of delta hold the truth in 92 to 98 % of
    simulated studies.

    p_value: of "no difference"; p_equivalent: of "the difference is `margin` or more", the larger p-value of two
    one-sided tests (Schuirmann 1987, doi:10.1007/BF01068419); both with Holm's correction over the rows of `ALL`.
    verdict at `alpha`: "equivalent", "differs", "differs by less than the margin" where both hold, else "undecided".
    """
    written = cells[(cells["kind"] == "prompt") & cells["score"].notna()]
    rows = []
    for kind in kinds:
        for (first, second), part in _pairs(scores, written, kind):
            found = {task: f for task, own in part.groupby("task", sort=True) if (f := _task(own))}
            if not found:
                continue
            values, deltas = over_tasks([f[0] for f in found.values()]), over_tasks([f[1] for f in found.values()])
            of = {"kind": kind, "first": first, "second": second}
            rows.append(of | _row(ALL, values, deltas, [f[2] for f in found.values()], level))
            rows[-1] |= {"p_value": values.p_value(), "p_equivalent": _equivalent(values, margin)}
            rows += [of | _row(task, f[0], f[1], [f[2]], level) for task, f in found.items()]
    table = pd.DataFrame(rows, columns=COMPARISON)
    pooled = table["task"] == ALL
    for column in ("p_value", "p_equivalent"):
        known = pooled & table[column].notna()
        table.loc[known, "p_holm" if column == "p_value" else f"{column}_holm"] = holm(
            table.loc[known, column].to_numpy(float)
        )
    differs, same = table["p_holm"].astype(float) <= alpha, table["p_equivalent_holm"].astype(float) <= alpha
    verdicts = np.select(
        [differs & same, differs, same], ["differs by less than the margin", "differs", "equivalent"], "undecided"
    )
    return table.assign(verdict=np.where(pooled, verdicts, ""))


def dominance(first: np.ndarray, second: np.ndarray) -> Estimate:
    """Cliff's delta of two sets of scores, arrays (models, prompts), mean over models; its error is that of the prompts.

    1 where every prompt of the first set beats every one of the second, 0 where neither tends to win. The variance is
    Cliff's unbiased one (Cliff 1993, Dominance statistics, Psychological Bulletin 114), never below that of a random
    pair; at least two prompts a set. NaN scores are left out. The parts are by position: first set, then second.

    >>> dominance(np.array([[1, 2, 3]]), np.array([[2, 2]])).value
    0.0
    """
    wins = compare(first[:, :, None], second[:, None, :]).astype(float)
    wins[np.isnan(first)[:, :, None] | np.isnan(second)[:, None, :]] = np.nan
    wins = np.nanmean(wins, axis=0)
    n, m = wins.shape
    value = float(wins.mean())
    a, b = wins.mean(axis=1) - value, wins.mean(axis=0) - value
    squares = m**2 * (a**2).sum() + n**2 * (b**2).sum() - ((wins - value) ** 2).sum()
    variance = max(squares / (n * m * (n - 1) * (m - 1)), (1 - value**2) / (n * m - 1))
    parts = np.concatenate([a / n, b / m])
    return Estimate(value, float(np.sqrt(variance)), n + m - 2.0, pd.Series(parts))


def delta_interval(found: Estimate, prompts: int, level: float = 0.95) -> tuple[float, float]:
    """Interval of Cliff's delta, inside -1 to 1 and not symmetric; `prompts`: of the smaller set.

    Feng & Cliff (2004), Monte Carlo evaluation of ordinal d with improved confidence interval, Journal of Modern
    Applied Statistical Methods 3, with the t quantile of the estimate's degrees of freedom.
    """
    t2 = float(stats.t.ppf((1 + level) / 2, found.df)) ** 2
    if abs(found.value) == 1:  # no variance to see
        end = max((prompts - t2) / (prompts + t2), -1.0)
        return (end, 1.0) if found.value > 0 else (-1.0, -end)
    d, s2 = found.value, found.error**2
    reach = float(np.sqrt(t2 * s2 * ((1 - d**2) ** 2 + t2 * s2)))
    low, high = ((d - d**3 + sign * reach) / (1 - d**2 + t2 * s2) for sign in (-1, 1))
    return max(low, -1.0), min(high, 1.0)


def _pairs(scores: pd.DataFrame, cells: pd.DataFrame, kind: str) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Every two sets of a kind with their cells, column `in_first`; what is in both or in neither is left out."""
    if kind not in scores:
        return
    keys = ["task", "prompt_id"]
    named = scores[[*keys, kind]].astype(object).dropna().drop_duplicates(keys)
    sets = named[kind].str.split("|").map(set)
    for first, second in itertools.combinations(sorted(set().union(*sets)), 2):
        a, b = (sets.map(lambda own, name=name: name in own) for name in (first, second))
        yield (first, second), cells.merge(named.assign(in_first=a)[a != b], on=keys)


def _task(part: pd.DataFrame) -> tuple[Estimate, Estimate, tuple[int, int, int]] | None:
    """Difference, delta and numbers of models and prompts on one task; None where no model has two prompts of each."""
    table = part.pivot(index="model", columns="prompt_id", values="score")
    in_first = dict(zip(part["prompt_id"], part["in_first"], strict=True))
    first = np.array([in_first[prompt] for prompt in table.columns], dtype=bool)
    known = np.isfinite(table.to_numpy(float))
    enough = (known[:, first].sum(axis=1) > 1) & (known[:, ~first].sum(axis=1) > 1)
    table = table[enough].dropna(axis=1, how="all")
    if table.empty:
        return None
    first = np.array([in_first[prompt] for prompt in table.columns], dtype=bool)
    centred = table.sub(table.mean(axis=1), axis=0).mean()
    one, other = table.loc[:, first], table.loc[:, ~first]
    found = dominance(one.to_numpy(), other.to_numpy())
    named = found.parts.set_axis([*one.columns, *other.columns])
    delta = Estimate(found.value, found.error, found.df, named)
    return difference(centred, first), delta, (len(table), one.shape[1], other.shape[1])


def _row(
    task: str, value: Estimate, delta: Estimate, sizes: list[tuple[int, int, int]], level: float
) -> dict[str, object]:
    low, high = value.interval(level)
    models, first, second = zip(*sizes, strict=True)
    ends = delta_interval(delta, min(sum(first), sum(second)), level)
    return {
        "task": task, "models": max(models), "tasks": len(sizes), "first_prompts": sum(first), "second_prompts": sum(second),
        "difference": value.value, "low": low, "high": high, "delta": delta.value, "delta_low": ends[0], "delta_high": ends[1],
    }  # fmt: skip


def _equivalent(value: Estimate, margin: float) -> float:
    return max(value.p_value(-margin, "greater"), value.p_value(margin, "less"))
