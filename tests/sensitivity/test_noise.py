"""Prompt effect against test-set noise: level without an effect, power with one, hand-checked standard error."""

import pandas as pd
import pytest
from test_gains import query_scores

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


def test_a_p_value_is_no_smaller_than_that_of_a_sign_test():
    """Five units that all favour one prompt by the same amount: 2 * 0.5^5, though the difference has no error at all."""
    units = pd.DataFrame({"a": [0.1, 0.2, 0.3, 0.4, 0.5]}).assign(b=lambda t: t["a"] + 0.3, c=lambda t: t["a"])
    long = units.rename_axis("query_id").reset_index().melt("query_id", var_name="prompt_id", value_name="score")
    pairs = query_noise(long.assign(model="m", task="T", subset="s", split="test"), draws=50)[1]
    p = pairs.set_index(["prompt_a", "prompt_b"])["p_value"]
    assert p["a", "b"] == 2 * 0.5**5 and p["a", "c"] == 1


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
