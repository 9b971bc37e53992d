"""Charts of notebook 05 with one mark per instruction: each takes a table of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from helpers.display.chart import INK, MUTED, PALETTE
from helpers.display.marks import rows as rows_of
from helpers.display.marks import span, tooltip
from helpers.display.tables import visible_whitespace
from helpers.geometry.measures import MEASURES
from helpers.geometry.pools import POOLS
from helpers.geometry.relevance import statistics_rows
from helpers.study.geometry import NONE_ID

GREY = "#a9afb8"

GROUP_COLOURS = {
    "task-specific": PALETTE[0],
    "mteb-category": PALETTE[1],
    "unrelated-task": PALETTE[2],
    "vague": PALETTE[3],
    "llm-written": PALETTE[6],
    "nonsense": PALETTE[4],
    "own": INK,
    "control": GREY,
}

POOL_COLOURS = dict(zip(POOLS, (PALETTE[0], PALETTE[1], PALETTE[4]), strict=True))

RELEVANCE = ["relevant", "other"]

SHOWN = ["model", "set", "instruction", "group", "relevance"]

ABOUT = "instruction", "group", "relevance"  # what every tooltip shows


def structure(geometry: pd.DataFrame) -> alt.TopLevelMixin:
    """Each measure (columns) against the score, one row per task and subset, one mark per instruction.

    Without the suite's controls, which lie far outside.
    """
    rows = named(statistics_rows(geometry))[[*SHOWN, "score", *MEASURES]].round(4)
    choice = Choice(rows)
    base = choice.of(alt.Chart(rows)).mark_point(size=44, opacity=0.8).properties(width=132, height=120)
    lines = []
    for name in _order(rows["set"]):
        row: list[Any] = []
        for measure, title in MEASURES.items():
            encoded = base.encode(
                x=alt.X(f"{measure}:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4)),
                y=alt.Y("score:Q", title=None if row else "score", scale=alt.Scale(zero=False)),
                color=_group_colour(rows),
                shape=_relevance_shape(),
                tooltip=tooltip(*ABOUT, f"{measure}:Q", "score:Q"),
            )
            row.append(encoded.transform_filter(alt.datum.set == name))
        lines.append(alt.hconcat(*row, spacing=10, title=name))
    return choice.on(alt.vconcat(*lines, spacing=6))


def shift(quadrants: pd.DataFrame) -> alt.TopLevelMixin:
    """Displacement against gain over the plain query; lines at the set's median displacement and at no gain."""
    gain = [c for c in ("gain", "gain_low", "gain_high") if c in quadrants]
    rows = named(quadrants)[[*SHOWN, "displacement", *gain, "shift_limit", "quadrant"]].round(4)
    choice = Choice(rows)
    base = choice.of(alt.Chart(rows)).properties(width=250, height=190)
    points = base.mark_point(size=46, opacity=0.85).encode(
        x=alt.X("displacement:Q", title="displacement"),
        y=alt.Y("gain:Q", title="gain over the plain query"),
        color=_group_colour(rows),
        shape=_relevance_shape(),
        tooltip=tooltip(*ABOUT, "quadrant", "displacement:Q", "gain:Q"),
    )
    layers: list[Any] = [
        base.mark_rule(strokeDash=[4, 3]).encode(x="max(shift_limit):Q"),
        base.transform_aggregate(n="count()").mark_rule(strokeDash=[4, 3]).encode(y=alt.datum(0)),
    ]
    if "gain_low" in rows:
        bars = base.mark_rule(opacity=0.25)
        layers.append(bars.encode(x="displacement:Q", y="gain_low:Q", y2="gain_high:Q"))
    return choice.on(_by_set(alt.layer(*layers, points), rows).resolve_scale(x="independent", y="independent"))


def relevance(geometry: pd.DataFrame) -> alt.TopLevelMixin:
    """Scores of relevant and of other instructions, one tick each, with the medians and the plain query's score."""
    rows = named(statistics_rows(geometry))[[*SHOWN, "score"]].round(4)
    plain = named(geometry[geometry["group"] == "none"])[["model", "set", "score"]]
    rows = rows.merge(plain.rename(columns={"score": "plain"}), on=["model", "set"], how="left")
    choice = Choice(rows)
    base = choice.of(alt.Chart(rows)).properties(width=360, height=64)
    y = rows_of("relevance", RELEVANCE)
    scale = alt.Scale(domain=RELEVANCE, range=[PALETTE[0], GREY])
    ticks = base.mark_tick(thickness=2, height=18, opacity=0.75).encode(
        x=alt.X("score:Q", title="score", scale=alt.Scale(zero=False)),
        y=y,
        color=alt.Color("relevance:N", scale=scale, legend=None),
        tooltip=tooltip(*ABOUT, ("score", ".3f")),
    )
    medians = base.mark_point(shape="diamond", size=70, color=INK).encode(x="median(score):Q", y=y)
    line = base.mark_rule(strokeDash=[4, 3], color=MUTED).encode(
        x="max(plain):Q", tooltip=tooltip(("max(plain)", ".3f", "without instruction"))
    )
    return choice.on(_by_set(alt.layer(line, ticks, medians), rows).resolve_scale(x="independent"))


