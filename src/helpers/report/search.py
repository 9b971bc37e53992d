"""The site's search index, completed: tables, figures and findings get entries that lead to them, with their words apart.

smalldocs leaves raw HTML out of its own entries; Quarto runs the words of a table's cells together.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

PARTS = {"hp-table": "Table", "hp-chart": "Figure", "hp-findings": "Findings", "hp-definition": "Definition",
         "hp-glossary": "Words used here"}  # fmt: skip

HEADS = {"caption", "figcaption", "h4"}

SILENT = {"script", "style", "button", "details"}

VOID = {"img", "br", "hr", "input", "meta", "link", "source", "wbr", "col", "area"}

LIMIT = 30_000  # characters kept of one part


def complete_index(site: Path, escape: bool, site_title: str = "") -> None:
    """Add the tables, figures, findings, definitions and terms of every page to `search.json`.

    escape: write the added texts as HTML (Quarto shows them so; smalldocs escapes them itself). site_title: what the
    renderer adds to the title of every page; hits go without it. A copy as a script, `report/assets/search.js`, serves
    readers who open the pages as files, where a browser does not fetch JSON.
    """
    path = site / "search.json"
    if not path.is_file():
        return
    index = json.loads(path.read_text(encoding="utf-8"))
    for page in sorted(site.rglob("*.html")):
        index += entries(page.read_text(encoding="utf-8"), page.relative_to(site).as_posix(), escape, site_title)
    text = json.dumps(index, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    script = site / "report" / "assets" / "search.js"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f"window.helpersSearch={text};\n", encoding="utf-8")


def entries(text: str, page: str, escape: bool = False, site_title: str = "") -> list[dict[str, str]]:
    """One entry per part of a page: objectID, href (with the part's anchor), title, section, text."""
    reader = _Reader()
    reader.feed(text)
    shown = partial(html.escape, quote=False) if escape else str
    title = re.sub(rf"\s+[–|·-]\s+{re.escape(site_title)}$", "", " ".join(reader.title.split()))
    return [
        {
            "objectID": f"{page}#{part.anchor or f'part-{number}'}",
            "href": page + (f"#{part.anchor}" if part.anchor else ""),
            "title": shown(title),
            "section": shown(" ".join("".join(part.head).split()) or part.kind),
            "text": shown(" ".join("".join(part.words).split())[:LIMIT]),
        }
        for number, part in enumerate(reader.parts)
    ]


@dataclass
class _Part:
    kind: str
    anchor: str
    depth: int
    head: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    """Collects the text of a page's own parts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.parts: list[_Part] = []
        self.open: _Part | None = None
        self.title = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        self.stack.append(tag)
        given = {k: v or "" for k, v in attrs}
        kind = next((PARTS[c] for c in given.get("class", "").split() if c in PARTS), None)
        if kind and self.open is None:
            self.open = _Part(kind, given.get("id", ""), len(self.stack))
            self.parts.append(self.open)
        elif self.open is not None:
            self.open.words.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.stack:
            return
        while self.stack.pop() != tag:  # elements whose end tag is left out
            pass
        if self.open is not None and len(self.stack) < self.open.depth:
            self.open = None

    def handle_data(self, data: str) -> None:
        if self.stack[-1:] == ["title"] and not self.title:
            self.title = data
        if self.open is None or SILENT & set(self.stack[self.open.depth :]):
            return
        (self.open.head if HEADS & set(self.stack) else self.open.words).append(data)
