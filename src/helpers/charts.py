"""Charts and tables as they appear in the notebooks and in the report."""

from __future__ import annotations

import html
import json

import altair as alt
import pandas as pd
import vl_convert

INK, MUTED, GRID = "#222b36", "#5b6673", "#d9dee5"
PALETTE = ["#2f78c4", "#d1601f", "#12917f", "#9a5fc0", "#b07d12", "#c94f7c", "#7c8490"]


def visible_whitespace(text: object) -> str:
    """Show what a reader cannot see in a prompt: line ends, tabs, outer blanks, the empty text."""
    if text is None or text != text:
        return "(none)"
    return str(text).replace("\n", "⏎").replace("\t", "⇥") or "(empty)"


class Html:
    """A display object that carries one piece of HTML and a plain text fallback."""

    def __init__(self, markup: str, text: str):
        self.markup, self.text = markup, text

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.markup, "text/plain": self.text}


def show(chart: alt.TopLevelMixin, name: str, alt: str, title: str) -> Html:  # noqa: F811
    """Display a chart under the anchor `name`, with its finding as `title` and `alt` text for readers without sight."""
    svg = vl_convert.vegalite_to_svg(json.dumps(chart.to_dict()))
    markup = (f'<figure id="{html.escape(name)}" class="hp-chart"><figcaption>{html.escape(title)}</figcaption>'
              f'<div role="img" aria-label="{html.escape(alt)}">{svg}</div></figure>')
    return Html(markup, f"{title}\n{alt}")


def table(df: pd.DataFrame, name: str = "", caption: str = "", max_rows: int | None = None) -> Html:
    """Display a data frame as an escaped HTML table under the anchor `name`."""
    shown = df if max_rows is None else df.head(max_rows)
    return Html(f'<div id="{html.escape(name)}" class="hp-table"><p>{html.escape(caption)}</p>'
                f'{shown.to_html(index=False, escape=True)}</div>', shown.to_string(index=False))
