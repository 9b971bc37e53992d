"""Agreement of models on prompts and traits of wording: known values, level of the tests by simulation."""

import numpy as np
import pytest
from board_cells import cells_of, random_cells

from helpers.sensitivity import words
from helpers.sensitivity.agreement import (
    TRAITS,
    agreement_table,
    kendall_w,
    trait_effects,
    trait_name,
    traits,
)


def test_w_is_one_for_equal_orders_and_nothing_for_opposite_ones():
    assert kendall_w(np.array([[1, 2, 3], [1, 2, 3]])) == pytest.approx(1)
    assert kendall_w(np.array([[1, 2, 3], [3, 2, 1]])) == pytest.approx(0)


def test_w_is_corrected_for_ties():
    """W = 12 S / (m^2 (n^3 - n) - m T): S squared deviations of the rank sums, T = t^3 - t = 6 for each tie of two."""
    ranks = np.array([[1, 2.5, 2.5, 4], [1.5, 1.5, 3, 4], [1, 2, 3, 4]])  # sums 3.5, 6, 8.5, 12
    assert kendall_w(ranks) == pytest.approx(12 * (4**2 + 1.5**2 + 1**2 + 4.5**2) / (9 * 60 - 3 * (6 + 6)))
    a, b = np.array([1, 2.5, 2.5, 4]), np.array([4, 1.5, 1.5, 3])  # two raters: W = (1 + Spearman) / 2
    assert kendall_w(np.array([a, b])) == pytest.approx((1 + np.corrcoef(a, b)[0, 1]) / 2)


def test_a_constant_model_makes_it_undefined():
    table = agreement_table(cells_of({"a": {"x": [1, 1, 1]}, "b": {"x": [1, 2, 3]}}))
    assert np.isnan(table["kendall_w"].item()) and words.agreement(table).findings == ()


@pytest.mark.parametrize("scores", [{"a": {"x": [1, 2, 3]}}, {"a": {"x": [1, 2]}, "b": {"x": [1, 2]}}])
def test_one_model_or_two_prompts_say_nothing(scores):
    assert np.isnan(agreement_table(cells_of(scores))["kendall_w"].item())


def test_the_test_of_agreement_keeps_its_level():
    table = agreement_table(random_cells(4, 150, 8, seed=1), permutations=200)
    assert (table["p_value"] <= 0.05).mean() <= 0.09


def test_only_prompts_that_all_models_have_count():
    table = agreement_table(cells_of({"a": {"x": [1, 2, 3, 4]}, "b": {"x": [1, 2, 3]}}))
    assert table["prompts"].item() == 3 and table["kendall_w"].item() == 1


def test_traits_of_a_text():
    cells = cells_of({"a": {"TweetSentimentClassification": [0.5, 0.6]}}, task_type="Classification")
    cells["prompt"] = ["Classify the tweet (eng):", "Text"]
    got = traits(cells, ["eng"]).set_index("prompt")
    assert got.loc["Classify the tweet (eng):", list(TRAITS)].tolist() == [4, 25, True, True, True, True]
    assert not got.loc["Text", list(TRAITS)[2:]].any()


def shared_prompts(effect, seed, texts=24):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, size=texts)
    own = 0.05 * rng.normal(size=texts) + effect * lengths  # what a text does for all models
    scores = {f"m{m}": {t: list(own + 0.01 * rng.normal(size=texts)) for t in ("x", "y")} for m in range(4)}
    cells = cells_of(scores)
    counts = dict(zip([f"p{k}" for k in range(texts)], lengths, strict=True))
    cells["prompt"] = [" ".join(["w"] * counts[p]) for p in cells["prompt_id"]]
    return cells


@pytest.mark.parametrize(("trait", "name"), [("n_words", "number of words"), ("ends_in_colon", "ends in colon")])
def test_a_trait_in_words(trait, name):
    assert trait_name(trait) == name


def test_a_trait_without_an_effect_is_found_no_more_often_than_asked():
    """Eight cells share each text: errors that ignore this would reject far more often than 5 %."""
    p = []
    for seed in range(80):
        cells = shared_prompts(0, seed)
        lengths = cells.drop_duplicates(["task", "prompt_id"]).assign(n_words=lambda t: t["prompt"].str.len())
        p.append(
            trait_effects(cells, lengths[["task", "prompt_id", "prompt", "n_words"]], ["n_words"])["p_value"].item()
        )
    assert np.mean(np.array(p) <= 0.05) <= 0.1


def test_a_real_effect_is_found_with_its_sign_and_rare_traits_are_left_out():
    cells = shared_prompts(-0.05, 0)
    table = trait_effects(cells, traits(cells)).set_index("trait")
    assert table.loc["n_words", "high"] < 0 and np.isnan(table.loc["ends_in_colon", "effect"])
    assert "number of words -" in words.traits(table.reset_index()).findings[0]


def test_nothing_to_say_on_nothing():
    empty = cells_of({"a": {"x": [np.nan]}})
    assert words.agreement(agreement_table(empty)).findings == ()
    assert words.traits(trait_effects(empty, traits(empty))).findings == ()
