"""HTML inside the report's sources: as raw blocks, and without the folders of this machine."""

from __future__ import annotations

import re

from helpers.report.pages import machine_paths


def raw_html(markup: str) -> str:
    """HTML as a raw block, which neither renderer reads as Markdown; the fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall("`+", markup)), default=0)
    fence = "`" * max(3, longest + 1)
    one_line = re.sub(r"\s*\n\s*", " ", markup)
    return f"{fence}{{=html}}\n{one_line}\n{fence}\n"


def scrub(text: str) -> str:
    """Text without this machine's folders: paths of the project become relative, others lose their folder."""
    for folder in machine_paths():
        text = text.replace(folder, "")
    return text
