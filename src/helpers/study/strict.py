"""What the parts of a study share: their base, and the template around an instruction."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

TEMPLATE = "Instruct: {instruction}\nQuery: "


class Strict(BaseModel):
    """Base of every part of a study: unknown keys are errors, values are checked again on assignment."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True)


def with_instruction(template: str) -> str:
    """The template itself; a `ValueError` where it has no place for the instruction."""
    if "{instruction}" not in template:
        raise ValueError("template must contain '{instruction}'")
    return template


Template = Annotated[str, AfterValidator(with_instruction)]
