"""Charts of prompts: how long they are, in which styles, and how much they resemble each other."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.display.chart import INK
from helpers.display.tables import visible_whitespace
from helpers.prompts.statistics import STYLES, style, words
from helpers.study.prompts import LEVELS

_LEVEL = alt.Y("level:N", title=None, sort=[*LEVELS, "no level"])


def lengths(prompts: pd.DataFrame) -> Any:
    """One point per prompt: its number of words, by level; a tick marks the level's mean."""
    known = prompts.dropna(subset=["text"])
    data = known[["task"]].assign(
        level=known["level"].fillna("no level"),
        words=[len(words(text)) for text in known["text"]],
        shown=[visible_whitespace(text) for text in known["text"]],
    )
    # Points with the same count are set side by side, in the order of the table, so that none hides another.
    data["beside"] = data.groupby(["level", "words"]).cumcount()
    points = alt.Chart(data).mark_circle().encode(
        x=alt.X("words:Q", title="words of the prompt", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(zero=True)),
        y=_LEVEL,
        yOffset=alt.YOffset("beside:Q", scale=alt.Scale(reverse=True)),
        color=alt.Color("task:N", title="task"),
        tooltip=[alt.Tooltip("shown:N", title="prompt"), "task:N", "level:N", "words:Q"],
    )  # fmt: skip
    mean = alt.Chart(data).mark_tick(size=84, thickness=2, color=INK).encode(
        x="mean(words):Q", y=_LEVEL, tooltip=[alt.Tooltip("mean(words):Q", format=".2f")]
    )  # fmt: skip
    return alt.layer(points, mean).properties(height=alt.Step(90))


def styles(prompts: pd.DataFrame) -> Any:
    """Shares of the styles at each level, as one bar of 100 % per level."""
    known = prompts.dropna(subset=["text"])
    pairs = pd.DataFrame({"level": known["level"].fillna("no level"), "style": known["text"].map(style)})
    data = pairs.value_counts(["level", "style"], sort=False).rename("size").reset_index()
    data["share"] = data["size"] / data.groupby("level")["size"].transform("sum")
    data["position"] = data["style"].map(STYLES.index)
    return alt.Chart(data).mark_bar().encode(
        x=alt.X("size:Q", stack="normalize", title="share of the prompts", axis=alt.Axis(format="%")),
        y=_LEVEL,
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
    step = alt.Step(max(10, 420 // max(1, data["row"].nunique())))
    return alt.Chart(data).mark_rect().encode(
        x=alt.X("column:O", title="prompt, in the order of the table", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("row:O", title=None),
        color=alt.Color("similarity:Q", title="similarity", scale=alt.Scale(domain=[0, 1])),
        tooltip=["first:N", "second:N", alt.Tooltip("similarity:Q", format=".2f")],
    ).properties(width=step, height=step)  # fmt: skip
