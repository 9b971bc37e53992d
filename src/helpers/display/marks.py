"""Marks: parts that the charts of all chapters share, so that a default or an interval looks the same everywhere.

Most take `base`, a chart that carries data and what its layers share (row, opacity, tooltip), and give one layer:

    base = alt.Chart(plain(table)).encode(y=rows(), opacity=forward(click), tooltip=tooltip("model", ("score", ".4f")))
    (interval(base, "low", "high", title="mean score") + mean(base, "mean") + default(base, "default")).add_params(click)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
import pandas as pd

from helpers.display.chart import GRID, INK, ON_DARK_TILE, ON_LIGHT_TILE, PALETTE

Tip: TypeAlias = str | tuple[str, str] | tuple[str, str, str]


def plain(table: pd.DataFrame) -> pd.DataFrame:
    """The frame with text columns as ordinary objects and missing text as None, as JSON wants them."""
    text = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c])]
    out = table.copy()
    for column in text:
        out[column] = out[column].astype(object).where(out[column].notna(), None)
    return out


def lengthened(table: pd.DataFrame, names: Mapping[str, str], variable: str, value: str) -> pd.DataFrame:
    """The columns of `names` one below the other: `variable` holds the name in words, `value` the number.

    All other columns are kept.

    >>> table = pd.DataFrame({"k": [1], "error": [0.2], "error_q90": [0.5]})
    >>> lengthened(table, {"error": "median", "error_q90": "nine of ten"}, "line", "share").values.tolist()
    [[1, 'median', 0.2], [1, 'nine of ten', 0.5]]
    """
    kept = [c for c in table.columns if c not in names]
    long = table.melt(kept, [c for c in names if c in table], var_name=variable, value_name=value)
    return long.assign(**{variable: long[variable].map(names)})


def model_highlight() -> alt.Parameter:
    """Click a model's mark to bring it forward; a click beside the marks or a double click resets."""
    return alt.selection_point(fields=["model"], on="click", clear="dblclick", empty=True)


def forward(click: alt.Parameter, bright: float = 1.0, dim: float = 0.15) -> Any:
    """Opacity: what is not clicked steps back."""
    return alt.condition(click, alt.value(bright), alt.value(dim))


def tooltip(*tips: Tip) -> list[alt.Tooltip]:
    """What hovering shows: `"model"` a text, `("score", ".4f")` a number, a third word is its title.

    >>> [t.shorthand for t in tooltip("model", ("score", ".4f"), ("low", ".2f", "from"))]
    ['model:N', 'score:Q', 'low:Q']
    """
    out = []
    for tip in tips:
        field, form, *title = (tip, "") if isinstance(tip, str) else tip
        words: dict[str, Any] = {"title": title[0]} if title else {}
        if form:
            words["format"] = form
        kind = "" if ":" in field else ":Q" if form else ":N"
        out.append(alt.Tooltip(f"{field}{kind}", **words))
    return out


def x_of(field: str, title: str | None = None, form: str | None = None, **scale: Any) -> alt.X:
    """A number on the horizontal axis: `x_of("share", "share of prompts", ".0%", domain=[0, 1])`."""
    words: dict[str, Any] = {} if title is None else {"title": title}
    if form:
        words["axis"] = alt.Axis(format=form)
    if scale:
        words["scale"] = alt.Scale(**scale)
    return alt.X(field if ":" in field else f"{field}:Q", **words)


def rows(field: str = "model", sort: Any = alt.Undefined, **axis: Any) -> alt.Y:
    """One row per value of a field, without a title."""
    words: dict[str, Any] = {"axis": alt.Axis(**axis)} if axis else {}
    return alt.Y(f"{field}:N", title=None, sort=sort, **words)


def ticks(base: Any, x: str | alt.X, *, size: int = 15, colour: str = PALETTE[0], **mark: Any) -> Any:
    """A strip: one thin tick per row of the data."""
    return base.mark_tick(thickness=2, size=size, color=colour, **mark).encode(x=_axis(x))


def mean(base: Any, x: str | alt.X, *, size: int = 19) -> Any:
    """The middle of a strip, a thick tick in ink: `mean(base, "mean(score)")` or a column that holds it."""
    return base.mark_tick(thickness=3, size=size, color=INK).encode(x=_axis(x))


