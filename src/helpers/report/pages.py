"""Finished HTML pages: made readable without a network, and checked."""

from __future__ import annotations

import html
import os
import re
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from helpers.report.offline import classic_scripts

HEAVY = 3_000_000  # bytes of one page without the scripts that all pages share

HEAVY_STUDY = 25_000_000  # bytes of all files of one study

REMOTE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)

_REMOTE_SCRIPT = re.compile(
    r'<script\b[^>]*\bsrc="(?:https?:)?//[^"]*"[^>]*>.*?</script>\n?', re.DOTALL | re.IGNORECASE
)

_REMOTE_LINK = re.compile(r'<link\b[^>]*\bhref="(?:https?:)?//[^"]*"[^>]*>\n?', re.IGNORECASE)

# What the removed libraries would have been asked to do: it must go with them, or it is an error in the console.
_ORPHAN = re.compile(
    r"<script\b[^>]*>\s*(?:define\('jquery'|window\.MathJax\b|(?:require|requirejs)\.config\().*?</script>\n?",
    re.DOTALL,
)

_ROOT_PATH = re.compile(r'(<(?:script|link|img|source)\b[^>]*?\b(?:src|href)=")/(?!/)')

_MATH = re.compile(r'<span class="math (inline|display)">(.*?)</span>', re.DOTALL)

_REMOTE_CSS = re.compile(  # an address in quotes may hold semicolons
    r"""@import\s*(?:url\(\s*)?(?:"(?:https?:)?//[^"]*"|'(?:https?:)?//[^']*'|(?:https?:)?//[^\s)]*)[^;]*;""",
    re.IGNORECASE,
)

_FOLDER_LINK = re.compile(r'(<a\b[^>]*?\bhref="(?![a-z][a-z0-9+.-]*:|/)[^"?#]*/)(?=["#])', re.IGNORECASE)


def tidy_site(site: Path) -> None:
    """Make every page readable from a file without a network: nothing from other hosts, no module scripts, MathML."""
    classic_scripts(site)
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        tidy = tidy_page(text, depth=len(page.relative_to(site).parts) - 1)
        if tidy != text:
            page.write_text(tidy, encoding="utf-8")
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        if _REMOTE_CSS.search(text):
            sheet.write_text(_REMOTE_CSS.sub("", text), encoding="utf-8")


def tidy_page(text: str, depth: int) -> str:
    """One page without remote scripts and styles, its paths and links as a file needs them (`depth` folders down)."""
    text = _MATH.sub(lambda m: _mathml(m.group(2), m.group(1)) or m.group(), text)
    for pattern in (_REMOTE_SCRIPT, _REMOTE_LINK, _ORPHAN):
        text = pattern.sub("", text)
    text = _FOLDER_LINK.sub(r"\1index.html", text)
    return _ROOT_PATH.sub(lambda m: m.group(1) + "../" * depth, text)


def _mathml(content: str, display: str) -> str | None:
    """A TeX formula, as the renderers leave it in `\\(…\\)` or `\\[…\\]`, as MathML; None when it is not one."""
    source = html.unescape(content).strip()
    match = re.fullmatch(r"\\[(\[](.*)\\[)\]]|\$\$?(.*?)\$\$?", source, re.DOTALL)
    if not match:
        return None
    from latex2mathml.converter import convert

    try:
        return convert(match.group(1) or match.group(2) or "", display="block" if display == "display" else "inline")
    except Exception:  # a formula that the converter does not know stays readable as TeX
        return f"<code>{html.escape(source)}</code>"


def check_site(site: Path | str) -> list[str]:
    """Problems of a rendered site, one line each: dead links and anchors, remote sources, weight, machine paths."""
    site = Path(site)
    pages = {p.resolve(): _Page(p.read_text(encoding="utf-8")) for p in sorted(site.rglob("*.html"))}
    if not pages:
        return [f"{site.name}: no page"]
    problems = []
    for path, page in pages.items():
        where = path.relative_to(site.resolve()).as_posix()
        problems += [f"{where}: loads {url}" for url in page.remote]
        problems += [f"{where}: id '{name}' is used {n} times" for name, n in page.ids.items() if n > 1]
        for link in page.links:
            problem = _dead(link, path, site.resolve(), pages)
            if problem:
                problems.append(f"{where}: {problem}")
        if (weight := path.stat().st_size) > HEAVY:
            problems.append(f"{where}: weighs {weight / 1e6:.1f} MB, at most {HEAVY / 1e6:.0f} MB keep it quick")
    problems += [
        f"report/{study.name}: weighs {weight / 1e6:.1f} MB, at most {HEAVY_STUDY / 1e6:.0f} MB can be passed on"
        for study in sorted((site / "report").glob("*/"))
        if (weight := sum(f.stat().st_size for f in study.rglob("*") if f.is_file())) > HEAVY_STUDY
    ]
    for file in sorted(site.rglob("*")):
        if file.suffix in (".html", ".json", ".ipynb", ".xml"):
            text = file.read_text(encoding="utf-8", errors="replace")
            problems += [
                f"{file.relative_to(site).as_posix()}: names the path {p} of this machine"
                for p in machine_paths()
                if p in text
            ]
        elif file.suffix == ".css" and re.search(
            r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", file.read_text(encoding="utf-8")
        ):
            problems.append(f"{file.relative_to(site).as_posix()}: loads a style or font from another host")
    return problems


def machine_paths() -> list[str]:
    """Folders of this machine that no reader needs to know: the project, the home folder, the temporary folder."""
    from helpers.base.files import project_root

    found = {str(project_root()), str(Path.home()), tempfile.gettempdir()}
    return sorted((p.rstrip("/") + "/" for p in found if len(p) > 1), key=len, reverse=True)


def _dead(link: str, page: Path, site: Path, pages: dict[Path, _Page]) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return f"links to a file of this machine: {link}" if parts.scheme == "file" else None
    if parts.path.startswith("/"):
        return f"link from the root of the host: {link}"
    target = Path(os.path.normpath(page.parent / unquote(parts.path))) if parts.path else page
    if target.is_dir():
        return f"link to the folder {link}, which is a list of files where the site is opened as one"
    if site not in target.parents or not target.is_file():
        return f"dead link {link}"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].ids and not anchor.startswith("category="):
        return f"dead anchor {link}"
    return None


class _Page(HTMLParser):
    """The ids, the links and the remote sources of one page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: dict[str, int] = {}
        self.links: list[str] = []
        self.remote: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {k: v or "" for k, v in attrs}
        if given.get("id") and tag != "link":  # Quarto names each theme's sheets alike
            self.ids[given["id"]] = self.ids.get(given["id"], 0) + 1
        if tag == "a" and given.get("name"):
            self.ids.setdefault(given["name"], 1)
        source = given.get("src") or (given.get("href") if tag == "link" else "") or given.get("poster") or ""
        if REMOTE.match(source) and given.get("rel") != "canonical":
            self.remote.append(source)
        elif source and not source.startswith("data:"):
            self.links.append(source)
        target = given.get("href", "") if tag == "a" else ""
        if target not in ("", "#"):
            self.links.append(target)
