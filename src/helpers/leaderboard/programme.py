"""The integer programme behind `manipulation`: which prompt every cell shows, and who beats whom, in one set of equations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import optimize, sparse

from helpers.base.ties import levelled

Picks = dict[tuple[int, int], int]  # (model, task) -> option, by their numbers


@dataclass(frozen=True)
class Options:
    """Scores that every cell can show: `scores[m][t]` an array, its first entry the unchanged one (NaN if absent).

    Scores of one task that are equal up to rounding (`ties.compare`) are exactly equal here. `names[m][t]` holds the
    prompt id of each entry, None for the unchanged default.
    """

    models: list[str]
    tasks: list[str]
    scores: list[list[np.ndarray]]
    names: list[list[list[str | None]]]


def options(cells: pd.DataFrame, keep_default: bool = True) -> Options:
    """What each cell can show, from a `task_scores` table.

    keep_default: the default stands first and is the unchanged choice; a cell without a default is a hole and stays
    one. Otherwise only written prompts are choices, and a cell without any is a hole.
    """
    models, tasks = sorted(cells["model"].unique()), sorted(cells["task"].unique())
    usable = cells[cells["score"].notna()]
    default = usable[usable["kind"] == "default"].groupby(["model", "task"])["score"].mean()
    prompts = {k: g.sort_values("prompt_id") for k, g in usable[usable["kind"] == "prompt"].groupby(["model", "task"])}
    scores: list[list[np.ndarray]] = []
    names: list[list[list[str | None]]] = []
    for m in models:
        scores.append([])
        names.append([])
        for t in tasks:
            own = prompts.get((m, t))
            values = [] if own is None else own["score"].tolist()
            ids: list[str | None] = [] if own is None else own["prompt_id"].tolist()
            if keep_default:
                value = float(default.get((m, t), np.nan))
                # Without a default, a hole.
                values, ids = ([value, *values], [None, *ids]) if np.isfinite(value) else ([], [])
            if not values:
                values, ids = [np.nan], [None, *ids]
            scores[-1].append(np.array(values, dtype=float))
            names[-1].append(ids)
    for t in range(len(tasks)):
        row = [own[t] for own in scores]
        ends = np.cumsum([len(own) for own in row])[:-1]
        for own, equal in zip(scores, np.split(levelled(np.concatenate(row)), ends), strict=True):
            own[t] = equal
    return Options(models, tasks, scores, names)


def point_weights(choice: Options, holes: str) -> tuple[np.ndarray, float]:
    """What a half point counts for each model, and the smallest difference of two sums of them.

    1 and 1 as mteb counts; with holes "present" one over the number of a model's tasks.
    """
    own = np.array([sum(bool(np.isfinite(s).any()) for s in row) for row in choice.scores])
    if holes == "mteb":
        return np.ones(len(own)), 1.0
    return 1 / np.maximum(own, 1), 1 / math.lcm(*map(int, np.maximum(own, 1)))


class Programme:
    """The integer programme over all cells: one binary per option, and who beats whom for every pair and task.

    For two models and a task, `y` is what the first gets from the pair (0, 1/2, 1). With A(v), B(v) telling whether the
    option chosen by the first, the second is at least v, y is pinned by A(v) - B(v) <= y <= 1 + A(v) - B(v) at every
    value v; where values can be equal, y is the mean of "more" and "at least as much", each pinned alike.
    fix: "best" or "worst" shows the target with that option on every task; else it may keep its default or change to
    its best. holes: as in `leaderboard.borda`; with "present" a model's points are divided by the number of its tasks.
    """

    def __init__(self, choice: Options, a: int, fix: str | None = None, holes: str = "mteb") -> None:
        self.choice, self.a, self.holes = choice, a, holes
        self.weight, self.unit = point_weights(choice, holes)
        self.allowed: dict[tuple[int, int], np.ndarray] = {}
        self.rows: list[dict[int, float]] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.cost: list[float] = []
        self.whole: list[int] = []
        self.at: Picks = {}
        n_models, n_tasks = len(choice.models), len(choice.tasks)
        for m in range(n_models):
            for t in range(n_tasks):
                keep = np.arange(len(choice.scores[m][t]))
                if m == a:  # the target's extreme option is at least as good for its end as any other
                    edge = extreme(choice.scores[m][t], fix or "best")
                    keep = np.array([edge]) if fix else np.unique([0, edge])
                keep = keep[np.isfinite(choice.scores[m][t][keep])]
                self.allowed[m, t] = keep if len(keep) else np.array([0])
        for t in range(n_tasks):
            self._merge_equivalent(t)
        for m in range(n_models):
            for t in range(n_tasks):
                self.at[m, t] = len(self.cost)
                for o in self.allowed[m, t]:
                    self._variable(0.0 if choice.names[m][t][o] is None else 1.0, True)
                self._row({self.at[m, t] + k: 1.0 for k in range(len(self.allowed[m, t]))}, 1, 1)
        # points[m] = sum of coefficients * variables + constant, in half points
        self.points: list[dict[int, float]] = [{} for _ in range(n_models)]
        self.constant = np.zeros(n_models)
        for t in range(n_tasks):
            for i in range(n_models):
                for j in range(i + 1, n_models):
                    self._pair(i, j, t)

    def fewest(self, margin: int, seconds: float) -> tuple[str, Picks | None, int | None]:
        for c in range(len(self.choice.models)):
            if c != self.a:
                self._row(*self._lead(c, self.a, margin))
        return self._solve(np.array(self.cost), seconds)

    def best_rank(self, sign: int, seconds: float) -> tuple[float, bool]:
        """sign 1: as few models as possible strictly above the target; -1: as many as possible."""
        n = len(self.choice.models)
        big = 4.0 * n * (len(self.choice.tasks) if self.holes == "mteb" else 1)
        above = []
        for c in range(n):
            if c == self.a:
                continue
            b = self._variable(0.0, True)
            above.append(b)
            row, low, _ = self._lead(c, self.a, 0)
            if sign > 0:  # target - other >= -big * b
                self._row(row | {b: big}, low, np.inf)
            else:  # other - target >= unit where b = 1, i.e. target - other <= -unit + big * (1 - b)
                self._row(row | {b: big}, -np.inf, low - self.unit + big)
        cost = np.zeros(len(self.cost))
        cost[above] = sign
        result = self._milp(cost, seconds)
        if result.x is None:
            return np.nan, False
        return 1 + float(np.round(result.x[above]).sum()), result.status == 0

    def _lead(self, c: int, a: int, margin: int) -> tuple[dict[int, float], float, float]:
        row = dict(self.points[a])
        for k, v in self.points[c].items():
            row[k] = row.get(k, 0.0) - v
        return row, margin * self.unit - (self.constant[a] - self.constant[c]), np.inf

    def _pair(self, i: int, j: int, t: int) -> None:
        si = self.choice.scores[i][t][self.allowed[i, t]]
        sj = self.choice.scores[j][t][self.allowed[j, t]]
        # A hole is beaten by everybody who has the task and gets nothing; two holes get nothing.
        hi, hj = not np.isfinite(si).any(), not np.isfinite(sj).any()
        if hi or hj:
            if not (hi and hj) and self.holes == "mteb":
                self.constant[j if hi else i] += 2
            return
        if si.min() > sj.max() or si.max() < sj.min():
            first = i if si.min() > sj.max() else j
            self.constant[first] += 2 * self.weight[first]
            return
        ties = len(np.intersect1d(si, sj)) > 0
        more = self._variable(0.0, False)
        least = self._variable(0.0, False) if ties else more
        for v in _first_of_runs(si, sj):  # more >= [i >= v] - [j >= v]
            self._row(_sum({more: 1.0}, self._up(i, t, si, v), -1, self._up(j, t, sj, v), 1), 0, np.inf)
        for v in _first_of_runs(sj, si):  # at least <= 1 + [i >= v] - [j >= v]
            self._row(_sum({least: 1.0}, self._up(i, t, si, v), -1, self._up(j, t, sj, v), 1), -np.inf, 1)
        for v in np.unique(np.concatenate([si, sj])) if ties else ():
            over_i, over_j = self._up(i, t, si, v, strict=True), self._up(j, t, sj, v, strict=True)
            # more <= 1 + [i > v] - [j >= v], at least >= [i >= v] - [j > v]
            self._row(_sum({more: 1.0}, over_i, -1, self._up(j, t, sj, v), 1), -np.inf, 1)
            self._row(_sum({least: 1.0}, self._up(i, t, si, v), -1, over_j, 1), 0, np.inf)
        for y in (more, least):
            self.points[i][y] = self.points[i].get(y, 0.0) + self.weight[i]
            self.points[j][y] = self.points[j].get(y, 0.0) - self.weight[j]
            self.constant[j] += self.weight[j]

    def _merge_equivalent(self, t: int) -> None:
        """Keep one of a model's options between which no other model has one: they beat and lose to the same.

        The first one stays, which is the unchanged default where it is among them.
        """
        scores = [self.choice.scores[m][t][self.allowed[m, t]] for m in range(len(self.choice.models))]
        for m, own in enumerate(scores):
            others = np.unique(np.concatenate([x for k, x in enumerate(scores) if k != m] or [np.array([])]))
            side = np.searchsorted(others, own, "left") + np.searchsorted(others, own, "right")
            if np.isfinite(own).all():
                self.allowed[m, t] = self.allowed[m, t][np.sort(np.unique(side, return_index=True)[1])]

    def _up(self, m: int, t: int, scores: np.ndarray, v: float, strict: bool = False) -> dict[int, float]:
        hit = scores > v if strict else scores >= v
        return {self.at[m, t] + int(k): 1.0 for k in np.flatnonzero(hit)}

    def _variable(self, cost: float, whole: bool) -> int:
        self.cost.append(cost)
        self.whole.append(int(whole))
        return len(self.cost) - 1

    def _row(self, row: dict[int, float], low: float, high: float) -> None:
        self.rows.append(row)
        self.low.append(low)
        self.high.append(high)

    def _milp(self, cost: np.ndarray, seconds: float) -> optimize.OptimizeResult:
        place = np.repeat(np.arange(len(self.rows)), [len(r) for r in self.rows])
        column = np.fromiter((c for r in self.rows for c in r), dtype=int)
        value = np.fromiter((v for r in self.rows for v in r.values()), dtype=float)
        matrix = sparse.coo_matrix((value, (place, column)), shape=(len(self.rows), len(self.cost)))
        return optimize.milp(
            cost, integrality=np.array(self.whole), bounds=optimize.Bounds(0, 1),
            constraints=optimize.LinearConstraint(matrix.tocsc(), self.low, self.high), options={"time_limit": seconds},
        )  # fmt: skip

    def _solve(self, cost: np.ndarray, seconds: float) -> tuple[str, Picks | None, int | None]:
        result = self._milp(cost, seconds)
        status, bound = solver_status(result)
        if result.x is None:
            return status, None, bound
        picked = {}
        for (m, t), keep in self.allowed.items():
            k = int(np.argmax(result.x[self.at[m, t] : self.at[m, t] + len(keep)]))
            if self.choice.names[m][t][keep[k]] is not None:
                picked[m, t] = int(keep[k])
        return status, picked, bound


def _first_of_runs(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The values of `own` that need a row: the smallest of each run that no value of `other` divides."""
    values = np.unique(own)
    return values[np.unique(np.searchsorted(np.unique(other), values, "left"), return_index=True)[1]]


def solver_status(result: optimize.OptimizeResult) -> tuple[str, int | None]:
    if result.status == 0:
        return "optimal", None
    if result.status == 2:
        return "impossible", None
    bound = getattr(result, "mip_dual_bound", None)
    low = None if bound is None or not np.isfinite(bound) else int(np.ceil(bound - 1e-6))
    return ("bound" if result.x is not None else "unknown"), low


def extreme(scores: np.ndarray, end: str) -> int:
    """Index of the best or worst option; the first one wins ties, so that nothing changes without need."""
    if not np.isfinite(scores).any():
        return 0
    return int(np.nanargmax(scores) if end == "best" else np.nanargmin(scores))


def _sum(row: dict[int, float], a: dict[int, float], ka: float, b: dict[int, float], kb: float) -> dict[int, float]:
    for terms, factor in ((a, ka), (b, kb)):
        for k, v in terms.items():
            row[k] = row.get(k, 0.0) + factor * v
    return row
