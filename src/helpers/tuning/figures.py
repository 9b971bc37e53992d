"""The figures of notebook 06, each with its title, its findings and its alternative text."""

from __future__ import annotations

import pandas as pd

from helpers.display.figure import Absent, Figure
from helpers.geometry.pools import POOLS
from helpers.tuning import charts, words


def dev(log: pd.DataFrame) -> Figure | Absent:
    """Recall@1 on the dev part while training, in three pools. log: `log_table`."""
    if not any(f"dev_recall_at_1_{pool}" in log for pool in POOLS):
        return Absent("fig-dev", "No training was measured on a dev part.")
    alt = "Line charts, one per training: recall at 1 on the dev part's questions per step, in three pools."
    return Figure("fig-dev", charts.dev_curves(log), words.dev(log), alt)


def loss(log: pd.DataFrame) -> Figure | Absent:
    """The training loss per step. log: `log_table`."""
    if log.empty:
        return Absent("fig-loss", "No model was trained.")
    return Figure("fig-loss", charts.loss_curves(log), words.loss(log), "Line chart of the loss per step.")


def recall(recalls: pd.DataFrame, changes: pd.DataFrame, contrast: pd.DataFrame | None = None) -> Figure | Absent:
    """Recall@1 before and after in three pools. recalls: `recall_table`, a dot per training; said are means over seeds.

    changes, contrast: `seeds_table` against the base model and against the ablation.
    """
    said = words.recall(changes, contrast)
    if recalls.empty:
        return Absent("fig-recall", "No model was measured.", said)
    alt = "Dot plots, one panel per pool, one dot per model, with the interval of its difference to the base model."
    return Figure("fig-recall", charts.recall_dots(recalls), said, alt)


def dose(doses: pd.DataFrame) -> Figure | Absent:
    """Recall@1 over the share of examples with a query-side negative. doses: `dose_table`."""
    if doses["share"].nunique() < 2:
        reason = "No dose-response was trained: the study names no shares of query-side negatives (finetuning.shares)."
        return Absent("fig-dose", reason)
    alt = "Lines of recall at 1 over the share of query-side negatives, one per pool, with intervals."
    return Figure("fig-dose", charts.dose_lines(doses), words.dose(doses), alt)


def instruction_gains(gains: pd.DataFrame) -> Figure | Absent:
    """The instructions that gained most, before and after. gains: `instructions.gains`."""
    if gains.empty:
        reason = "No instruction was measured: finetuning.instruction_queries is 0, or no model was trained."
        return Absent("fig-instruction-gains", reason)
    alt = "The instructions that gained most: a line each from its recall before (open) to that after (filled)."
    return Figure("fig-instruction-gains", charts.instruction_gains(gains), words.instruction_gains(gains), alt)


def side_effects(effects: pd.DataFrame) -> Figure | Absent:
    """The main score of other tasks after minus before. effects: `side_effect_table`."""
    if effects.empty:
        return Absent("fig-side-effects", "No other task was scored before and after.")
    alt = "Dot plot of differences per task and model with intervals."
    return Figure("fig-side-effects", charts.side_effects(effects), words.side_effects(effects), alt)
