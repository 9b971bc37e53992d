"""The headline table: one row per model, computed from the cells."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of, random_cells

from helpers.headline import findings, headline
from helpers.rank_distribution import prompt_scores, random_boards, rank_table
from helpers.sensitivity import sensitivity


def table_of(cells):
    data = prompt_scores(cells)
    ranks = rank_table(random_boards(data.values, 500), data.models)
    return headline(cells, sensitivity(cells, draws=50), ranks, draws=2000)


def test_numbers_by_hand():
    cells = cells_of({"a": {"x": [0.1, 0.3], "y": [0.5, 0.5]}}, {"a": {"x": 0.4, "y": 0.5}})
    row = table_of(cells).iloc[0]
    assert row["default"] == pytest.approx(0.45) and row["prompt_mean"] == pytest.approx(0.35)
    assert row["worst"] == pytest.approx(0.3) and (row["low"], row["high"]) == pytest.approx((0.3, 0.4))
    assert row["percentile"] == 1
    assert row["verdict"].startswith("too few prompts to call it inflated")  # of two boards one is the best
    assert findings(table_of(cells))[0]["text"].startswith("Too few prompts to say")


def test_prompts_enough_for_the_interval_give_a_verdict():
    """Seven prompts on two tasks: 49 boards, each drawn in 2 % of the cases, less than the 2.5 % above the interval."""
    scores = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    for default, verdict in ((0.9, "inflated"), (0.0, "deflated"), (0.4, "within")):
        cells = cells_of({"a": {"x": scores, "y": scores}}, {"a": {"x": default, "y": default}})
        assert table_of(cells)["verdict"].item().startswith(verdict)


def test_more_boards_than_a_machine_word_counts_are_enough():
    """60 prompts on 11 tasks are 3.6e19 boards."""
    tasks = [f"t{n}" for n in range(11)]
    cells = cells_of(
        {"a": {t: [n / 60 for n in range(60)] for t in tasks}}, {"a": dict.fromkeys(tasks, 0.99)}
    )
    assert table_of(cells)["verdict"].item().startswith("inflated")


def test_means_use_the_tasks_that_have_both():
    cells = cells_of({"a": {"x": [0.1, 0.3], "y": [0.9, 0.9]}}, {"a": {"x": 0.2}})
    row = table_of(cells).iloc[0]
    assert (
        row["tasks"] == 1 and row["prompt_mean"] == pytest.approx(0.2) and row["verdict"].startswith("within")
    )


@pytest.mark.parametrize("default, verdict", [({}, "no default"), ({"a": {"x": 0.5}}, "no prompts")])
def test_missing_parts_are_said(default, verdict):
    cells = cells_of({"a": {"x": [np.nan] if default else [0.1, 0.2]}}, default)
    assert table_of(cells)["verdict"].item() == verdict


def test_the_order_is_the_default_board_and_findings_follow_the_data():
    cells = random_cells(3, 4, 5, effect=0.3)
    table = table_of(cells)
    assert table["model"].tolist() == ["m2", "m1", "m0"] and table["rank"].tolist() == [1, 2, 3]
    higher = table_of(cells.assign(score=cells["score"] + 9.0 * (cells["kind"] == "default")))
    assert (
        "3 of 3 models report a mean score above" in findings(higher)[0]["text"] != findings(table)[0]["text"]
    )
    assert findings(pd.DataFrame()) == []
