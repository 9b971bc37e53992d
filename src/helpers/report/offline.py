"""Classic scripts: from a file a browser loads no module script, such as Quarto's own, so modules become classic ones."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

_TAG = re.compile(r'<script\b[^>]*?\bsrc="([^"]+)"[^>]*?\btype="module"[^>]*></script>\n?')

_IMPORT = re.compile(r"""^import\s+(?:\*\s+as\s+(\w+)|(\{[^}]*\}))\s+from\s+["'](\.[^"']+)["'];?$""", re.MULTILINE)

_EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?function\s+(\w+))", re.MULTILINE)

_MODULE_ONLY = re.compile(r"^(?:import|export)\b", re.MULTILINE)


def classic_scripts(site: Path) -> None:
    """Rewrite the module scripts of a site's pages so that they run from a file too, after the page is read as before.

    What a script imports is put into it; a script that only gives functions to others needs no tag. A module that uses
    more of the language than Quarto's do stays as it is.
    """
    changed: dict[Path, str | None] = {}
    for page in sorted(site.rglob("*.html")):
        text = page.read_text(encoding="utf-8")

        def tag(match: re.Match[str], page: Path = page) -> str:
            script = (page.parent / unquote(match.group(1))).resolve()
            if script not in changed:
                changed[script] = _classic(script)
            code = changed[script]
            if code is None:
                return match.group()
            return f'<script src="{match.group(1)}" defer></script>\n' if code else ""

        tidy = _TAG.sub(tag, text)
        if tidy != text:
            page.write_text(tidy, encoding="utf-8")
    for script, code in changed.items():
        if code:
            script.write_text(code, encoding="utf-8")


def _classic(script: Path) -> str | None:
    """A module's code without imports; empty where it only exports functions; None where it cannot be rewritten."""
    try:
        code = script.read_text(encoding="utf-8")
        if _EXPORT.search(code):
            return None if _MODULE_ONLY.search(_EXPORT.sub("", code)) else ""
        code = _IMPORT.sub(lambda m: _constant(m, script.parent), code)
    except OSError:
        return None
    return None if _MODULE_ONLY.search(code) else f'(function () {{\n"use strict";\n{code}\n}})();\n'


def _constant(match: re.Match[str], folder: Path) -> str:
    """An import statement as a constant that holds the imported module's functions."""
    code = (folder / match.group(3)).read_text(encoding="utf-8")
    names = ", ".join(_EXPORT.findall(code))
    wanted = match.group(1) or match.group(2).replace(" as ", ": ")
    return f"const {wanted} = (function () {{\n{_EXPORT.sub('', code)}\nreturn {{ {names} }};\n}})();"
