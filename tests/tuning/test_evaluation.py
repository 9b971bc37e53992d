"""Before and after: paired intervals, means over languages, gains, side effects."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.base.proportions import paired_proportions
from helpers.base.stats import paired_interval
from helpers.tuning.effects import cv_ratio, side_effect_table
from helpers.tuning.evaluation import dose_table, recall_table, seeds_table
from helpers.tuning.instructions import gains
from helpers.tuning.trained import BASELINE


def scores(after: list[float], before: list[float], language: str = "default", pool: str = "paraphrase"):
    frames = []
    for preset, seed, values in (("distractor", 1, after), (BASELINE, -1, before)):
        frames.append(
            pd.DataFrame(
                {
                    "preset": preset,
                    "seed": seed,
                    "task": "T",
                    "language": language,
                    "pool": pool,
                    "query_id": [f"q{i}" for i in range(len(values))],
                    "recall_at_1": values,
                    "recall_at_5": 1.0,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def test_recall_before_and_after_by_hand():
    table = recall_table(scores([1, 1, 0, 1], [0, 1, 0, 0]))
    row = table[(table["preset"] == "distractor") & (table["metric"] == "recall_at_1")].iloc[0]
    assert (row["value"], row["before"], row["difference"], row["n"]) == (0.75, 0.25, 0.5, 4)
    assert np.isnan(row["low"]) and np.isnan(row["high"])  # four queries are too few
    base = table[table["preset"] == BASELINE].iloc[0]
    assert base["value"] == 0.25 and np.isnan(base["difference"])


def test_mean_over_languages_is_unweighted():
    both = pd.concat([scores([1, 1, 1, 1], [0, 0, 0, 0], "Finnish"), scores([1, 0], [1, 0], "German")])
    table = recall_table(both)
    rows = table[(table["preset"] == "distractor") & (table["metric"] == "recall_at_1")].set_index("language")
    assert rows.loc["mean", "value"] == pytest.approx((1.0 + 0.5) / 2)
    assert rows.loc["mean", "difference"] == pytest.approx(0.5)


def test_queries_that_a_pool_does_not_measure_are_left_out_on_both_sides():
    table = recall_table(scores([1, np.nan, 1], [0, 1, 0]))
    row = table[(table["preset"] == "distractor") & (table["metric"] == "recall_at_1")].iloc[0]
    assert (row["n"], row["before"], row["value"]) == (2, 0.0, 1.0)


def test_paired_interval_covers_and_knows_its_limits():
    rng = np.random.default_rng(0)
    d = rng.normal(0.3, 1.0, 400)
    low, high = paired_interval([d], 4000, 1)
    half = 1.96 * d.std() / 20
    assert low == pytest.approx(d.mean() - half, abs=0.01) and high == pytest.approx(d.mean() + half, abs=0.01)
    assert np.isnan(paired_interval([np.array([1.0])], 100, 0)).all()
    assert np.isnan(paired_interval([d], 0, 0)).all()


def of_seeds(preset: str, *seeds: list[float]) -> pd.DataFrame:
    """Scores of one preset, one list of recalls per seed 1, 2, ..."""
    parts = [scores(values, values).query("preset == 'distractor'").assign(seed=n) for n, values in enumerate(seeds, 1)]
    return pd.concat(parts).assign(preset=preset)


def first(table: pd.DataFrame) -> pd.Series:
    return table[table["metric"] == "recall_at_1"].iloc[0]


def test_presets_are_paired_by_seed_and_query():
    side, ablation = (
        of_seeds("distractor", [1, 1, 0, 1], [1, 1, 1, 1]),
        of_seeds("ablation", [1, 0, 0, 0], [1, 1, 1, 0]),
    )
    row = first(seeds_table(pd.concat([side, ablation]), "ablation"))
    assert (row["preset"], row["n"], row["n_seeds"]) == ("distractor", 4, 2)
    assert (row["value"], row["before"], row["difference"]) == (0.875, 0.5, 0.375)
    assert row["seed_sd"] == pytest.approx(np.std([0.5, 0.25], ddof=1))
    assert seeds_table(side, "ablation").empty
    alone = first(seeds_table(pd.concat([side, ablation.query("seed == 2")]), "ablation"))
    assert (alone["n_seeds"], alone["difference"]) == (1, 0.25) and np.isnan(alone["seed_sd"])


def test_one_seed_has_the_interval_over_queries_and_a_seed_that_differs_widens_it():
    before = scores([], [0.0, 1.0] * 20).query("preset == 'baseline'")
    up, same = [1.0, 1.0] * 20, [0.0, 1.0] * 20
    one = first(seeds_table(pd.concat([before, of_seeds("x", up)])))
    assert (one["low"], one["high"]) == pytest.approx(paired_proportions([(np.array(up), np.array(same))]))
    agreeing = first(seeds_table(pd.concat([before, of_seeds("x", up, up, up)])))
    assert (agreeing["low"], agreeing["seed_sd"]) == (pytest.approx(one["low"]), 0)
    differing = first(seeds_table(pd.concat([before, of_seeds("x", up, up, same)])))
    assert differing["low"] < 0 < agreeing["low"]


def test_a_dose_response_compares_with_the_lowest_share():
    doses = {0.5: "distractor", 0.0: "ablation", 1.0: "share-1"}
    parts = [of_seeds(p, [1.0] * k + [0.0] * (12 - k)) for p, k in (("share-1", 9), ("ablation", 3), ("distractor", 6))]
    table = dose_table(pd.concat(parts), doses)
    rows = table[table["metric"] == "recall_at_1"]
    assert rows["share"].tolist() == [0, 0.5, 1] and rows["value"].tolist() == [0.25, 0.5, 0.75]
    assert rows["difference"].tolist()[1:] == [0.25, 0.5] and np.isnan(rows["difference"].iloc[0])
    assert dose_table(pd.concat(parts), {}).empty


def test_the_ratio_of_two_spreads_does_not_depend_on_the_unit_and_needs_five_prompts():
    rng = np.random.default_rng(0)
    before = 0.8 + 0.02 * rng.normal(size=15)
    after = 0.5 + (before - 0.8) / 4 + 0.001 * rng.normal(size=15)
    ratio, low, high = cv_ratio(after, before)
    assert low < ratio < high and cv_ratio(10 * after, before) == pytest.approx((ratio, low, high))
    assert cv_ratio(before, after) == pytest.approx((1 / ratio, 1 / high, 1 / low))
    for few in ((after[:4], before[:4]), (after, np.full(15, 0.5))):
        assert np.isnan(cv_ratio(*few)).all()


def test_instruction_gains_pair_queries_and_sort_by_gain():
    rows = []
    for preset, seed, values in (
        (BASELINE, -1, {"a": [0, 0], "b": [1, 0]}),
        ("distractor", 1, {"a": [1, 1], "b": [1, 0]}),
    ):
        for instruction, hits in values.items():
            for i, hit in enumerate(hits):
                rows.append(
                    {"preset": preset, "seed": seed, "subset": "s", "instruction_id": instruction,
                     "text": instruction.upper(),
                     "group": "g", "relevant": instruction == "a", "control": False, "query_id": str(i),
                     "paraphrase_recall_at_1": float(hit)}
                )  # fmt: skip
    table = gains(pd.DataFrame(rows))
    assert table["instruction_id"].tolist() == ["a", "b"]
    assert table["gain"].tolist() == [1.0, 0.0] and table["before"].tolist() == [0.0, 0.5]


def test_side_effects_pair_tasks_with_the_base_model():
    rows, units = [], []
    for model, value, hits in (("base", 0.50, [0.0, 1.0, 0.0]), ("tuned", 0.75, [1.0, 1.0, 0.0])):
        for task, kind in (("R", "default"), ("C", "default"), ("R", "none")):
            rows.append({"model": model, "task": task, "task_type": "Retrieval" if task == "R" else "Classification",
                         "kind": kind, "prompt_id": kind, "status": "ok", "main_score": value})  # fmt: skip
        for i, hit in enumerate(hits):
            units.append({"model": model, "task": "R", "prompt_id": "default", "subset": "s", "split": "test",
                          "query_id": str(i), "score": hit, "gold": np.nan})  # fmt: skip
    table = side_effect_table(pd.DataFrame(rows), pd.DataFrame(units), "base", 200, 0).set_index("task")
    assert table.loc["R", "difference"] == 0.25 and table.loc["R", "n_units"] == 3
    assert table[["low", "high"]].isna().all(axis=None)  # three queries are too few, C has no scores of texts
    more = pd.concat([pd.DataFrame(units).assign(query_id=lambda t, k=k: t["query_id"] + f"-{k}") for k in range(10)])
    table = side_effect_table(pd.DataFrame(rows), more, "base", 200, 0).set_index("task")
    assert 0 < table.loc["R", "low"] < 1 / 3 and np.isnan(table.loc["C", "low"])
