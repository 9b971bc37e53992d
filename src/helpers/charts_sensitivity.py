"""Pictures of sensitivity: where scores lie, where the default stands among them, how much is wording."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.charts import DIVERGING, GRID, INK, PALETTE
from helpers.html_table import visible_whitespace

LABEL_COLOURS = {
    "inflated": DIVERGING[0], "representative": "#0e9d7a", "deflated": "#386ae1", "undecided": "#565c66",
}  # fmt: skip


def plain(table: pd.DataFrame) -> pd.DataFrame:
    """The frame with text columns as ordinary objects and missing text as None, as JSON wants them."""
    text = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c])]
    out = table.copy()
    for column in text:
        out[column] = out[column].astype(object).where(out[column].notna(), None)
    return out


def model_highlight() -> alt.Parameter:
    """Click a model's mark to bring it forward; a click beside the marks or a double click resets."""
    return alt.selection_point(fields=["model"], on="click", clear="dblclick", empty=True)


def strips(cells: pd.DataFrame) -> Any:
    """One tick per prompt and one row per model in a panel per task; the default is a diamond, the mean a bar.

    The axis of each task is its own and does not begin at 0: the question is how far prompts lie apart.
    """
    data = plain(cells[cells["score"].notna() & cells["kind"].isin(["prompt", "default"])])
    data["shown"] = [
        visible_whitespace(p) if k == "prompt" else "(default)"
        for k, p in zip(data["kind"], data["prompt"], strict=True)
    ]
    data = data[["model", "task", "kind", "shown", "score"]]
    click = model_highlight()
    base = alt.Chart(data).encode(
        x=alt.X("score:Q", title="main score", scale=alt.Scale(zero=False, nice=True)),
        y=alt.Y("model:N", title=None),
        tooltip=[
            "model:N",
            "task:N",
            alt.Tooltip("shown:N", title="prompt"),
            alt.Tooltip("score:Q", format=".4f"),
        ],
        opacity=alt.condition(click, alt.value(0.8), alt.value(0.15)),
    )
    prompts = "datum.kind == 'prompt'"
    ticks = base.transform_filter(prompts).mark_tick(thickness=2, size=15, color=PALETTE[0]).add_params(click)
    mean = (
        alt.Chart(data).transform_filter(prompts).mark_tick(thickness=3, size=19, color=INK)
        .encode(x=alt.X("mean(score):Q"), y="model:N", tooltip=["model:N", alt.Tooltip("mean(score):Q", format=".4f")])
    )  # fmt: skip
    mark = base.transform_filter("datum.kind == 'default'").mark_point(
        shape="diamond", size=95, filled=True, color=PALETTE[1], stroke=INK, strokeWidth=1
    )
    return alt.layer(ticks, mean, mark).properties(width=470, height={"step": 22}).facet(
        row=alt.Row("task:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="top"))
    ).resolve_scale(x="independent")  # fmt: skip


def percentile_map(table: pd.DataFrame) -> Any:
    """Model x task heat map: the share of prompts below the default, with the label's sign; hover shows the interval."""
    data = plain(table[table["percentile"].notna()])
    data["sign"] = data["label"].map(
        {"inflated": "▲", "deflated": "▼", "undecided": "?", "representative": ""}
    )
    click = model_highlight()
    columns = [
        "model",
        "task",
        "percentile",
        "percentile_low",
        "percentile_high",
        "q_value",
        "label",
        "n_prompts",
        "sign",
    ]
    base = alt.Chart(data[columns]).encode(
        x=alt.X("task:N", title=None, axis=alt.Axis(labelAngle=-38)),
        y=alt.Y("model:N", title=None),
        tooltip=[
            "model:N", "task:N", "label:N", alt.Tooltip("percentile:Q", format=".2f"),
            alt.Tooltip("percentile_low:Q", title="interval from", format=".2f"),
            alt.Tooltip("percentile_high:Q", title="to", format=".2f"),
            alt.Tooltip("q_value:Q", title="false discovery rate", format=".3f"), alt.Tooltip("n_prompts:Q", title="prompts"),
        ],
        opacity=alt.condition(click, alt.value(1), alt.value(0.3)),
    )  # fmt: skip
    tiles = base.mark_rect(stroke="#ffffff", strokeWidth=1).encode(
        color=alt.Color(
            "percentile:Q", title="share of prompts below the default",
            scale=alt.Scale(domain=[0, 0.5, 1], range=[DIVERGING[6], DIVERGING[3], DIVERGING[0]]),
            legend=alt.Legend(orient="top", gradientLength=220, format=".0%"),
        )
    ).add_params(click)  # fmt: skip
    extreme = alt.condition(
        "datum.percentile > 0.8 || datum.percentile < 0.2", alt.value("#ffffff"), alt.value("#20262e")
    )
    number = base.mark_text(fontSize=11).encode(text=alt.Text("percentile:Q", format=".2f"), color=extreme)
    sign = base.mark_text(fontSize=9, dx=15, dy=-8).encode(text="sign:N", color=extreme)
    return (tiles + number + sign).properties(width={"step": 46}, height={"step": 32})


def cv_strip(table: pd.DataFrame) -> Any:
    """Coefficient of variation of every task by model, with the model's median and quartiles."""
    data = plain(table[table["cv"].notna()])
    columns = ["model", "task", "cv", "cv_low", "cv_high", "cv_reliable", "n_prompts"]
    data = data[[c for c in columns if c in data]]
    click = model_highlight()
    base = alt.Chart(data).encode(y=alt.Y("model:N", title=None))
    box = base.mark_bar(size=13, color=GRID).encode(
        x=alt.X("q1(cv):Q", title="coefficient of variation over prompts", axis=alt.Axis(format=".0%")),
        x2="q3(cv):Q",
    )
    median = base.mark_tick(thickness=3, size=20, color=INK).encode(
        x="median(cv):Q", tooltip=["model:N", alt.Tooltip("median(cv):Q", format=".1%")]
    )
    points = base.mark_point(filled=True, size=50, color=PALETTE[0]).encode(
        x="cv:Q",
        opacity=alt.condition(click, alt.value(0.85), alt.value(0.15)),
        shape=alt.Shape("cv_reliable:N", title="mean far from 0", scale=alt.Scale(domain=[True, False], range=["circle", "cross"])),
        tooltip=["model:N", "task:N", alt.Tooltip("cv:Q", format=".2%"), alt.Tooltip("cv_low:Q", title="interval from", format=".2%"),
                 alt.Tooltip("cv_high:Q", title="to", format=".2%"), alt.Tooltip("n_prompts:Q", title="prompts")],
    ).add_params(click)  # fmt: skip
    return (box + median + points).properties(width=520, height={"step": 34})
