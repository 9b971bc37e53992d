"""The figure of chapter 02."""

from __future__ import annotations

import pandas as pd

from helpers.display.figure import Absent, Figure
from helpers.sweep import charts, words


def scores(cells: pd.DataFrame, table: pd.DataFrame, inputs: pd.DataFrame) -> Figure | Absent:
    """Every score of every prompt (`charts.score_strip`), with what the sweep says by itself (`words.scores`)."""
    said = words.scores(cells, table, inputs)
    if cells["score"].isna().all():
        return Absent("fig-scores", "No prompt has a score yet.", said)
    alt = "One row of ticks per model and task, one tick per prompt, with marks for the default and for no prompt."
    return Figure("fig-scores", charts.score_strip(cells), said, alt)
