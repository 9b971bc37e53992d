"""Our numbers for the claims of study 1, One prompt is not enough: how far wording moves a score and a board.

Every function takes the tables of a run and gives one number or text, with its unit and the number of its cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from helpers.base.phrases import count, listed, out_of
from helpers.leaderboard.rankings import scenarios
from helpers.report.claim_tables import Found, Tables, Untestable
from helpers.sensitivity.defaults import percentile_of
from helpers.sensitivity.sets import ALL

TAIL = 0.25  # of the prompts: what we take the paper's "tail" for

PICK: dict[str, Callable[[pd.Series], float]] = {"lowest": pd.Series.min, "highest": pd.Series.max}


# -- what was run -----------------------------------------------------------------------------------------------------


def models(tables: Tables) -> Found:
    return Found(tables.need("sensitivity")["model"].nunique())


def tasks(tables: Tables) -> Found:
    return Found(tables.need("sensitivity")["task"].nunique())


def task_types(tables: Tables) -> Found:
    """How many tasks of each type, by type: "Clustering 2, STS 3"."""
    counts = tables.need("sensitivity").groupby("task_type")["task"].nunique()
    return Found(", ".join(f"{name} {n}" for name, n in counts.sort_index().items()))


def languages(tables: Tables) -> Found:
    return Found(", ".join(sorted(set(tables.need("scores")["languages"].dropna()))))


def prompts_per_task(tables: Tables) -> Found:
    """Prompts in the prompt file, the fewest of a task, repeats counted."""
    counts = _prompts(tables).groupby("task").size()
    return Found(int(counts.min()), _span(counts, "prompt"))


def prompts_per_level(tables: Tables) -> Found:
    """Prompts in the prompt file per task and level of context, the fewest."""
    counts = _prompts(tables).groupby(["task", "level"]).size()
    return Found(int(counts.min()), _span(counts, "prompt"))


def written_prompts(tables: Tables) -> Found:
    return Found(len(_prompts(tables)))


def generators(tables: Tables) -> Found:
    return Found(", ".join(sorted(set(_prompts(tables)["generator"].dropna()))))


def runs(tables: Tables) -> Found:
    """Distinct runs of a model with a written prompt on a task."""
    scores = tables.need("scores")
    distinct = scores.loc[scores["kind"] == "prompt", ["model", "task", "prompt_id"]].drop_duplicates()
    return Found(len(distinct), f"{len(distinct)} distinct runs")


def words(tables: Tables, statistic: str) -> Found:
    """Words per prompt, split at white space: `mean`, or `sd` (ddof 0)."""
    lengths = _prompts(tables)["text"].str.split().str.len()
    value = lengths.mean() if statistic == "mean" else lengths.std(ddof=0)
    return Found(value, f"{value:.3f} ({count(len(lengths), 'prompt')})")


def human_prompts_win(tables: Tables) -> Found:
    """The chance that a prompt of no prompt file (probably a person's) scores above a generated one, mean over cells."""
    cells = tables.cells()
    prompts, chances = cells[cells["kind"] == "prompt"].dropna(subset=["score"]), []
    for _, part in prompts.groupby(["model", "task"]):
        human = part["source"] != "llm"
        if human.any() and not human.all():
            chances.append(np.mean([percentile_of(v, part.loc[~human, "score"])[0] for v in part.loc[human, "score"]]))
    if not chances:
        raise Untestable("no run has prompts of people beside generated ones")
    return Found(float(np.mean(chances)), f"{np.mean(chances):.2f} (mean of {count(len(chances), 'cell')})")


def human_difference(tables: Tables) -> Found:
    """Mean score of generated prompts less that of others (probably people's), over tasks (`sensitivity.sets`)."""
    row = tables.of("prompt_comparison", kind="source", task=ALL, first="llm").iloc[0]
    models, tasks = count(int(row["models"]), "model"), count(int(row["tasks"]), "task")
    interval = f"95% interval {row['low']:+.3f} to {row['high']:+.3f}"
    text = f"{row['difference']:+.3f} ({interval}; {models}, {tasks})"
    return Found(row["difference"], text, (row["low"], row["high"]))


# -- how far a score moves --------------------------------------------------------------------------------------------


def median_cv(tables: Tables, pick: str) -> Found:
    """The median over tasks of the coefficient of variation, of the model that has the `lowest` or `highest`."""
    medians = tables.need("sensitivity").groupby("model")["cv"].median()
    return _of_models(medians, pick, "{:.1%}")


def largest_cv(tables: Tables, pick: str, models: Sequence[str]) -> Found:
    """The largest coefficient of variation over tasks of each model named; of these the `lowest` or `highest`."""
    return _of_models(_named(tables.need("sensitivity"), models).groupby("model")["cv"].max(), pick, "{:.1%}")


def largest_cv_beyond(tables: Tables, models: Sequence[str]) -> Found:
    """By how much the lowest of the largest CVs of the models named exceeds the highest of all other models."""
    largest = tables.need("sensitivity").groupby("model")["cv"].max()
    mine = largest.index.isin(models)
    if mine.all() or not mine.any():
        raise Untestable("no run has these models and others")
    gap = largest[mine].min() - largest[~mine].max()
    return Found(gap, f"{largest[mine].min():.1%} against {largest[~mine].max():.1%}")


def cv_skewness(tables: Tables) -> Found:
    """Skewness of the coefficients of variation over cells (model x task)."""
    cvs = tables.need("sensitivity")["cv"].dropna()
    return Found(float(cvs.skew()), f"{cvs.skew():.1f} ({count(len(cvs), 'cell')})")


# -- where the default stands -----------------------------------------------------------------------------------------


def models_mostly_above(tables: Tables, defaults: str = "measured", prompted: bool = False) -> Found:
    """Models whose default scores above the mean of the prompts in more than half of their tasks.

    prompted: only cells whose default puts a prompt before the text (from the audit's check "prompt applied").
    """
    placed = _placed(tables, defaults)
    if prompted:
        bare = tables.of("audit", check="prompt applied", defaults="measured", default="nothing")
        named = pd.MultiIndex.from_frame(bare[["model", "task"]])
        placed = placed[~pd.MultiIndex.from_frame(placed[["model", "task"]]).isin(named)]
    n = int((placed.groupby("model")["above"].mean() > 0.5).sum())
    return Found(
        n, f"{out_of(n, placed['model'].nunique(), 'model')}; {out_of(placed['above'].sum(), len(placed), 'cell')}"
    )


def cells_in_tails(tables: Tables, defaults: str = "measured") -> Found:
    """Share of cells whose default lies in the lower or the upper quarter of the prompts."""
    share = _placed(tables, defaults)["share"]
    outside = (share < TAIL) | (share > 1 - TAIL)
    return Found(float(outside.mean()), out_of(int(outside.sum()), len(share), "cell"))


def cells_in_lower_tail(
    tables: Tables, models: Sequence[str], tasks: Sequence[str], defaults: str = "measured"
) -> Found:
    """Cells of the models and tasks named whose default lies in the lower quarter of the prompts."""
    placed = _named(_placed(tables, defaults), models)
    placed = placed[placed["task"].isin(tasks)]
    if placed.empty:
        raise Untestable(f"no run has {listed(tasks)}")
    n = int((placed["share"] < TAIL).sum())
    return Found(n, out_of(n, len(placed), "cell"))


def cells_below_all(tables: Tables, defaults: str = "measured") -> Found:
    """Cells whose default scores below the worst prompt."""
    placed = _placed(tables, defaults)
    n = int((placed["share"] == 0).sum())
    return Found(n, out_of(n, len(placed), "cell"))


def models_with_low_default(tables: Tables, defaults: str = "measured") -> Found:
    """Models that have a default in the lower quarter of the prompts on at least one task."""
    placed = _placed(tables, defaults)
    low = placed[placed["share"] < TAIL]
    n = low["model"].nunique()
    return Found(n, f"{out_of(n, placed['model'].nunique(), 'model')} ({count(len(low), 'cell')})")


def default_percentile(tables: Tables, model: str, task: str, defaults: str = "measured") -> Found:
    """Share of a task's prompts that score below the model's default, ties half."""
    placed = _placed(tables, defaults)
    row = placed[(placed["model"] == model) & (placed["task"] == task)]
    if row.empty:
        raise Untestable(f"no run has a default of {model} on {task}")
    return Found(row["share"].item(), f"{row['share'].item():.0%} of {row['prompts'].item()} prompts")


# -- the board --------------------------------------------------------------------------------------------------------


def rank(tables: Tables, pick: str, models: Sequence[str], board: str = "default", with_default: bool = True) -> Found:
    """The `lowest` (best) or `highest` rank of the models named on a board of `rankings.scenarios`."""
    ranks = _named(_scenarios(tables, with_default), models).set_index("model")[board]
    return _of_models(ranks, pick, "{:.0f}")


def made_first(tables: Tables, board: str, with_default: bool = True) -> Found:
    """Models that have rank 1 on a board of `rankings.scenarios`."""
    ranks = _scenarios(tables, with_default)[board]
    n = int((ranks == 1).sum())
    return Found(n, out_of(n, len(ranks), "model"))


def moved(tables: Tables, board: str, with_default: bool = True) -> Found:
    """Models whose rank on a board of `rankings.scenarios` is another than by default."""
    table = _scenarios(tables, with_default)
    n = int((table[board] != table["default"]).sum())
    return Found(n, out_of(n, len(table), "model"))


def _prompts(tables: Tables) -> pd.DataFrame:
    """The prompts as the prompt file has them; those of a run that wrote its own."""
    try:
        return tables.need("published_prompts")
    except Untestable:
        return tables.of("prompts", kind="prompt")


def _placed(tables: Tables, defaults: str) -> pd.DataFrame:
    """model, task, share (of prompts that score below the default, ties half), above (their mean), prompts."""
    cells = tables.cells()
    known = cells[cells["kind"] == "prompt"].dropna(subset=["score"]).groupby(["model", "task"])["score"]
    prompts = {key: part.to_numpy(float) for key, part in known}
    rows = [
        {"model": m, "task": t, "share": percentile_of(v, prompts[m, t])[0], "above": v > prompts[m, t].mean(),
         "prompts": len(prompts[m, t])}
        for m, t, v in tables.defaults(defaults)[["model", "task", "score"]].itertuples(index=False) if (m, t) in prompts
    ]  # fmt: skip
    if not rows:
        raise Untestable("no run has a default beside prompts")
    return pd.DataFrame(rows)


def _scenarios(tables: Tables, with_default: bool) -> pd.DataFrame:
    table = scenarios(tables.cells(), with_default)
    if len(table) < 2 or table["default"].isna().any():
        raise Untestable("no run has a board of several models by default")
    return table


def _named(table: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    absent = set(models) - set(table["model"])
    if absent:
        raise Untestable(f"no run has {listed(absent)}")
    return table[table["model"].isin(models)]


def _of_models(values: pd.Series, pick: str, form: str) -> Found:
    known = values.dropna()
    if known.empty:
        raise Untestable("no run has a value for these models")
    value = float(PICK[pick](known))
    return Found(value, f"{form.format(value)} ({listed(known.index[known == value])})")


def _span(counts: pd.Series, noun: str) -> str:
    low, high = int(counts.min()), int(counts.max())
    return count(low, noun) if low == high else f"{low} to {count(high, noun)}"
