"""Which prompt to use: the choice, its bound, and the gain that is left on queries that did not choose."""

import numpy as np
import pandas as pd
import pytest

from helpers.base.errors import StudyError
from helpers.base.stats import unit_scores
from helpers.sensitivity.choice import _errors, _intervals, choose_prompt, chosen, honest_gain


def tables(values: np.ndarray, gold: np.ndarray | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores and query scores of one model and task; the last column is the default."""
    n, k = values.shape
    ids = [*(f"p{j}" for j in range(k - 1)), "default"]
    about = {"model": "m", "task": "T", "subset": "default", "split": "test"}
    scores = pd.DataFrame([
        about | {"prompt_id": i, "kind": "default" if i == "default" else "prompt", "prompt": i, "status": "ok",
                 "main_score": float(unit_scores(values, gold)[j])} for j, i in enumerate(ids)
    ])  # fmt: skip
    units = pd.DataFrame([
        about | {"prompt_id": i, "query_id": str(q), "score": values[q, j], "gold": np.nan if gold is None else gold[q]}
        for j, i in enumerate(ids) for q in range(n)
    ])  # fmt: skip
    return scores, units


def noisy(n: int, effects: list[float], seed: int = 0) -> np.ndarray:
    """Scores of n queries: what all prompts share, noise in four of ten, and an effect of each prompt."""
    rng = np.random.default_rng(seed)
    k = len(effects)
    shared = np.clip(1.3 * rng.random((n, 1)), 0, 1)
    return np.clip(shared + rng.normal(0, 0.15, (n, k)) * (rng.random((n, k)) < 0.4) + effects, 0, 1)


def test_a_prompt_that_is_better_on_every_query_is_chosen_by_mean_and_by_bound():
    values = np.full((30, 3), 0.5)
    values[:, 0] = np.tile([0.6, 0.7, 0.8], 10)
    table = choose_prompt(*tables(values))
    assert sorted(table["prompt_id"][1:]) == ["default", "p1"]
    first = table.iloc[0]
    assert first["gain"] == pytest.approx(0.2) and first["best_mean"] and first["best_bound"]
    assert 0 < first["bound"] <= first["low"] < 0.2 < first["high"]
    assert first["honest_gain"] == pytest.approx(0.2)
    assert chosen(table)["verdict"].item() == "better"


def test_prompts_that_differ_by_noise_alone_are_not_distinguishable_and_their_gain_is_luck():
    table = choose_prompt(*tables(noisy(40, [0.0] * 21, seed=3)))
    best = table[table["best_mean"]].iloc[0]
    assert best["gain"] > 0.01 and best["honest_gain"] < best["gain"] / 2
    assert chosen(table)["verdict"].item() == "not distinguishable"


def test_few_queries_and_scores_without_queries_give_no_interval():
    scores, units = tables(noisy(19, [0.05, 0.0]))
    for known in (units, units[:0]):
        row = choose_prompt(scores, known).iloc[0]
        assert np.isnan([row["low"], row["bound"], row["honest_gain"]]).all() and not row["best_bound"]
    assert chosen(choose_prompt(scores, units))["verdict"].item() == "unknown"


def test_a_correlation_is_computed_anew_from_the_pairs():
    rng = np.random.default_rng(0)
    gold = rng.random(200)
    values = np.stack([gold + rng.normal(0, 0.05, 200), rng.random(200)], axis=1)
    table = choose_prompt(*tables(values, gold))
    assert table.iloc[0]["honest_gain"] > 0.8 and table.iloc[0]["bound"] > 0.7


def test_units_of_another_measure_than_the_tasks_score_give_no_interval():
    scores, units = tables(noisy(60, [0.1, 0.0]))
    scores["main_score"] -= 0.01
    assert choose_prompt(scores, units)["bound"].isna().all()


def test_a_reference_that_was_not_swept_is_refused():
    with pytest.raises(StudyError, match="unknown reference 'none'; known: default"):
        choose_prompt(*tables(noisy(30, [0.0, 0.0])), reference="none")


@pytest.mark.parametrize("n", [20, 100])
def test_simulated_coverage_of_gain_bound_and_honest_gain(n):
    """300 data sets of n queries and 10 prompts; full table: `python -m benchmarks.choice`."""
    rng = np.random.default_rng(1)
    effects = np.r_[rng.normal(0, 0.01, 10), 0.0]
    true = noisy(400_000, list(effects), 5).mean(axis=0)
    true = true - true[-1]
    candidate = np.r_[np.ones(10, bool), False]
    within, all_below, honest = [], [], []
    for seed in range(300):
        units = [(noisy(n, list(effects), seed + 10), None)]
        gain = units[0][0].mean(axis=0) - units[0][0].mean(axis=0)[-1]
        low, high, bound = _intervals(gain, _errors(units, 10, 300, seed), n, 10, 0.95)
        within.append(((low <= true) & (true <= high))[:10].mean())
        all_below.append((bound <= true)[:10].all())
        _, low_honest, high_honest = honest_gain(units, 10, candidate, repeats=2, seed=seed)
        honest.append(low_honest <= true[np.argmax(np.where(candidate, gain, -1))] <= high_honest)
    assert 0.93 <= np.mean(within) <= 0.98
    assert np.mean(all_below) >= 0.93
    assert 0.88 <= np.mean(honest) <= 0.99
