"""How far a rank can be pushed by choosing prompts, and by how few choices.

Exact: integer programmes solved by HiGHS through `scipy.optimize.milp`. A cell is a (model, task); without a change it
shows its default score, with a change that of one of its written prompts, of as many as the model has there. Ranks are
Borda ranks (`holes` as in `leaderboard.borda`), equal points share the best rank, so "rank 1" means that no model has more
points.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import optimize

from helpers.leaderboard.programme import Options, Picks, Programme, extreme, options, point_weights, solver_status
from helpers.scores.board import borda, borda_points

PLAN_COLUMNS = ["model", "task", "prompt_id", "prompt", "from", "to"]


@dataclass(frozen=True)
class Plan:
    """The answer to "how few changes make the target first?".

    status: "optimal" (`changes` is the minimum), "impossible" (no choice of prompts does it), "bound" (time ran out:
    `changes` do it, at least `lower_bound` are needed) or "unknown" (time ran out without a plan). steps: one row per
    changed cell (`PLAN_COLUMNS`).
    """

    target: str
    scope: str
    status: str
    changes: int | None = None
    lower_bound: int | None = None
    steps: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=PLAN_COLUMNS))


def fewest_changes(
    cells: pd.DataFrame,
    target: str,
    scope: str = "own",
    strict: bool = False,
    seconds: float = 30.0,
    holes: str = "mteb",
) -> Plan:
    """The fewest cells whose prompt must change so that `target` reaches rank 1.

    scope "own": only the target's prompts may change. A model's best prompt on a task never hurts it, so the choice is
    which tasks to change. scope "all": the competitors' prompts may change too; lowering one competitor lifts others,
    which the programme accounts for pair by pair.
    strict: no other model may have as many points. seconds: time for the solver.
    Raises ValueError for an unknown target or scope.
    """
    choice = options(cells)
    if target not in choice.models:
        raise ValueError(f"unknown model '{target}'; known: {', '.join(choice.models)}")
    if scope not in ("own", "all"):
        raise ValueError(f"scope must be 'own' or 'all', not '{scope}'")
    a = choice.models.index(target)
    if not any(np.isfinite(s).any() for s in choice.scores[a]):
        return Plan(target, scope, "impossible")
    margin = 1 if strict else 0  # in half points
    if scope == "own":
        status, picked, bound = _own(choice, a, margin, seconds, holes)
    else:
        status, picked, bound = Programme(choice, a, holes=holes).fewest(margin, seconds)
    if picked is None:
        return Plan(target, scope, status, None, bound)
    steps = _steps(cells, choice, picked)
    return Plan(target, scope, status, len(steps), bound if status == "bound" else len(steps), steps)


def reachable_ranks(
    cells: pd.DataFrame, keep_default: bool = True, seconds: float = 30.0, holes: str = "mteb"
) -> pd.DataFrame:
    """Best and worst rank that every model can reach by choosing prompts.

    Columns model, default; best_own, worst_own (only its own prompts change, the others keep their default); best_all,
    worst_all (all prompts may be chosen, keep_default: the default is one of the choices), and `exact`, False where the
    solver's time ran out and best_all or worst_all is only what was found.
    """
    choice = options(cells)
    free = options(cells, keep_default)
    start = _matrix(choice, {})
    plain = borda(start, holes).set_index("model")["rank"]
    rows = []
    for k, model in enumerate(choice.models):
        if pd.isna(plain[model]):
            continue
        own = options(cells, keep_default)
        high, low = ({(k, t): extreme(own.scores[k][t], e) for t in range(len(own.tasks))} for e in ("best", "worst"))
        best, exact_best = _reach(free, k, "best", seconds, holes)
        worst, exact_worst = _reach(free, k, "worst", seconds, holes)
        rows.append({
            "model": model, "default": plain[model],
            "best_own": _rank(_with_row(start, own, high), k, holes),
            "worst_own": _rank(_with_row(start, own, low), k, holes),
            "best_all": best, "worst_all": worst, "exact": exact_best and exact_worst,
        })  # fmt: skip
    columns = ["model", "default", "best_own", "worst_own", "best_all", "worst_all", "exact"]
    return pd.DataFrame(rows, columns=columns).sort_values(["default", "model"], ignore_index=True)


def plans(cells: pd.DataFrame, seconds: float = 30.0, holes: str = "mteb") -> tuple[pd.DataFrame, pd.DataFrame]:
    """`fewest_changes` of every model in both scopes: (summary, steps of all plans with columns target, scope)."""
    rows, steps = [], []
    for target in sorted(cells["model"].unique()):
        for scope in ("own", "all"):
            plan = fewest_changes(cells, target, scope, seconds=seconds, holes=holes)
            rows.append({"model": target, "scope": scope, "status": plan.status, "changes": plan.changes,
                         "lower_bound": plan.lower_bound})  # fmt: skip
            steps.append(plan.steps.assign(target=target, scope=scope))
    table = pd.DataFrame(rows).astype({"changes": "Int64", "lower_bound": "Int64"})
    return table, pd.concat(steps, ignore_index=True)[["target", "scope", *PLAN_COLUMNS]]


def _own(choice: Options, a: int, margin: int, seconds: float, holes: str) -> tuple[str, Picks | None, int | None]:
    """Which of the target's cells to change to their best prompt: a small knapsack-like programme."""
    n_tasks = len(choice.tasks)
    best = {(a, t): extreme(choice.scores[a][t], "best") for t in range(n_tasks)}
    weight, unit = point_weights(choice, holes)
    now, then = (weight[:, None] * _half_points(_matrix(choice, picks), holes) for picks in ({}, best))
    others = [c for c in range(len(choice.models)) if c != a]
    if not others:
        return "optimal", {}, 0
    lead, gained = now[a] - now[others], then[a] - then[others]
    gain = gained - lead
    result = optimize.milp(
        np.ones(n_tasks), integrality=np.ones(n_tasks), bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(gain, lb=margin * unit - lead.sum(axis=1) - 1e-9), options={"time_limit": seconds},
    )  # fmt: skip
    status, bound = solver_status(result)
    if result.x is None:
        return status, None, bound
    return (status, {(a, t): best[a, t] for t in range(n_tasks) if result.x[t] > 0.5 and best[a, t] != 0}, bound)


