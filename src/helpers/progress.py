"""Progress of long work: lines in batch, and a bar above them where a person runs the cell in JupyterLab."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Say = Callable[[str], None]


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

            self.bar = tqdm(total=total, unit=unit, disable=False)  # others are off, see `helpers.terminal`

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
