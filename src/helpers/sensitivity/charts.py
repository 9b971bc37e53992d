"""Pictures of sensitivity: where scores lie, where the default stands among them, how much is wording."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from helpers.display import marks
from helpers.display.chart import DIVERGING, GRID, INK, PALETTE
from helpers.display.tables import visible_whitespace
from helpers.sensitivity.sets import ALL
from helpers.sensitivity.wording import trait_name

SIGNS = {"inflated": "▲", "deflated": "▼", "undecided": "?", "representative": ""}


def strips(cells: pd.DataFrame) -> Any:
    """One tick per prompt and one row per model in a panel per task; the default is a diamond, the mean a bar.

    The axis of each task is its own and does not begin at 0: the question is how far prompts lie apart.
    """
    data = marks.plain(cells[cells["score"].notna() & cells["kind"].isin(["prompt", "default"])])
    written = data["kind"] == "prompt"
    data["shown"] = data["prompt"].map(visible_whitespace).where(written, "(default)")
    data = data[["model", "task", "kind", "shown", "score"]]
    click, prompts = marks.model_highlight(), "datum.kind == 'prompt'"
    base = alt.Chart(data).encode(
        y=marks.rows(),
        tooltip=marks.tooltip("model", "task", ("shown", "", "prompt"), ("score", ".4f")),
        opacity=marks.forward(click, 0.8),
    )
    middle = alt.Chart(data).encode(y=marks.rows(), tooltip=marks.tooltip("model", ("mean(score)", ".4f")))
    layers = alt.layer(
        marks.ticks(base.transform_filter(prompts), marks.x_of("score", "main score", zero=False, nice=True)),
        marks.mean(middle.transform_filter(prompts), "mean(score)"),
        marks.default(base.transform_filter("datum.kind == 'default'"), "score", size=95),
    )
    return marks.task_rows(layers.add_params(click).properties(width=470, height={"step": 22}))


def percentile_map(table: pd.DataFrame) -> Any:
    """Model x task heat map: the share of prompts below the default, with the label's sign; hover shows the interval."""
    data = marks.plain(table[table["percentile"].notna()])
    data["sign"] = data["label"].map(SIGNS)
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
    click, dark = marks.model_highlight(), "datum.percentile > 0.8 || datum.percentile < 0.2"
    base = alt.Chart(data[columns]).encode(
        x=alt.X("task:N", title=None, axis=alt.Axis(labelAngle=-38)),
        y=marks.rows(),
        tooltip=marks.tooltip(
            "model", "task", "label", ("percentile", ".2f"), ("percentile_low", ".2f", "interval from"),
            ("percentile_high", ".2f", "to"), ("q_value", ".3f", "false discovery rate"), ("n_prompts:Q", "", "prompts"),
        ),
        opacity=marks.forward(click, dim=0.3),
    )  # fmt: skip
    colour = alt.Color(
        "percentile:Q",
        title="share of prompts below the default",
        scale=alt.Scale(domain=[0, 0.5, 1], range=[DIVERGING[6], DIVERGING[3], DIVERGING[0]]),
        legend=alt.Legend(orient="top", gradientLength=220, format=".0%", titleLimit=400),
    )
    squares, number = marks.tiles(base, colour, ".2f", dark)
    sign = base.mark_text(fontSize=9, dx=15, dy=-8).encode(text="sign:N", color=marks.tile_ink(dark))
    return (squares.add_params(click) + number + sign).properties(width={"step": 46}, height={"step": 32})


def cv_strip(table: pd.DataFrame) -> Any:
    """Coefficient of variation of every task by model, with the model's median and quartiles."""
    data = marks.plain(table[table["cv"].notna()])
    data["reliable"] = data["cv_reliable"].map({True: "yes", False: "mean near 0"})
    data = data.reindex(columns=["model", "task", "cv", "cv_low", "cv_high", "reliable", "n_prompts"])
    legend = alt.Legend(orient="top") if (data["reliable"] != "yes").any() else None
    shapes = alt.Scale(domain=["yes", "mean near 0"], range=["circle", "cross"])
    click, base = marks.model_highlight(), alt.Chart(data).encode(y=marks.rows())
    quartiles = base.mark_bar(size=13, color=GRID).encode(
        x=marks.x_of("q1(cv)", "coefficient of variation over prompts", ".0%"), x2="q3(cv):Q"
    )
    median = marks.mean(base, "median(cv)", size=20).encode(tooltip=marks.tooltip("model", ("median(cv)", ".1%")))
    points = base.mark_point(filled=True, size=50, color=PALETTE[0]).encode(
        x="cv:Q",
        opacity=marks.forward(click, 0.85),
        shape=alt.Shape("reliable:N", title=None, legend=legend, scale=shapes),
        tooltip=marks.tooltip("model", "task", ("cv", ".2%"), ("cv_low", ".2%", "interval from"), ("cv_high", ".2%", "to"),
                              ("n_prompts:Q", "", "prompts")),
    )  # fmt: skip
    return (quartiles + median + points.add_params(click)).properties(width=520, height={"step": 34})


