"""Borda as mteb counts it, holes, ties, and the scenarios of the published study."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of, random_cells

from helpers.leaderboard.rankings import board_agreement, boards, scenarios
from helpers.leaderboard.words import unequal_prompts
from helpers.scores.board import BOARDS, board_matrix, borda, borda_points, mean_board


def frame(**rows):
    return pd.DataFrame(rows, index=pd.Index(["a", "b", "c"][: len(next(iter(rows.values())))], name="model"))


def test_points_are_models_beaten_and_ties_count_half():
    points = borda_points(frame(x=[0.3, 0.2, 0.2], y=[0.1, 0.1, 0.1]))
    assert points["x"].tolist() == [2, 0.5, 0.5] and points["y"].tolist() == [1, 1, 1]


def test_ranks_equal_those_of_mteb():
    pl = pytest.importorskip("polars")
    from mteb.benchmarks._create_table import _get_borda_rank

    rng = np.random.default_rng(0)
    for _ in range(20):
        scores = rng.integers(0, 5, size=(7, 4)) / 5
        ours = borda(pd.DataFrame(scores, index=pd.Index(list("abcdefg"), name="model")))
        theirs = pl.DataFrame(scores, schema=list("wxyz")).select(_get_borda_rank(list("wxyz"))).to_series().to_list()
        assert ours.sort_values("model")["rank"].tolist() == theirs


def test_a_hole_gets_no_points_and_is_counted():
    table = borda(frame(x=[np.nan, 0.2, 0.1])).set_index("model")
    assert table["points"].tolist() == [2, 1, np.nan] or table.loc["b", "points"] == 2
    assert np.isnan(table.loc["a", "rank"]) and table.loc["a", "holes"] == 1


def test_mean_points_over_tasks_present_neither_help_nor_cost():
    table = borda(frame(x=[0.3, 0.2, 0.1], y=[np.nan, 0.2, 0.1]), "present").set_index("model")
    assert table.loc["a", "points"] == 2 and table.loc["b", "points"] == 1
    with pytest.raises(ValueError, match="holes must be"):
        borda_points(frame(x=[1.0]), "zero")


def test_the_mean_board_uses_tasks_that_all_have():
    table = mean_board(frame(x=[0.5, 0.4, 0.3], y=[np.nan, 0.9, 0.9])).set_index("model")
    assert table["rank"].tolist() == [1, 2, 3] and table.loc["b", "score"] == 0.4


def test_task_types_weigh_alike():
    board = mean_board(frame(x=[1.0, 0.0], y=[1.0, 0.0], z=[0.0, 1.0]), {"x": "STS", "y": "STS", "z": "Retrieval"})
    assert board["score"].tolist() == [0.5, 0.5] and board["rank"].tolist() == [1, 1]


def test_robust_boards_by_hand():
    cells = cells_of({"a": {"x": [0.1, 0.2, 0.6]}}, {"a": {"x": 0.9}})
    got = {v: float(board_matrix(cells, v).iloc[0, 0]) for v in BOARDS}
    assert got["default"] == 0.9 and got["worst"] == 0.1 and got["best"] == 0.6 and got["median"] == 0.2
    assert got["lower quartile"] == pytest.approx(0.15) and got["mean - sd"] == pytest.approx(
        0.3 - np.std([0.1, 0.2, 0.6])
    )
    assert float(board_matrix(cells, "best", with_default=True).iloc[0, 0]) == 0.9
    with pytest.raises(ValueError, match="unknown board"):
        board_matrix(cells, "top")


def test_scenarios_by_hand():
    cells = cells_of({"a": {"x": [0.1, 0.9]}, "b": {"x": [0.2, 0.3]}}, {"a": {"x": 0.2}, "b": {"x": 0.5}})
    table = scenarios(cells, with_default=False).set_index("model")
    assert table.loc["a"].tolist() == [2, 1, 1] and table.loc["b"].tolist() == [1, 1, 1]


def test_one_model_one_task_one_prompt():
    cells = cells_of({"a": {"x": [0.5]}}, {"a": {"x": 0.5}})
    assert scenarios(cells)["default"].item() == 1 and len(boards(cells)) == 9


def test_no_default_anywhere_gives_no_order():
    table = scenarios(cells_of({"a": {"x": [0.5]}, "b": {"x": [0.6]}}))
    assert table["default"].isna().all()
    assert table["best_vs_default"].isna().all() and table["best_vs_worst"].tolist() == [2, 1]


def test_best_and_worst_are_those_of_equal_numbers_of_prompts():
    """Of a's three prompts two are drawn: best 0.6 in two of three cases, else 0.3; the default competes where it may."""
    cells = cells_of({"a": {"x": [0.0, 0.3, 0.6]}, "b": {"x": [0.4, 0.5]}}, {"a": {"x": 0.45}, "b": {"x": 0.1}})
    best, worst = (board_matrix(cells, v)["x"] for v in ("best", "worst"))
    assert best.to_dict() == pytest.approx({"a": 0.5, "b": 0.5}) and worst["a"] == pytest.approx(0.1)
    assert board_matrix(cells, "best", with_default=True)["x"]["a"] == pytest.approx((2 * 0.6 + 0.45) / 3)
    assert board_matrix(cells, "worst", with_default=True)["x"]["b"] == 0.1
    assert "1 of 1 task" in (text := unequal_prompts(cells)[0]["text"]) and "(2 to 3)" in text
    assert unequal_prompts(cells[cells["prompt_id"] != "p2"]) == []


def test_rounding_breaks_no_tie():
    points = borda_points(frame(x=[0.1 + 0.2, 0.3, 0.2]))
    assert points["x"].tolist() == [1.5, 1.5, 0]
    assert borda(frame(x=[0.3, 0.2]), "present")["rank"].tolist() == [1, 2]


def test_agreement_with_itself_is_perfect_and_reversal_is_not():
    cells = random_cells(5, 4, 6, effect=0.1)
    table = board_agreement(boards(cells)).set_index("board")
    assert table.loc["default", "kendall_tau"] == pytest.approx(1) and table.loc["default", "moved"] == 0
    turned = boards(cells)
    turned.loc[turned["board"] == "mean", "rank"] = 6 - turned.loc[turned["board"] == "mean", "rank"]
    assert board_agreement(turned).set_index("board").loc["mean", "kendall_tau"] < 0


def test_agreement_without_any_default_compares_no_model():
    table = board_agreement(boards(cells_of({"a": {"x": [0.5]}, "b": {"x": [0.6]}})))
    assert (table["models"] == 0).all() and table["kendall_tau"].isna().all()
