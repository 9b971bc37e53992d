"""Reaching rank 1: the integer programmes against brute force, with ties and holes, and answers that are "impossible"."""

import itertools

import numpy as np
import pytest
from board_cells import cells_of, random_cells

from helpers.leaderboard.manipulation import fewest_changes, plans, reachable_ranks
from helpers.leaderboard.programme import options


def ranks_of(scores, holes="mteb"):
    """Ranks by Borda points of a (models, tasks) array, counted pair by pair."""
    there = np.isfinite(scores)
    beaten = (scores[:, None] > scores[None]) + 0.5 * (scores[:, None] == scores[None])
    if holes == "mteb":
        beaten = beaten + (there[:, None] & ~there[None])
    points = beaten.sum(axis=(1, 2)) - 0.5 * there.sum(axis=1)
    points = points if holes == "mteb" else points / there.sum(axis=1)
    return 1 + (points[None] > points[:, None] + 1e-9).sum(axis=1)


def every_board(cells, keep_default=True, holes="mteb"):
    """(which cells are changed, ranks) of every choice of prompts."""
    choice = options(cells, keep_default)
    spots = [(m, t) for m in range(len(choice.models)) for t in range(len(choice.tasks))]
    boards = []
    for pick in itertools.product(*(range(len(choice.scores[m][t])) for m, t in spots)):
        scores = np.array([choice.scores[m][t][o] for (m, t), o in zip(spots, pick, strict=True)])
        changed = np.array([choice.names[m][t][o] is not None for (m, t), o in zip(spots, pick, strict=True)])
        shape = (len(choice.models), len(choice.tasks))
        boards.append((changed.reshape(shape), ranks_of(scores.reshape(shape), holes)))
    return boards


@pytest.mark.parametrize("seed, digits", [(0, None), (1, 1), (2, 1)])
def test_the_fewest_changes_equal_brute_force(seed, digits):
    cells = random_cells(3, 2, 2, seed, digits, effect=0.04)
    boards = every_board(cells)
    for scope, k in itertools.product(("own", "all"), range(3)):
        others = [m for m in range(3) if m != k]
        possible = [c.sum() for c, rank in boards if rank[k] == 1 and not (scope == "own" and c[others].any())]
        plan = fewest_changes(cells, f"m{k}", scope)
        assert plan.status == ("optimal" if possible else "impossible"), (scope, k)
        assert plan.changes == (min(possible) if possible else None), (scope, k)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("holes", ["mteb", "present"])
def test_plans_and_ranks_with_holes_equal_brute_force(seed, holes):
    """Three models on three tasks, two defaults missing: both treatments of a hole against every choice of prompts."""
    cells = random_cells(3, 3, 1, seed, 1, effect=0.03)
    lacks = ((cells["model"] == "m0") & (cells["task"] == "t0")) | ((cells["model"] == "m1") & (cells["task"] == "t2"))
    cells = cells[~lacks]
    boards = every_board(cells, holes=holes)
    table = reachable_ranks(cells, holes=holes).sort_values("model")
    ranks = np.array([rank for _, rank in boards])
    assert table["best_all"].tolist() == ranks.min(axis=0).tolist()
    assert table["worst_all"].tolist() == ranks.max(axis=0).tolist()
    for scope, k in itertools.product(("own", "all"), range(3)):
        others = [m for m in range(3) if m != k]
        possible = [c.sum() for c, rank in boards if rank[k] == 1 and not (scope == "own" and c[others].any())]
        plan = fewest_changes(cells, f"m{k}", scope, holes=holes)
        assert plan.changes == (min(possible) if possible else None), (scope, k)


def test_a_score_that_differs_by_rounding_is_no_change():
    cells = cells_of({"a": {"x": [0.1 + 0.2]}, "b": {"x": [0.1]}}, {"a": {"x": 0.3}, "b": {"x": 0.1 + 0.2}})
    assert fewest_changes(cells, "a").changes == 0 and fewest_changes(cells, "a", strict=True).status == "impossible"


@pytest.mark.parametrize("seed, digits", [(3, None), (4, 1)])
@pytest.mark.parametrize("keep_default", [True, False])
def test_reachable_ranks_equal_brute_force(seed, digits, keep_default):
    cells = random_cells(3, 2, 2, seed, digits, effect=0.03)
    table = reachable_ranks(cells, keep_default).sort_values("model")
    ranks = np.array([rank for _, rank in every_board(cells, keep_default)])
    assert table["exact"].all()
    assert table["best_all"].tolist() == ranks.min(axis=0).tolist()
    assert table["worst_all"].tolist() == ranks.max(axis=0).tolist()


def test_a_plan_names_cells_prompts_and_scores_and_works():
    cells = cells_of({"a": {"x": [0.1, 0.9]}, "b": {"x": [0.2]}}, {"a": {"x": 0.3}, "b": {"x": 0.5}})
    plan = fewest_changes(cells, "a")
    assert plan.changes == 1
    assert plan.steps[["model", "task", "prompt_id", "prompt"]].values.tolist() == [["a", "x", "p1", "Prompt 1:"]]
    assert plan.steps[["from", "to"]].values.tolist() == [[0.3, 0.9]]


def test_a_tie_is_enough_unless_strictly_first_is_asked():
    cells = cells_of({"a": {"x": [0.5]}, "b": {"x": [0.4]}}, {"a": {"x": 0.1}, "b": {"x": 0.5}})
    assert fewest_changes(cells, "a").changes == 1
    assert fewest_changes(cells, "a", strict=True).status == "impossible"
    assert fewest_changes(cells, "a", "all", strict=True).changes == 2


def test_holes_stay_holes():
    cells = cells_of(
        {"a": {"x": [0.9], "y": [0.9]}, "b": {"x": [0.1], "y": [0.1]}},
        {"a": {"x": 0.1}, "b": {"x": 0.5, "y": 0.5}},
    )
    plan = fewest_changes(cells, "a")
    assert plan.changes == 1 and plan.steps["task"].tolist() == ["x"]  # y is no cell of a's board


def test_a_model_without_any_default_cannot_be_first():
    cells = cells_of({"a": {"x": [0.9]}, "b": {"x": [0.1]}}, {"b": {"x": 0.5}})
    assert fewest_changes(cells, "a").status == "impossible"
    assert list(reachable_ranks(cells)["model"]) == ["b"]


def test_one_model_is_first_without_a_change():
    cells = cells_of({"a": {"x": [0.9]}}, {"a": {"x": 0.1}})
    assert [fewest_changes(cells, "a", s).changes for s in ("own", "all")] == [0, 0]
    table, steps = plans(cells)
    assert steps.empty and table["changes"].tolist() == [0, 0]


def test_no_time_is_not_called_impossible():
    cells = random_cells(5, 6, 8, seed=5, effect=0.03)
    plan = fewest_changes(cells, "m0", "all", seconds=0.0)
    assert plan.status in ("bound", "unknown", "optimal") and plan.status != "impossible"


def test_unknown_names_are_errors():
    cells = random_cells(2, 1, 1)
    with pytest.raises(ValueError, match="unknown model 'x'; known: m0, m1"):
        fewest_changes(cells, "x")
    with pytest.raises(ValueError, match="scope must be"):
        fewest_changes(cells, "m0", "others")