def distractors(table: pd.DataFrame, metric: str = "recall_at_1") -> alt.TopLevelMixin:
    """The score of every instruction in each pool, sorted by the score without distractors; model and set to choose."""
    rows = named(table)
    texts = rows["text"].where(rows["instruction_id"] != NONE_ID, "(no instruction)").map(visible_whitespace)
    marked = texts.where(~rows["control"].astype(bool), "[control] " + texts)
    # A frame of bare values: one row per instruction, for the line between the pools.
    wide = rows.assign(instruction=marked).pivot_table(metric, SHOWN, "pool", observed=True).reset_index()
    pools = [p for p in POOLS if p in wide]
    wide = wide.assign(low=wide[pools].min(axis=1), high=wide[pools].max(axis=1)).round(4)
    choice = Choice(rows, ("model", "set"))
    base = choice.of(alt.Chart(wide)).properties(width=400, height=alt.Step(15))
    order = alt.EncodingSortField(field="normal", op="max", order="descending")
    y = rows_of("instruction", order, labelLimit=330, labelPadding=9, labelFontSize=11)
    lines = span(base.encode(y=y), alt.X("low:Q", title=metric.replace("_at_", "@")), "high")
    scale = alt.Scale(domain=pools, range=[POOL_COLOURS[p] for p in pools])
    points = base.transform_fold(pools, as_=["pool", "value"]).mark_point(size=44)
    points = points.encode(
        y=y,
        x="value:Q",
        color=alt.Color("pool:N", title="pool", scale=scale, legend=alt.Legend(orient="top")),
        shape=_relevance_shape("top"),
        tooltip=tooltip(*ABOUT, "pool", ("value", ".3f")),
    )
    return choice.on(alt.layer(lines, points))


def named(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with `set` (task and subset in one word) and `relevance` in words."""
    subset = rows["subset"].where(rows["subset"] != "default", "")
    return rows.assign(
        set=(rows["task"] + " " + subset).str.strip(),
        relevance=rows["relevant"].astype(bool).map({True: "relevant", False: "other"}),
        instruction=rows["text"],
    )


def _by_set(chart: Any, rows: pd.DataFrame) -> Any:
    return chart.facet(facet=alt.Facet("set:N", title=None, sort=_order(rows["set"])), columns=2)


def _group_colour(rows: pd.DataFrame) -> alt.Color:
    there = [g for g in GROUP_COLOURS if g in set(rows["group"])]
    scale = alt.Scale(domain=there, range=[GROUP_COLOURS[g] for g in there])
    return alt.Color("group:N", title="group", scale=scale)


def _relevance_shape(orient: Any = "right") -> alt.Shape:
    scale = alt.Scale(domain=RELEVANCE, range=["diamond", "circle"])
    return alt.Shape("relevance:N", title="for this task", scale=scale, legend=alt.Legend(orient=orient))


def _order(values: pd.Series) -> list[str]:
    return list(dict.fromkeys(values))


class Choice:
    """Show one model (and one set) at a time, chosen below the chart; nothing to choose where there is only one.

    `of(view)` filters a view's rows; `on(chart)` adds the lists to the whole chart.
    """

    def __init__(self, rows: pd.DataFrame, names: Sequence[str] = ("model",)) -> None:
        self.params = {}
        for name in names:
            options = _order(rows[name])
            if len(options) > 1:
                bind = alt.binding_select(options=options, name=f"{name} ")
                self.params[name] = alt.param(f"chosen_{name}", value=options[0], bind=bind)

    def of(self, view: Any) -> Any:
        for name, param in self.params.items():
            view = view.transform_filter(alt.datum[name] == param)
        return view

    def on(self, chart: Any) -> Any:
        if self.params:  # at the top, not through add_params: altair fails there for columns of facets
            chart = chart.copy(deep=False)
            chart.params = [param.param for param in self.params.values()]
        return chart
