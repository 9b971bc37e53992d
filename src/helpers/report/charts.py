"""Pictures that put models and studies side by side."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.display import marks as mk
from helpers.display.chart import INK, PALETTE
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


def reported(models: pd.DataFrame) -> Any:
    """One study's intervals of random prompts with the default and its distance to their mean in figures.

    models: a study's headline table.
    """
    data = plain(models.dropna(subset=["low", "high"]))
    data["gap"] = data["default"] - data["prompt_mean"]
    base = alt.Chart(data).encode(
        y=mk.rows(sort=list(data["model"])),
        tooltip=mk.tooltip(
            "model", ("default", ".4f"), ("prompt_mean", ".4f", "mean of prompts"), ("low", ".4f"), ("high", ".4f")
        ),
    )
    reach = mk.interval(base, mk.x_of("low", "mean score over tasks", zero=False), "high", width=9)
    gap = base.mark_text(align="left", dx=10, fontSize=11).encode(
        x="default:Q", text=alt.Text("gap:Q", format="+.3f"), color=alt.value(INK)
    )
    layer = alt.layer(reach, mk.mean(base, "prompt_mean", size=18), mk.default(base, "default"), gap)
    return layer.properties(width=430, height={"step": 34})


def rank_tiles(chances: pd.DataFrame, today: pd.DataFrame) -> Any:
    """P(rank) of every model when all draw their prompts at random, its rank by default outlined.

    chances: `random_ranks.rank_probabilities`; today: columns model, rank.
    """
    order = list(today.sort_values(["rank", "model"])["model"])
    data = plain(chances)
    data["seen"] = ["" if p == 0 else "< 1%" if p < 0.01 else f"{p:.0%}" for p in data["probability"]]
    base = alt.Chart(data).encode(
        x=alt.X("rank:O", title="rank when every model draws its prompts at random", axis=alt.Axis(labelAngle=0)),
        y=mk.rows(sort=order),
        tooltip=mk.tooltip("model", ("rank", "d"), ("probability", ".1%", "share of boards")),
    )
    colour = alt.Color("probability:Q", scale=alt.Scale(domain=[0, 1]), legend=None)
    tiles = base.mark_rect(stroke="#ffffff", strokeWidth=2).encode(color=colour)
    ink = mk.tile_ink("datum.probability > 0.5")
    number = base.mark_text(fontSize=12).encode(text="seen:N", color=ink)
    whole = plain(today[today["rank"].notna()].assign(rank=lambda t: t["rank"].astype(int)))
    now = alt.Chart(whole).mark_rect(fillOpacity=0, stroke=PALETTE[1], strokeWidth=2.5, cornerRadius=3)
    now = now.encode(x="rank:O", y=mk.rows(sort=order), tooltip=mk.tooltip("model", ("rank", "d", "rank by default")))
    return alt.layer(tiles, number, now).properties(width={"step": 62}, height={"step": 36})


def slopes(pools: pd.DataFrame) -> Any:
    """Best recall@1 of every model and task from pool to pool; pools: `compare.geometry_rows` with all three pools."""
    data = plain(pools[["model", "task", *POOL_NAMES]])
    data["cell"] = data["model"] + " · " + data["task"]
    long = mk.lengthened(data, POOL_NAMES, "pool", "recall")
    names = list(POOL_NAMES.values())
    base = alt.Chart(long).encode(
        x=alt.X("pool:N", sort=names, title=None, axis=alt.Axis(labelAngle=0), scale=alt.Scale(padding=0.3)),
        y=alt.Y("recall:Q", title="best recall@1 over instructions", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("task:N", legend=alt.Legend(orient="top", title=None), scale=alt.Scale(range=PALETTE)),
        strokeDash=alt.StrokeDash("model:N", legend=alt.Legend(orient="top", title=None)),
        detail="cell:N",
        tooltip=mk.tooltip("model", "task", "pool", ("recall", ".3f")),
    )
    return alt.layer(base.mark_line(strokeWidth=2.5), base.mark_point(size=70, filled=True, opacity=1)).properties(
        width=430, height=250
    )


def changes(tuning: pd.DataFrame, names: dict[str, str]) -> Any:
    """Change of recall@1 after training with its interval, a row per pool and training, around 0.

    tuning: `compare.tuning_rows`; names: what the trainings are called.
    """
    data = plain(tuning[tuning["preset"].isin(list(names))])
    data["training"], data["pool"] = data["preset"].map(names), data["pool"].map(POOL_NAMES)
    several = data[["task", "language", "seed"]].drop_duplicates().shape[0] > 1
    if several:
        data["training"] += " · " + data["task"] + " " + data["language"].fillna("") + " " + data["seed"].astype(str)
    base = alt.Chart(data).encode(
        y=alt.Y("pool:N", sort=list(POOL_NAMES.values()), title=None),
        yOffset=alt.YOffset("training:N"),
        color=alt.Color(
            "training:N", scale=mk.chosen(list(dict.fromkeys(data["training"]))), title=None,
            legend=alt.Legend(orient="top", columns=1, labelLimit=420),
        ),
        tooltip=mk.tooltip("training", "pool", ("before", ".3f"), ("value", ".3f", "after"), ("difference", "+.3f"),
                           ("low", "+.3f"), ("high", "+.3f")),
    )  # fmt: skip
    x = alt.X("low:Q", title="change of recall@1 (95% interval)", axis=alt.Axis(format="+.2f", tickCount=5))
    layer = alt.layer(mk.reference(0), mk.point_with_interval(base, "difference", x, "high", colour=None))
    return layer.properties(width=430, height={"step": 40})
