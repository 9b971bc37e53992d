"""The journal of what a language model answered: one line per attempt, written at once, read again after a crash."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout


class AnswerStore:
    """Records in a JSON Lines file. A line that a killed process left half written is ignored and counted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0

    def records(self) -> list[dict[str, Any]]:
        """Every whole record, in the order of writing."""
        self.damaged = 0
        found = []
        if self.path.is_file():
            for line in self.path.read_bytes().split(b"\n"):
                if not line.strip():
                    continue
                try:
                    found.append(dict(json.loads(line)))
                except (ValueError, TypeError, RecursionError):
                    self.damaged += 1
        return found

    def add(self, record: dict[str, Any]) -> None:
        """Append a record and put it on the disk, after a torn last line where there is one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(record, ensure_ascii=False, sort_keys=True).encode() + b"\n"
        with open(self.path, "ab+") as out:
            if out.tell():
                out.seek(-1, os.SEEK_END)
                if out.read(1) != b"\n":
                    line = b"\n" + line
            out.write(line)
            out.flush()
            os.fsync(out.fileno())

    @contextmanager
    def alone(self, seconds: float = 1.0) -> Iterator[None]:
        """Let one process write at a time: two would pay for the same answers twice."""
        from helpers.base.errors import StudyError

        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.path.with_suffix(".lock"), timeout=seconds):
                yield
        except Timeout:
            raise StudyError(f"{self.path.name}: another process is asking for the same answers; wait for it") from None
