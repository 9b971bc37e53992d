"""The charts of notebook 06: recall before and after, the course of the trainings, gains per instruction."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.base.ties import levelled
from helpers.display import marks
from helpers.display.chart import MUTED, PALETTE
from helpers.geometry.pools import POOL_NAMES
from helpers.geometry.relevance import statistics_rows
from helpers.tuning.trained import name_of


def recall_dots(recalls: pd.DataFrame) -> Any:
    """Table 6 as a picture: recall@1 per model (colour) and pool (column); one row of panels per language.

    recalls: `recall_table`. Dots are models; the line spans the interval of the difference to the base model, laid
    around the model's own value.
    """
    rows = recalls[recalls["metric"] == "recall_at_1"].copy()
    rows["low_end"], rows["high_end"] = rows["before"] + rows["low"], rows["before"] + rows["high"]
    rows["searched"] = rows["pool"].map(POOL_NAMES)
    rows, models = _named(rows, "model")
    tips = [(c, "+.3f") for c in ("difference", "low", "high")]
    base = alt.Chart(rows).encode(
        y=marks.rows("model", sort=models),
        color=alt.Color("model:N", title=None, scale=marks.chosen(models)),
        tooltip=marks.tooltip("model", "language", "searched", ("value", ".3f"), *tips, "n:Q"),
    )
    value = alt.X("value:Q", title="recall@1", scale=alt.Scale(domain=[0, 1]))
    layers = marks.point_with_interval(base, value, "low_end", "high_end", colour=None)
    facets: dict[str, Any] = {"column": alt.Column("searched:N", title=None, sort=list(POOL_NAMES.values()))}
    if rows["language"].nunique() > 1:
        facets["row"] = alt.Row("language:N", title=None)
    return layers.properties(width=190, height=22 * len(models)).facet(**facets)


def dose_lines(doses: pd.DataFrame) -> Any:
    """Recall@1 over the share of query-side negatives, one line per pool; one panel per language.

    doses: `dose_table`. The vertical line spans the interval of the difference to the lowest share, laid around the
    value.
    """
    rows = doses[doses["metric"] == "recall_at_1"].copy()
    rows["low_end"], rows["high_end"] = rows["before"] + rows["low"], rows["before"] + rows["high"]
    rows["searched"] = rows["pool"].map(POOL_NAMES)
    base = alt.Chart(rows, width=300, height=220).encode(
        x=alt.X("share:Q", title="share of examples with a query-side negative", axis=alt.Axis(format="%")),
        color=alt.Color("searched:N", title=None, scale=marks.chosen(list(POOL_NAMES.values()))),
        tooltip=marks.tooltip("preset", "searched", ("value", ".3f"), ("difference", "+.3f"), "n:Q", "n_seeds:Q"),
    )
    value = alt.Y("value:Q", title="recall@1", scale=alt.Scale(zero=False))
    spans = base.mark_rule().encode(y=alt.Y("low_end:Q", title="recall@1"), y2="high_end:Q")
    lines = alt.layer(spans.transform_filter("isValid(datum.low_end)"), base.mark_line(point=True).encode(y=value))
    return lines.facet(column=alt.Column("language:N", title=None)) if rows["language"].nunique() > 1 else lines


def dev_curves(log: pd.DataFrame) -> Any:
    """Recall@1 on the dev part per step, one line per pool, one panel per training (the paper's checkpoint figures)."""
    names = {f"dev_recall_at_1_{pool}": name for pool, name in POOL_NAMES.items()}
    rows = marks.lengthened(log, names, "pool", "recall").dropna(subset=["recall"])
    return _course(
        rows[["preset", "seed", "step", "pool", "recall"]],
        y=alt.Y("recall:Q", title="recall@1 (dev)", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("pool:N", scale=marks.chosen(list(POOL_NAMES.values()), [PALETTE[i] for i in (0, 1, 4)])),
        tooltip=marks.tooltip("training", "pool", "step:Q", ("recall", ".3f")),
    )


def loss_curves(log: pd.DataFrame) -> Any:
    """Training loss per logged step, one panel per training."""
    return _course(
        log.dropna(subset=["loss"])[["preset", "seed", "step", "loss", "learning_rate"]],
        y=alt.Y("loss:Q", title="loss"),
        color=alt.value(MUTED),
        tooltip=marks.tooltip("training", "step:Q", ("loss", ".4f"), "learning_rate:Q"),
    )


def instruction_gains(gains: pd.DataFrame, top: int = 12) -> Any:
    """Table 10 as a picture: recall@1 among paraphrases per instruction, before (open) and after (filled).

    gains: `instructions.gains`; the suite's controls are left out, as in every statistic. The instructions that gained
    most, per trained model, ties by their text: a panel says how many more tie with the last that it shows.
    """
    rows, _ = _named(statistics_rows(gains), "training")
    rows["relevance"] = rows["relevant"].map({True: "relevant", False: "other"})
    colours = alt.Scale(domain=["relevant", "other"], range=[PALETTE[0], PALETTE[5]])
    numbers = [("before", ".3f"), ("after", ".3f"), ("gain", "+.3f")]
    # One below the other and not facets: each has its own order of instructions.
    panels = []
    for training, part in rows.groupby("training", sort=False):
        shown, more = _gained_most(part, top)
        title = f"{training} ({more} more tie with the last)" if more else str(training)
        base = alt.Chart(shown, title=title, width=300).encode(
            y=marks.rows("text", sort=shown["text"].tolist()),
            color=alt.Color("relevance:N", title=None, scale=colours, legend=alt.Legend(symbolOpacity=1)),
            tooltip=marks.tooltip("training", "text", "group", *numbers),
        )
        before = alt.X("before:Q", title="recall@1 among paraphrases")
        panels.append(marks.dumbbell(base, before, "after"))
    return alt.vconcat(*panels).resolve_scale(x="shared")


def side_effects(effects: pd.DataFrame) -> Any:
    """Figures 5 and 12: difference of the main score to the base model per task, with its interval where there is one.

    effects: `side_effect_table`.
    """
    models = effects["model"].astype(str).drop_duplicates().tolist()
    numbers = [("before", ".4f"), ("after", ".4f"), ("difference", "+.4f")]
    base = alt.Chart(effects.assign(model=effects["model"].astype(str))).encode(
        y=marks.rows("task"),
        yOffset=alt.YOffset("model:N", sort=models),
        color=alt.Color("model:N", title=None, scale=marks.chosen(models)),
        tooltip=marks.tooltip("model", "task", "task_type", *numbers),
    )
    axis = alt.Axis(labelOverlap=True)
    difference = alt.X("difference:Q", title="difference of the main score", axis=axis)
    dots = marks.point_with_interval(base, difference, "low", "high", colour=None)
    return alt.layer(marks.reference(0), dots).properties(height=alt.Step(20))


def _named(rows: pd.DataFrame, column: str) -> tuple[pd.DataFrame, list[str]]:
    """The rows with the names of their trainings in a column, and these names in their order."""
    names = [name_of(*key) for key in zip(rows["preset"], rows["seed"], strict=True)]
    return rows.assign(**{column: names}), list(dict.fromkeys(names))


def _gained_most(rows: pd.DataFrame, top: int) -> tuple[pd.DataFrame, int]:
    """The `top` rows that gained most, and how many others have the gain of the last of them."""
    ordered = rows.assign(lost=-levelled(rows["gain"])).sort_values(["lost", "text"])
    shown, rest = ordered.head(top), ordered.iloc[top:]
    return shown.drop(columns="lost"), int((rest["lost"] == shown["lost"].max()).sum())


def _course(rows: pd.DataFrame, **encodings: Any) -> Any:
    """Lines over the optimiser's steps, one panel per training."""
    rows, order = _named(rows, "training")
    x = alt.X("step:Q", title="optimiser step", axis=alt.Axis(tickMinStep=1))
    chart = alt.Chart(rows, width=240, height=180).mark_line(point=True).encode(x=x, **encodings)
    return chart.facet(column=alt.Column("training:N", title=None, sort=order), spacing=14)
