"""Prompt effect against test-set noise: level without an effect, power with one, hand-checked standard error."""

import numpy as np
import pandas as pd
import pytest
from test_hacking import query_scores

from helpers.noise import NONE, bootstrap_scores, findings, query_noise


def test_the_standard_error_is_that_of_a_mean():
    x = np.random.default_rng(0).random((200, 3))
    score, boot = bootstrap_scores(x, draws=4000)
    assert np.allclose(score, x.mean(0)) and np.allclose(boot.std(0), x.std(0) / np.sqrt(200), rtol=0.05)


def test_with_gold_the_score_is_a_rank_correlation():
    x = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [4.0, 0.0]])
    score, boot = bootstrap_scores(x, gold=np.array([1.0, 2.0, 3.0, 4.0]), draws=20)
    assert score.tolist() == [1, -1] and boot.shape == (20, 2)


def test_without_an_effect_few_differences_are_beyond_noise():
    tables = [query_noise(query_scores(0, seed=s), draws=400, seed=s)[0] for s in range(15)]
    assert pd.concat(tables)["beyond"].mean() < 0.09 and pd.concat(tables)["beyond_fdr"].mean() < 0.03


def test_the_interval_of_a_difference_covers_the_true_one():
    pairs = pd.concat(query_noise(query_scores(0, seed=s), draws=400, seed=s)[1] for s in range(15))
    assert ((pairs["low"] <= 0) & (pairs["high"] >= 0)).mean() > 0.91


def test_a_large_effect_is_beyond_noise_and_the_pairing_helps():
    table, pairs = query_noise(query_scores(0.3), draws=400)
    row = table.iloc[0]
    assert row["beyond_fdr"] > 0.8 and row["noise_share"] < 0.05 and len(pairs) == 28
    assert row["n_units"] == 60 and row["n_prompts"] == 8


def test_findings_say_what_is_missing():
    assert "not at hand" in findings(NONE)[0]["text"]
    assert "beyond test-set noise" in findings(query_noise(query_scores(0.3), draws=100)[0])[0]["text"]


@pytest.mark.parametrize("queries, prompts", [(2, 5), (20, 1)])
def test_too_little_data_is_left_out(queries, prompts):
    assert query_noise(query_scores(0, queries, prompts))[0].empty
