"""Lifetime: a worker process ends when the process that started it does, however that one ended."""

from __future__ import annotations

import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def end_with_parent() -> None:
    """In a worker of `multiprocessing`: end at once when the parent is gone, and leave Ctrl-C to the parent.

    `multiprocessing` holds a pipe between both that the system closes with the parent, on Linux and on macOS alike,
    even where it is killed. With the last worker the fork server and the resource tracker, which watch a pipe of their
    own, end too. A terminal sends Ctrl-C to every process; without this each worker would print a traceback.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), name="end with parent", daemon=True).start()


def _watch(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)  # not `sys.exit`: the main thread may be busy for minutes, and no lock or file needs it


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Processes that are started in the block do not see Ctrl-C; nor does this one, for as long as the block lasts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
