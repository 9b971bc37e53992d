"""Files: written whole or not at all, and where the project lies."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

from helpers.base.errors import StudyError


class replacing:
    """Give a temporary file beside `path`; on success it replaces `path`, on failure it is removed.

    The content is flushed to the disk before the rename, so that a reader sees the old file or the whole new one.
    Its permissions follow the umask.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.temporary = self.path.parent / f".{self.path.name}.{uuid.uuid4().hex[:8]}.part"
        # Not `tempfile`, whose files only their owner may read: others of the group read a shared run folder.
        os.close(os.open(self.temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        return self.temporary

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            if kind is None:
                with open(self.temporary, "rb") as written:
                    os.fsync(written.fileno())
                os.replace(self.temporary, self.path)
        finally:
            self.temporary.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write readable JSON with sorted keys, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(
            json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True, default=str) + "\n", encoding="utf-8"
        )


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file; None where the file is absent, damaged or holds something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def project_root() -> Path:
    """The checkout that this package lies in, from whatever folder a notebook runs.

    `HELPERS_ROOT` names another one (for tests and for an installed, not editable package).
    """
    given = os.environ.get("HELPERS_ROOT")
    if not given:
        return Path(__file__).resolve().parents[3]
    if not (Path(given) / "data" / "studies").is_dir():
        raise StudyError(
            f"HELPERS_ROOT is '{given}', where there is no folder data/studies; name a checkout of the suite"
        )
    return Path(given).resolve()


def project_path(given: str | Path, root: Path | None = None) -> Path:
    """A path as a study names it: `~` is the home folder, a relative one begins in `root` (else the project)."""
    try:
        return (root or project_root()) / Path(given).expanduser()
    except RuntimeError as error:  # ~somebody, who has no home here
        raise StudyError(f"the path '{given}' names a home folder that does not exist") from error