def default(base: Any, x: str | alt.X, *, size: int = 110) -> Any:
    """What a model gets with its default prompt: a diamond with an edge of ink."""
    return base.mark_point(shape="diamond", size=size, filled=True, color=PALETTE[1], stroke=INK, strokeWidth=1).encode(
        x=_axis(x)
    )


def interval(
    base: Any, low: str | alt.X, high: str, *, width: float = 2.5, colour: str | None = PALETTE[0], **mark: Any
) -> Any:
    """A bar from `low` to `high`; `colour=None` where the base encodes it."""
    if colour is not None:
        mark["color"] = colour
    return base.mark_rule(strokeWidth=width, **mark).encode(x=_axis(low), x2=f"{high}:Q")


def point_with_interval(
    base: Any, x: str | alt.X, low: str | alt.X, high: str, *, size: int = 90, colour: str | None = PALETTE[0]
) -> Any:
    """A dot and the bar of its interval; `colour=None` where the base encodes it."""
    mark: dict[str, Any] = {} if colour is None else {"color": colour}
    dot = base.mark_point(filled=True, size=size, opacity=1, **mark).encode(x=_axis(x))
    return interval(base, low, high, colour=colour) + dot


def dumbbell(base: Any, first: str | alt.X, last: str, *, size: int = 60, colour: str | None = None) -> Any:
    """Two values of one row joined by a line, the first an open and the last a filled circle."""
    mark: dict[str, Any] = {} if colour is None else {"color": colour}
    line = base.mark_rule(opacity=0.5, **mark).encode(x=_axis(first), x2=f"{last}:Q")
    begin = base.mark_point(size=size, filled=False, **mark).encode(x=_axis(first))
    return line + begin + base.mark_circle(size=size + 10, opacity=1, **mark).encode(x=_axis(last))


def span(base: Any, low: str | alt.X, high: str) -> Any:
    """A quiet line behind several points of one row: `span(base, "min(recall)", "max(recall)")`."""
    return interval(base, low, high, width=3, colour=GRID)


def tiles(base: Any, colour: alt.Color, form: str, dark: str, *, font: int = 11) -> tuple[Any, Any]:
    """A heat map: tiles, and numbers on them in an ink that can be read there.

    colour: the encoding, `alt.Color("wins:Q", …)`; its field is the number. dark: which tiles are dark, `"datum.wins > 0.5"`.
    """
    squares = base.mark_rect(stroke="#ffffff", strokeWidth=1).encode(color=colour)
    number = base.mark_text(fontSize=font).encode(text=alt.Text(colour["shorthand"], format=form), color=tile_ink(dark))
    return squares, number


def tile_ink(dark: str) -> Any:
    """The ink of what stands on a tile; dark: which tiles are dark."""
    return alt.condition(dark, alt.value(ON_DARK_TILE), alt.value(ON_LIGHT_TILE))


def reference(value: float = 0.0, axis: str = "x") -> Any:
    """A dashed line at one value of an axis."""
    return alt.Chart(pd.DataFrame({"at": [value]})).mark_rule(strokeDash=[4, 3], color=INK).encode(**{axis: "at:Q"})


def chosen(names: Sequence[str], colours: Sequence[str] = PALETTE) -> alt.Scale:
    """The same colour for the same name in every panel: names in their order, colours in turn."""
    return alt.Scale(domain=list(names), range=[colours[i % len(colours)] for i in range(len(names))])


def task_rows(layer: Any, field: str = "task") -> Any:
    """A panel per task, one below the other, its name above it and an axis of its own."""
    header = alt.Header(labelAngle=0, labelAlign="left", labelOrient="top")
    return layer.facet(row=alt.Row(f"{field}:N", title=None, header=header)).resolve_scale(x="independent")


def panels(layer: Any, data: pd.DataFrame, field: str, click: alt.Parameter, **size: Any) -> Any:
    """A panel per value of a field, each with axes and rows of its own, below one another; a click counts in all."""
    views = [
        layer.transform_filter(alt.datum[field] == value).properties(title=alt.TitleParams(value, fontSize=12), **size)
        for value in dict.fromkeys(data[field])
    ]
    with warnings.catch_warnings():  # that the selection is one and the same in all panels is what is wanted
        warnings.filterwarnings("ignore", message="Automatically deduplicated selection parameter")
        return alt.vconcat(*views).add_params(click)


def _axis(x: str | alt.X) -> str | alt.X:
    return x if isinstance(x, alt.X) or ":" in x else f"{x}:Q"
