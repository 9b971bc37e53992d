"""Reach: the modules that a notebook's code runs, directly or through others, found in the imports without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = "helpers"


def reached(codes: Iterable[str], source: Path) -> list[Path]:
    """Files of the package that these pieces of code reach, sorted; `source` is the folder that holds the package.

    Imports inside functions count, and so do the faces of the rooms on the way, which run when a module of theirs is
    imported. Code that does not parse reaches everything.
    """
    try:
        left = {name for code in codes for name in _imported(code)}
    except SyntaxError:
        return sorted((source / PACKAGE).rglob("*.py"))
    files: set[Path] = set()
    while left:
        for file in _files_of(left.pop(), source):
            if file not in files:
                files.add(file)
                left |= _imported_by(file, file.stat().st_mtime_ns)
    return sorted(files)


@cache
def _imported_by(file: Path, changed: int) -> set[str]:
    return set(_imported(file.read_text(encoding="utf-8")))


def _imported(code: str) -> Iterator[str]:
    """Dotted names that may be modules of the package: `from helpers.a import b` gives both `helpers.a` and its `b`."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == PACKAGE)


def _files_of(name: str, source: Path) -> Iterator[Path]:
    """The files that importing a name runs: the faces above it, and its own where it is a module."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        place = source.joinpath(*parts[:depth])
        for file in (place / "__init__.py", place.with_suffix(".py")):
            if file.is_file():
                yield file
