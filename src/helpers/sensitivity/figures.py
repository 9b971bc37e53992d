"""Figures of chapter 03, each named as its anchor: `noise(table)` is `fig-noise` with its chart, title, findings and text."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from helpers.display.figure import Absent, Figure
from helpers.sensitivity import charts, claims, words
from helpers.sensitivity.choice import chosen


def distribution(cells: pd.DataFrame) -> Figure:
    """Where the scores lie; cells: a `task_scores` table."""
    alt = "One row of ticks per model and task, one tick per prompt, a bar at the mean and a diamond at the default."
    return Figure("fig-distribution", charts.strips(cells), words.distribution(cells), alt)


def percentiles(table: pd.DataFrame, tail: float = 0.25, fdr: float = 0.05) -> Figure | Absent:
    """Where the default stands; table: a `sensitivity_table`, made with this `tail` and `fdr`."""
    said = words.percentiles(table, tail=tail, fdr=fdr)
    if "percentile" not in table or table["percentile"].isna().all():
        return Absent("fig-percentiles", f"{said.title}.", said)
    alt = "Heat map of models and tasks; the darker red, the more prompts score below the default; blue, the fewer."
    return Figure("fig-percentiles", charts.percentile_map(table), said, alt)


def cv(table: pd.DataFrame) -> Figure | Absent:
    """How far prompts move a score; table: a `sensitivity_table`."""
    said = words.cv(table)
    if "cv" not in table or table["cv"].isna().all():
        return Absent("fig-cv", f"{said.title}.", said)
    alt = (
        "One row per model with a point per task, a bar from the first to the third quartile and a tick at the median."
    )
    return Figure("fig-cv", charts.cv_strip(table), said, alt)


def variance(components: pd.DataFrame) -> Figure | Absent:
    """What share of a score is wording; components: of `variance_components`."""
    said = claims.variance(components)
    if components["share_on_task"].isna().all():
        reason = "Variance components need two different scores and a model and task with two prompts."
        return Absent("fig-variance", reason, said)
    alt = "Bars of the share of variance by source, with intervals."
    return Figure("fig-variance", charts.variance_bars(components), said, alt)


def noise(table: pd.DataFrame, models: Iterable[str] | None = None) -> Figure | Absent:
    """Prompts against test-set noise; table: of `query_noise`, of which all are drawn and these models counted."""
    counted = table if models is None else table[table["model"].isin(list(models))]
    said = words.noise(counted)
    if counted["pairs"].isna().all():
        return Absent("fig-noise", f"{said.title}.", said)
    alt = "For each test set three points: spread between prompts, noise of a difference and of one score."
    return Figure("fig-noise", charts.noise_points(table[table["pairs"].notna()]), said, alt)


def agreement(table: pd.DataFrame, fdr: float = 0.05) -> Figure | Absent:
    """Do models agree on prompts; table: an `agreement_table`, made with this `fdr`."""
    said = claims.agreement(table, fdr)
    if table.empty or table["kendall_w"].isna().all():
        return Absent("fig-agreement", f"{said.title}.", said)
    alt = "Bars of Kendall's W per task over the models, with a tick where every family of models counts once."
    return Figure("fig-agreement", charts.agreement_bars(table, fdr), said, alt)


def traits(effects: pd.DataFrame, fdr: float = 0.05) -> Figure | Absent:
    """Which wording goes with the score; effects: of `trait_effects`."""
    said = claims.traits(effects, fdr)
    if effects["effect"].isna().all():
        return Absent("fig-traits", "Too few prompt texts have or lack any trait of wording to show its effect.", said)
    return Figure("fig-traits", charts.trait_forest(effects), said, "One row per trait: its effect and the interval.")


def sets(table: pd.DataFrame, margin: float = 0.01) -> Figure | Absent:
    """Two sets of prompts against each other; table: of `compare_sets`, made with this margin."""
    said = claims.sets(table, margin)
    if table.empty:
        return Absent("fig-sets", f"{said.title}.", said)
    alt = (
        "One row per pair of prompt sets: a pale dot per task at the difference of their mean scores, a dark dot with its "
        "interval for all tasks, dashed lines at no difference and at the margin of equivalence on both sides."
    )
    return Figure("fig-sets", charts.set_forest(table, margin), said, alt)


def enough(curve: pd.DataFrame, advice: pd.DataFrame) -> Figure | Absent:
    """How many prompts are enough; curve: an `error_curve`, advice: its `recommended` numbers."""
    said = words.enough(advice)
    if curve.empty:
        return Absent("fig-enough", "No model and task has the five prompts from which an error could be told.", said)
    alt = "Falling lines of the error of mean, CV and percentile against the number of prompts."
    return Figure("fig-enough", charts.error_lines(curve), said, alt)


def choice(candidates: pd.DataFrame) -> Figure | Absent:
    """Which wording to use; candidates: of `choice.choose_prompt`."""
    said = words.choice(candidates)
    verdicts = chosen(candidates)
    if verdicts.empty or verdicts["bound"].isna().all():
        return Absent("fig-choice", f"{said.title}.", said)
    alt = (
        "One row per model and task: an open circle at the gain of the best prompt over the default, a filled one at the gain "
        "on other queries with its interval, a tick at the lower bound, a dashed line at no gain."
    )
    return Figure("fig-choice", charts.chosen_gains(verdicts), said, alt)
