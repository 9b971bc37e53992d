"""Figures, tables and findings of notebook 05 from the toy set, and from tables with nothing in them."""

import numpy as np
import pandas as pd
import pytest
from test_measurement import CONTROL, STAY, TURN, Angles, measured, toy

from helpers.geometry import charts as figures
from helpers.geometry import maps as geometry_maps
from helpers.geometry.explorer import Explorer
from helpers.geometry.findings import findings
from helpers.geometry.measurement import distractor_table, geometry_table
from helpers.geometry.pools import Distractors
from helpers.geometry.projection import chosen_instructions, neighbours
from helpers.geometry.relevance import correlation_table, quadrants, relevance_table, separability_table
from helpers.geometry.report import (
    correlation_display,
    distractor_summary,
    relevance_display,
    separability_display,
)
from helpers.study.geometry import GeometrySpec, GeometryTask

CHOSEN = toy({"a": "5", "b": "55"})


@pytest.fixture(scope="module")
def tables():
    rows, pools = measured(CHOSEN, (TURN, STAY, CONTROL))
    geometry = geometry_table(rows, CHOSEN, n_boot=20)
    return geometry, distractor_table(rows, pools), rows


def said(geometry, distractors):
    return findings(
        geometry,
        relevance_table(geometry),
        correlation_table(geometry),
        separability_table(geometry, permutations=5),
        distractors,
    )


def test_summary_names_the_best_instruction_in_each_pool(tables):
    row = distractor_summary(tables[1]).iloc[0]
    assert (row["normal"], row["paraphrase"], row["relevant"]) == (1, 1, 1)
    assert row["best_paraphrase"] == "turn" and (row["relevant"], row["other"]) == (1, 0)
    assert (row["plain_normal"], row["plain_paraphrase"]) == (1, 0)
    assert row["best_normal"] == "stay German (and 1 more)"
    assert row["own_first"] == 0.5  # "turn": no query, "stay": both; the control is left out


def test_findings_follow_the_data(tables):
    geometry, distractors, _ = tables
    text = " ".join(f["text"] for f in said(geometry, distractors))
    assert "changes from 1.000 to 1.000 for m" in text
    worse = distractors.assign(
        recall_at_1=np.where(distractors["pool"] == "paraphrase", 0.25, distractors["recall_at_1"])
    )
    assert "changes from 1.000 to 0.250 for m" in " ".join(f["text"] for f in said(geometry, worse))
    assert all(f["figure"] for f in said(geometry, distractors))


def test_a_paraphrase_that_is_its_query_is_counted_in_table_and_finding():
    rows, pools = measured(toy({"a": " 0", "b": "55"}))
    table = distractor_table(rows, pools)
    beside = table[table["pool"] == "paraphrase"]
    assert set(beside["n_equal_to_query"]) == {1} and set(beside["n_queries"]) == {1}
    assert set(beside["missing"]) == {"a"} and distractor_summary(table)["n_left_out"].item() == 1
    text = findings(pd.DataFrame(), *[pd.DataFrame()] * 3, table)[0]["text"]
    assert "queries left out there: 1 whose paraphrase is the query itself" in text


def test_where_all_instructions_score_alike_no_nonsense_is_among_the_best(tables):
    geometry, distractors, _ = tables
    alike = geometry.assign(group="nonsense", score=0.0)
    assert not any("nonsense" in f["text"] for f in said(alike, distractors))


def test_nothing_measured_gives_no_finding(tables):
    geometry, distractors, _ = tables
    assert said(geometry.iloc[:0], distractors.iloc[:0]) == []


def test_missing_numbers_give_no_false_finding(tables):
    geometry, distractors, _ = tables
    blank = geometry.assign(displacement=np.nan, similarity_improvement=np.nan)
    assert not any("Spearman" in f["text"] for f in said(blank, distractors))


