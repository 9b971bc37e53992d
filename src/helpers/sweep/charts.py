"""Pictures of the sweep: every score of every prompt, before any statistic."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.display.chart import INK, PALETTE
from helpers.sweep.results import prompt_label


def score_strip(scores: pd.DataFrame) -> Any:
    """One tick per prompt, one row per model, one panel per task; the two baselines as marks of their own.

    Scores are means over subsets; the axis does not begin at 0, because the question is how far prompts lie apart.
    """
    ok = scores[scores["status"] == "ok"].copy()
    ok["shown"] = [prompt_label(kind, text) for kind, text in zip(ok["kind"], ok["prompt"], strict=True)]
    keys = ["model", "task", "metric", "kind", "shown"]
    data = ok.groupby(keys, as_index=False, dropna=False)["main_score"].mean()
    data = data.astype(dict.fromkeys(keys, object))
    base = alt.Chart(data).encode(
        x=alt.X("main_score:Q", title="main score", scale=alt.Scale(zero=False)),
        y=alt.Y("model:N", title=None),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("shown:N", title="prompt"),
            alt.Tooltip("main_score:Q", format=".4f"),
        ],
    )
    ticks = base.transform_filter("datum.kind == 'prompt'").mark_tick(
        thickness=2, size=18, color=PALETTE[0], opacity=0.7
    )
    marks = (
        base.transform_filter("datum.kind != 'prompt'")
        .mark_point(size=90, filled=True, opacity=1)
        .encode(
            shape=alt.Shape(
                "kind:N",
                title="baseline",
                scale=alt.Scale(domain=["default", "none"], range=["diamond", "circle"]),
            ),
            color=alt.Color(
                "kind:N",
                title="baseline",
                scale=alt.Scale(domain=["default", "none"], range=[PALETTE[1], INK]),
            ),
        )
    )
    return (
        alt.layer(ticks, marks)
        .properties(width=520, height={"step": 34})
        .facet(
            row=alt.Row(
                "task:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="top")
            )
        )
        .resolve_scale(x="independent")
    )
