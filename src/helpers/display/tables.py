"""Text and tables from data as HTML in which the data cannot act: every cell is escaped, every control shown."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import pandas as pd

from helpers.base.visible import show_controls
from helpers.display.kit import table_kit

_OUTER = re.compile(r"^ +| +$| {2,}|(?<=\n) +| +(?=\n)")

NO_MATH = "mathjax_ignore tex2jax_ignore"  # JupyterLab would set `$x$` in data as a formula

WIDE = 28  # characters up to which a cell keeps to one line

WIDER = 120  # and that get a wider column, so that a row of a scrolling table is not tall

LONG = 300  # characters of a cell beyond which the site folds it


class Html:
    """A display object: one piece of HTML with its style and script, and plain text where HTML is not shown."""

    def __init__(self, markup: str, text: str, extras: str | None = None) -> None:
        self.markup, self.text = markup, text
        self.extras = table_kit() if extras is None else extras

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.markup + self.extras, "text/plain": self.text}

    def __repr__(self) -> str:
        return self.text


def visible_whitespace(text: object) -> str:
    """Show what a reader cannot see in a prompt.

    Line end `⏎`, tab `⇥`, no-break space `⍽`, outer and repeated blanks `␣`, controls by their number, the empty
    text as `(empty)` and a missing one (None, NaN) as `(none)`. Single blanks between words stay blanks.
    """
    if text is None or text is pd.NA or (isinstance(text, float) and math.isnan(text)):
        return "(none)"
    shown = _OUTER.sub(lambda m: "␣" * len(m.group()), str(text).replace("\r\n", "\n"))
    shown = shown.replace("\r", "␍").replace("\n", "⏎").replace("\t", "⇥").replace("\u00a0", "⍽")
    return show_controls(shown) or "(empty)"


def findings(sentences: Iterable[str | dict[str, str]], heading: str = "") -> Html:
    """Show finding sentences (or `{"text", "figure"}`) as a list; a figure's anchor becomes a link on the page."""
    items, plain = [], []
    for sentence in sentences:
        entry = {"text": sentence} if isinstance(sentence, str) else sentence
        link = entry.get("figure")
        kind = "table" if link and link.startswith("tbl-") else "figure"
        more = f' <a href="#{html.escape(link)}">see the {kind}</a>' if link else ""
        items.append(f"<li>{folded(entry['text'])}{more}</li>")
        plain.append(f"- {entry['text']}")
    if not items:
        items, plain = ["<li>The data allow no finding.</li>"], ["- The data allow no finding."]
    title = f"<p><strong>{html.escape(heading)}</strong></p>" if heading else ""
    return Html(f'<div class="hp-findings {NO_MATH}">{title}<ul>{"".join(items)}</ul></div>', "\n".join(plain))


def table(
    df: pd.DataFrame, name: str = "", caption: str = "", max_rows: int | None = None, whitespace: Iterable[str] = ()
) -> Html:
    """Show a data frame as an escaped HTML table.

    name: the anchor on the page. max_rows: rows shown, the caption says how many there are. whitespace: columns whose
    blanks are made visible (prompts). Floats are rounded to what their column's size needs; the download and the
    sorting use the exact values. On the site, long tables can be sorted, searched and downloaded.
    """
    flat = df.reset_index() if any(n is not None for n in df.index.names) else df
    flat = flat.set_axis([" · ".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in flat.columns], axis=1)
    shown = flat if max_rows is None else flat.head(max_rows)
    seen = set(whitespace)
    texts = [_cells(shown.iloc[:, k], str(c) in seen) for k, c in enumerate(shown.columns)]
    numeric = [
        pd.api.types.is_numeric_dtype(shown.iloc[:, k]) and shown.iloc[:, k].dtype != bool
        for k in range(shown.shape[1])
    ]
    if len(shown) < len(flat):
        caption = f"{caption} (the first {len(shown):,} of {len(flat):,} rows)".strip()
    head = "".join(
        f'<th scope="col"{" class=num" if number else ""}>{escaped(c)}</th>'
        for c, number in zip(shown.columns, numeric, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(_td(texts[k][row], shown.iat[row, k], numeric[k]) for k in range(shown.shape[1])) + "</tr>"
        for row in range(len(shown))
    )
    if not len(shown):
        body = f'<tr><td colspan="{max(1, shown.shape[1])}">(no rows)</td></tr>'
    anchor = f' id="{html.escape(name)}"' if name else ""
    markup = (
        f'<div class="hp-table {NO_MATH}"{anchor} data-name="{html.escape(name or "table")}" data-rows="{len(shown)}">'
        f'<div class="hp-scroll"><table data-quarto-disable-processing="true">'
        f"{f'<caption>{escaped(caption)}</caption>' if caption else ''}"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )
    return Html(markup, f"{caption}\n{shown.to_string(index=False)}".strip())


def escaped(value: object) -> str:
    """Text as HTML text: markup escaped, invisible controls named, braces kept from shortcode readers."""
    return html.escape(show_controls(str(value))).replace("{{", "&#123;&#123;").replace("$", "&#36;")


def prose(text: str) -> str:
    """Escaped text in which `code` between backticks is set as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escaped(text))


def folded(text: str) -> str:
    """Escaped text; a very long one in a box of its own that scrolls."""
    inner = escaped(text)
    return inner if len(text) <= LONG else f'<div class="hp-long" tabindex="0">{inner}</div>'


def _cells(column: pd.Series, whitespace: bool) -> list[str]:
    places = _decimals(column)
    return [_text(value, places, whitespace) for value in column]


def _text(value: Any, places: int, whitespace: bool) -> str:
    if isinstance(value, str):
        return visible_whitespace(value) if whitespace else value
    if value is None or value is pd.NA or value is pd.NaT:
        return "(none)" if whitespace else "–"
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{int(value):,}" if abs(int(value)) >= 10_000 else str(value)
    if isinstance(value, Real):
        number = float(value)
        if math.isnan(number):
            return "(none)" if whitespace else "–"
        if 0 < abs(number) < 10**-places / 2:
            return f"{number:.1e}"
        return f"{number:,.{places}f}" if math.isfinite(number) else str(number)
    return str(value)


def _decimals(column: pd.Series) -> int:
    """Decimals for a column: three to four significant digits of its largest value, none for whole numbers."""
    if not pd.api.types.is_float_dtype(column):
        return 3
    finite = column[column.abs() < math.inf].dropna()
    if not len(finite) or (finite == finite.round()).all():
        return 0
    largest = float(finite.abs().max())
    return 1 if largest >= 1000 else 2 if largest >= 10 else 3 if largest >= 0.01 else 5


def _td(text: str, value: Any, number: bool) -> str:
    exact = "" if value is None or value is pd.NA else str(value)
    if exact == "nan":
        exact = ""
    width = " ".join(name for name, least in (("wide", WIDE), ("wider", WIDER)) if len(text) > least)
    attributes = ' class="num"' if number else f' class="{width}"' if width else ""
    if exact != text:
        attributes += f' data-v="{html.escape(exact).replace("{{", "&#123;&#123;")}"'
    direction = "" if number else ' dir="auto"'
    return f"<td{attributes}{direction}>{folded(text)}</td>"
