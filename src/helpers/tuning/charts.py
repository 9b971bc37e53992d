"""The figures of notebook 06: recall before and after, the course of the trainings, gains per instruction."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from helpers.base.ties import levelled
from helpers.display.chart import INK, MUTED, PALETTE

POOLS = {"normal": "targets alone", "random": "with foreign queries", "paraphrase": "with paraphrases"}


POOL_COLOURS = [PALETTE[0], PALETTE[1], PALETTE[4]]


def recall_bars(recalls: pd.DataFrame, baseline: str, metric: str = "recall_at_1") -> Any:
    """Table 6 as a picture: recall per model (colour) and pool (row); one row of panels per language.

    recalls: `tuning_evaluation.recall_table`. Dots are models; the line spans the interval of the difference to the
    base model, laid around the model's own value.
    """
    rows = recalls[recalls["metric"] == metric].copy()
    rows["low_end"] = rows["before"] + rows["low"]
    rows["high_end"] = rows["before"] + rows["high"]
    rows["model"] = [name_of(p, s, baseline) for p, s in zip(rows["preset"], rows["seed"], strict=True)]
    rows["searched"] = rows["pool"].map(POOLS)
    models = list(dict.fromkeys(rows["model"]))
    y = alt.Y("model:N", title=None, sort=models)
    base = alt.Chart(rows)
    line = base.mark_rule(strokeWidth=2, opacity=0.5).encode(
        y=y,
        x=alt.X("low_end:Q", title=metric.replace("_", " ")),
        x2="high_end:Q",
        color=_model_colour(models),
    )
    dot = base.mark_circle(size=90, opacity=1).encode(
        y=y,
        x=alt.X("value:Q", scale=alt.Scale(domain=[0, 1])),
        color=_model_colour(models),
        tooltip=[
            "model:N", "language:N", "searched:N", alt.Tooltip("value:Q", format=".3f"),
            alt.Tooltip("difference:Q", format="+.3f"), alt.Tooltip("low:Q", format="+.3f"),
            alt.Tooltip("high:Q", format="+.3f"), "n:Q",
        ],
    )  # fmt: skip
    panel = alt.layer(line, dot).properties(width=190, height=22 * len(models))
    facets: dict[str, Any] = {"column": alt.Column("searched:N", title=None, sort=list(POOLS.values()))}
    if rows["language"].nunique() > 1:
        facets["row"] = alt.Row("language:N", title=None)
    return panel.facet(**facets)


def dev_curves(log: pd.DataFrame) -> Any:
    """Recall@1 on the dev part per step, one line per pool, one panel per training (the paper's checkpoint figures)."""
    columns = {f"dev_recall_at_1_{pool}": name for pool, name in POOLS.items()}
    there = [c for c in columns if c in log]
    rows = log.melt(["preset", "seed", "step"], there, "pool", "recall").dropna(subset=["recall"])
    rows["pool"] = rows["pool"].map(columns)
    rows["training"] = rows["preset"] + ", seed " + rows["seed"].astype(str)
    colour = alt.Color(
        "pool:N", title="pool", scale=alt.Scale(domain=list(POOLS.values()), range=POOL_COLOURS)
    )
    chart = (
        alt.Chart(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("step:Q", title="optimiser step", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("recall:Q", title="recall@1 (dev)", scale=alt.Scale(domain=[0, 1])),
            color=colour,
            tooltip=["training:N", "pool:N", "step:Q", alt.Tooltip("recall:Q", format=".3f")],
        )
    )
    return _panels(chart, rows)


def loss_curves(log: pd.DataFrame) -> Any:
    """Training loss per logged step, one panel per training."""
    rows = log.dropna(subset=["loss"])[["preset", "seed", "step", "loss", "learning_rate"]].copy()
    rows["training"] = rows["preset"] + ", seed " + rows["seed"].astype(str)
    chart = (
        alt.Chart(rows)
        .mark_line(point=True, color=MUTED)
        .encode(
            x=alt.X("step:Q", title="optimiser step", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("loss:Q", title="loss"),
            tooltip=["training:N", "step:Q", alt.Tooltip("loss:Q", format=".4f"), "learning_rate:Q"],
        )
    )
    return _panels(chart, rows)


def instruction_gains(gains: pd.DataFrame, top: int = 12) -> Any:
    """Table 10 as a picture: recall@1 among paraphrases per instruction, before (open) and after (filled).

    gains: `tuning_study.instruction_gains`. The instructions that gained most, per trained model, ties by their text: a
    panel says how many more tie with the last that it shows. Colour: relevant for the task or not.
    """
    own = gains[gains["group"] != "none"].groupby(["preset", "seed"], sort=False)
    rows = pd.concat(
        [_gained_most(part, top).assign(training=f"{preset}, seed {seed}") for (preset, seed), part in own]
    )
    rows["training"] += [f" ({n} more tie with the last)" if n else "" for n in rows["more"]]
    rows["relevance"] = rows["relevant"].map({True: "relevant", False: "other"})
    colour = alt.Color("relevance:N", title=None,
                       scale=alt.Scale(domain=["relevant", "other"], range=[PALETTE[0], PALETTE[5]]))  # fmt: skip
    # One below the other and not facets: each has its own order of instructions.
    panels = [_gain_panel(part, colour, name) for name, part in rows.groupby("training", sort=False)]
    return alt.vconcat(*panels).resolve_scale(x="shared")


def _gained_most(rows: pd.DataFrame, top: int) -> pd.DataFrame:
    """The `top` rows that gained most, and in `more` how many others have the gain of the last of them."""
    ordered = rows.assign(lost=-levelled(rows["gain"])).sort_values(["lost", "text"])
    shown, rest = ordered.head(top), ordered.iloc[top:]
    return shown.assign(more=int((rest["lost"] == shown["lost"].max()).sum())).drop(columns="lost")


def _gain_panel(rows: pd.DataFrame, colour: Any, title: str) -> Any:
    order = rows["text"].tolist()
    base = alt.Chart(rows).encode(
        y=alt.Y("text:N", title=None, sort=order),
        color=colour,
        tooltip=["training:N", "text:N", "group:N", alt.Tooltip("before:Q", format=".3f"),
                 alt.Tooltip("after:Q", format=".3f"), alt.Tooltip("gain:Q", format="+.3f")],
    )  # fmt: skip
    layers = alt.layer(
        base.mark_rule(opacity=0.5).encode(
            x=alt.X("before:Q", title="recall@1 among paraphrases"), x2="after:Q"
        ),
        base.mark_point(size=60, filled=False).encode(x="before:Q"),
        base.mark_circle(size=70).encode(x="after:Q"),
    )
    return layers.properties(width=300, title=title)


def side_effects(table: pd.DataFrame) -> Any:
    """Figures 5 and 12: difference of the main score to the base model per task, with its interval where there is one.

    table: `tuning_study.side_effect_table`.
    """
    rows = table.copy()
    rows["model"] = rows["model"].astype(str)
    models = list(dict.fromkeys(rows["model"]))
    base = alt.Chart(rows).encode(
        y=alt.Y("task:N", title=None),
        yOffset=alt.YOffset("model:N", sort=models),
        color=_model_colour(models),
        tooltip=["model:N", "task:N", "task_type:N", alt.Tooltip("before:Q", format=".4f"),
                 alt.Tooltip("after:Q", format=".4f"), alt.Tooltip("difference:Q", format="+.4f")],
    )  # fmt: skip
    zero = alt.Chart(pd.DataFrame({"x": [0.0]})).mark_rule(color=INK, opacity=0.4).encode(x="x:Q")
    return alt.layer(
        zero,
        base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", title="difference of the main score"), x2="high:Q"
        ),
        base.mark_circle(size=80, opacity=1).encode(x="difference:Q"),
    ).properties(height=alt.Step(20))


def name_of(preset: str, seed: int, baseline: str) -> str:
    return preset if preset == baseline else f"{preset}, seed {seed}"


def _model_colour(models: list[str]) -> Any:
    return alt.Color(
        "model:N",
        title=None,
        scale=alt.Scale(domain=models, range=[PALETTE[i % 7] for i in range(len(models))]),
    )


def _panels(chart: Any, rows: pd.DataFrame) -> Any:
    order = list(dict.fromkeys(rows["training"]))
    return chart.properties(width=240, height=180).facet(
        column=alt.Column("training:N", title=None, sort=order), spacing=14
    )