def _reach(choice: Options, a: int, end: str, seconds: float, holes: str) -> tuple[float, bool]:
    """Best or worst rank when every prompt may be chosen; the plain extreme first, the programme where it is short."""
    other = {"best": "worst", "worst": "best"}[end]
    picks = {
        (m, t): extreme(choice.scores[m][t], end if m == a else other)
        for m in range(len(choice.models)) for t in range(len(choice.tasks))
    }  # fmt: skip
    rank = _rank(_matrix(choice, picks), a, holes)
    if rank == (1 if end == "best" else len(choice.models)):
        return rank, True
    programme = Programme(choice, a, fix=end, holes=holes)
    found, exact = programme.best_rank(1 if end == "best" else -1, seconds)
    if not np.isfinite(found):
        return rank, False
    return (min(rank, found) if end == "best" else max(rank, found)), exact


def _matrix(choice: Options, picks: Picks) -> pd.DataFrame:
    values = [[s[picks.get((m, t), 0)] for t, s in enumerate(row)] for m, row in enumerate(choice.scores)]
    return pd.DataFrame(values, index=pd.Index(choice.models, name="model"), columns=choice.tasks)


def _with_row(matrix: pd.DataFrame, choice: Options, picks: Picks) -> pd.DataFrame:
    out = matrix.copy()
    for (m, t), o in picks.items():
        out.iat[m, t] = choice.scores[m][t][o]
    return out


def _half_points(matrix: pd.DataFrame, holes: str) -> np.ndarray:
    return np.nan_to_num(np.round(2 * borda_points(matrix, holes).to_numpy(float)))


def _rank(matrix: pd.DataFrame, k: int, holes: str) -> float:
    return float(borda(matrix, holes).set_index("model")["rank"].loc[matrix.index[k]])


def _steps(cells: pd.DataFrame, choice: Options, picked: Picks) -> pd.DataFrame:
    texts = cells.dropna(subset=["prompt"]).drop_duplicates("prompt_id").set_index("prompt_id")["prompt"]
    rows = []
    for (m, t), o in sorted(picked.items()):
        name = choice.names[m][t][o]
        rows.append({"model": choice.models[m], "task": choice.tasks[t], "prompt_id": name, "prompt": texts.get(name),
                     "from": float(choice.scores[m][t][0]), "to": float(choice.scores[m][t][o])})  # fmt: skip
    return pd.DataFrame(rows, columns=PLAN_COLUMNS)
