"""What a study spends on each test set: all items for every prompt, or only a part for the others than the anchor."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from helpers.study.strict import Strict


class ItemsBudget(Strict):
    """A number of items (queries, pairs, texts) of every test set that is larger; smaller ones are run in full."""

    items: int = Field(ge=1)


def _checked(value: Any) -> Any:
    """The value, or a `ValueError` that says what a budget is."""
    forms = "full, a share of the items between 0 and 1 such as 0.25, or {items: 500}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if 0 < value < 1:
            return float(value)
        hint = " (all of them: full)" if value == 1 else f" (so many: {{items: {value:g}}})" if value > 1 else ""
        raise ValueError(f"a share of the items lies between 0 and 1, not at {value:g}{hint}")
    if value != "full" and not isinstance(value, (dict, ItemsBudget)):
        raise ValueError(f"{value!r} is no budget; it can be {forms}")
    return value


Budget = Annotated[Literal["full"] | float | ItemsBudget, BeforeValidator(_checked)]


def wanted_items(budget: Budget, of: int) -> int:
    """How many of a test set's items a budget asks for, all of them where it says `full`.

    >>> wanted_items(0.25, 1000), wanted_items(ItemsBudget(items=300), 200), wanted_items("full", 7)
    (250, 200, 7)
    """
    if isinstance(budget, str):
        return of
    return min(of, budget.items if isinstance(budget, ItemsBudget) else math.ceil(budget * of))
