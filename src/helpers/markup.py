"""HTML inside the report's sources: as raw blocks, and without the folders of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from helpers.html_table import escaped
from helpers.site_pages import machine_paths

_CAPTION = re.compile(
    r'(<figure class="hp-chart[^>]*? id="([\w-]+)"[^>]*>)<figcaption class="hp-title">(.*?)</figcaption>',
    re.DOTALL,
)
TITLE_LENGTH = 200  # characters from which only the first sentence of a finding is a figure's title


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


def with_findings(markup: str, findings: Iterable[Mapping[str, str]]) -> str:
    """HTML whose figures have the first finding that names them as their title, what they show below it."""
    first: dict[str, str] = {}
    for entry in findings:
        first.setdefault(entry.get("figure") or "", entry.get("text", ""))

    def titled(match: re.Match[str]) -> str:
        said = first.get(match.group(2))
        if not said:
            return match.group()
        short = (
            said if len(said) <= TITLE_LENGTH else re.split(r"(?<=[.;])\s+", said, maxsplit=1)[0].rstrip(";")
        )
        return (
            f'{match.group(1)}<figcaption class="hp-title">{escaped(short)}'
            f'<span class="hp-what">{match.group(3)}</span></figcaption>'
        )

    return _CAPTION.sub(titled, markup)
