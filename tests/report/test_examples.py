"""The examples of the landing page say what the report would say of the same numbers."""

import pytest

from helpers.report import examples


def test_the_labels_are_those_of_the_suite():
    table = examples.example_labels().set_index("model")
    assert table["label"].to_dict() == {"Model A": "inflated", "Model B": "representative"}
    assert table.loc["Model A", "q_value"] <= 0.05 and table["n_prompts"].eq(len(examples.SCORES)).all()
    notes = str(examples.inflation().to_dict())
    assert "default above 15 of 15 prompts: inflated" in notes and "prompts: representative" in notes


def test_eleven_of_twelve_would_not_be_called_inflated(monkeypatch):
    monkeypatch.setattr(examples, "SCORES", examples.SCORES[:12])
    monkeypatch.setattr(examples, "DEFAULTS", {"Model A": 0.579, "Model B": 0.58})
    row = examples.example_labels().set_index("model").loc["Model A"]
    assert row["label"] == "undecided" and row["p_value"] == pytest.approx(0.158, abs=0.001)


def test_the_ranks_are_computed_and_fit_their_notes():
    table = examples.example_ranks()
    assert table[["low", "high", "rank"]].values.tolist() == [[1, 2, 1], [1, 2, 2], [3, 3, 3]]
