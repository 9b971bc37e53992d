"""The sentence above a figure says what its table holds, and another thing where the table holds another."""

import numpy as np
import pandas as pd
import pytest

from helpers.report import words as report_words
from helpers.sweep import words as sweep_words


def frame(columns: str, *rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


CELLS = frame("model task kind prompt_id score", *[
    ("a", "T", "prompt", "p", 0.5), ("a", "T", "prompt", "q", 0.7), ("a", "T", "default", "d", 0.8),
    ("b", "T", "prompt", "p", 0.5), ("b", "T", "prompt", "q", 0.6), ("b", "T", "default", "d", 0.55),
])  # fmt: skip


def test_scores_name_the_cell_with_the_widest_range():
    assert "moves a on T most: by 0.200" in sweep_words.widest(CELLS)
    assert "moves b on T: by 0.100" in sweep_words.widest(CELLS[CELLS["model"] == "b"])
    assert "No two prompts" in sweep_words.widest(CELLS.assign(score=np.nan))


@pytest.mark.parametrize("default, said", [(0.9, "1 of 1"), (0.5, "0 of 1")])
def test_studies_side_by_side(default, said):
    models = frame(
        "model default low high verdict", ("a", default, 0.4, 0.6, ""), ("b", np.nan, 0.4, 0.6, "no default")
    )
    assert report_words.intervals(models) == f"{said} mean default lies outside what other prompts predict"
    pools = frame("normal paraphrase", (0.8, 0.2), (0.5, 0.5), (0.5, np.nan))
    assert report_words.pools(pools) == "Paraphrases in the pool lower the best recall@1 in 1 of 2 cases"
