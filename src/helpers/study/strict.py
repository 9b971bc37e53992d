"""The base of every part of a study."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Base of every part of a study: unknown keys are errors, values are checked again on assignment."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True)
