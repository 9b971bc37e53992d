"""Pictures of leaderboards: how ranks move with the choice of prompts."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.display.chart import INK, ON_DARK_TILE, ON_LIGHT_TILE, PALETTE
from helpers.display.marks import model_highlight, plain

SCENARIOS = {
    "default": "all: default",
    "best_vs_default": "own best, others default",
    "best_vs_worst": "own best, others worst",
}


def scenario_lines(scenarios: pd.DataFrame) -> Any:
    """Each model's own rank in its own scenario; scenarios: `rankings.scenarios`."""
    long = scenarios.melt("model", list(SCENARIOS), var_name="board", value_name="rank")
    return rank_lines(long.assign(board=long["board"].map(SCENARIOS)), list(SCENARIOS.values()))


def rank_lines(ranks: pd.DataFrame, order: list[str]) -> Any:
    """Rank of every model (columns model, board, rank) over the boards, those of `order` first.

    Lines are labelled where they begin, so that no colour has to be matched; click a mark to bring a model forward.
    """
    data = plain(ranks[ranks["rank"].notna()])[["model", "board", "rank"]]
    there = list(dict.fromkeys(data["board"]))
    order = [b for b in order if b in there] + [b for b in there if b not in order]
    click, n, many = model_highlight(), max(2, data["model"].nunique()), len(order) > 3
    x = alt.X(
        "board:N", sort=order, title=None, scale=alt.Scale(padding=0.3),
        axis=alt.Axis(labelAngle=-30 if many else 0, grid=True),
    )  # fmt: skip
    y = alt.Y(
        "rank:Q", title=None, scale=alt.Scale(domain=[n + 0.3, 0.7], nice=False, zero=False),
        axis=alt.Axis(values=list(range(1, n + 1)), format="d", grid=False, orient="right", title="rank"),
    )  # fmt: skip
    base = alt.Chart(data).encode(
        x=x,
        y=y,
        color=alt.Color("model:N", legend=None, scale=alt.Scale(range=PALETTE)),
        opacity=alt.condition(click, alt.value(1), alt.value(0.15)),
        tooltip=["model:N", "board:N", alt.Tooltip("rank:Q", format="d")],
    )
    dots = base.mark_point(size=120, filled=True, stroke="#ffffff", strokeWidth=1).add_params(click)
    first = data[data["board"] == order[0]] if order else data
    names = alt.Chart(first.groupby(["board", "rank"], as_index=False)["model"].agg(" = ".join))
    names = names.mark_text(align="right", dx=-12, fontSize=11)
    return (
        base.mark_line(strokeWidth=2.5).encode(detail="model:N")
        + dots.encode(shape=alt.Shape("model:N", legend=None))
        + names.encode(x=x, y=y, text="model:N", color=alt.value(INK))
    ).properties(width=max(300, (72 if many else 170) * len(order)), height=max(150, 40 * n))


def rank_map(table: pd.DataFrame, chances: pd.DataFrame, default: pd.DataFrame) -> Any:
    """P(rank) of every model under random prompts, its 95% interval as a bar, its rank by default as a diamond.

    table: `random_ranks.rank_table`; chances: `random_ranks.rank_probabilities`; default: a board with model and rank.
    """
    order = list(default.sort_values(["rank", "model"])["model"])
    n = max(2, len(order))
    y = alt.Y("model:N", sort=order, title=None)
    x = alt.X(
        "rank:Q",
        title="rank",
        scale=alt.Scale(domain=[0.5, n + 0.5], nice=False, zero=False),
        axis=alt.Axis(values=list(range(1, n + 1)), format="d"),
    )
    probable = plain(chances[chances["probability"] > 0])
    dots = alt.Chart(probable).mark_circle(color=PALETTE[0], opacity=0.75).encode(
        x=x, y=y,
        size=alt.Size("probability:Q", title="probability", scale=alt.Scale(domain=[0, 1], range=[8, 700]), legend=alt.Legend(format=".0%")),
        tooltip=["model:N", alt.Tooltip("rank:Q", format="d"), alt.Tooltip("probability:Q", format=".2%")],
    )  # fmt: skip
    reach = alt.Chart(plain(table)).mark_rule(strokeWidth=3, color=INK, opacity=0.6).encode(
        x="rank_low:Q", x2="rank_high:Q", y=y, tooltip=["model:N", "rank_low:Q", "rank_high:Q", "method:N"]
    )  # fmt: skip
    mark = alt.Chart(plain(default[default["rank"].notna()])).mark_point(
        shape="diamond", size=130, filled=True, color=PALETTE[1], stroke=INK, strokeWidth=1
    ).encode(x=x, y=y, tooltip=["model:N", alt.Tooltip("rank:Q", title="rank by default", format="d")])  # fmt: skip
    return (reach + dots + mark).properties(width=470, height={"step": 38})


