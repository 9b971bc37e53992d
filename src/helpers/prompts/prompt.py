"""A prompt: its exact text and its id. It is never stripped or normalised."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

Kind = Literal["prompt", "none", "default"]

COLUMNS = ["task", "prompt_id", "kind", "text", "level", "source", "generator"]

BASELINES: tuple[Kind, ...] = ("none", "default")


def prompt_id(text: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the exact UTF-8 text.

    >>> prompt_id("Query:") == prompt_id("Query: ")
    False
    """
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


@dataclass(frozen=True)
class Prompt:
    """One way of asking: a text, or one of the two baselines (`none`: nothing at all; `default`: what mteb does)."""

    text: str | None = None
    kind: Kind = "prompt"
    level: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        for name in ("text", "level", "source"):
            if not isinstance(getattr(self, name), str):  # a missing value of a data frame
                object.__setattr__(self, name, None)
        if (self.kind == "prompt") != (self.text is not None):
            raise ValueError(f"kind '{self.kind}' {'needs' if self.kind == 'prompt' else 'has no'} text")

    @property
    def id(self) -> str:
        return self.kind if self.text is None else prompt_id(self.text)
