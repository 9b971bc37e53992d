"""Pictures of sensitivity: where scores lie, where the default stands among them, how much is wording."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.display.chart import DIVERGING, GRID, INK, ON_DARK_TILE, ON_LIGHT_TILE, PALETTE
from helpers.display.marks import model_highlight, plain
from helpers.display.tables import visible_whitespace
from helpers.sensitivity.agreement import trait_name


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
            legend=alt.Legend(orient="top", gradientLength=220, format=".0%", titleLimit=400),
        )
    ).add_params(click)  # fmt: skip
    extreme = alt.condition(
        "datum.percentile > 0.8 || datum.percentile < 0.2", alt.value(ON_DARK_TILE), alt.value(ON_LIGHT_TILE)
    )
    number = base.mark_text(fontSize=11).encode(text=alt.Text("percentile:Q", format=".2f"), color=extreme)
    sign = base.mark_text(fontSize=9, dx=15, dy=-8).encode(text="sign:N", color=extreme)
    return (tiles + number + sign).properties(width={"step": 46}, height={"step": 32})


def cv_strip(table: pd.DataFrame) -> Any:
    """Coefficient of variation of every task by model, with the model's median and quartiles."""
    data = plain(table[table["cv"].notna()])
    data["reliable"] = ["yes" if r else "mean near 0" for r in data["cv_reliable"]]
    columns = ["model", "task", "cv", "cv_low", "cv_high", "reliable", "n_prompts"]
    data = data.reindex(columns=columns)
    legend = alt.Legend(orient="top") if (data["reliable"] != "yes").any() else None
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
        shape=alt.Shape("reliable:N", title=None, legend=legend, scale=alt.Scale(domain=["yes", "mean near 0"], range=["circle", "cross"])),
        tooltip=["model:N", "task:N", alt.Tooltip("cv:Q", format=".2%"), alt.Tooltip("cv_low:Q", title="interval from", format=".2%"),
                 alt.Tooltip("cv_high:Q", title="to", format=".2%"), alt.Tooltip("n_prompts:Q", title="prompts")],
    ).add_params(click)  # fmt: skip
    return (box + median + points).properties(width=520, height={"step": 34})


def error_lines(curve: pd.DataFrame) -> Any:
    """Error against the number of prompts, a panel per measure: the median cell and the ninth of ten."""
    names = {"error": "median cell", "error_q90": "nine cells of ten"}
    long = plain(curve).melt(["measure", "k", "cells"], list(names), var_name="line", value_name="value")
    long["line"] = long["line"].map(names)
    base = alt.Chart(long).encode(
        x=alt.X(
            "k:Q", title="prompts", scale=alt.Scale(type="log"), axis=alt.Axis(values=sorted(set(long["k"])))
        ),
        y=alt.Y("value:Q", title="error (95% of samples)", axis=alt.Axis(format=".0%")),
        color=alt.Color(
            "line:N", title=None, scale=alt.Scale(range=PALETTE), legend=alt.Legend(orient="top")
        ),
        strokeDash=alt.StrokeDash("line:N", title=None),
        tooltip=["measure:N", "line:N", "k:Q", alt.Tooltip("value:Q", format=".1%"), "cells:Q"],
    )
    both = (base.mark_line() + base.mark_point(size=34)).properties(width=185, height=200)
    order = [m for m in ("mean", "cv", "percentile") if m in set(long["measure"])]
    return both.facet(column=alt.Column("measure:N", sort=order, title=None)).resolve_scale(y="independent")


def variance_bars(table: pd.DataFrame) -> Any:
    """Share of the variance on one task by its source, with the interval."""
    data = plain(table[table["share_on_task"].notna()])
    order = list(data["source"])
    base = alt.Chart(data).encode(y=alt.Y("source:N", sort=order, title=None))
    bars = base.mark_bar(size=20, color=PALETTE[0], opacity=0.85).encode(
        x=alt.X("share_on_task:Q", title="share of variance on one task", axis=alt.Axis(format=".0%")),
        tooltip=[
            "source:N",
            alt.Tooltip("share_on_task:Q", format=".1%"),
            alt.Tooltip("variance:Q", format=".2e"),
        ],
    )
    if "share_on_task_low" not in data or data["share_on_task_low"].isna().all():
        return bars.properties(width=520, height={"step": 34})
    reach = base.mark_rule(color=INK, strokeWidth=2).encode(
        x="share_on_task_low:Q", x2="share_on_task_high:Q"
    )
    return (bars + reach).properties(width=520, height={"step": 34})


