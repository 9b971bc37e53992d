"""What the figure of the choice shows and says."""

import numpy as np
import pandas as pd
from chart_checks import fields_exist, rows_drawn

from helpers.display.figure import Absent
from helpers.sensitivity import figures, words

ROW = {"model": "m", "kind": "prompt", "low": -0.01, "high": 0.05, "gain_over_none": 0.0}


def candidates(bounds: list[float], n_units: int = 40) -> pd.DataFrame:
    """One cell per bound: one prompt that gains .02 where it was chosen and .01 elsewhere."""
    known = n_units >= 20
    return pd.DataFrame([
        ROW | {"task": f"T{n}", "prompt_id": "p", "prompt": "a: ", "n_units": n_units, "score": 0.5, "gain": 0.02,
               "bound": bound if known else np.nan, "best_mean": True, "best_bound": known,
               **{f"honest_{k}": v if known else np.nan for k, v in (("gain", 0.01), ("low", -0.01), ("high", 0.03))}}
        for n, bound in enumerate(bounds)
    ])  # fmt: skip


def test_the_title_counts_the_cells_with_a_bound_above_zero():
    said = words.choice(candidates([0.004, -0.01, -0.02]))
    assert "1 of 3 cells" in said.title
    assert (
        "+0.020" in said.findings[0]
        and "+0.010 on others" in said.findings[0]
        and "40 to 40 queries" in said.findings[0]
    )


def test_that_no_prompt_is_distinguishable_is_an_answer():
    assert "No prompt is distinguishable" in words.choice(candidates([-0.01, -0.02])).title


def test_too_few_queries_give_a_sentence_instead_of_a_picture():
    figure = figures.choice(candidates([0.1], n_units=19))
    assert isinstance(figure, Absent) and "at least 20 single queries" in figure.findings[0]["text"]


def test_one_row_per_cell_is_drawn():
    figure = figures.choice(candidates([0.004, -0.01]))
    fields_exist(figure.chart)
    assert max(rows_drawn(figure.chart).values()) == 2
