"""Three annotated figures with made-up numbers: how to read an inflation plot, a rank interval, a Q-D-A triangle.

The scores, weights and defaults are made up; labels, ranks and intervals are computed by the functions of the report.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from helpers.display.chart import INK, PALETTE, drawing
from helpers.geometry.maps import corners
from helpers.leaderboard.random_ranks import random_boards, rank_table
from helpers.scores.board import borda
from helpers.sensitivity.defaults import sensitivity_table

SCORES = [
    0.52,
    0.53,
    0.537,
    0.545,
    0.55,
    0.555,
    0.56,
    0.562,
    0.566,
    0.57,
    0.575,
    0.58,
    0.586,
    0.592,
    0.60,
]  # by prompt


DEFAULTS = {"Model A": 0.611, "Model B": 0.588}


SHIFTS = {"Model A": 0.0, "Model B": 0.02}


BOARD = {  # two tasks, three prompts and the default of each model
    "Model A": ([0.60, 0.64, 0.70], [0.50, 0.55, 0.57], 0.68),
    "Model B": ([0.58, 0.63, 0.68], [0.49, 0.54, 0.58], 0.62),
    "Model C": ([0.30, 0.33, 0.35], [0.20, 0.22, 0.27], 0.34),
}


@cache
def examples_html() -> str:
    """The three figures with their reading aids, as HTML for the landing page."""
    figures = [
        drawing(
            inflation(),
            name="fig-example-inflation",
            title="Made-up example: the default of Model A flatters it, that of Model B does not",
            alt="Two rows of ticks, one per prompt. Model A's diamond stands right of all its ticks, Model B's in the "
            "middle of its ticks.",
        ),
        drawing(
            ranks(),
            name="fig-example-ranks",
            title="Made-up example: A and B may change places, C cannot leave rank 3",
            alt="Three rows: bars from rank 1 to 2 for Model A and Model B, a single point at rank 3 for Model C, and a "
            "diamond at each rank by default.",
        ),
        drawing(
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


def example_labels() -> pd.DataFrame:
    """The table of `sensitivity.sensitivity` for the scores of the first figure: one task, two models."""
    rows = [
        {
            "model": model,
            "task": "task",
            "task_type": "STS",
            "prompt_id": str(k),
            "kind": kind,
            "score": score,
        }
        for model, shift in SHIFTS.items()
        for k, (kind, score) in enumerate(
            [*(("prompt", s + shift) for s in SCORES), ("default", DEFAULTS[model])]
        )
    ]
    return sensitivity_table(pd.DataFrame(rows), draws=100)


def example_ranks() -> pd.DataFrame:
    """Rank by default and rank interval of the second figure: columns model, low, high, rank."""
    values = np.array([[first, second] for first, second, _ in BOARD.values()])
    table = rank_table(random_boards(values), list(BOARD)).set_index("model")
    default = borda(
        pd.DataFrame({"task": [d for *_, d in BOARD.values()]}, index=pd.Index(BOARD, name="model"))
    )
    return pd.DataFrame({
        "model": list(BOARD), "low": table["rank_low"].reindex(BOARD).tolist(),
        "high": table["rank_high"].reindex(BOARD).tolist(), "rank": default.set_index("model")["rank"].reindex(BOARD).tolist(),
    })  # fmt: skip


def inflation() -> Any:
    """An inflated and a representative default among the scores of fifteen prompts."""
    prompts = pd.DataFrame(
        [{"model": model, "score": score + shift} for model, shift in SHIFTS.items() for score in SCORES]
    )
    mean = prompts.groupby("model", as_index=False)["score"].mean()
    default = example_labels().rename(columns={"default": "score", "n_prompts": "n"})
    below = (default["percentile"] * default["n"]).round().astype(int)
    default["note"] = [
        f"default above {n} of {len(SCORES)} prompts: {label}"
        for n, label in zip(below, default["label"], strict=True)
    ]
    default = default[["model", "score", "note"]]
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
    table = example_ranks().assign(
        note=["first by default, but B can pass", "overlaps A: no order", "always third"]
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
