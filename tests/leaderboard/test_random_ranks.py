"""Boards with random prompts: exact against enumeration, Monte Carlo against exact, ties and holes."""

import itertools

import numpy as np
import pytest
from board_cells import cells_of

from helpers.leaderboard.random_ranks import (
    PointDraws,
    pairwise_wins,
    random_boards,
    rank_probabilities,
    rank_table,
)
from helpers.scores.board import borda_points
from helpers.scores.cells import prompt_scores


def values(seed=0, shape=(3, 2, 4), digits=1):
    return np.random.default_rng(seed).random(shape).round(digits)


def enumerated(array, mode, treatment="mteb"):
    """Mean points over every combination of prompts, by brute force and pandas."""
    import pandas as pd

    models, tasks, prompts = array.shape
    size = models * tasks if mode == "independent" else tasks
    total = np.zeros(models)
    picks = list(itertools.product(range(prompts), repeat=size))
    for pick in picks:
        pick = np.array(pick).reshape((models, tasks) if mode == "independent" else (1, tasks))
        pick = np.broadcast_to(pick, (models, tasks))
        scores = array[np.arange(models)[:, None], np.arange(tasks), pick]
        points = borda_points(pd.DataFrame(scores), treatment)
        total += (points.sum(axis=1) if treatment == "mteb" else points.mean(axis=1)).to_numpy()
    return total / len(picks)


@pytest.mark.parametrize("mode", ["independent", "shared"])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("treatment", ["mteb", "present"])
def test_exact_boards_equal_enumeration(mode, holes, treatment):
    array = values(shape=(3, 2, 2))
    if holes:
        array[0, 1] = np.nan
    boards = random_boards(array, mode=mode, holes=treatment)
    assert boards.exact and boards.weight.sum() == pytest.approx(1)
    expected = enumerated(np.where(np.isnan(array), np.nan, array), mode, treatment)
    assert np.allclose(boards.weight @ boards.points, expected)
    drawn = random_boards(array, 4000, mode, exact_limit=1, holes=treatment)
    assert not drawn.exact and np.allclose(drawn.weight @ drawn.points, expected, atol=0.05)


def test_scores_that_differ_by_rounding_are_ties():
    boards = random_boards(np.array([[[0.1 + 0.2]], [[0.3]]]))
    assert boards.points.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("mode", ["independent", "shared"])
def test_monte_carlo_agrees_with_exact_and_repeats_with_its_seed(mode):
    array = values(1, (4, 3, 5), digits=2)
    exact, drawn = random_boards(array, mode=mode), random_boards(array, 20_000, mode, exact_limit=1)
    assert exact.exact and not drawn.exact and "20,000" in drawn.method
    a, b = (rank_table(x, list("abcd")).set_index("model")["p_first"] for x in (exact, drawn))
    assert np.allclose(a, b.reindex(a.index), atol=0.015)
    table = rank_table(drawn, list("abcd"))
    assert (table["p_low"] <= table["p_first"]).all() and (table["p_high"] > table["p_low"]).all(), (
        "no error of 0 for p = 0"
    )
    again = random_boards(array, 20_000, mode, exact_limit=1)
    assert (again.points == drawn.points).all()


def test_unequal_numbers_of_prompts_are_drawn_uniformly():
    array = np.full((2, 1, 3), np.nan)
    array[0, 0, :2] = [1.0, 3.0]
    array[1, 0, 2] = 2.0  # one prompt only
    table = rank_table(random_boards(array), ["a", "b"]).set_index("model")
    assert table.loc["a", "p_first"] == 0.5 and (table["p_low"] == table["p_high"]).all()


def test_shared_prompts_are_those_that_all_models_have():
    array = np.array([[[1.0, 5.0]], [[2.0, np.nan]]])
    boards = random_boards(array, mode="shared")
    assert boards.points.tolist() == [[0, 1]]


def test_equal_scores_share_rank_and_points():
    boards = random_boards(np.ones((3, 2, 2)))
    table = rank_table(boards, list("abc"))
    assert (table["p_first"] == 1).all() and (boards.points == 2).all()
    assert np.nanmax(pairwise_wins(boards, list("abc")).to_numpy()) == 0.5


def test_one_model_is_always_first():
    assert rank_table(random_boards(np.ones((1, 1, 1))), ["a"])["p_first"].item() == 1


def test_the_interval_of_ranks_has_the_level():
    boards = PointDraws(np.array([[1.0, 0.0]] * 97 + [[0.0, 1.0]] * 3), np.full(100, 0.01), False)
    table = rank_table(boards, ["a", "b"]).set_index("model")
    assert table.loc["a", ["rank_low", "rank_high", "best_rank", "worst_rank"]].tolist() == [1, 2, 1, 2]
    assert rank_table(boards, ["a", "b"], level=0.9).set_index("model").loc["a", "rank_high"] == 1
    assert rank_probabilities(boards, ["a", "b"])["probability"].tolist() == pytest.approx([0.97, 0.03, 0.03, 0.97])


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="mode must be"):
        random_boards(np.ones((1, 1, 1)), mode="both")
    with pytest.raises(ValueError, match="at least one model"):
        random_boards(np.ones((0, 1, 1)))


def test_prompts_are_aligned_by_id():
    cells = cells_of({"a": {"x": [0.1, 0.2]}, "b": {"x": [0.3]}})
    data = prompt_scores(cells)
    assert data.ids == [["p0", "p1"]] and np.isnan(data.values[1, 0, 1]) and data.values[0, 0].tolist() == [0.1, 0.2]