def win_map(wins: pd.DataFrame, order: list[str]) -> Any:
    """P(the row's model beats the column's) under random prompts."""
    long = wins.rename_axis("model").reset_index().melt("model", var_name="other", value_name="wins").dropna()
    base = alt.Chart(plain(long)).encode(
        x=alt.X("other:N", sort=order, title=None, axis=alt.Axis(labelAngle=-38)), y=alt.Y("model:N", sort=order, title=None),
        tooltip=["model:N", "other:N", alt.Tooltip("wins:Q", title="P(beats)", format=".1%")],
    )  # fmt: skip
    tiles = base.mark_rect(stroke="#ffffff").encode(
        color=alt.Color(
            "wins:Q",
            title="P(row beats column)",
            scale=alt.Scale(domain=[0, 1]),
            legend=alt.Legend(format=".0%", orient="top"),
        )
    )
    text = base.mark_text(fontSize=11).encode(
        text=alt.Text("wins:Q", format=".0%"),
        color=alt.condition("datum.wins > 0.5", alt.value(ON_DARK_TILE), alt.value(ON_LIGHT_TILE)),
    )
    return (tiles + text).properties(width={"step": 62}, height={"step": 34})


def gain_lines(curve: pd.DataFrame) -> Any:
    """Gain in mean score from reporting the best of k prompts, a line per model; click a model to bring it forward."""
    data = plain(curve)
    click = model_highlight()
    base = alt.Chart(data).encode(
        x=alt.X("k:Q", title="prompts tried per task", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("gain:Q", title="gain in mean score over one random prompt"),
        color=alt.Color("model:N", title=None, scale=alt.Scale(range=PALETTE), legend=alt.Legend(orient="bottom", columns=2, labelLimit=400)),
        opacity=alt.condition(click, alt.value(1), alt.value(0.15)),
        tooltip=["model:N", "k:Q", alt.Tooltip("gain:Q", format="+.4f"), alt.Tooltip("score:Q", format=".4f"),
                 alt.Tooltip("share_beating_default:Q", title="tasks above the default", format=".0%")],
    )  # fmt: skip
    return (
        base.mark_line() + base.mark_point(size=45).encode(shape=alt.Shape("model:N", legend=None)).add_params(click)
    ).properties(width=520, height=280)


def reliability_lines(curve: pd.DataFrame) -> Any:
    """Reliability of the models' mean scores against tasks, a line per number of prompts, with one band (15 prompts)."""
    data = plain(curve).assign(prompts=curve["n_prompts"].astype(str))
    order = [str(n) for n in sorted(curve["n_prompts"].unique())]
    x = alt.X(
        "n_tasks:Q", title="tasks", scale=alt.Scale(type="log"), axis=alt.Axis(values=list(curve["n_tasks"].unique()))
    )
    y = alt.Y("g:Q", title="reliability of the models' mean scores", scale=alt.Scale(domain=[0, 1]))
    base = alt.Chart(data).encode(
        x=x, y=y,
        color=alt.Color("prompts:N", sort=order, title="prompts per task", scale=alt.Scale(range=PALETTE)),
        tooltip=["n_tasks:Q", "n_prompts:Q", alt.Tooltip("g:Q", format=".2f"), alt.Tooltip("low:Q", format=".2f"),
                 alt.Tooltip("high:Q", format=".2f"), alt.Tooltip("tau:Q", format=".2f", title="Kendall's tau")],
    )  # fmt: skip
    lines = base.mark_line() + base.mark_point(size=45, filled=True).encode(
        shape=alt.Shape("prompts:N", sort=order, title="prompts per task")
    )
    some = data[(data["n_prompts"] == 15) & data["low"].notna()]
    if some.empty:
        return lines.properties(width=520, height=280)
    band = alt.Chart(some).mark_area(opacity=0.15, color=INK).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    return (band + lines).properties(width=520, height=280)


def half_lines(curve: pd.DataFrame) -> Any:
    """Reported against honest gain of the best of k, mean over test sets of a task, a panel per task."""
    names = {"reported": "on the queries that chose it", "honest": "on the other half"}
    mean = plain(curve).groupby(["task", "k"], as_index=False)[list(names)].mean()
    long = mean.melt(["task", "k"], list(names), var_name="what", value_name="gain")
    long["what"] = long["what"].map(names)
    base = alt.Chart(long).encode(
        x=alt.X("k:Q", title="prompts tried", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("gain:Q", title="gain over the mean of the prompts"),
        color=alt.Color(
            "what:N", title=None, scale=alt.Scale(range=PALETTE), legend=alt.Legend(orient="top", labelLimit=400)
        ),
        strokeDash=alt.StrokeDash("what:N", title=None),
        tooltip=["task:N", "what:N", "k:Q", alt.Tooltip("gain:Q", format="+.4f")],
    )
    return (base.mark_line() + base.mark_point(size=30)).properties(width=230, height=190).facet(
        facet=alt.Facet("task:N", title=None), columns=3
    )  # fmt: skip
