"""Before and after: paired intervals, means over languages, gains, side effects."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.base.stats import paired_interval
from helpers.tuning.effects import side_effect_table
from helpers.tuning.evaluation import contrast_table, recall_table
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
    table = recall_table(scores([1, 1, 0, 1], [0, 1, 0, 0]), 500, 0)
    row = table[(table["preset"] == "distractor") & (table["metric"] == "recall_at_1")].iloc[0]
    assert (row["value"], row["before"], row["difference"], row["n"]) == (0.75, 0.25, 0.5, 4)
    assert row["low"] == 0.0 and row["high"] == 1.0
    base = table[table["preset"] == BASELINE].iloc[0]
    assert base["value"] == 0.25 and np.isnan(base["difference"])


def test_mean_over_languages_is_unweighted():
    both = pd.concat([scores([1, 1, 1, 1], [0, 0, 0, 0], "Finnish"), scores([1, 0], [1, 0], "German")])
    table = recall_table(both, 200, 0)
    rows = table[(table["preset"] == "distractor") & (table["metric"] == "recall_at_1")].set_index("language")
    assert rows.loc["mean", "value"] == pytest.approx((1.0 + 0.5) / 2)
    assert rows.loc["mean", "difference"] == pytest.approx(0.5)


def test_queries_that_a_pool_does_not_measure_are_left_out_on_both_sides():
    table = recall_table(scores([1, np.nan, 1], [0, 1, 0]), 10, 0)
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


def test_contrast_pairs_each_training_with_the_ablation_of_its_seed():
    both = scores([1, 1, 0, 1], [0, 1, 0, 0])
    ablation = scores([1, 0, 0, 0], [0, 1, 0, 0])
    ablation = ablation[ablation["preset"] == "distractor"].assign(preset="ablation")
    table = contrast_table(pd.concat([both, ablation]), 100, 0)
    row = table[table["metric"] == "recall_at_1"].iloc[0]
    assert (row["preset"], row["seed"], row["before"], row["difference"]) == ("distractor", 1, 0.25, 0.5)
    assert contrast_table(both, 100, 0).empty


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
    table = gains(pd.DataFrame(rows), 50, 0)
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
    assert table.loc["R", "low"] == 0.0 and np.isnan(table.loc["C", "low"])
