"""Terminal: no setting of it, and no pipe that closes, may cost a result; library bars stay out of what is printed."""

from __future__ import annotations

import errno
import functools
import os
import sys
import threading
from typing import Any

from helpers.base.visible import for_terminal

# What libraries read when they are imported: in the kernels, workers and programs that this process starts.
QUIET = {"TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}

UTF8 = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:backslashreplace"}

GONE = (errno.EPIPE, errno.EIO, errno.EBADF)  # nobody reads any more: `| head`, a closed window


def prepare() -> None:
    """Make this command's streams take every character and outlive their reader; called where a command begins.

    A character that the terminal's encoding lacks is shown as its code. What a command starts writes UTF-8.
    """
    os.environ.update(UTF8)
    quiet_libraries()
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        _open_if_closed(number)
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8"))
        elif number and not isinstance(stream, Lasting):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
            setattr(sys, name, Lasting(stream))


class Lasting:
    """A text stream that is written to nowhere once nobody reads it, without controls that steer a terminal.

    Everything else is as with the stream itself.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self._try(self.stream.write, for_terminal(text))
        return len(text)

    def flush(self) -> None:
        self._try(self.stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def _try(self, action: Any, *given: Any) -> None:
        try:
            action(*given)
        except OSError as error:
            if error.errno not in GONE:
                raise
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())  # for what is still in the buffer, and for child processes
            os.close(nowhere)


def _open_if_closed(number: int) -> None:
    """A standard stream that was closed (`>&-`) leads nowhere; else the next file opened would take its number."""
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # the lowest free number


def quiet_libraries() -> None:
    """Switch off the progress bars of tqdm, datasets, transformers and the Hub's client, here and in child processes.

    This package's own bar in JupyterLab asks to be shown and is.
    """
    for variable, value in QUIET.items():
        os.environ.setdefault(variable, value)
    # Libraries that are imported already have read their variables.
    if "tqdm.std" in sys.modules:
        _disable_tqdm()
    for module in ("transformers.utils.logging", "datasets.utils.logging"):
        if module in sys.modules:
            sys.modules[module].disable_progress_bar()
    if "huggingface_hub" in sys.modules:
        from huggingface_hub.utils import disable_progress_bars

        disable_progress_bars()


@functools.cache  # once per process
def _disable_tqdm() -> None:
    """Let every bar of tqdm be off that is not asked for with `disable=False`.

    Its lock between processes goes too: a worker that is killed would leave a semaphore behind, with a warning.
    """
    from tqdm.std import tqdm

    tqdm.set_lock(threading.RLock())
    tqdm.__init__ = functools.partialmethod(tqdm.__init__, disable=True)
