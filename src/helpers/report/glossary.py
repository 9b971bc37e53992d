"""The glossary: words that the report uses, read from `site/glossary.yml`, and which of them a page uses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from helpers.base.yaml import parse_yaml
from helpers.display.kit import site_file
from helpers.display.tables import escaped, prose

PLACE = "report/glossary.html"  # the page that shows the glossary, from the site's root


@dataclass(frozen=True)
class Entry:
    """One term: its meaning, the forms in which a text says it, and the function that defines it exactly."""

    term: str
    text: str
    words: tuple[str, ...]
    defined_by: str

    @property
    def anchor(self) -> str:
        return "term-" + re.sub(r"[^a-z0-9]+", "-", self.term.lower()).strip("-")


@cache
def entries() -> tuple[Entry, ...]:
    """All terms in reading order."""
    return tuple(
        Entry(e["term"], e["text"], tuple(e["words"]), e["defined_by"])
        for e in parse_yaml(site_file("glossary.yml"), "glossary.yml")
    )


def glossary_html(methods: str) -> str:
    """The glossary as a list; each term links to its definition on the page `methods`."""
    from helpers.report.methods import anchor_of

    items = []
    for entry in entries():
        link = f'<a href="{methods}#{anchor_of(entry.defined_by)}">definition</a>'
        items.append(f'<dt id="{entry.anchor}">{escaped(entry.term)}</dt><dd>{prose(entry.text)} {link}</dd>')
    return f'<dl class="hp-glossary">{"".join(items)}</dl>'


def terms_in(text: str) -> list[Entry]:
    """The entries that a text uses, in the order of the glossary; whole words only, capitals at will."""
    return [
        entry
        for entry in entries()
        if re.search(r"(?<!\w)(?:" + "|".join(map(re.escape, entry.words)) + r")(?!\w)", text, re.IGNORECASE)
    ]


def terms_html(text: str, root: str) -> str:
    """The line of a page that links the terms it uses; `root` leads from the page to the site's root. Empty without."""
    links = [
        f'<a href="{root}{PLACE}#{entry.anchor}" title="{escaped(entry.text)}">{escaped(entry.term)}</a>'
        for entry in terms_in(text)
    ]
    return f'<p class="hp-terms"><strong>Words used here:</strong> {", ".join(links)}</p>' if links else ""
