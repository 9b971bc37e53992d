"""Two sets of prompts: difference, Cliff's delta and equivalence by hand, over tasks, and what is left out."""

import numpy as np
import pandas as pd
import pytest
from chart_checks import fields_exist, rows_drawn

from helpers.display.figure import Absent
from helpers.sensitivity import claims, figures
from helpers.sensitivity.sets import ALL, compare_sets, delta_interval, dominance


def scored(tasks: dict[str, dict[str, list[float]]], models: tuple[str, ...] = ("M",)) -> pd.DataFrame:
    """Scores by task and generator; every model gets the same."""
    rows = [
        {"model": m, "task": t, "prompt_id": f"{t}{g}{k}", "kind": "prompt", "generator": g, "score": score}
        for m in models for t, sets in tasks.items() for g, scores in sets.items() for k, score in enumerate(scores)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def compared(tasks, models=("M",), **options):
    table = scored(tasks, models)
    return compare_sets(table, table, **options)


def test_one_task_by_hand():
    row = compared({"T": {"A": [0.1, 0.2, 0.3], "B": [0.2, 0.4]}}).iloc[0]
    assert row["difference"] == pytest.approx(-0.1) and (row["first_prompts"], row["second_prompts"]) == (3, 2)
    # wins of A's prompts: 0, 0, 1; losses 2, 1, 1; one tie
    assert row["delta"] == pytest.approx((1 - 4) / 6)
    assert row["tasks"] == 1 and row["verdict"] == "undecided" and row["p_holm"] == row["p_value"]


def test_the_variance_of_delta_is_cliffs():
    """By the formula with sums over rows and columns written out, for two sets without ties."""
    a, b = np.array([[1.0, 4, 6, 9]]), np.array([[2.0, 3, 8]])
    wins = np.sign(a[0][:, None] - b[0])
    n, m, d = 4, 3, wins.mean()
    rows, columns = wins.mean(axis=1), wins.mean(axis=0)
    top = sum(m**2 * (r - d) ** 2 for r in rows) + sum(n**2 * (c - d) ** 2 for c in columns) - ((wins - d) ** 2).sum()
    found = dominance(a, b)
    assert found.value == pytest.approx(d) and found.error**2 == pytest.approx(top / (n * m * (n - 1) * (m - 1)))
    assert dominance(b, a).value == pytest.approx(-d) and found.parts.sum() == pytest.approx(0)


def test_a_delta_of_one_has_an_interval_inside_its_range():
    low, high = delta_interval(dominance(np.array([[5.0, 6, 7]]), np.array([[1.0, 2, 3]])), prompts=3)
    assert -1 <= low < 0.5 and high == 1


def test_equal_sets_are_equivalent_and_a_shifted_one_differs():
    rng = np.random.default_rng(0)

    def tasks(shift):
        return {f"T{t}": {"A": list(0.5 + 0.002 * rng.normal(size=8) + shift), "B": list(0.5 + 0.002 * rng.normal(size=8))}
                for t in range(6)}  # fmt: skip

    assert compared(tasks(0.0)).iloc[0]["verdict"] == "equivalent"
    assert compared(tasks(0.05)).iloc[0]["verdict"] == "differs"
    assert compared(tasks(0.005)).iloc[0]["verdict"] == "differs by less than the margin"
    assert compared(tasks(0.005), margin=0.001).iloc[0]["verdict"] == "differs"


def test_a_difference_that_turns_from_task_to_task_is_none_and_no_equivalence():
    noise = np.array([-0.001, 0, 0.001])
    tasks = {f"T{t}": {"A": list(0.5 + noise + 0.1 * (-1) ** t), "B": list(0.5 + noise)} for t in range(4)}
    table = compared(tasks)
    assert table.iloc[0]["verdict"] == "undecided" and table.iloc[0]["p_value"] > 0.9
    said = claims.sets(table)
    assert (
        "4 tasks as a sample" in said.findings[0]
        and "undecided: neither a difference nor equivalence" in said.findings[0]
    )


def test_models_are_no_further_evidence():
    """The same prompts scored by six models with one opinion are as many prompts as before."""
    tasks = {"T": {"A": [0.1, 0.2, 0.3], "B": [0.2, 0.4, 0.5]}}
    one, six = compared(tasks).iloc[0], compared(tasks, tuple("abcdef")).iloc[0]
    assert (
        six["models"] == 6 and six["p_value"] == pytest.approx(one["p_value"]) and six["delta_low"] == one["delta_low"]
    )


def test_a_prompt_in_both_sets_is_in_neither():
    table = scored({"T": {"A": [0.1, 0.2], "B": [0.2, 0.4], "A|B": [0.9, 0.9]}})
    row = compare_sets(table, table).iloc[0]
    assert (row["first_prompts"], row["second_prompts"]) == (2, 2) and row["difference"] == pytest.approx(-0.15)


def test_a_model_without_one_of_the_sets_does_not_enter():
    table = scored({"T": {"A": [0.1, 0.2], "B": [0.3, 0.4]}}, ("M", "N"))
    table.loc[(table["model"] == "N") & (table["generator"] == "B"), "score"] = np.nan
    assert compare_sets(table, table).iloc[0]["models"] == 1


def test_one_set_or_single_prompts_give_no_rows():
    for tasks in ({"T": {"A": [0.1, 0.2]}}, {"T": {"A": [0.1, 0.2], "B": [0.3]}}):
        table = compared(tasks)
        assert table.empty and "No two sets" in claims.sets(table).title
        assert isinstance(figures.sets(table), Absent)


def test_the_figure_has_a_dot_per_task_and_an_interval_per_pair():
    tasks = {f"T{t}": {g: [0.1, 0.2 + t / 10, 0.3] for g in "ABC"} for t in range(3)}
    chart = figures.sets(compared(tasks)).chart
    fields_exist(chart)
    assert sorted(rows_drawn(chart).values()) == [1, 1, 1, 3, 3, 9]


def test_the_rows_of_all_tasks_alone_are_corrected():
    table = compared({f"T{t}": {g: [0.1, 0.2 + t / 10, 0.3] for g in "ABC"} for t in range(3)})
    assert table.loc[table["task"] != ALL, "p_value"].isna().all() and (table["task"] == ALL).sum() == 3
    assert (table["p_holm"].dropna() >= table["p_value"].dropna()).all()
