"""Prompt effect against test-set noise: level without an effect, power with one, hand-checked standard error."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from test_gains import query_scores

from helpers.base.stats import sign_flip
from helpers.sensitivity.noise import query_noise
from helpers.sensitivity.words import noise


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


@pytest.mark.parametrize("prompts", [50, 54])
def test_one_shifted_prompt_among_many_is_found(prompts):
    """Shifted by three standard deviations of the noise: all its pairs are beyond noise, however many pairs there are."""
    table = query_scores(0, prompts=prompts)
    shifted = table.assign(score=table["score"] + 0.6 * (table["prompt_id"] == "p0"))
    pairs = query_noise(shifted, draws=200)[1]
    own = (pairs[["prompt_a", "prompt_b"]] == "p0").any(axis=1)
    assert (pairs.loc[own, "q_value"] < 0.05).all() and (pairs.loc[~own, "q_value"] < 0.05).mean() < 0.02


def test_p_values_are_those_of_sign_flips():
    """Twenty units that all favour one prompt: 2 * 0.5^20, though the difference has no error at all; equal prompts: 1."""
    units = pd.DataFrame({"a": [0.1, 0.2, 0.3, 0.4] * 5}).assign(b=lambda t: t["a"] + 0.3, c=lambda t: t["a"])
    long = units.rename_axis("query_id").reset_index().melt("query_id", var_name="prompt_id", value_name="score")
    pairs = query_noise(long.assign(model="m", task="T", subset="s", split="test"), draws=50)[1]
    p = pairs.set_index(["prompt_a", "prompt_b"])["p_value"]
    assert p["a", "b"] == pytest.approx(2 * stats.norm.sf(20**0.5)) and p["a", "c"] == 1
    five = np.array([1.0] * 5 + [0.0] * 20)
    assert sign_flip(five) == 2 * 0.5**5, "five of 25 units differ, all alike"


def test_a_sign_flip_test_is_that_of_scipy():
    few, many = (np.random.default_rng(0).normal(0.4, 1, size=n) for n in (9, 40))
    for x, error in ((few, 1e-9), (many, 0.005)):
        known = stats.permutation_test((x,), np.mean, permutation_type="samples", n_resamples=20_000, rng=0)
        assert sign_flip(x) == pytest.approx(known.pvalue, abs=error)


def test_false_discoveries_are_controlled_over_all_test_sets_together():
    table = pd.concat(
        [query_scores(0.03).assign(task="A"), *(query_scores(0, seed=s).assign(task=f"B{s}") for s in range(1, 5))]
    )
    alone = query_noise(table[table["task"] == "A"], draws=50)[0]["beyond_fdr"].item()
    cells, pairs = query_noise(table, draws=50)
    assert cells.set_index("task").loc["A", "beyond_fdr"] < alone
    assert pairs["q_value"].to_numpy() == pytest.approx(stats.false_discovery_control(pairs["p_value"]))


def test_a_test_set_of_fewer_than_twenty_units_has_numbers_only():
    cells, pairs = query_noise(query_scores(0.3, queries=19))
    assert cells["n_units"].item() == 19 and cells["paired_error"].isna().all() and pairs.empty
    assert "1 test set of fewer than 20 queries or pairs is left out" in noise(cells).findings[0]


def test_the_spread_between_prompts_is_that_of_the_sensitivity_table():
    table = query_scores(0.3)
    scores = table.groupby("prompt_id")["score"].mean()
    assert query_noise(table, draws=50)[0]["prompt_sd"].item() == pytest.approx(scores.std(ddof=0))


def test_findings_say_what_is_missing():
    assert "not at hand" in noise(query_noise(None)[0]).findings[0]
    assert "beyond test-set noise" in noise(query_noise(query_scores(0.3), draws=100)[0]).findings[0]


@pytest.mark.parametrize("queries, prompts", [(2, 5), (20, 1)])
def test_too_little_data_is_left_out(queries, prompts):
    assert query_noise(query_scores(0, queries, prompts))[0].empty
