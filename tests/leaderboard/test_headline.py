"""The headline table: one row per model, computed from the cells."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of, random_cells

from helpers.base.ties import compare
from helpers.leaderboard.draws import mean_scores, percentile, predicted
from helpers.leaderboard.headline import headline_table
from helpers.leaderboard.random_ranks import random_boards, rank_table
from helpers.leaderboard.words import headline
from helpers.scores.cells import prompt_scores
from helpers.sensitivity.defaults import sensitivity_table


def table_of(cells):
    data = prompt_scores(cells)
    ranks = rank_table(random_boards(data.values, 500), data.models)
    return headline_table(cells, sensitivity_table(cells, draws=50), ranks, draws=2000)


def test_numbers_by_hand():
    cells = cells_of({"a": {"x": [0.1, 0.3], "y": [0.5, 0.5]}}, {"a": {"x": 0.4, "y": 0.5}})
    row = table_of(cells).iloc[0]
    assert row["default"] == pytest.approx(0.45) and row["prompt_mean"] == pytest.approx(0.35)
    assert row["worst"] == pytest.approx(0.3) and row["percentile"] == 1
    reach = 12.706 * np.sqrt(0.02 * 1.5) / 2  # s^2 = .02 of two prompts on one task of two, one degree of freedom
    assert (row["low"], row["high"]) == pytest.approx((0.35 - reach, 0.35 + reach), abs=1e-3)
    assert row["verdict"].startswith("within what other prompts predict")


def test_one_prompt_predicts_nothing():
    cells = cells_of({"a": {"x": [0.1, 0.3], "y": [0.5]}}, {"a": {"x": 0.4, "y": 0.5}})
    assert table_of(cells)["verdict"].item() == "too few prompts"
    assert headline(table_of(cells))[0]["text"].startswith("Too few prompts to say")


def test_prompts_enough_for_the_interval_give_a_verdict():
    """Seven prompts on two tasks: variance .047 (1 + 1/7) / 2 of the mean, 12 degrees of freedom: .4 -+ .36."""
    scores = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    for default, verdict in ((0.9, "above"), (0.0, "below"), (0.4, "within")):
        cells = cells_of({"a": {"x": scores, "y": scores}}, {"a": {"x": default, "y": default}})
        assert table_of(cells)["verdict"].item().startswith(verdict)


def test_means_use_the_tasks_that_have_both():
    cells = cells_of({"a": {"x": [0.1, 0.3], "y": [0.9, 0.9]}}, {"a": {"x": 0.2}})
    row = table_of(cells).iloc[0]
    assert row["tasks"] == 1 and row["prompt_mean"] == pytest.approx(0.2) and row["verdict"].startswith("within")


@pytest.mark.parametrize("default, verdict", [({}, "no default"), ({"a": {"x": 0.5}}, "no prompts")])
def test_missing_parts_are_said(default, verdict):
    cells = cells_of({"a": {"x": [np.nan] if default else [0.1, 0.2]}}, default)
    assert table_of(cells)["verdict"].item() == verdict


def test_rounding_decides_no_verdict():
    """Fifteen prompts and the default equal 0.1 + 0.1 k on task k: the mean of the defaults is the only mean there is."""
    values = {f"t{k}": 0.1 + 0.1 * k for k in range(11)}
    row = table_of(cells_of({"a": {t: [v] * 15 for t, v in values.items()}}, {"a": values})).iloc[0]
    assert row["percentile"] == 0.5 and row["verdict"].startswith("within")
    assert "a default lies at the mean" in headline(row.to_frame().T.infer_objects())[0]["text"]


def test_no_random_constant_board_has_a_default_outside():
    rng = np.random.default_rng(0)
    for _ in range(200):
        own = [np.full(15, v) for v in rng.random(11)]
        means = mean_scores(own, 200)
        reported = float(pd.Series([x[0] for x in rng.permutation(own)]).mean())
        assert percentile(reported, means) == 0.5 and not compare(reported, predicted(own)).any()


def test_models_with_equal_scores_have_equal_numbers():
    scores = {f"t{k}": list(np.random.default_rng(k).random(15)) for k in range(6)}
    same = {f"m{k}": {t: list(np.random.default_rng(k).permutation(x)) for t, x in scores.items()} for k in range(3)}
    table = table_of(cells_of(same, {m: {t: 0.5 + 0.01 * k for k, t in enumerate(scores)} for m in same}))
    assert (table[["percentile", "low", "high"]].nunique() == 1).all() and 0 < table["percentile"].iloc[0] < 1


def test_few_boards_are_counted_exactly():
    """Of the four means 0.2, 0.3, 0.4, 0.5 two lie below 0.4 and one equals it."""
    cells = cells_of({"a": {"x": [0.1, 0.3], "y": [0.3, 0.7]}}, {"a": {"x": 0.3, "y": 0.5}})
    assert mean_scores([np.array([0.1, 0.3]), np.array([0.3, 0.7])]) == pytest.approx([0.2, 0.3, 0.4, 0.5])
    assert table_of(cells)["percentile"].item() == 0.625


def test_the_worst_prompt_is_that_of_equal_numbers():
    """Of three prompts two are drawn: the worst is the lowest twice in three times, else the middle one."""
    cells = cells_of({"a": {"x": [0.0, 0.3, 0.9]}, "b": {"x": [0.5, 0.6]}}, {"a": {"x": 0.5}, "b": {"x": 0.5}})
    worst = table_of(cells).set_index("model")["worst"]
    assert worst["a"] == pytest.approx(0.1) and worst["b"] == 0.5


def test_the_rank_follows_the_treatment_of_holes():
    cells = cells_of({m: {t: [0.5, 0.6] for t in "wxyz"} for m in "ABC"},
                     {"A": {"w": 0.9}, "B": dict.fromkeys("wxyz", 0.5), "C": dict.fromkeys("wxyz", 0.4)})  # fmt: skip
    data = prompt_scores(cells)
    ranks = rank_table(random_boards(data.values, 500), data.models)
    for holes, order in (("mteb", "BCA"), ("present", "ABC")):
        assert "".join(headline_table(cells, pd.DataFrame(), ranks, 500, holes=holes)["model"]) == order


def test_the_order_is_the_default_board_and_the_sentence_follows_the_data():
    cells = random_cells(3, 4, 5, effect=0.3)
    table = table_of(cells)
    assert table["model"].tolist() == ["m2", "m1", "m0"] and table["rank"].tolist() == [1, 2, 3]
    higher = table_of(cells.assign(score=cells["score"] + 9.0 * (cells["kind"] == "default")))
    texts = [headline(t)[0]["text"] for t in (table, higher)]
    assert "3 of 3 models" in texts[1] and "3 of 3 models" not in texts[0]