def error_lines(curve: pd.DataFrame) -> Any:
    """Error against the number of prompts, a panel per measure: the median cell and the ninth of ten."""
    names = {"error": "median cell", "error_q90": "nine cells of ten"}
    long = marks.lengthened(marks.plain(curve), names, "line", "value")
    sizes = alt.Axis(values=sorted(set(long["k"])))
    base = alt.Chart(long).encode(
        x=alt.X("k:Q", title="prompts", scale=alt.Scale(type="log"), axis=sizes),
        y=alt.Y("value:Q", title="error (95% of samples)", axis=alt.Axis(format=".0%")),
        color=alt.Color("line:N", title=None, scale=alt.Scale(range=PALETTE), legend=alt.Legend(orient="top")),
        strokeDash=alt.StrokeDash("line:N", title=None),
        tooltip=marks.tooltip("measure", "line", "k:Q", ("value", ".1%"), "cells:Q"),
    )
    both = (base.mark_line() + base.mark_point(size=34)).properties(width=185, height=200)
    order = [m for m in ("mean", "cv", "percentile") if m in set(long["measure"])]
    return both.facet(column=alt.Column("measure:N", sort=order, title=None)).resolve_scale(y="independent")


def variance_bars(table: pd.DataFrame) -> Any:
    """Share of the variance on one task by its source: every task in its own units, with intervals, and in score units."""
    names = {"share_own_scale": "every task in its own standard deviations", "share_on_task": "in score units"}
    data = marks.plain(table[table["share_on_task"].notna()])
    long = marks.lengthened(data[["source", "variance", "low", "high", *names]], names, "scale", "share")
    long = long.dropna(subset=["share"])
    long.loc[long["scale"] != names["share_own_scale"], ["low", "high"]] = (
        np.nan
    )  # the intervals are those of this share
    base = alt.Chart(long).encode(
        y=marks.rows("source", list(data["source"])), yOffset=alt.YOffset("scale:N", sort=list(names.values()))
    )
    picture = base.mark_bar(size=12, opacity=0.85).encode(
        x=marks.x_of("share", "share of variance on one task", ".0%"),
        color=alt.Color(
            "scale:N", title=None, scale=marks.chosen(list(names.values())), legend=alt.Legend(orient="top")
        ),
        tooltip=marks.tooltip(
            "source", "scale", ("share", ".1%"), ("low", ".1%"), ("high", ".1%"), ("variance", ".2e")
        ),
    )
    if long["low"].notna().any():
        picture += marks.interval(base.transform_filter("isValid(datum.low)"), "low", "high", width=2, colour=INK)
    return picture.properties(width=520, height={"step": 17})


def noise_points(table: pd.DataFrame) -> Any:
    """Spread between prompts beside the noise of one score and of a difference, one row per test set."""
    data = marks.plain(table)
    subset = (" " + data["subset"]).where(data["subset"] != "default", "")
    data["test set"] = data["model"] + " · " + data["task"] + subset
    names = {"prompt_sd": "spread between prompts (sd)", "paired_error": "noise of a difference",
             "standard_error": "noise of one score"}  # fmt: skip
    long = marks.lengthened(data[["test set", "n_units", "beyond_fdr", *names]], names, "what", "value")
    return (
        alt.Chart(long)
        .mark_point(size=85, filled=True)
        .encode(
            x=marks.x_of("value", "score units"),
            y=marks.rows("test set", labelLimit=420),
            color=alt.Color("what:N", title=None, scale=alt.Scale(range=PALETTE), legend=alt.Legend(orient="top")),
            shape=alt.Shape("what:N", title=None),
            tooltip=marks.tooltip("test set", "what", ("value", ".4f"), ("n_units:Q", "", "queries or pairs"),
                                  ("beyond_fdr", ".0%", "differences beyond noise")),
        )
        .properties(width=430, height={"step": 24})
    )  # fmt: skip


