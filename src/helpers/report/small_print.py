"""Tables whose cells have small print: every row is shown in full, and they can be searched, sorted and downloaded."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.display.tables import NO_MATH, escaped


def cell(text: str, *more: str) -> str:
    """The content of a cell: a text and below it, small, what explains it; empty lines are left out."""
    return escaped(text) + "".join(f" <small>{escaped(line)}</small>" for line in more if line)


def badge(text: str, kind: str) -> str:
    """The content of a cell as a badge; kind: its classes."""
    return f'<span class="{kind}">{escaped(text)}</span>'


def table(name: str, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells (`cell`, `badge`) with the marks of `tables.table`; name: its anchor, without `tbl-`."""
    heads = "".join(f'<th scope="col">{title}</th>' for title in head)
    body = "".join("<tr>" + "".join(f"<td>{content}</td>" for content in row) + "</tr>" for row in rows)
    return (
        f'<div class="hp-table hp-full {NO_MATH}" id="tbl-{name}" data-name="{name}" data-rows="{len(rows)}">'
        f'<div class="hp-scroll"><table data-quarto-disable-processing="true"><caption>{escaped(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )
