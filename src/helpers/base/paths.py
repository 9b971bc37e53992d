"""Safe paths: names that come from data as parts of paths, and paths that must stay below their folder.

A label, a revision, a task's name or an entry of a file in a run folder from elsewhere is text like any other: before
it becomes part of a path it goes through one of these functions.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from helpers.base.errors import StudyError

LONGEST = 200  # bytes of one part, so that a suffix and a temporary name beside it still fit into 255

_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?$", re.IGNORECASE)  # devices of Windows

_LIKE_OURS = re.compile(r"-[0-9a-f]{6}$")


def safe_name(name: str, longest: int = 60) -> str:
    """A name as one part of a path: an ordinary name as it is, any other cleaned and with a digest of the whole name.

    Two different names give two different parts. What a file system treats specially (`.`, `..`, the empty name, a dot
    at either end, a device's name, more than `longest` characters) never comes out.
    """
    kept = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)[:longest].strip(".")
    while len(kept.encode()) > LONGEST - 8:
        kept = kept[:-1]
    if kept == name and kept and not _RESERVED.match(kept) and not _LIKE_OURS.search(kept):
        return kept
    content = json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass")
    kept = f"_{kept}" if not kept or _RESERVED.match(kept) else kept
    return f"{kept}-{hashlib.sha256(content).hexdigest()[:6]}"


def is_plain(name: str) -> bool:
    """Whether a name is one part of a path as it stands: no separator, control character, `.` or `..`, not too long."""
    return (
        name not in ("", ".", "..")
        and not any(c in "/\\" or unicodedata.category(c) in ("Cc", "Cs") for c in name)
        and len(name.encode()) <= LONGEST
    )


def plain(name: str) -> str:
    """The name itself; a `ValueError` where it is not one part of a path (for values of a study that name files)."""
    if not is_plain(name):
        raise ValueError("must be a plain name: no '/', '\\' or '..', at most 200 bytes")
    return name


PlainName = Annotated[str, AfterValidator(plain)]


def below(folder: Path, *parts: str) -> Path:
    """`folder` and the parts joined; a `StudyError` where that does not lie below the folder.

    Absolute parts, `..` and links that lead out of the folder are refused; the folder itself may be a link.
    """
    path = folder.joinpath(*parts)
    try:
        root, found = folder.resolve(), path.resolve()
    except (OSError, ValueError, RuntimeError):  # a zero byte, links in a circle
        root, found = folder, folder
    if found == root or not found.is_relative_to(root):
        shown = "/".join(parts).encode("ascii", "backslashreplace").decode()[:80]
        raise StudyError(
            f"'{shown}' does not lie below the folder {folder.name}/; a name or link in its files leads out of it"
        )
    return path


def same_for_a_file_system(names: list[str]) -> tuple[str, str] | None:
    """Two different names that a file system may take for one (case, composed letters); None where there are none."""
    seen: dict[str, str] = {}
    for name in names:
        folded = unicodedata.normalize("NFKC", name).casefold()
        if seen.setdefault(folded, name) != name:
            return seen[folded], name
    return None
