"""The role of a text in a search; None where a task has no sides."""

from __future__ import annotations

from typing import Literal

Role = Literal["query", "document"] | None
