"""The examples of the landing page say what the report would say of the same numbers."""

import pytest
from chart_checks import fields_exist, rows_drawn

from helpers.report import examples


def test_the_labels_are_those_of_the_suite():
    table = examples.example_labels().set_index("model")
    assert table["label"].to_dict() == {"Model A": "inflated", "Model B": "representative"}
    assert table.loc["Model A", "q_value"] <= 0.05 and table["n_prompts"].eq(len(examples.SCORES)).all()
    said = examples.places()
    assert "Model A's default is above 15 of 15 prompts: inflated" in said
    below = sum(s + examples.SHIFTS["Model B"] < examples.DEFAULTS["Model B"] for s in examples.SCORES)
    assert f"Model B's default is above {below} of 15 prompts: representative" in said


def test_eleven_of_twelve_would_not_be_called_inflated(monkeypatch):
    monkeypatch.setattr(examples, "SCORES", examples.SCORES[:12])
    monkeypatch.setattr(examples, "DEFAULTS", {"Model A": 0.579, "Model B": 0.58})
    row = examples.example_labels().set_index("model").loc["Model A"]
    assert row["label"] == "undecided" and row["p_value"] == pytest.approx(0.158, abs=0.001)


def test_the_ranks_are_computed_and_fit_what_is_said_of_them():
    table, chances, default = examples.example_boards()
    ends = table.set_index("model")[["rank_low", "rank_high"]].sort_index()
    assert ends.values.tolist() == [[1, 2], [1, 2], [3, 3]]
    assert default.set_index("model")["rank"].sort_index().tolist() == [1, 2, 3]
    assert chances.groupby("model")["probability"].sum().tolist() == pytest.approx([1, 1, 1])


@pytest.mark.parametrize(("figure", "drawn"), [("inflation", 30), ("ranks", 5), ("triangle", 9)])
def test_the_examples_are_charts_of_the_chapters_with_all_rows(figure, drawn):
    chart = getattr(examples, figure)()
    fields_exist(chart)
    assert drawn in rows_drawn(chart).values()
