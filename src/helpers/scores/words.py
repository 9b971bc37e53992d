"""The title of the figure of chapter 02, computed from the table that the figure draws."""

from __future__ import annotations

import pandas as pd

from helpers.base.phrases import cells_named, choose, is_highest
from helpers.base.ties import compare
from helpers.scores.cells import task_scores
from helpers.scores.extremes import extreme_scores, numbers_of_prompts

# -- 02: scores ------------------------------------------------------------------------------------------------------


def scores(table: pd.DataFrame) -> str:
    """The cell whose score moves most between prompts, and how far (`task_scores.task_scores`)."""
    return widest(task_scores(table))


def widest(cells: pd.DataFrame) -> str:
    """The widest range of scores between prompts of a `task_scores` table, over equal numbers of prompts per task."""
    known = cells[(cells["kind"] == "prompt") & cells["score"].notna()]
    known = known[known.groupby(["model", "task"], observed=True)["score"].transform("size") > 1]
    ranges = extreme_scores(known, "best") - extreme_scores(known, "worst")
    if ranges.empty:
        return "No two prompts have scores to compare"
    if compare(ranges.max(), 0) == 0:
        return "Wording moves no score: all prompts of a model and task score alike"
    top = ranges[is_highest(ranges)].reset_index()
    most = " most" if len(ranges) > 1 else ""
    its = choose(len(top), "its", "their")
    numbers = numbers_of_prompts(known).loc[top["task"].unique()]
    drawn = (
        ", equal numbers of them drawn for every model" if (numbers["fewest"] < numbers["most"]).any() else ""
    )
    return f"Wording moves {cells_named(top)}{most}: by {ranges.max():.3f} between {its} prompts{drawn}"
