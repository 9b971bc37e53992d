"""Traits of wording: what a text has, effects over tasks, traits that go together."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of

from helpers.sensitivity import claims
from helpers.sensitivity.pooling import difference, over_tasks
from helpers.sensitivity.wording import TRAITS, trait_effects, trait_name, traits


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


def test_a_real_effect_is_found_with_its_sign_and_rare_traits_are_left_out():
    cells = shared_prompts(-0.05, 0)
    table = trait_effects(cells, traits(cells)).set_index("trait")
    assert table.loc["n_words", "high"] < 0 and np.isnan(table.loc["ends_in_colon", "effect"])
    assert "number of words -" in claims.traits(table.reset_index()).findings[0]


def test_traits_that_go_together_are_one():
    cells = shared_prompts(-0.05, 0)
    table = trait_effects(cells, traits(cells), names=["n_words", "n_characters"])
    assert table["trait"].tolist() == ["n_words"] and table["stands_for"].item() == "n_characters"
    assert "number of words stands for the number of characters too" in claims.traits(table).findings[1]


def test_one_task_is_about_itself():
    cells = shared_prompts(-0.05, 0)
    table = trait_effects(cells[cells["task"] == "x"], traits(cells), names=["n_words"])
    assert table["tasks"].item() == 1 and "about this task only" in claims.traits(table).findings[0]


def test_an_effect_that_turns_from_task_to_task_is_none():
    """Each task's own effect is beyond doubt; over tasks as a sample they say nothing."""
    has = pd.Series([True] * 5 + [False] * 5, index=list("abcdefghij"))
    noise = pd.Series(np.tile([-0.1, 0.1], 5), index=has.index)
    tasks = [difference(noise + effect * has, has) for effect in (1.0, -1.0, 0.9, -0.8)]
    assert all(task.p_value() < 1e-4 for task in tasks) and over_tasks(tasks).p_value() > 0.5


def test_texts_that_tasks_share_widen_the_interval():
    rng = np.random.default_rng(0)
    has = pd.Series([True] * 5 + [False] * 5, index=list("abcdefghij"))
    own = pd.Series(rng.normal(size=10), index=has.index)
    tasks = [difference(own + 0.1 * rng.normal(size=10), has) for _ in range(6)]
    apart = [difference(own.set_axis([f"{i}{t}" for i in own.index]), has.set_axis([f"{i}{t}" for i in own.index]))
             for t in range(6)]  # fmt: skip
    assert over_tasks(tasks).error > 5 * over_tasks(apart).error
    assert over_tasks(tasks).error == pytest.approx(tasks[0].error, rel=0.3)


def test_nothing_to_say_on_nothing():
    empty = cells_of({"a": {"x": [np.nan]}})
    assert claims.traits(trait_effects(empty, traits(empty))).findings == ()
