"""Best of k: exact expectation, and the honest figure under no effect and under a real one."""

import itertools

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of

from helpers.base.extremes import pick_weights
from helpers.leaderboard.gains import best_of_k, honest_best_of_k


@pytest.mark.parametrize("n, k", [(5, 1), (5, 2), (6, 6), (15, 4)])
def test_the_expected_best_equals_enumeration(n, k):
    x = np.sort(np.random.default_rng(n + k).random(n))[::-1]
    expected = np.mean([max(s) for s in itertools.combinations(x, k)])
    assert pick_weights(n, k) @ x == pytest.approx(expected) and pick_weights(n, k).sum() == pytest.approx(1)


def test_the_curve_by_hand():
    cells = cells_of({"a": {"x": [0.0, 0.3], "y": [0.2, 0.2]}}, {"a": {"x": 0.1, "y": 0.9}})
    table = best_of_k(cells).set_index("k")
    assert table.loc[2, "score"] == pytest.approx(0.25) and table.loc[2, "gain"] == pytest.approx(0.075)
    assert table.loc[2, "share_beating_default"] == 0.5


def test_the_curve_stops_where_a_task_has_fewer_prompts():
    assert best_of_k(cells_of({"a": {"x": [0.1, 0.2, 0.3], "y": [0.1]}}))["k"].tolist() == [1]


def query_scores(effect, queries=60, prompts=8, seed=0, gold=False):
    rng = np.random.default_rng(seed)
    base, shift = rng.random(queries), effect * rng.normal(size=prompts)
    rows = [
        {"model": "m", "task": "T", "subset": "s", "split": "test", "prompt_id": f"p{p}", "query_id": str(q),
         "score": base[q] + shift[p] + 0.2 * rng.normal(), "gold": base[q] if gold else np.nan}
        for p in range(prompts) for q in range(queries)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("gold", [False, True])
def test_without_an_effect_the_reported_gain_is_not_there_on_fresh_queries(gold):
    tables = [honest_best_of_k(query_scores(0, seed=s, gold=gold), splits=40) for s in range(12)]
    last = pd.concat(t[t["k"] == 8] for t in tables)
    assert last["reported"].mean() > 0.02 and abs(last["honest"].mean()) < 0.01


def test_a_real_effect_survives():
    last = honest_best_of_k(query_scores(0.3), splits=40).query("k == 8").iloc[0]
    assert last["honest"] > 0.9 * last["reported"] > 0


def test_one_prompt_tried_gains_nothing():
    first = honest_best_of_k(query_scores(0.1), splits=20).query("k == 1").iloc[0]
    assert abs(first["reported"]) < 1e-12 and abs(first["honest"]) < 1e-12


@pytest.mark.parametrize("queries, prompts", [(3, 8), (60, 1)])
def test_too_little_data_gives_no_row(queries, prompts):
    assert honest_best_of_k(query_scores(0, queries, prompts)).empty
