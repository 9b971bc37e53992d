"""The figures of chapter 04: each joins a chart with what its table says."""

from __future__ import annotations

import pandas as pd

from helpers.display import Absent, Figure
from helpers.leaderboard import charts, words
from helpers.scores.board import BOARDS


def scenarios(table: pd.DataFrame) -> Figure:
    """Each model's own rank in three scenarios; table: `rankings.scenarios`."""
    return Figure(
        "fig-scenarios",
        charts.scenario_lines(table),
        words.scenarios(table),
        "One line per model over three scenarios; a line that rises to the top shows a model that can be made first.",
    )


def boards(table: pd.DataFrame, agreed: pd.DataFrame) -> Figure:
    """Each model's rank on nine boards; table: `rankings.boards`, agreed: `rankings.board_agreement` of it."""
    chart = charts.rank_lines(table, list(BOARDS))
    return Figure("fig-boards", chart, words.boards(agreed), "One line per model over nine boards.")


def ranks(table: pd.DataFrame, chances: pd.DataFrame, default: pd.DataFrame) -> Figure:
    """Each model's ranks under random prompts.

    table: `random_ranks.rank_table`; chances: `random_ranks.rank_probabilities`; default: the board of defaults
    (`scores.borda`).
    """
    return Figure(
        "fig-ranks",
        charts.rank_map(table, chances, default),
        words.ranks(table),
        "One row per model with discs at its possible ranks, sized by their probability.",
    )


def wins(table: pd.DataFrame, models: list[str]) -> Figure | Absent:
    """Who beats whom under random prompts, rows and columns in the order of `models`; table: `random_ranks.pairwise_wins`."""
    if len(table) < 2:
        return Absent("fig-wins", "One model alone beats nobody.")
    return Figure(
        "fig-wins",
        charts.win_map(table, models),
        words.wins(table),
        "Heat map: probability that the model of the row has more points than that of the column.",
    )


def reliability(curve: pd.DataFrame) -> Figure | Absent:
    """How many tasks and prompts a stable order takes; curve: `reliability.reliability_curve`."""
    if curve.empty:
        return Absent(
            "fig-reliability", "It takes two models and two tasks with two prompts each to tell models from tasks."
        )
    return Figure(
        "fig-reliability",
        charts.reliability_lines(curve),
        words.reliability(curve),
        "Rising lines of reliability against the number of tasks, one per number of prompts, which lie close together "
        "where tasks decide.",
    )


def hacking(curve: pd.DataFrame) -> Figure | Absent:
    """What the best of k prompts gains; curve: `gains.best_of_k`."""
    if curve.empty:
        return Absent("fig-hacking", "No model has a prompt with a score on each of its tasks.")
    return Figure(
        "fig-hacking",
        charts.gain_lines(curve),
        words.hacking(curve),
        "Rising lines, one per model, that flatten with the number of prompts tried.",
    )


def honest(halves: pd.DataFrame) -> Figure | Absent:
    """What the best of k prompts gains on the queries that chose it, and on others; halves: `gains.honest_best_of_k`."""
    if halves.empty:
        return Absent(
            "fig-honest",
            "Scores of single queries under two prompts or more are not at hand, so no prompt can be chosen on one half of them.",
        )
    return Figure(
        "fig-honest",
        charts.half_lines(halves),
        words.honest(halves),
        "Two lines per task: gain on the queries that chose, and on the others.",
    )
