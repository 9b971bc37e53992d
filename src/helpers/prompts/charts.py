"""Charts of prompts: how long they are, in which styles, and how much they resemble each other."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.display.chart import INK
from helpers.display.tables import visible_whitespace
from helpers.prompts.statistics import STYLES, style, words
from helpers.study.prompts import LEVELS


def lengths(table: pd.DataFrame) -> Any:
    """One point per prompt: its number of words, by level; a tick marks the level's mean."""
    data = table.dropna(subset=["text"]).assign(
        words=lambda t: [len(words(x)) for x in t["text"]],
        shown=lambda t: [visible_whitespace(x) for x in t["text"]],
        level=lambda t: t["level"].fillna("no level"),
    )[["task", "level", "words", "shown"]]
    # Points with the same count are set side by side, in the order of the table, so that none hides another.
    data["place"] = data.groupby(["level", "words"]).cumcount()
    order = [level for level in (*LEVELS, "no level") if level in set(data["level"])]
    points = alt.Chart(data).mark_circle().encode(
        x=alt.X("words:Q", title="words of the prompt", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(zero=True)),
        y=alt.Y("level:N", title=None, sort=order),
        yOffset=alt.YOffset("place:Q", scale=alt.Scale(reverse=True)),
        color=alt.Color("task:N", title="task"),
        tooltip=[alt.Tooltip("shown:N", title="prompt"), "task:N", "level:N", "words:Q"],
    )  # fmt: skip
    mean = alt.Chart(data).mark_tick(size=84, thickness=2, color=INK).encode(
        x="mean(words):Q", y=alt.Y("level:N", sort=order), tooltip=[alt.Tooltip("mean(words):Q", format=".2f")]
    )  # fmt: skip
    return alt.layer(points, mean).properties(height=alt.Step(90))


def styles(table: pd.DataFrame) -> Any:
    """Shares of the styles at each level, as one bar of 100 % per level."""
    data = (
        table.dropna(subset=["text"])
        .assign(style=lambda t: [style(x) for x in t["text"]], level=lambda t: t["level"].fillna("no level"))
        .groupby(["level", "style"], as_index=False)
        .size()
    )
    data["share"] = data["size"] / data.groupby("level")["size"].transform("sum")
    data["position"] = data["style"].map({name: n for n, name in enumerate(STYLES)})
    order = [level for level in (*LEVELS, "no level") if level in set(data["level"])]
    return alt.Chart(data).mark_bar().encode(
        x=alt.X("size:Q", stack="normalize", title="share of the prompts", axis=alt.Axis(format="%")),
        y=alt.Y("level:N", title=None, sort=order),
        color=alt.Color("style:N", title="style", sort=list(STYLES)),
        order="position:Q",
        tooltip=["level:N", "style:N", alt.Tooltip("size:Q", title="prompts"), alt.Tooltip("share:Q", format=".0%")],
    ).properties(height=alt.Step(44))  # fmt: skip


def similarity(pairs: pd.DataFrame) -> Any:
    """A map of how much the prompts of a task resemble each other (1: the same letters in the same order)."""
    data = pairs.assign(
        row=pairs["row"] + 1,
        column=pairs["column"] + 1,
        first=[visible_whitespace(x) for x in pairs["first"]],
        second=[visible_whitespace(x) for x in pairs["second"]],
    )
    size = max(1, data["row"].nunique())
    return alt.Chart(data).mark_rect().encode(
        x=alt.X("column:O", title="prompt, in the order of the table", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("row:O", title=None),
        color=alt.Color("similarity:Q", title="similarity", scale=alt.Scale(domain=[0, 1])),
        tooltip=["first:N", "second:N", alt.Tooltip("similarity:Q", format=".2f")],
    ).properties(width=alt.Step(max(10, 420 // size)), height=alt.Step(max(10, 420 // size)))  # fmt: skip


def medians(comparison: pd.DataFrame) -> Any:
    """Median scores of two prompt sets per model and task, joined by a line; filled where they differ."""
    long = pd.concat(
        [
            comparison.assign(set=comparison[side], median=comparison[f"{side}_median"])
            for side in ("first", "second")
        ]
    )[["model", "task", "set", "median", "p_holm", "differs"]]
    base = alt.Chart(long)
    line = base.mark_line(strokeWidth=1).encode(
        x=alt.X("median:Q", title="median main score"), y=alt.Y("task:N", title=None), detail=["task:N"]
    )
    points = base.mark_point(filled=True).encode(
        x="median:Q", y="task:N", color=alt.Color("set:N", title="prompts of"),
        tooltip=[
            "model:N", "task:N", "set:N", alt.Tooltip("median:Q", format=".4f"), alt.Tooltip("p_holm:Q", format=".3f"),
        ],
    )  # fmt: skip
    return alt.layer(line, points).properties(width=240).facet(column=alt.Column("model:N", title=None))