def agreement_bars(table: pd.DataFrame, fdr: float = 0.05) -> Any:
    """Kendall's W of every task over models; filled where it is beyond chance; a tick where every family counts once."""
    data = marks.plain(table[table["kendall_w"].notna()])
    data["beyond chance"] = (data["q_value"] <= fdr).map({True: "yes", False: "not shown"})
    tips = marks.tooltip("task", ("kendall_w", ".2f"), ("mean_spearman", ".2f"), "models:Q", ("family_w", ".2f"),
                         ("family_spearman", ".2f"), "families:Q", ("q_value", ".3f"), "prompts:Q")  # fmt: skip
    base = alt.Chart(data).encode(y=marks.rows("task", "-x"), tooltip=tips)
    bars = base.mark_bar(size=18).encode(
        x=marks.x_of("kendall_w", "Kendall's W (1: all models order the prompts alike)", domain=[0, 1]),
        color=alt.Color("beyond chance:N", scale=marks.chosen(["yes", "not shown"], [PALETTE[0], "#a9b1bb"])),
    )
    picture = bars
    if (data["families"] < data["models"]).any():
        picture = bars + marks.ticks(base, "family_w:Q", size=24, colour=INK)
    return picture.properties(width=420, height={"step": 28})


def trait_forest(table: pd.DataFrame) -> Any:
    """Effect of each trait of wording with its interval; traits that too few prompts have or lack are left out."""
    data = marks.plain(table[table["effect"].notna()])
    others = data["stands_for"].map(lambda names: "".join(f", {trait_name(n)}" for n in names.split(", ") if n))
    data["trait"] = data["trait"].map(trait_name) + others
    largest_first = data.sort_values("effect", ascending=False)["trait"].tolist()
    tips = marks.tooltip("trait", ("effect", "+.2f"), ("low", "+.2f"), ("high", "+.2f"), ("q_value", ".3f"), "texts:Q",
                         "tasks:Q")  # fmt: skip
    base = alt.Chart(data).encode(y=marks.rows("trait", largest_first), tooltip=tips)
    low = marks.x_of("low", "change of the score, in standard deviations of its cell")
    forest = marks.point_with_interval(base, "effect", low, "high")
    return (marks.reference() + forest).properties(width=460, height={"step": 36})


def set_forest(table: pd.DataFrame, margin: float) -> Any:
    """Difference of every two sets of prompts: a dot per task, the mean over tasks with its interval, the margin."""
    data = marks.plain(table)
    data["pair"] = data["first"] + " against " + data["second"]
    names = ["difference", "low", "high"]
    data[names] = 100 * data[names]
    tips = marks.tooltip(
        "pair", "task", ("difference", "+.1f", "points"), ("low", "+.1f"), ("high", "+.1f"), ("delta", "+.2f", "Cliff's delta"),
        ("delta_low", "+.2f"), ("delta_high", "+.2f"), "models:Q", ("first_prompts:Q", "", "prompts"), "second_prompts:Q", "verdict",
    )  # fmt: skip
    order = list(dict.fromkeys(data["pair"]))
    pooled, single = data[data["task"] == ALL], data[data["task"] != ALL]
    x = marks.x_of("difference", "difference of the mean scores, in points", "+.0f")
    base, tasks = (
        alt.Chart(part).encode(y=marks.rows("pair", order, labelLimit=420), tooltip=tips) for part in (pooled, single)
    )
    dots = tasks.mark_point(filled=True, size=40, color=PALETTE[1], opacity=0.5).encode(x=x)
    lines = [marks.reference(value) for value in (0.0, -100 * margin, 100 * margin)]
    return alt.layer(*lines, dots, marks.point_with_interval(base, "difference", "low", "high")).properties(
        width=420, height={"step": 34}
    )


def chosen_gains(verdicts: pd.DataFrame) -> alt.LayerChart:
    """The best prompt's gain where it was chosen and elsewhere; verdicts: of `choice.chosen`, one row per model and task."""
    table = marks.plain(verdicts.dropna(subset=["honest_gain"]))
    table["cell"] = table["model"] + " on " + table["task"]
    tips = marks.tooltip(
        "model", "task", ("n_units", ",", "queries or pairs"), ("by_mean", "", "best by mean"), ("gain", "+.4f"),
        ("honest_gain", "+.4f", "gain on other queries"), ("by_bound", "", "best by bound"), ("bound", "+.4f"), "verdict",
    )  # fmt: skip
    base = alt.Chart(table).encode(y=marks.rows("cell", labelLimit=420), tooltip=tips)
    x = marks.x_of("honest_gain", "gain over the default", "+.3f")
    apparent = base.mark_point(size=90, filled=False, color=INK).encode(x="gain:Q")
    bound = marks.ticks(base, "bound:Q", colour=PALETTE[1])
    honest = marks.point_with_interval(base, x, "honest_low", "honest_high")
    return (honest + apparent + bound + marks.reference()).properties(width=420)
