"""Console: shows what a running notebook prints, line by line, and gives a sign of life where it is silent."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from helpers.base.progress import clock
from helpers.base.visible import for_terminal


class Console:
    """Prints to `out`; while a notebook is followed, its standard output is shown and everything goes into its log."""

    def __init__(self, out: TextIO | None = None, silence: float = 30.0) -> None:
        self.out = out or sys.stdout
        self.silence = silence  # seconds without a line before a sign of life
        self.cells: list[Any] = []
        self.stdout, self.stderr = _Stream(self, shown=True), _Stream(self, shown=False)
        self.log: TextIO | None = None
        self._last = time.monotonic()
        self._lock = threading.Lock()

    def line(self, text: str) -> None:
        """Print one line at once."""
        with self._lock:
            print(for_terminal(text), file=self.out, flush=True)
            self._last = time.monotonic()

    @contextmanager
    def following(self, log: TextIO, expected: int) -> Iterator[None]:
        """Send what the notebook prints to `log`, and its standard output to the console as well."""
        self.log, self.cells = log, []
        over = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(over, time.monotonic(), expected), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            for stream in (self.stdout, self.stderr):
                stream.end()
            self.log = None

    def _watch(self, over: threading.Event, began: float, expected: int) -> None:
        while not over.wait(min(1.0, self.silence)):
            if time.monotonic() - self._last >= self.silence:
                done = sum(1 for c in self.cells if c.metadata.get("papermill", {}).get("status") == "completed")
                place = (
                    f"cell {min(done + 1, len(self.cells))} of {len(self.cells)}"
                    if self.cells
                    else "starting its kernel"
                )
                self.line(f"    … {place}, {clock(time.monotonic() - began)}")


class _Stream:
    """What papermill writes one of the kernel's streams to. A progress bar's repeated line is thinned out."""

    def __init__(self, console: Console, shown: bool) -> None:
        self.console, self.shown = console, shown
        self.rest = ""
        self.thinned = 0.0

    def write(self, text: str) -> int:
        if self.console.log is not None:
            self.console.log.write(for_terminal(text))
        *whole, self.rest = re.split(r"(?<=[\r\n])", self.rest + text) or [""]
        for piece in whole:
            self._show(piece)
        return len(text)

    def _show(self, piece: str) -> None:
        line = piece.strip("\r\n")
        passing = piece.endswith("\r") and time.monotonic() - self.thinned < 5
        if self.shown and line.strip() and not passing:
            self.thinned = time.monotonic() if piece.endswith("\r") else self.thinned
            self.console.line(f"    {line}")

    def end(self) -> None:
        """Show an unfinished last line."""
        rest, self.rest = self.rest, ""
        self._show(rest)

    def flush(self) -> None:
        if self.console.log is not None:
            self.console.log.flush()