def noise_bars(table: pd.DataFrame) -> Any:
    """Spread between prompts beside the standard error of one score, one row per test set."""
    data = plain(table)
    data["test set"] = (
        data["model"] + " · " + data["task"] + data["subset"].map(lambda s: "" if s == "default" else f" {s}")
    )
    names = {
        "prompt_sd": "spread between prompts (sd)",
        "paired_error": "noise of a difference",
        "standard_error": "noise of one score",
    }
    long = data.melt(["test set", "n_units", "beyond_fdr"], list(names), var_name="what", value_name="value")
    long["what"] = long["what"].map(names)
    return (
        alt.Chart(long)
        .mark_point(size=85, filled=True)
        .encode(
            x=alt.X("value:Q", title="score units"),
            y=alt.Y("test set:N", title=None, axis=alt.Axis(labelLimit=420)),
            color=alt.Color("what:N", title=None, scale=alt.Scale(range=PALETTE), legend=alt.Legend(orient="top")),
            shape=alt.Shape("what:N", title=None),
            tooltip=["test set:N", "what:N", alt.Tooltip("value:Q", format=".4f"), alt.Tooltip("n_units:Q", title="queries or pairs"),
                     alt.Tooltip("beyond_fdr:Q", title="differences beyond noise", format=".0%")],
        )
        .properties(width=430, height={"step": 24})
    )  # fmt: skip


def agreement_bars(table: pd.DataFrame, fdr: float = 0.05) -> Any:
    """Kendall's W of every task; filled where it is beyond chance."""
    data = plain(table[table["kendall_w"].notna()])
    data["beyond chance"] = ["yes" if q <= fdr else "not shown" for q in data["q_value"]]
    return (
        alt.Chart(data)
        .mark_bar(size=18)
        .encode(
            x=alt.X("kendall_w:Q", title="Kendall's W (1: all models order the prompts alike)", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("task:N", title=None, sort="-x"),
            color=alt.Color("beyond chance:N", scale=alt.Scale(domain=["yes", "not shown"], range=[PALETTE[0], "#a9b1bb"])),
            tooltip=["task:N", alt.Tooltip("kendall_w:Q", format=".2f"), alt.Tooltip("mean_spearman:Q", format=".2f"),
                     alt.Tooltip("q_value:Q", format=".3f"), "models:Q", "prompts:Q"],
        )
        .properties(width=420, height={"step": 28})
    )  # fmt: skip


def trait_forest(table: pd.DataFrame) -> Any:
    """Effect of each trait of wording with its interval; traits that too few prompts have or lack are left out."""
    data = plain(table[table["effect"].notna()])
    data["trait"] = data["trait"].map(trait_name)
    largest_first = data.sort_values("effect", ascending=False)["trait"].tolist()
    base = alt.Chart(data).encode(y=alt.Y("trait:N", title=None, sort=largest_first))
    rule = base.mark_rule(strokeWidth=2.5, color=PALETTE[0]).encode(
        x=alt.X("low:Q", title="change of the score, in standard deviations of its cell"), x2="high:Q"
    )
    dot = base.mark_point(filled=True, size=90, color=PALETTE[0]).encode(
        x="effect:Q",
        tooltip=["trait:N", alt.Tooltip("effect:Q", format="+.2f"), alt.Tooltip("low:Q", format="+.2f"),
                 alt.Tooltip("high:Q", format="+.2f"), alt.Tooltip("q_value:Q", format=".3f"), "texts:Q"],
    )  # fmt: skip
    zero = alt.Chart(pd.DataFrame({"zero": [0]})).mark_rule(strokeDash=[4, 3], color=INK).encode(x="zero:Q")
    return (zero + rule + dot).properties(width=460, height={"step": 36})
