"""Chart of the sweep: every score of every prompt, before any statistic."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.display.chart import INK, PALETTE
from helpers.display.marks import plain, task_rows
from helpers.sweep.results import prompt_label


def score_strip(cells: pd.DataFrame) -> Any:
    """One tick per prompt, one row per model, one panel per task; the two baselines as marks of their own.

    cells: one row per model, task and prompt, with model, task, kind, prompt, score. A prompt without a score has no
    tick. The axis does not begin at 0, because the question is how far prompts lie apart.
    """
    data = cells[cells["score"].notna()]
    data = data.assign(shown=[prompt_label(*pair) for pair in zip(data["kind"], data["prompt"], strict=True)])
    data = plain(data[["model", "task", "kind", "shown", "score"]])
    base = alt.Chart(data).encode(
        x=alt.X("score:Q", title="main score", scale=alt.Scale(zero=False)),
        y=alt.Y("model:N", title=None),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("shown:N", title="prompt"),
            alt.Tooltip("score:Q", title="main score", format=".4f"),
        ],
    )
    ticks = base.transform_filter("datum.kind == 'prompt'").mark_tick(
        thickness=2, size=18, color=PALETTE[0], opacity=0.7
    )
    kinds = ["default", "none"]
    shapes, colors = (
        alt.Scale(domain=kinds, range=["diamond", "circle"]),
        alt.Scale(domain=kinds, range=[PALETTE[1], INK]),
    )
    baselines = (
        base.transform_filter("datum.kind != 'prompt'")
        .mark_point(size=90, filled=True, opacity=1)
        .encode(
            shape=alt.Shape("kind:N", title="baseline", scale=shapes),
            color=alt.Color("kind:N", title="baseline", scale=colors),
        )
    )
    return task_rows(alt.layer(ticks, baselines).properties(width=520, height={"step": 34}))
