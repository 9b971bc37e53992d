"""Progress of long work: lines in batch, and a bar above them where a person runs the cell in JupyterLab."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Say = Callable[[str], None]

EVERY = 25.0  # seconds between two lines about one piece of work; a console shows a sign of life after 30

LONGEST = 200  # characters of such a line


def in_lab() -> bool:
    """Whether a cell that a person started in JupyterLab is running: its request names the cell, papermill's does not."""
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    request = kernel.get_parent("shell") if kernel is not None else {}
    return "cellId" in request.get("metadata", {})


class Progress:
    """A counter of `total` pieces of work; each finished one gives a line to `say`, and in JupyterLab moves a bar."""

    def __init__(self, total: int, unit: str, say: Say | None = print) -> None:
        self.say: Say = say or (lambda line: None)
        self.bar: Any = None
        if say is print and total > 1 and in_lab():
            from tqdm.notebook import tqdm

            self.bar = tqdm(total=total, unit=unit, disable=False)  # others are off, see `helpers.base.terminal`

    def step(self, line: str) -> None:
        if self.bar is not None:
            self.bar.update()
        self.say(line)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Watch:
    """Says now and then how far one piece of work is: its finished scores, and the texts of the pass that is running."""

    def __init__(self, say: Say, about: str) -> None:
        self.say, self.about = say, about
        self.scores = (0, 0)
        self.since = (time.monotonic(), 0)  # when scoring began after the last pass, and the scores that there were
        self.said = self.began = time.monotonic()

    def tell_scores(self, done: int, total: int) -> None:
        self.scores = done, total
        moment, before = self.since
        self._say(moment, done - before, total - before, "")

    def tell_texts(self, done: int, total: int) -> None:
        """`done` of 0 begins a pass."""
        if done == 0:
            self.began = time.monotonic()
        self._say(self.began, done, total, f"embedding, {done:,} of {total:,} texts")
        if done >= total:
            self.since = time.monotonic(), self.scores[0]

    def _say(self, began: float, done: int, total: int, texts: str) -> None:
        now = time.monotonic()
        if now - self.said < EVERY or done >= total:
            return
        self.said = now
        scores = f"{self.scores[0]} of {self.scores[1]} scores" if self.scores[1] else ""
        left = f"about {clock((now - began) / done * (total - done))} left" if done else ""
        told = ", ".join(part for part in (scores, texts, left + (" of these" if left and texts else "")) if part)
        self.say(f"{self.about}: {told}"[:LONGEST])


_WATCH: Watch | None = None  # of the piece of work that this process is at


@contextmanager
def watching(say: Say | None, about: str) -> Iterator[None]:
    """Within the block, `tell_scores` and `tell_texts` lead to lines about this piece of work."""
    global _WATCH
    before, _WATCH = _WATCH, Watch(say, about) if say is not None else None
    try:
        yield
    finally:
        _WATCH = before


def tell_scores(done: int, total: int) -> None:
    """So many scores of the current piece of work are finished."""
    if _WATCH is not None:
        _WATCH.tell_scores(done, total)


def tell_texts(done: int, total: int) -> None:
    """So many texts of the pass that is running are embedded."""
    if _WATCH is not None:
        _WATCH.tell_texts(done, total)


@contextmanager
def counted(st: Any, size: int, total: int) -> Iterator[None]:
    """Tell the texts of one call of `st.encode`, which embeds `total` texts in batches of `size`."""
    first = next(iter(st.children()), None) if _WATCH is not None else None
    if first is None:
        yield
        return
    done = 0

    def count(*_: Any) -> None:
        nonlocal done
        tell_texts(min(done, total), total)
        done += size

    handle = first.register_forward_pre_hook(count)
    try:
        yield
    finally:
        handle.remove()
        tell_texts(total, total)


def clock(seconds: float) -> str:
    """Minutes and seconds: 75.2 is "1:15"; hours are put in front where there are any."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"
