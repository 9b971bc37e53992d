"""The figures of chapter 01 draw what their table holds."""

from __future__ import annotations

import pandas as pd
import pytest
from chart_checks import fields_exist, rows_drawn

from helpers.display import Absent
from helpers.prompts import figures

PROMPTS = pd.DataFrame(
    [
        ("T", "task", "Sort it:"), ("T", "task", "Sort them:"), ("T", "task+dataset", "What is it?"),
        ("U", None, "Query:"), ("U", None, None),
    ],
    columns=["task", "level", "text"],
)  # fmt: skip


@pytest.mark.parametrize(
    ("figure", "marks"),
    [
        (figures.prompt_lengths, [4, 3]),  # a point per text, a mean per level
        (figures.prompt_styles, [3]),  # one style at each of three levels
        (figures.prompt_similarity, [9]),  # T's prompts are the only ones with another beside them
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_every_field_exists_and_every_row_is_drawn(figure, marks):
    made = figure(PROMPTS)
    fields_exist(made.chart)
    assert list(rows_drawn(made.chart).values()) == marks
    assert made.name == "fig-" + figure.__name__.replace("_", "-")
    assert isinstance(figure(PROMPTS[:0]), Absent)


def test_one_prompt_resembles_nothing():
    alone = figures.prompt_similarity(PROMPTS, "U")
    assert isinstance(alone, Absent) and alone.reason.startswith("U has one prompt")
