"""Variance components: recovered from simulated scores, unbalanced data, and what cannot be split."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of, random_cells

from helpers.sensitivity.claims import variance
from helpers.sensitivity.variance import SHARED, variance_components

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


def test_the_components_are_those_of_the_mixed_model():
    """Balanced data, all estimates positive: analysis of variance and REML (statsmodels) agree."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    cells = simulated(4, 6, 8, 3)
    data = cells.assign(y=100 * cells["score"])
    parts = {"prompt": "0 + C(prompt_id)", "model": "0 + C(model)"}
    fit = MixedLM.from_formula("y ~ C(model)", groups="task", data=data, re_formula="1", vc_formula=parts).fit()
    found = variance_components(cells, intervals=False).set_index("source")["variance"] * 1e4
    assert found["prompt"] == pytest.approx(fit.vcomp[1], rel=0.01)
    assert found["model x task"] == pytest.approx(fit.vcomp[0], rel=0.01)
    assert found["model x prompt + residual"] == pytest.approx(fit.scale, rel=0.01)
    assert found["task"] == pytest.approx(fit.cov_re.iloc[0, 0], rel=0.01)


def test_one_noisy_task_decides_in_score_units_only():
    """Nine tasks where all is the prompt, and one ten times as wide where all is the rest."""
    rng = np.random.default_rng(0)
    scores = {f"m{m}": {} for m in range(4)}
    for t in range(10):
        prompt = 0.01 * rng.normal(size=8) * (t > 0)
        for m in range(4):
            scores[f"m{m}"][f"t{t}"] = list(0.5 + prompt + (1e-4 if t else 0.1) * rng.normal(size=8))
    found = variance_components(cells_of(scores), intervals=False).set_index("source").loc["prompt"]
    assert found["share_on_task"] < 0.2 and found["share_own_scale"] > 0.8


def test_prompts_that_tasks_share_show_what_is_the_same_on_every_task():
    rng = np.random.default_rng(1)
    common = 0.03 * rng.normal(size=12)
    scores = {f"m{m}": {f"t{t}": list(0.5 + common + 0.01 * rng.normal(size=12)) for t in range(5)} for m in range(3)}
    crossed = cells_of(scores)
    nested = crossed.assign(prompt_id=crossed["task"] + crossed["prompt_id"])
    found, other = (variance_components(c).set_index("source") for c in (crossed, nested))
    assert found.loc[SHARED, "variance"] == pytest.approx(found.loc["prompt", "variance"], rel=0.1)
    assert np.isnan(other.loc[SHARED, "variance"])
    assert any("prompts that several tasks share" in text for text in variance(found.reset_index()).findings)


def test_an_estimate_below_0_is_named():
    scores = {"a": {"x": [1, 2, 3]}, "b": {"x": [3, 2, 1]}}
    table = variance_components(cells_of(scores)).set_index("source")
    assert table.loc["prompt", "negative"] and table.loc["prompt", "variance"] == 0
    assert "below 0, which were set to 0" in variance(table.reset_index()).findings[-1]


def test_holes_and_unequal_prompts_change_little():
    cells = simulated(3, 5, 6)
    full = variance_components(cells, intervals=False)["variance"]
    cells.loc[cells.sample(frac=0.1, random_state=0).index, "score"] = np.nan
    assert np.allclose(variance_components(cells, intervals=False)["variance"], full, rtol=0.4, equal_nan=True)


def test_no_prompt_effect_gives_a_share_near_zero():
    true = TRUE | {"prompt": 0.0}
    table = variance_components(simulated(6, 8, 8, true=true), intervals=False).set_index("source")
    assert table.loc["prompt", "share_on_task"] < 0.06


@pytest.mark.parametrize("models, tasks, absent", [(1, 3, ["model", "model x task", "prompt", SHARED]), (3, 1, ["model", "task", SHARED]),
                                                   (1, 1, ["model", "task", "model x task", "prompt", SHARED])])  # fmt: skip
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
    part = table.dropna(subset=["low"])
    assert len(part) == 4 and part["share_own_scale"].between(part["low"], part["high"]).all()
    assert "of the variance of scores is wording" in variance(table).findings[0]
    assert variance(table.iloc[:0]).findings == ()


def test_a_random_table_has_no_large_wording_share():
    table = variance_components(random_cells(4, 5, 6), intervals=False).set_index("source")
    assert table.loc["prompt", "share_on_task"] < 0.25
