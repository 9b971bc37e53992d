"""A figure: one object with its chart and all that is said about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from helpers.display.chart import drawing
from helpers.display.tables import NO_MATH, Html, prose


@dataclass(frozen=True)
class Said:
    """What a table says: the title of its figure (the finding in one line) and sentences for the list of findings."""

    title: str
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """One figure of a page.

    name: its anchor, `fig-noise`. chart: an Altair chart. said: title and findings, computed from the table that the chart
    draws. alt: what the picture shows, for readers who do not see it.
    """

    name: str
    chart: Any
    said: Said
    alt: str

    @property
    def findings(self) -> list[dict[str, str]]:
        """The sentences, each with the anchor of this figure."""
        return [{"text": text, "figure": self.name} for text in self.said.findings]


@dataclass(frozen=True)
class Absent:
    """A figure that the data do not allow, and the reason; the page shows the sentence instead."""

    name: str
    reason: str
    said: Said | None = None

    @property
    def findings(self) -> list[dict[str, str]]:
        """What the data say all the same; there is no figure to link to."""
        return [{"text": text} for text in (self.said.findings if self.said else ())]


def show(figure: Figure | Absent) -> Html:
    """Display a figure, or the sentence that says why there is none."""
    if isinstance(figure, Absent):
        return Html(f'<p class="hp-absent {NO_MATH}">{prose(figure.reason)}</p>', figure.reason)
    return drawing(figure.chart, figure.name, figure.alt, figure.said.title)


def said_by(parts: Iterable[Figure | Absent | tuple[str, Iterable[str]]]) -> list[dict[str, str]]:
    """The findings of several figures in their order, as `Run.save_findings` and `findings` take them.

    A part may also be the anchor of a table and the sentences about it.

    >>> said_by([("tbl-removals", ["Removed: 1 duplicate."])])
    [{'text': 'Removed: 1 duplicate.', 'figure': 'tbl-removals'}]
    """
    findings: list[dict[str, str]] = []
    for part in parts:
        if isinstance(part, tuple):
            findings += [{"text": text, "figure": part[0]} for text in part[1]]
        else:
            findings += part.findings
    return findings
