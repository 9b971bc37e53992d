"""Is a default score like for like with the prompt runs beside it? One audit for every study.

A default that was measured on other languages, other splits, another revision of the data or of the model answers
another question than the prompt runs, and its place among them says nothing about wording. Differences of two grades:
"differs" (another quantity was measured) and "caution" (the same quantity, but a condition is not the same).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from helpers.scores.board import borda, borda_points
from helpers.scores.cells import task_scores
from helpers.sensitivity.defaults import standing

# check -> (columns that are compared, grade of a difference)
CHECKS: dict[str, tuple[list[str], str]] = {
    "records (split/subset)": (["split", "subset"], "differs"),
    "languages": (["languages"], "differs"),
    "data set revision": (["dataset_revision"], "differs"),
    "model revision": (["revision"], "differs"),
    "numeric type": (["dtype"], "differs"),
    "length limit": (["max_length"], "differs"),
    "mteb version": (["mteb_version"], "caution"),
}


def audit_table(scores: pd.DataFrame, reference: pd.DataFrame | None = None) -> pd.DataFrame:
    """Compare every (model, task)'s default with its prompt runs: one row per check.

    scores: a scores table (a row per record). reference: scores whose defaults are audited instead of those in
    `scores` (a public leaderboard's), matched by `model_name` and task. Columns model, task, check, status, default,
    prompts. status: "same"; "differs" or "caution" (see `CHECKS`); "unknown" where either side does not say;
    "missing" where there is no default. Values are sorted and joined with commas.
    The check "prompt applied" tells how text is put before the input (column `default_prefix` of the defaults): raw,
    through the model's template, or nothing at all.
    """
    rows: list[dict[str, object]] = []
    who = "model" if reference is None else "model_name"
    prompts, defaults = (_compared(scores, "prompt"), _compared(scores if reference is None else reference, "default"))
    groups = dict(iter(defaults.groupby([who, "task"]))) if len(defaults) else {}
    for (model, task), part in prompts.groupby(["model", "task"], sort=True):
        own = groups.get((part[who].iloc[0], task))
        key = {"model": model, "task": task}
        if own is None:
            rows.append(key | {"check": "default missing", "status": "missing", "default": "", "prompts": len(part)})
            continue
        for check, (columns, grade) in CHECKS.items():
            a, b = _values(own, columns), _values(part, columns)
            status = "unknown" if not a or not b else "same" if a == b else grade
            rows.append(key | {"check": check, "status": status, "default": ", ".join(a), "prompts": ", ".join(b)})
        rows.append(key | _applied(own, part))
    table = pd.DataFrame(rows, columns=["model", "task", "check", "status", "default", "prompts"])
    return table.assign(prompts=table["prompts"].astype(str))


def cell_grades(table: pd.DataFrame) -> pd.DataFrame:
    """One row per (model, task): the worst status and the checks that say so; `like_for_like` where none differs.

    `strictly_like` is True only where there is no caution and nothing unknown that is compared (numeric type and
    length limit may be unknown: result files rarely hold them).
    """
    order = {"same": 0, "unknown": 1, "caution": 2, "differs": 3, "missing": 4}
    rows = []
    for (model, task), part in table.groupby(["model", "task"], sort=True):
        worst = max(part["status"], key=lambda s: order[s])
        named = part.loc[part["status"].isin(["differs", "caution", "missing"]), "check"]
        silent = part.loc[
            (part["status"] == "unknown") & ~part["check"].isin(["numeric type", "length limit"]), "check"
        ]
        rows.append({
            "model": model, "task": task, "worst": worst, "checks": ", ".join(named),
            "like_for_like": worst not in ("differs", "missing"),
            "strictly_like": worst not in ("differs", "missing", "caution") and silent.empty,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["model", "task", "worst", "checks", "like_for_like", "strictly_like"])


def check_summary(table: pd.DataFrame) -> pd.DataFrame:
    """How many cells have each status in each check, the checks with differences first."""
    counts = pd.crosstab(table["check"], table["status"])
    counts = counts.reindex(columns=["differs", "caution", "missing", "unknown", "same"], fill_value=0)
    return (
        counts.sort_values(["differs", "caution", "missing"], ascending=False).reset_index().rename_axis(columns=None)
    )


def reported_scores(reference: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """The default score per (model, task) as somebody reads it off a public result: over all its records.

    The aggregation is that of `task_scores`, which is mteb's own. Models carry the labels of `scores`.
    """
    labels = scores[["model", "model_name"]].astype(object).drop_duplicates()
    part = reference[(reference["kind"] == "default") & reference["task"].isin(scores["task"].unique())]
    named = part.drop(columns="model", errors="ignore").merge(labels, on="model_name").assign(prompt_id="default")
    return task_scores(named)[["model", "task", "score"]]


def same_records(reference: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Reported scores restricted to the records (split, subset) that the prompt runs have, where all of them are there.

    scores: the scores table after `task_scores.chosen_records`. The rest of the reported records, other languages or
    splits, is left out; a cell of which a record is not reported is left out whole.
    """
    prompts = scores[scores["kind"] == "prompt"]
    wanted = prompts[["task", "split", "subset"]].astype(object).drop_duplicates()
    part = reference.astype(dict.fromkeys(("task", "split", "subset"), object)).merge(wanted)
    needed = wanted.groupby("task").size()
    complete = part.groupby(["model_name", "task"])["main_score"].transform("count") == part["task"].map(needed)
    return part[complete.to_numpy(bool)].reset_index(drop=True)


def consequences(cells: pd.DataFrame, views: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """What the choice of defaults changes: one row per view of the defaults.

    cells: a `task_scores` table; views: name -> frame (model, task, score) of the defaults that count. Columns: cells
    with a default, mean percentile, above the mean, at or above the best, at or below the worst prompt, and the Borda
    order by mteb's points and by mean points over the tasks present.
    """
    prompts = {
        k: g["score"].dropna().to_numpy(float) for k, g in cells[cells["kind"] == "prompt"].groupby(["model", "task"])
    }
    models, tasks = sorted(cells["model"].unique()), sorted(cells["task"].unique())
    rows = []
    for name, view in views.items():
        view = view.dropna(subset=["score"])
        pairs = [(prompts.get((m, t), np.array([])), s) for m, t, s in view[["model", "task", "score"]].to_numpy()]
        standings = pd.DataFrame([standing(s, x) for x, s in pairs if len(x)])
        matrix = view.pivot_table(index="model", columns="task", values="score").reindex(index=models, columns=tasks)
        rows.append({
            "defaults": name, "cells": len(standings),
            "mean_percentile": float(standings["percentile"].mean()) if len(standings) else np.nan,
            **{c: int(standings[c].sum()) if len(standings) else 0
               for c in ("above_mean", "at_or_above_best", "at_or_below_worst")},
            "borda_order": _order(matrix, "mteb"), "order_by_mean_points": _order(matrix, "present"),
        })  # fmt: skip
    return pd.DataFrame(rows)


def with_default_prefix(scores: pd.DataFrame, inputs: pd.DataFrame) -> pd.DataFrame:
    """Add `default_prefix` to a sweep's scores: what the default really put before the text ("nothing" or "raw").

    inputs: the sweep's table of samples as they entered the tokenizer (columns model, task, kind, side, prefix). The
    document side is left out: it never carries the prompt.
    """
    part = inputs[(inputs["kind"] == "default") & ~inputs["side"].astype(str).str.startswith("document")]
    longest = part.groupby(["model", "task"])["prefix"].agg(lambda p: max((len(str(x)) for x in p.dropna()), default=0))
    found = {key: "raw" if n else "nothing" for key, n in longest.items()}
    keys = zip(scores["model"], scores["task"], scores["kind"], strict=True)
    return scores.assign(default_prefix=[found.get((m, t)) if k == "default" else None for m, t, k in keys])


def _applied(own: pd.DataFrame, part: pd.DataFrame) -> dict[str, object]:
    how = ", ".join(_values(part, ["application"])) or "?"
    known = own["default_prefix"].dropna() if "default_prefix" in own else own.iloc[:0]
    if known.empty:
        return {"check": "prompt applied", "status": "unknown", "default": "mteb's default", "prompts": how}
    default = str(known.iloc[0])
    status = "same" if default == how else "caution"
    return {"check": "prompt applied", "status": status, "default": default, "prompts": how}


def _compared(scores: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The finished rows of a kind, with the columns that matter here as plain objects (quicker to compare)."""
    names = {
        "model",
        "model_name",
        "task",
        "application",
        "default_prefix",
        *(c for cs, _ in CHECKS.values() for c in cs),
    }
    return scores.loc[(scores["kind"] == kind) & scores["status"].eq("ok"), [c for c in scores if c in names]].astype(
        object
    )


def _values(table: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """The distinct values of the columns (joined with /), sorted; rows in which one is missing do not count."""
    columns = list(columns)
    if any(c not in table for c in columns):
        return []
    rows = set(zip(*(table[c].to_numpy() for c in columns), strict=True))  # few distinct rows: no data frame for them
    return sorted({"/".join(str(v) for v in row) for row in rows if not any(pd.isna(v) for v in row)} - {""})


def _order(matrix: pd.DataFrame, holes: str) -> str:
    if not borda_points(matrix, holes).size:
        return ""
    board = borda(matrix, holes).dropna(subset=["rank"])
    groups = board.groupby("rank", sort=True)["model"].agg(" = ".join)
    return " > ".join(groups)
