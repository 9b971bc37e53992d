"""The plan lists the papers' grids exactly, without data, models or network."""

from __future__ import annotations

from helpers.plan import plan_table, plan_text
from helpers.study import load_study


def test_study_1_is_990_prompt_runs_and_66_defaults() -> None:
    table = plan_table(load_study("paper-sensitivity"))
    assert (table["prompt_runs"].sum(), table["baseline_runs"].sum()) == (990, 66)
    assert len(table) == 6 * 11


def test_study_2_has_47_and_51_instructions_in_eight_languages() -> None:
    text = plan_text(load_study("paper-geometry"))
    assert "ARCChallenge: 47 instructions" in text
    assert "Tatoeba: 51 instructions and 6 controls x 8 subset(s)" in text
    assert "8 models" in text


def test_texts_are_counted_once_per_prompt_and_documents_once() -> None:
    table = plan_table(load_study("demo"))
    row = table[table["task"] == "DemoRetrieval"].iloc[0]
    assert row["texts"] == 128 * (15 + 2) + 330


def test_only_tasks_without_statistics_have_no_text_count() -> None:
    table = plan_table(load_study("paper-sensitivity"))
    assert table["texts"].notna().all() and (table["texts"] > 0).all()
