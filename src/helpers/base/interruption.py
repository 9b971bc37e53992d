"""Interruption: what a notebook says when a person stops a long cell."""

from __future__ import annotations

import sys
from typing import Any

MESSAGE = (
    "Interrupted. Finished scores, embeddings and training checkpoints are kept on the disk: run this cell again and it "
    "goes on from there."
)


def explain_interrupts() -> None:
    """Let the running IPython shell print `MESSAGE` under an interrupted cell; outside IPython nothing happens.

    The cell still ends with KeyboardInterrupt, so that "Run All" stops and papermill sees it.
    """
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        shell.set_custom_exc((KeyboardInterrupt,), _say)


def _say(shell: Any, kind: Any, value: Any, trace: Any, tb_offset: int | None = None) -> None:
    shell.showtraceback((kind, value, trace), tb_offset=tb_offset)
    print(MESSAGE, file=sys.stderr, flush=True)
