"""One score per model, task and prompt: which records make it, and holes stay holes."""

import numpy as np
import pytest
from board_cells import records

from helpers.scores.cells import task_scores

TWO = [
    {"subset": "de", "main_score": 0.2},
    {"subset": "en", "main_score": 0.4},
    {"kind": "default", "prompt_id": "default", "prompt": None, "subset": "de", "main_score": 0.6},
    {"kind": "default", "prompt_id": "default", "prompt": None, "subset": "en", "main_score": 1.0},
]


@pytest.mark.parametrize(
    "choice, prompt, default",
    [(None, 0.3, 0.8), ("first", 0.2, 0.6), ({"T": "test/en"}, 0.4, 1.0), ({"other": "test/en"}, 0.3, 0.8)],
)
def test_the_records_of_a_task_are_chosen_by_the_caller(choice, prompt, default):
    cells = task_scores(records(TWO), choice).set_index("kind")["score"]
    assert cells["prompt"] == pytest.approx(prompt) and cells["default"] == pytest.approx(default)


def test_an_unknown_record_lists_those_that_exist():
    with pytest.raises(ValueError, match=r"'T' has no record 'test/fr'.*test/de, test/en"):
        task_scores(records(TWO), {"T": "test/fr"})


@pytest.mark.parametrize(
    "bad", [{"status": "failed", "main_score": 0.9}, {"main_score": np.nan}, {"main_score": np.inf}]
)
def test_a_failed_record_makes_a_hole_and_not_a_zero(bad):
    cell = task_scores(records([TWO[0] | bad, TWO[1]])).iloc[0]
    assert np.isnan(cell["score"]) and cell["n_missing"] == 1


def test_a_prompt_with_fewer_records_than_the_others_is_a_hole():
    cells = task_scores(records([*TWO[:2], {"prompt_id": "p1", "subset": "en", "main_score": 0.9}]))
    assert np.isnan(cells.set_index("prompt_id").loc["p1", "score"])


def test_seeds_are_averaged():
    assert task_scores(records([{"main_score": 0.2, "seed": 1}, {"main_score": 0.6, "seed": 2}]))["score"].item() == 0.4


def test_an_empty_table_stays_empty():
    assert task_scores(records([{}]).iloc[:0]).empty
