"""Pictures of leaderboards: how ranks move with the choice of prompts."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.charts import GRID, INK, PALETTE
from helpers.charts_sensitivity import plain

SCENARIOS = {
    "default": "all: default",
    "best_vs_default": "own best, others default",
    "best_vs_worst": "own best, others worst",
}


def bump(ranks: pd.DataFrame, order: list[str], x_title: str | None = None) -> Any:
    """Rank of every model (column model, rank) over the columns of boards (column board) in the given order.

    Lines are labelled at both ends, so that no colour has to be matched; click a line to bring a model forward.
    """
    data = plain(ranks[ranks["rank"].notna()])[["model", "board", "rank"]]
    click = alt.selection_point(fields=["model"], on="click", clear="dblclick", empty=True)
    n = max(2, int(data["rank"].max()) if len(data) else 2)
    base = alt.Chart(data).encode(
        x=alt.X("board:N", sort=order, title=x_title, axis=alt.Axis(labelAngle=0 if len(order) < 4 else -25), scale=alt.Scale(padding=0.4)),
        y=alt.Y("rank:Q", title="rank", scale=alt.Scale(domain=[1, n], reverse=True), axis=alt.Axis(values=list(range(1, n + 1)), format="d")),
        color=alt.Color("model:N", legend=None, scale=alt.Scale(range=PALETTE)),
        opacity=alt.condition(click, alt.value(1), alt.value(0.15)),
        tooltip=["model:N", "board:N", alt.Tooltip("rank:Q", format="d")],
    )  # fmt: skip
    lines = base.mark_line(strokeWidth=2.5, interpolate="monotone")
    dots = base.mark_point(size=110, filled=True, stroke="#ffffff", strokeWidth=1).add_params(click)
    label = (
        base.transform_filter(alt.datum.board == order[0])
        .mark_text(align="right", dx=-12, fontSize=11)
        .encode(text="model:N", color=alt.value(INK))
    )
    return (
        (lines + dots + label)
        .properties(width=max(360, 95 * len(order)), height=max(160, 42 * n))
        .configure_axisX(grid=True, gridColor=GRID)
    )


def scenario_ranks(scenarios: pd.DataFrame) -> pd.DataFrame:
    """The scenario table in long form for `bump`: model, board, rank (each model's own rank in its own scenario)."""
    long = scenarios.melt(
        id_vars="model",
        value_vars=[c for c in SCENARIOS if c in scenarios],
        var_name="board",
        value_name="rank",
    )
    return long.assign(board=long["board"].map(SCENARIOS))
