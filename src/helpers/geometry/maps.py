"""Pictures of where queries move: between query, distractor and target, and in two dimensions."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from helpers.display.chart import INK, MUTED, PALETTE
from helpers.display.marks import tooltip
from helpers.geometry.charts import GREY, Choice, named

OUTCOMES = {"target": PALETTE[0], "own paraphrase": PALETTE[4], "another text": GREY}

CORNERS = pd.DataFrame(
    {"x": [0.0, 1.0, 0.5], "y": [0.0, 0.0, np.sqrt(3) / 2], "corner": ["Q query", "D distractor", "A target"]}
)


def corners(x: alt.X, y: alt.Y) -> tuple[Any, Any]:
    """Outline and corner names of the Q-D-A triangle on two axes."""
    edges = alt.Chart(CORNERS.iloc[[0, 1, 2, 0]].assign(order=range(4)))
    outline = edges.mark_line(color=MUTED, strokeWidth=1).encode(x=x, y=y, order="order:O")
    names = alt.layer(
        *[
            alt.Chart(part).mark_text(color=INK, dy=dy).encode(x=x, y=y, text="corner:N")
            for part, dy in ((CORNERS.iloc[:2], 15), (CORNERS.iloc[2:], -10))
        ]
    )
    return outline, names


def triangle(per_query: pd.DataFrame, limit: int = 2000, seed: int = 42) -> alt.TopLevelMixin:
    """Every relevant instruction-query between query, distractor and target, and what it hits.

    Left without distractors, right with the paraphrases; colour = the top hit. At most `limit` pairs are drawn, an
    equal share of them for every model and set (the means, crosses, rest on all).
    """
    rows = triangle_rows(per_query)
    means = rows.groupby(["model", "set", "instruction"], observed=True)[["x", "y"]].mean().reset_index()
    views = rows.groupby(["model", "set"], observed=True)
    share = limit // views.ngroups
    rows = pd.concat([part.sample(min(share, len(part)), random_state=seed) for _, part in views]).round(3)
    choice = Choice(rows, ("model", "set"))
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.12, 1.12]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.1, 0.98]))
    outline, names = corners(x, y)
    tips = tooltip("instruction", ("query_id:N", "", "query"), "w_query:Q", "w_distractor:Q", "w_target:Q")
    scale = alt.Scale(domain=list(OUTCOMES), range=list(OUTCOMES.values()))
    crosses = (
        choice.of(alt.Chart(means.round(4)))
        .mark_point(shape="cross", size=70, color=INK, filled=True)
        .encode(x=x, y=y, tooltip=tooltip(("instruction", "", "mean of")))
    )
    panels = []
    for pool, title in (("normal", "without distractors"), ("paraphrase", "with paraphrase distractors")):
        colour = alt.Color(f"{pool}_top:N", title="top hit", scale=scale, legend=alt.Legend(orient="bottom"))
        points = choice.of(alt.Chart(rows)).mark_circle(size=22, opacity=0.45, clip=True)
        layers = outline, points.encode(x=x, y=y, color=colour, tooltip=tips), crosses, names
        panels.append(alt.layer(*layers).properties(width=300, height=270, title=title))
    return choice.on(alt.hconcat(*panels))


def triangle_rows(per_query: pd.DataFrame) -> pd.DataFrame:
    """The relevant instruction-queries that lie in a triangle, and their top hits; none where no set has paraphrases.

    Columns: model, set, instruction, query_id, w_query, w_distractor, w_target (barycentric weights), x, y (in an
    equilateral triangle of side 1), normal_top, paraphrase_top (target, own paraphrase, another text).
    """
    if "paraphrase_rank" not in per_query:
        return pd.DataFrame()
    rows = named(per_query[per_query["relevant"].astype(bool) & per_query["w_target"].notna()])
    own = rows["paraphrase_own_first"] == 1
    hit = np.where(rows["paraphrase_rank"] == 1, "target", np.where(own, "own paraphrase", "another text"))
    return rows[["model", "set", "instruction", "query_id", "w_query", "w_distractor", "w_target"]].assign(
        x=rows["w_distractor"] + rows["w_target"] / 2,
        y=rows["w_target"] * np.sqrt(3) / 2,
        normal_top=np.where(rows["normal_rank"] == 1, "target", "another text"),
        paraphrase_top=hit,
    )


def query_map(coordinates: pd.DataFrame) -> alt.TopLevelMixin:
    """Targets, plain queries, and the queries under one instruction at a time, joined to the plain ones."""
    drawn = coordinates[["kind", "item_id", "x", "y", "text", "instruction"]].round(3)
    plain = drawn[drawn["kind"] == "query"].set_index("item_id")[["x", "y"]].add_suffix("_plain")
    instructed = drawn[drawn["kind"] == "instructed"].join(plain, on="item_id")
    choice = Choice(instructed, ("instruction",))
    x = alt.X("x:Q", axis=None, scale=alt.Scale(zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(zero=False))
    kinds = {"target": GREY, "query": PALETTE[4], "instructed": PALETTE[0]}
    colour = alt.Color("kind:N", title=None, scale=alt.Scale(domain=list(kinds), range=list(kinds.values())))
    still = alt.Chart(drawn.loc[drawn["kind"] != "instructed", ["kind", "x", "y", "text"]])
    still = still.mark_circle(size=34, opacity=0.7).encode(x=x, y=y, color=colour, tooltip=["kind:N", "text:N"])
    moved = choice.of(alt.Chart(instructed.drop(columns="item_id")))
    lines = moved.mark_rule(opacity=0.35, color=PALETTE[0]).encode(x=x, y=y, x2="x_plain:Q", y2="y_plain:Q")
    points = moved.mark_circle(size=44).encode(x=x, y=y, color="kind:N", tooltip=["instruction:N", "text:N"])
    return choice.on(alt.layer(lines, still, points)).properties(width=620, height=430)
