"""Pictures that put models and studies side by side."""

from __future__ import annotations

import warnings
from typing import Any

import altair as alt
import pandas as pd

from helpers.display.chart import GRID, INK, PALETTE
from helpers.display.marks import model_highlight, plain

POOL_NAMES = {"normal": "targets alone", "random": "and foreign queries", "paraphrase": "and paraphrases"}


def intervals(models: pd.DataFrame) -> Any:
    """Per study and model the interval of the mean score under random prompts, the mean of the prompts, the default.

    models: `comparison.model_rows`. A panel per study with an axis of its own: other tasks give other scores.
    """
    data = plain(models.dropna(subset=["prompt_mean"]))
    click = model_highlight()
    base = alt.Chart(data).encode(
        y=alt.Y("model:N", title=None, sort=alt.EncodingSortField("rank", op="min")),
        opacity=alt.condition(click, alt.value(1), alt.value(0.2)),
        tooltip=[
            "study:N", "model:N", alt.Tooltip("default:Q", format=".4f"), alt.Tooltip("prompt_mean:Q", format=".4f"),
            alt.Tooltip("low:Q", format=".4f"), alt.Tooltip("high:Q", format=".4f"),
            alt.Tooltip("percentile:Q", format=".1%"), "rank:Q", "rank_low:Q", "rank_high:Q", "verdict:N",
        ],
    )  # fmt: skip
    x = alt.X("low:Q", title="mean score over tasks", scale=alt.Scale(zero=False))
    reach = base.mark_rule(strokeWidth=7, color=PALETTE[0]).encode(x=x, x2="high:Q")
    mean = base.mark_tick(thickness=3, size=20, color=INK).encode(x="prompt_mean:Q")
    mark = base.mark_point(
        shape="diamond", size=110, filled=True, color=PALETTE[1], stroke=INK, strokeWidth=1
    ).encode(x="default:Q")
    return _panels(alt.layer(reach, mean, mark), data, "study", click)


def pools(geometry: pd.DataFrame) -> Any:
    """Per model, task and study the best recall@1 in the three pools; geometry: `comparison.geometry_rows`."""
    data = plain(geometry.dropna(subset=["normal"]))
    data["panel"] = data["task"] + " (" + data["study"] + ")"
    # one long frame, not a fold in the browser: the download then holds what is drawn
    long = data.melt(["panel", "study", "model", "task"], list(POOL_NAMES), "pool", "recall").dropna()
    long["pool"] = long["pool"].map(POOL_NAMES)
    click, names = model_highlight(), list(POOL_NAMES.values())
    legend: dict[str, Any] = {"title": "pool", "legend": alt.Legend(orient="top")}
    base = alt.Chart(long).encode(
        y=alt.Y("model:N", title=None),
        opacity=alt.condition(click, alt.value(1), alt.value(0.2)),
        tooltip=["study:N", "model:N", "task:N", "pool:N", alt.Tooltip("recall:Q", format=".3f")],
    )
    lines = base.mark_rule(strokeWidth=3, color=GRID).encode(
        x=alt.X("min(recall):Q", title="best recall@1 over instructions", scale=alt.Scale(domain=[0, 1])),
        x2="max(recall):Q", tooltip=["study:N", "model:N", "task:N"],
    )  # fmt: skip
    points = base.mark_point(size=80, filled=True).encode(
        x="recall:Q",
        color=alt.Color("pool:N", scale=alt.Scale(domain=names, range=PALETTE[: len(names)]), **legend),
        shape=alt.Shape("pool:N", scale=alt.Scale(domain=names), **legend),
    )  # fmt: skip
    return _panels(alt.layer(lines, points), long, "panel", click)


def _panels(layer: Any, data: pd.DataFrame, field: str, click: alt.Parameter) -> Any:
    """One panel per value of a field, each with axes of its own, below one another; a click counts in all of them."""
    panels = [
        layer.transform_filter(alt.datum[field] == value).properties(
            width=470, height={"step": 26}, title=alt.TitleParams(value, fontSize=12)
        )
        for value in dict.fromkeys(data[field])
    ]
    with warnings.catch_warnings():  # that the selection is one and the same in all panels is what is wanted
        warnings.filterwarnings("ignore", message="Automatically deduplicated selection parameter")
        return alt.vconcat(*panels).add_params(click)
