"""What is said where models have unequal numbers of prompts (`helpers.base.extremes` has the numbers)."""

from __future__ import annotations

import pandas as pd

from helpers.base.extremes import numbers_of_prompts
from helpers.base.phrases import out_of


def findings(cells: pd.DataFrame) -> list[dict[str, str]]:
    """That models have unequal numbers of prompts, and what is done about it; nothing where they are equal."""
    numbers = numbers_of_prompts(cells)
    unequal = numbers[numbers["fewest"] < numbers["most"]]
    if unequal.empty:
        return []
    return [{
        "text": f"On {out_of(len(unequal), len(numbers), 'task')} models have unequal numbers of prompts "
        f"({int(unequal['fewest'].min())} to {int(unequal['most'].max())}). On boards and in the headline table best and worst "
        "are therefore those expected of as many prompts as every model has there; ranks that can be reached and plans "
        "choose among all prompts, so a model with more of them has more to choose from.",
        "figure": "tbl-boards",
    }]  # fmt: skip
