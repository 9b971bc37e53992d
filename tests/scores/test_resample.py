"""Other prompts: the variance is the unbiased one, what models share stays shared, holes and strata stay."""

import numpy as np
import pandas as pd
import pytest

from helpers.scores.cells import prompt_scores
from helpers.scores.resample import resampled, strata


def test_samples_have_the_unbiased_covariance_of_the_scores():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 1, 6)) + rng.normal(size=(1, 1, 6))
    drawn = np.stack([resampled(x, [np.zeros(6, dtype=int)], rng)[:, 0] for _ in range(4_000)])
    found = np.cov(drawn.transpose(1, 0, 2).reshape(2, -1))
    assert found == pytest.approx(np.cov(x[:, 0]), rel=0.1)


def test_models_with_equal_scores_stay_equal_and_holes_stay_holes():
    x = np.tile([0.1, 0.4, 0.2, np.nan], (2, 1, 1))
    drawn = resampled(x, [np.zeros(4, dtype=int)], np.random.default_rng(0))
    assert np.allclose(drawn[0], drawn[1], equal_nan=True) and np.isfinite(drawn).any()
    empty = resampled(np.full((2, 1, 4), np.nan), [np.zeros(4, dtype=int)], np.random.default_rng(0))
    assert np.isnan(empty).all()


def test_prompts_of_a_level_are_replaced_by_prompts_of_the_level():
    x = np.array([[[0.0, 0, 0, 10, 10, 10]]])
    drawn = resampled(x, [np.array([0, 0, 0, 1, 1, 1])], np.random.default_rng(0))
    assert drawn.ravel().tolist() == x.ravel().tolist(), "no spread within a level"


def test_tasks_are_drawn_with_their_prompts():
    x = np.broadcast_to(np.arange(4.0)[:, None], (2, 4, 3))
    drawn = resampled(x, [np.zeros(3, dtype=int)] * 4, np.random.default_rng(0), tasks=True)
    assert set(drawn.ravel()) <= {0.0, 1, 2, 3} and (np.ptp(drawn, axis=2) == 0).all() and (drawn[0] == drawn[1]).all()


@pytest.mark.parametrize("levels, wanted", [("aaabbb", 2), ("aaaabb", 1), ("aaaaaa", 1)])
def test_a_stratum_is_a_level_and_a_generator(levels, wanted):
    cells = pd.DataFrame({"model": "m", "task": "t", "prompt_id": list("123456"), "score": 0.5, "kind": "prompt",
                          "level": list(levels), "source": "g"})  # fmt: skip
    assert len(set(strata(cells, prompt_scores(cells))[0])) == wanted


def test_prompts_without_a_known_level_are_a_stratum_of_their_own():
    cells = pd.DataFrame({"model": "m", "task": "t", "prompt_id": list("123456"), "score": 0.5, "kind": "prompt",
                          "level": [None] * 3 + ["task"] * 3, "source": ["unlisted"] * 3 + ["llm"] * 3})  # fmt: skip
    assert strata(cells, prompt_scores(cells))[0].tolist() == [0, 0, 0, 1, 1, 1]
