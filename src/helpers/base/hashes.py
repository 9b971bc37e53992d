"""Hashes of values, files and folders; those of files are kept so that a large unchanged file is read once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from helpers.base.files import read_json, write_json

STORE = ".hashes.json"

SETTLED_NS = 2 * 10**9  # a file changed so recently may change again within one tick of its clock

_KNOWN: dict[str, list[Any]] = {}  # of this process: path -> [what the system says of the file, hash]


def digest(value: Any) -> str:
    """16 hexadecimal digits of the canonical JSON of a value.

    >>> digest({"b": 1, "a": [2]}) == digest({"a": [2], "b": 1})
    True
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def file_hash(path: Path) -> str | None:
    """The SHA-256 of a file's bytes (16 hexadecimal digits), None where it does not exist or cannot be read.

    A file is read again when its size, its times or its place on the disk differ from those of the last reading.
    """
    try:
        about = path.stat()
        now = [about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino]
        known = _KNOWN.get(str(path))
        if known is not None and known[0] == now:
            return str(known[1])
        with open(path, "rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()[:16]
    except OSError:
        return None
    if time.time_ns() - max(about.st_mtime_ns, about.st_ctime_ns) > SETTLED_NS:
        _KNOWN[str(path)] = [now, found]
    return found


def content_hash(places: Iterable[Path], without: Iterable[Path] = (), suffix: str = "") -> str:
    """A hash of the files at and below these places: names within their place and contents; an absent place is empty.

    Files and folders of `without`, and `__pycache__`, are left out; with `suffix` only such files count.
    """
    left_out = {path.resolve() for path in without}
    rows = []
    for number, place in enumerate(places):
        for path in files_below(place, left_out):
            if path.name.endswith(suffix):
                rows.append([number, path.relative_to(place).as_posix(), file_hash(path)])
    return digest(rows)


def files_below(root: Path, without: Iterable[Path] = ()) -> Iterator[Path]:
    """The file itself, or all files below a folder in the order of their names; links to folders are followed once."""
    left_out, seen = set(without), set()
    if root.is_file():
        yield from [] if root.resolve() in left_out else [root]
        return
    for folder, inner, names in os.walk(root, followlinks=True):
        real = Path(folder).resolve()
        if real in seen or real in left_out or real.name == "__pycache__":
            inner.clear()
            continue
        seen.add(real)
        inner.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if not left_out or path.resolve() not in left_out:
                yield path


def remember(folder: Path) -> None:
    """Take over what an earlier process kept in a run folder."""
    with contextlib.suppress(ValueError, TypeError):  # the file is another's
        for path, (about, found) in (read_json(folder / STORE) or {}).items():
            _KNOWN.setdefault(str(path), [list(about), str(found)])


def keep(folder: Path) -> None:
    """Leave the hashes of this process in a run folder for the next one; they never leave that folder."""
    write_json(folder / STORE, _KNOWN)
