"""Budget: how many requests and tokens a server was sent in a run, and the limits that are never passed."""

from __future__ import annotations

import threading
from pathlib import Path

from filelock import FileLock

from helpers.base.errors import StudyError
from helpers.base.files import read_json, write_json

CHARACTERS_PER_TOKEN = 4


class LimitReached(StudyError):
    """Sending more would pass a limit of the study."""


def estimated_tokens(texts: list[str]) -> int:
    """Tokens of texts at four characters each, at least one a text.

    >>> estimated_tokens(["", "12345678"])
    3
    """
    return sum(max(1, -(-len(text) // CHARACTERS_PER_TOKEN)) for text in texts)


class Budget:
    """Counts over all processes and calls of a run. path: of the count; None counts in memory.

    Attributes: requests and tokens, sent so far.
    """

    def __init__(self, path: Path | None, most_requests: int | None, most_tokens: int | None) -> None:
        self.path = path
        self.most = {"requests": most_requests, "tokens": most_tokens}
        self.sent = {"requests": 0, "tokens": 0}
        self._lock = threading.Lock()
        self._load()

    def take(self, requests: int, tokens: int) -> None:
        """Count what is about to be sent; `LimitReached`, and nothing counted, where that is more than may be."""
        self._change(requests, tokens, bounded=True)

    def correct(self, tokens: int) -> None:
        """Add what the server counted beyond the estimate (or less)."""
        self._change(0, tokens, bounded=False)

    def _change(self, requests: int, tokens: int, bounded: bool) -> None:
        with self._lock:
            if self.path is None:
                self._add(requests, tokens, bounded)
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path.with_suffix(".lock")):
                self._load()
                self._add(requests, tokens, bounded)
                write_json(self.path, self.sent)

    def _add(self, requests: int, tokens: int, bounded: bool) -> None:
        new = {"requests": self.sent["requests"] + requests, "tokens": self.sent["tokens"] + tokens}
        for what, most in self.most.items():
            if bounded and most is not None and new[what] > most:
                raise LimitReached(
                    f"max_{what} is {most:,}, and {self.sent[what]:,} were sent in this run: no more is asked for; what "
                    f"came is kept, and a run with a higher server.max_{what} goes on from there"
                )
        self.sent = new

    def _load(self) -> None:
        kept = (read_json(self.path) if self.path is not None else None) or self.sent
        self.sent = {what: int(kept[what]) if type(kept.get(what)) is int else self.sent[what] for what in self.sent}