def test_display_tables_mark_significance_and_missing_values():
    relevance = pd.DataFrame(
        {
            "model": ["m", "m"], "task": "t", "subset": ["a", "mean"], "n_relevant": 7, "n_other": 40,
            "top_k": [3 / 7, 0.4], "r2": [0.1, np.nan], "rank_biserial": [0.457, 0.4], "p": [0.04, np.nan],
            "n_significant": [1, 1], "n_subsets": [1, 2],
        }
    )  # fmt: skip
    shown = relevance_display(relevance)
    assert shown["rank-biserial"].tolist() == ["0.457*", "0.400"]
    assert shown["R2"].tolist() == ["0.100", "–"] and shown["significant"].tolist() == ["", "1 of 2"]


def test_paper_tables_have_one_column_per_metric(tables):
    geometry = tables[0]
    for shown in (
        separability_display(separability_table(geometry, permutations=5)),
        correlation_display(correlation_table(geometry)),
    ):
        assert list(shown.columns) == ["model", "task", "subset", "displ.", "sim.", "angl.", "selectivity"]


@pytest.mark.parametrize("models", [["m"], ["m", "n"]])
def test_every_figure_is_a_valid_specification(tables, models):
    geometry, distractors, rows = (pd.concat([t.assign(model=m) for m in models]) for t in tables)
    for chart in (
        figures.metrics_against_score(geometry),
        figures.shift_against_gain(quadrants(geometry)),
        figures.relevance_distribution(geometry),
        figures.dumbbell(distractors),
        geometry_maps.triangle(rows),
    ):
        spec = chart.to_dict()
        assert ("chosen_model" in str(spec)) == (len(models) > 1)


def test_a_set_without_paraphrases_says_so_instead_of_a_triangle():
    rows, pools = measured(toy())
    assert "no set has paraphrases" in str(geometry_maps.triangle(rows).to_dict())
    assert len(figures.dumbbell(distractor_table(rows, pools)).to_dict()["datasets"])
    summary = distractor_summary(distractor_table(rows, pools))
    assert np.isnan(summary["paraphrase"].iloc[0])


def test_triangle_places_a_turned_query_at_the_target(tables):
    found = geometry_maps.triangle_rows(tables[2])
    assert found["x"].tolist() == pytest.approx([0.5, 0.5], abs=1e-4)
    assert found["y"].tolist() == pytest.approx([np.sqrt(3) / 2] * 2, abs=1e-4)
    assert set(found["paraphrase_top"]) == {"target"}


def test_neighbours_begin_with_the_vector_itself():
    angle = np.radians([0, 10, 30, 90])
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    index, distance = neighbours(vectors, 3)
    assert index.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 1]]
    assert distance[0] == pytest.approx([0, 1 - np.cos(angle[1]), 1 - np.cos(angle[2])], abs=1e-6)


def test_map_shows_every_group_then_relevant_instructions():
    rows = pd.DataFrame(
        {
            "instruction_id": list("abcd"), "group": ["vague", "vague", "own", "vague"], "control": False,
            "relevant": [False, False, False, True], "score": [3.0, 2.0, 1.0, 0.0],
        }
    )  # fmt: skip
    assert chosen_instructions(rows, 3)["instruction_id"].tolist() == ["a", "c", "d"]


def test_explorer_shows_the_movement_and_says_only_what_it_knows():
    explorer = Explorer(
        Angles(), CHOSEN, GeometrySpec(tasks=[GeometryTask(name="Toy")], template="{instruction}>")
    )
    known = explorer.look("turn", "50", top=1)
    assert known.nearest["target"].tolist() == ["70"] and known.nearest["relevant"].tolist() == [True]
    assert known.metrics["angulation"] == pytest.approx(1, abs=1e-4)
    assert set(explorer.look("turn", "33").metrics) == {"displacement"}


def test_explorer_widget_escapes_what_is_typed():
    pytest.importorskip("ipywidgets")
    chosen = toy()
    chosen.search.targets["t"] = "20"
    box = Explorer(Angles(), chosen, GeometrySpec(tasks=[GeometryTask(name="Toy")])).widget()
    assert "similarity" in box.children[-1].value


def test_pools_are_plain_values():
    assert Distractors("random", [], np.array([]), np.array([]), "").missing == []
