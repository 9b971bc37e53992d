"""Cell files: one cell's record and the scores of its units, each with a digest, so that an edited one is not believed.

`<stem>.json` begins with the SHA-256 of its own name and of everything that follows; the record holds that of
`<stem>.parquet`. That finds a changed, copied or mixed-up file, not one who computes the digests anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.files import replacing

_HEAD, _LENGTH = b'{\n "digest": "', 64
_KEYS = {"slot", "identity", "scores", "main_score"}


def write_cell(path: Path, record: dict[str, Any], units: pd.DataFrame | None = None) -> None:
    """Write a cell's units (`.parquet` beside it), then its record, each whole or not at all."""
    digest = None
    if units is not None:
        with replacing(path.with_suffix(".parquet")) as temporary:
            units.to_parquet(temporary, index=False, compression="zstd")
            digest = hashlib.sha256(temporary.read_bytes()).hexdigest()
    text = json.dumps(record | {"units": digest}, ensure_ascii=False, indent=1, sort_keys=True, default=str)
    body = text.encode()[1:] + b"\n"
    with replacing(path) as temporary:
        temporary.write_bytes(_HEAD + _digest(path, body) + b'",' + body)


def read_cell(path: Path) -> dict[str, Any] | None:
    """A cell's record; None where it is absent or not what was written.

    A file that is no cell at all (truncated, foreign) is moved aside (`.broken`); one that was edited, or whose units
    were, stays where it is (`is_edited`).
    """
    try:
        content = path.read_bytes()
        record = json.loads(content)
        if set(record) >= _KEYS:
            return record if _is_whole(path, content) and _has_its_units(path, record) else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, RecursionError):
        pass
    os.replace(path, path.with_suffix(".broken"))
    return None


def is_edited(path: Path) -> bool:
    """Whether a cell's file is there that `read_cell` does not believe."""
    return path.is_file() and read_cell(path) is None and path.is_file()


def _is_whole(path: Path, content: bytes) -> bool:
    end = len(_HEAD) + _LENGTH
    head, given, comma = content[: len(_HEAD)], content[len(_HEAD) : end], content[end : end + 2]
    return head == _HEAD and comma == b'",' and given == _digest(path, content[end + 2 :])


def _digest(path: Path, body: bytes) -> bytes:
    # The name is a part of it: the file of another cell under this one's name is no result of this one.
    return hashlib.sha256(path.stem.encode() + b"\n" + body).hexdigest().encode()


def _has_its_units(path: Path, record: dict[str, Any]) -> bool:
    units = path.with_suffix(".parquet")
    if record.get("units") is None:
        return not units.is_file()
    return units.is_file() and hashlib.sha256(units.read_bytes()).hexdigest() == record["units"]
