"""Reliability: the coefficient by hand, its interval by simulation, the split of a score's differences."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.coverage.parts.reliability import SIMULATIONS
from benchmarks.coverage.simulation import simulate
from helpers.leaderboard import figures
from helpers.leaderboard.reliability import reliability_curve, sources_of_error
from helpers.sensitivity.variance import variance_components


def cells(tasks=6, models=4, prompts=5):
    rng = np.random.default_rng(0)
    good, own = rng.normal(size=models), rng.normal(size=(models, tasks))
    rows = [(f"m{m}", f"t{t}", f"{t}.{k}", good[m] + own[m, t] / 2 + rng.normal() / 3, "prompt")
            for m in range(models) for t in range(tasks) for k in range(prompts)]  # fmt: skip
    return pd.DataFrame(rows, columns=["model", "task", "prompt_id", "score", "kind"])


def test_the_coefficient_is_that_of_the_components_and_grows_with_tasks_and_prompts():
    table = reliability_curve(cells())
    m, mt, rest = (variance_components(cells()).set_index("source")["share_own_scale"].reindex(
        ["model", "model x task", "model x prompt + residual"]))  # fmt: skip
    found = table.set_index(["n_tasks", "n_prompts"])
    assert found.loc[(8, 3), "g"] == pytest.approx(m / (m + mt / 8 + rest / 24))
    assert found.loc[(8, 3), "tau"] == pytest.approx(2 / np.pi * np.arcsin(found.loc[(8, 3), "g"]))
    assert (table.groupby("n_prompts")["g"].diff().dropna() > 0).all() and (table["low"] <= table["g"]).all()
    assert "11 tasks with 15 prompts" in figures.reliability(table).said.findings[0]


def test_few_tasks_have_no_interval_and_one_model_no_reliability():
    assert reliability_curve(cells(tasks=4))["low"].isna().all()
    one = cells()[lambda t: t["model"] == "m0"]
    assert reliability_curve(one).empty


def test_the_noise_of_the_test_set_is_taken_from_the_rest():
    plain = sources_of_error(cells()).set_index("source")
    assert "no scores of single queries" in plain.loc["test-set noise", "reason"]
    variance = cells().groupby("task")["score"].var(ddof=0)
    noise = pd.DataFrame({"model": "m0", "task": variance.index, "paired_error": np.sqrt(0.02 * variance.to_numpy())})
    split = sources_of_error(cells(), noise).set_index("source")["share"]
    assert split["test-set noise"] == pytest.approx(0.01)
    assert split["model x prompt"] + 0.01 == pytest.approx(plain.loc["model x prompt + residual", "share"])


@pytest.mark.parametrize("simulation", SIMULATIONS[1:3], ids=lambda s: s.case)
def test_the_interval_covers_what_is_promised(simulation):
    rate = simulate(simulation, 25)
    assert rate.lies_within(simulation.least, simulation.most), rate
