"""Three annotated figures with made-up numbers: how to read an inflation plot, a rank interval, a Q-D-A triangle."""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from helpers.charts import INK, PALETTE, show
from helpers.charts_geometry import corners

SCORES = [0.52, 0.53, 0.545, 0.55, 0.555, 0.56, 0.562, 0.57, 0.575, 0.58, 0.59, 0.60]  # of twelve prompts


@cache
def examples_html() -> str:
    """The three figures with their reading aids, as HTML for the landing page."""
    figures = [
        show(
            inflation(),
            name="fig-example-inflation",
            title="Made-up example: the default of Model A flatters it, that of Model B does not",
            alt="Two rows of ticks, one per prompt. Model A's diamond stands right of nearly all its ticks, Model B's in "
            "the middle of its ticks.",
        ),
        show(
            ranks(),
            name="fig-example-ranks",
            title="Made-up example: A and B may change places, C cannot leave rank 3",
            alt="Three rows: bars from rank 1 to 2 for Model A and Model B, a single point at rank 3 for Model C, and a "
            "diamond at each rank by default.",
        ),
        show(
            triangle(),
            name="fig-example-triangle",
            title="Made-up example: three instructions move one query to three places",
            alt="A triangle with corners Q, D and A and three points: one near Q, one on the way to D, one close to A.",
        ),
    ]
    words = [
        ("Inflation plot", "(page 3) Every tick is the score under one prompt, the dark bar their mean, the diamond the "
         "default prompt, which is the one that a leaderboard reports. Its percentile is the share of prompts that score "
         "lower."),
        ("Rank interval", "(page 4) The bar spans 95% of the ranks that a model gets when every model draws its prompts at "
         "random; the diamond is its rank by default. Models whose bars overlap have no order without saying which prompts "
         "were used."),
        ("Q-D-A triangle", "(page 5) The corners are the query <strong>Q</strong>, its paraphrase, the distractor "
         "<strong>D</strong>, and the right target <strong>A</strong>. A point is the query under one instruction: the "
         "nearer to a corner, the more of its vector lies there. Good instructions move it towards A."),
    ]  # fmt: skip
    return "".join(
        f'<h3 id="how-{number}">{name}</h3><p>{text}</p>{figure.markup}'
        for number, ((name, text), figure) in enumerate(zip(words, figures, strict=True), 1)
    )


def inflation() -> Any:
    """An inflated and a representative default among the scores of twelve prompts."""
    prompts = pd.DataFrame(
        [
            {"model": model, "score": score + shift}
            for model, shift in (("Model A", 0.0), ("Model B", 0.02))
            for score in SCORES
        ]
    )
    mean = prompts.groupby("model", as_index=False)["score"].mean()
    default = pd.DataFrame({"model": ["Model A", "Model B"], "score": [0.596, 0.588]})
    below = [
        int((prompts.loc[prompts["model"] == m, "score"] < s).sum())
        for m, s in zip(default["model"], default["score"], strict=True)
    ]
    default["note"] = [
        f"default above {n} of {len(SCORES)} prompts: {word}"
        for n, word in zip(below, ("inflated", "representative"), strict=True)
    ]
    y = alt.Y("model:N", title=None)
    x = alt.X("score:Q", title="main score", scale=alt.Scale(domain=[0.51, 0.63]))
    ticks = alt.Chart(prompts).mark_tick(thickness=2, size=17, color=PALETTE[0]).encode(x=x, y=y)
    bar = alt.Chart(mean).mark_tick(thickness=3, size=24, color=INK).encode(x=x, y=y)
    marks = alt.Chart(default).encode(x=x, y=y, tooltip=["model:N", "score:Q", "note:N"])
    diamond = marks.mark_point(
        shape="diamond", size=110, filled=True, color=PALETTE[1], stroke=INK, strokeWidth=1
    )
    note = marks.mark_text(align="center", dy=-20, color=INK, fontWeight=600).encode(text="note:N")
    return (ticks + bar + diamond + note).properties(width=520, height=alt.Step(64))


def ranks() -> Any:
    """Two models whose rank intervals overlap, and one whose rank is fixed."""
    table = pd.DataFrame(
        {
            "model": ["Model A", "Model B", "Model C"],
            "low": [1, 1, 3],
            "high": [2, 2, 3],
            "rank": [1, 2, 3],
            "note": ["first by default, but B can pass", "overlaps A: no order", "always third"],
        }
    )
    base = alt.Chart(table).encode(y=alt.Y("model:N", title=None), tooltip=list(table.columns))
    x = alt.X("low:Q", title="rank", scale=alt.Scale(domain=[0.7, 4.6]), axis=alt.Axis(values=[1, 2, 3], format="d"))  # fmt: skip
    bar = base.mark_rule(strokeWidth=7, color=PALETTE[0], strokeCap="round").encode(x=x, x2="high:Q")
    diamond = base.mark_point(
        shape="diamond", size=130, filled=True, color=PALETTE[1], stroke=INK, strokeWidth=1
    ).encode(x="rank:Q")
    note = base.mark_text(align="left", dx=14, color=INK, fontWeight=600).encode(x="high:Q", text="note:N")
    return (bar + diamond + note).properties(width=520, height=alt.Step(40))


def triangle() -> Any:
    """One query under three instructions: unmoved, drawn to the distractor, moved towards the target."""
    weights = pd.DataFrame(
        [
            ("stays: the instruction is ignored", 0.86, 0.07, 0.07),
            ("drawn to the paraphrase", 0.32, 0.56, 0.12),
            ("moved towards the answer: good", 0.24, 0.10, 0.66),
        ],
        columns=["note", "query", "distractor", "target"],
    )
    points = weights.assign(
        x=weights["distractor"] + weights["target"] / 2, y=weights["target"] * np.sqrt(3) / 2
    )
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.9, 1.6]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.12, 1]))
    outline, names = corners(x, y)
    base = alt.Chart(points).encode(x=x, y=y, tooltip=["note:N", "query:Q", "distractor:Q", "target:Q"])
    dots = base.mark_circle(size=110, opacity=1).encode(
        color=alt.Color("note:N", legend=None, scale=alt.Scale(range=PALETTE))
    )
    label: dict[str, Any] = {"color": INK, "fontWeight": 600}
    right = base.mark_text(align="left", dx=12, **label).encode(text="note:N")
    left = base.mark_text(align="right", dx=-12, **label).encode(text="note:N")
    notes = right.transform_filter("datum.query < 0.5") + left.transform_filter("datum.query > 0.5")
    return (outline + dots + notes + names).properties(width=620, height=250)
