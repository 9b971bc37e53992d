"""Ranks with other prompts and tasks: what is certain, what is open, what a few tasks cannot say."""

import numpy as np
import pytest

from helpers.leaderboard import words
from helpers.leaderboard.certainty import order_table, redrawn
from helpers.leaderboard.random_ranks import pairwise_wins, random_boards, rank_table
from helpers.scores.cells import PromptScores


def scores(tasks, means=(3.0, 0.1, 0.0), prompts=8):
    """Model a is far ahead, b and c are alike; c equals b on the first prompt only."""
    values = np.array(means)[:, None, None] + 0.3 * np.random.default_rng(1).normal(size=(3, tasks, prompts))
    return PromptScores(
        values, list("abc"), [f"t{t}" for t in range(tasks)], [[f"p{k}" for k in range(prompts)]] * tasks
    )


def tables(data):
    boards = random_boards(data.values, 1_000)
    found = redrawn(data, [np.zeros(8, dtype=int)] * len(data.tasks), samples=60, per_sample=200)
    orders = order_table(pairwise_wins(boards, data.models), found, data)
    return found.beside(rank_table(boards, data.models)).set_index("model"), orders.set_index(["winner", "loser"])


def test_a_clear_leader_is_certain_and_its_interval_is_not_a_point():
    table, orders = tables(scores(7))
    assert table.loc["a", "p_first"] == 1 and 0.95 < table.loc["a", "p_low"] < 1 == table.loc["a", "p_high"]
    assert table.loc["a", ["rank_low_tasks", "rank_high_tasks", "p_first_tasks"]].tolist() == pytest.approx([1, 1, 1])
    assert orders.loc[("a", "b"), "verdict"] == "certain" and orders.loc[("a", "b"), "p_tasks"] == 2 * 0.5**7
    said = words.orders(orders.reset_index())[0]["text"]
    assert "On these tasks 2 of 3 orders" in said and "On other tasks 2 of 3 hold" in said


def test_models_alike_have_no_certain_order():
    orders = tables(scores(2, means=(3.0, 0.0, 0.0)))[1].reset_index()
    last = orders[orders["winner"] != "a"].iloc[0]
    assert last["low"] < last["probability"] < last["high"] and last["verdict"] != "certain"


def test_few_tasks_say_nothing_about_others():
    table, orders = tables(scores(5))
    assert table[["p_first_tasks", "rank_low_tasks"]].isna().all(axis=None) and orders["p_holm"].isna().all()
    assert "On other tasks" not in words.orders(orders.reset_index())[0]["text"]
