"""Variance components: recovered from simulated scores, unbalanced data, and what cannot be split."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of, random_cells

from helpers.sensitivity.variance import variance_components
from helpers.sensitivity.words import variance

TRUE = {
    "model": 0.02**2,
    "task": 0.1**2,
    "model x task": 0.03**2,
    "prompt": 0.02**2,
    "model x prompt + residual": 0.01**2,
}


def simulated(models=8, tasks=12, prompts=10, seed=0, true=TRUE):
    rng = np.random.default_rng(seed)
    sd = {k: np.sqrt(v) for k, v in true.items()}
    m = sd["model"] * rng.normal(size=models)
    scores = {f"m{i}": {} for i in range(models)}
    for t in range(tasks):
        level = 0.5 + sd["task"] * rng.normal()
        prompt = sd["prompt"] * rng.normal(size=prompts)
        for i in range(models):
            own = sd["model x task"] * rng.normal()
            rest = sd["model x prompt + residual"] * rng.normal(size=prompts)
            scores[f"m{i}"][f"t{t:02d}"] = list(level + m[i] + own + prompt + rest)
    cells = cells_of(scores)
    cells["prompt_id"] = cells["task"] + cells["prompt_id"]
    return cells


def test_components_are_recovered():
    tables = [variance_components(simulated(5, 8, 6, seed), intervals=False) for seed in range(4)]
    mean = pd.concat([t.set_index("source")["variance"] for t in tables], axis=1).mean(axis=1)
    for source, value in TRUE.items():
        assert mean[source] == pytest.approx(value, rel=0.15 if "residual" in source else 0.8), source
    assert tables[0]["share"].sum() == pytest.approx(1) and tables[0]["share_on_task"].sum() == pytest.approx(1)


def test_holes_and_unequal_prompts_change_little():
    cells = simulated(3, 5, 6)
    full = variance_components(cells, intervals=False)["variance"]
    cells.loc[cells.sample(frac=0.1, random_state=0).index, "score"] = np.nan
    assert np.allclose(variance_components(cells, intervals=False)["variance"], full, rtol=0.4)


def test_no_prompt_effect_gives_a_share_near_zero():
    true = TRUE | {"prompt": 0.0}
    table = variance_components(simulated(6, 8, 8, true=true), intervals=False).set_index("source")
    assert table.loc["prompt", "share_on_task"] < 0.06


@pytest.mark.parametrize("models, tasks, absent", [(1, 3, ["model", "model x task", "prompt"]), (3, 1, ["model", "task"]),
                                                   (1, 1, ["model", "task", "model x task", "prompt"])])  # fmt: skip
def test_one_model_or_one_task_leaves_out_what_cannot_be_seen(models, tasks, absent):
    table = variance_components(simulated(models, tasks, 6)).set_index("source")
    assert list(table.index[table["variance"].isna()]) == absent
    assert ("cannot tell" in variance(table.reset_index()).title) == ("prompt" in absent)


@pytest.mark.parametrize("scores", [[0.5], [0.5, 0.5], [np.nan]])
def test_no_rows_where_there_is_nothing_to_split(scores):
    table = variance_components(cells_of({"a": {"x": scores}}))
    assert table.empty and "cannot tell" in variance(table).title and not variance(table).findings


def test_intervals_hold_the_estimate_and_the_finding_names_it():
    table = variance_components(simulated(3, 4, 4))
    part = table.dropna(subset=["share_on_task"])
    assert (
        (part["share_on_task_low"] <= part["share_on_task"]) & (part["share_on_task"] <= part["share_on_task_high"])
    ).all()
    assert "of the variance of scores is wording" in variance(table).findings[0]
    assert variance(table.iloc[:0]).findings == ()


@pytest.mark.slow
def test_the_interval_of_the_wording_share_covers():
    true = TRUE["prompt"] / (sum(TRUE.values()) - TRUE["task"])
    hits = []
    for seed in range(24):
        row = variance_components(simulated(4, 8, 6, seed)).set_index("source").loc["prompt"]
        hits.append(row["share_on_task_low"] <= true <= row["share_on_task_high"])
    assert np.mean(hits) >= 0.85


def test_a_random_table_has_no_large_wording_share():
    table = variance_components(random_cells(4, 5, 6), intervals=False).set_index("source")
    assert table.loc["prompt", "share_on_task"] < 0.25
