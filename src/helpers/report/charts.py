"""Pictures that put models and studies side by side."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.display import marks as mk
from helpers.display.marks import plain
from helpers.geometry.pools import POOL_NAMES

PANEL = {"width": 470, "height": {"step": 26}}


def intervals(models: pd.DataFrame) -> Any:
    """Per study and model the interval of the mean score under random prompts, the mean of the prompts, the default.

    models: `comparison.model_rows`. A panel per study with an axis of its own: other tasks give other scores.
    """
    data = plain(models.dropna(subset=["prompt_mean"]))
    click = mk.model_highlight()
    base = alt.Chart(data).encode(
        y=mk.rows(sort=alt.EncodingSortField("rank", op="min")),
        opacity=mk.forward(click, dim=0.2),
        tooltip=mk.tooltip(
            "study", "model", ("default", ".4f"), ("prompt_mean", ".4f"), ("low", ".4f"), ("high", ".4f"),
            ("percentile", ".1%"), "rank:Q", "rank_low:Q", "rank_high:Q", "verdict",
        ),
    )  # fmt: skip
    reach = mk.interval(base, mk.x_of("low", "mean score over tasks", zero=False), "high", width=7)
    layer = alt.layer(reach, mk.mean(base, "prompt_mean", size=20), mk.default(base, "default"))
    return mk.panels(layer, data, "study", click, **PANEL)


def pools(geometry: pd.DataFrame) -> Any:
    """Per model, task and study the best recall@1 in the three pools; geometry: `comparison.geometry_rows`."""
    data = plain(geometry.dropna(subset=["normal"]))
    data["panel"] = data["task"] + " (" + data["study"] + ")"
    # one long frame, not a fold in the browser: the download then holds what is drawn
    data = data[["panel", "study", "model", "task", *POOL_NAMES]]
    long = mk.lengthened(data, POOL_NAMES, "pool", "recall").dropna()
    click, names = mk.model_highlight(), list(POOL_NAMES.values())
    legend: dict[str, Any] = {"title": "pool", "legend": alt.Legend(orient="top")}
    base = alt.Chart(long).encode(
        y=mk.rows(),
        opacity=mk.forward(click, dim=0.2),
        tooltip=mk.tooltip("study", "model", "task", "pool", ("recall", ".3f")),
    )
    x = mk.x_of("min(recall)", "best recall@1 over instructions", domain=[0, 1])
    line = mk.span(base, x, "max(recall)").encode(tooltip=mk.tooltip("study", "model", "task"))
    points = base.mark_point(size=80, filled=True).encode(
        x="recall:Q",
        color=alt.Color("pool:N", scale=mk.chosen(names), **legend),
        shape=alt.Shape("pool:N", scale=alt.Scale(domain=names), **legend),
    )
    return mk.panels(alt.layer(line, points), long, "panel", click, **PANEL)
