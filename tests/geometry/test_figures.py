"""Figures, tables and findings of notebook 05 from the toy set, and from tables with nothing in them."""

import numpy as np
import pandas as pd
import pytest
from chart_checks import fields_exist, rows_drawn
from test_measurement import CONTROL, STAY, TURN, Angles, measured, toy

from helpers.display.figure import Absent
from helpers.geometry import figures, maps, words
from helpers.geometry.explorer import Explorer
from helpers.geometry.measurement import distractor_table, geometry_table
from helpers.geometry.paper import (
    correlation_display,
    distractor_summary,
    relevance_display,
    separability_display,
)
from helpers.geometry.projection import chosen_instructions, neighbours
from helpers.geometry.relevance import correlation_table, relevance_table, separability_table
from helpers.study.geometry import GeometrySpec, GeometryTask

CHOSEN = toy({"a": "5", "b": "55"})


@pytest.fixture(scope="module")
def tables():
    rows, pools = measured(CHOSEN, (TURN, STAY, CONTROL))
    geometry = geometry_table(rows, CHOSEN, n_boot=20)
    return geometry, distractor_table(rows, pools), rows


def said(geometry, distractors):
    parts = [words.structure(geometry), words.relevance(relevance_table(geometry)), words.shift(geometry)]
    tested = words.separability(separability_table(geometry, permutations=5))
    return [t for part in (words.distractors(distractors), *parts) for t in part.findings] + [f["text"] for f in tested]


def test_summary_names_the_best_instruction_in_each_pool(tables):
    row = distractor_summary(tables[1]).iloc[0]
    assert (row["normal"], row["paraphrase"], row["relevant"]) == (1, 1, 1)
    assert row["best_paraphrase"] == "turn" and (row["relevant"], row["other"]) == (1, 0)
    assert (row["plain_normal"], row["plain_paraphrase"]) == (1, 0)
    assert row["best_normal"] == "stay German (and 1 more)"
    assert row["own_first"] == 0.5  # "turn": no query, "stay": both; the control is left out


def test_findings_follow_the_data(tables):
    geometry, distractors, _ = tables
    text = " ".join(said(geometry, distractors))
    assert "changes from 1.000 to 1.000 for m" in text
    worse = distractors.assign(
        recall_at_1=np.where(distractors["pool"] == "paraphrase", 0.25, distractors["recall_at_1"])
    )
    assert "changes from 1.000 to 0.250 for m" in " ".join(said(geometry, worse))


def test_a_paraphrase_that_is_its_query_is_counted_in_table_and_finding():
    rows, pools = measured(toy({"a": " 0", "b": "55"}))
    table = distractor_table(rows, pools)
    beside = table[table["pool"] == "paraphrase"]
    assert set(beside["n_equal_to_query"]) == {1} and set(beside["n_queries"]) == {1}
    assert set(beside["missing"]) == {"a"} and distractor_summary(table)["n_left_out"].item() == 1
    text = words.distractors(table).findings[0]
    assert "queries left out there: 1 whose paraphrase is the query itself" in text


def test_where_all_instructions_score_alike_no_nonsense_is_among_the_best(tables):
    geometry, distractors, _ = tables
    alike = geometry.assign(group="nonsense", score=0.0)
    assert not any("nonsense" in text for text in said(alike, distractors))


def test_nothing_measured_gives_no_finding(tables):
    geometry, distractors, _ = tables
    assert said(geometry.iloc[:0], distractors.iloc[:0]) == []


def test_missing_numbers_give_no_false_finding(tables):
    geometry, distractors, _ = tables
    blank = geometry.assign(displacement=np.nan, similarity_improvement=np.nan)
    assert not any("Spearman" in text for text in said(blank, distractors))


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


def test_a_figure_draws_one_mark_per_instruction(tables):
    """Two instructions of the bank ("turn" is relevant), one control, the plain query; two queries."""
    geometry, distractors, rows = tables
    points = rows_drawn(figures.structure(geometry).chart).values()
    assert list(points) == [2, 2, 1, 2]  # per measure; what does not move has no angulation
    drawn = rows_drawn(figures.relevance(geometry).chart)
    assert list(drawn.values()) == [1, 2, 2]  # the plain query, a tick per instruction, two medians
    assert list(rows_drawn(figures.shift(geometry).chart).values()) == [1, 1, 2, 2]  # two lines, bars, points
    lines, points = rows_drawn(figures.distractors(distractors).chart).values()
    assert (lines, points) == (4, 4 * 3)  # instructions, control and plain query in three pools
    triangles = rows_drawn(figures.triangle(rows).chart)
    assert sum(triangles.values()) == 2 * (4 + 2 + 1 + 3)  # outline, two queries, the mean, three corners


def test_the_map_joins_each_instructed_query_to_the_plain_one():
    coordinates = pd.DataFrame(
        [("target", "t", "none", "", 0, 0), ("query", "q", "none", "", 1, 0), ("query", "r", "none", "", 2, 0),
         *[("instructed", i, k, k, 1, 1) for k in ("first", "second") for i in "qr"]],
        columns=["kind", "item_id", "instruction_id", "instruction", "x", "y"],
    ).assign(text="text", model="m", task="T")  # fmt: skip
    figure = figures.map(coordinates)
    fields_exist(figure.chart)
    assert list(rows_drawn(figure.chart).values()) == [
        2,
        3,
        2,
    ]  # lines of one instruction, still points, moved ones
    assert figure.said.title.endswith("m on T")
    assert isinstance(figures.map(coordinates[:3]), Absent)


@pytest.mark.parametrize("models", [["m"], ["m", "n"]])
def test_every_field_of_a_figure_is_in_its_data(tables, models):
    geometry, distractors, rows = (pd.concat([t.assign(model=m) for m in models]) for t in tables)
    for figure in (
        figures.structure(geometry),
        figures.shift(geometry),
        figures.relevance(geometry),
        figures.distractors(distractors),
        figures.triangle(rows),
    ):
        fields_exist(figure.chart)
        assert ("chosen_model" in str(figure.chart.to_dict())) == (len(models) > 1)


def test_a_set_without_paraphrases_says_so_instead_of_a_triangle():
    rows, pools = measured(toy())
    figure = figures.triangle(rows)
    assert isinstance(figure, Absent) and "paraphrases" in figure.reason
    table = distractor_table(rows, pools)
    assert figures.distractors(table).findings == []
    assert np.isnan(distractor_summary(table)["paraphrase"].iloc[0])


def test_triangle_places_a_turned_query_at_the_target(tables):
    placed = maps.triangle_rows(tables[2])
    assert placed["x"].tolist() == pytest.approx([0.5, 0.5], abs=1e-4)
    assert placed["y"].tolist() == pytest.approx([np.sqrt(3) / 2] * 2, abs=1e-4)
    assert set(placed["paraphrase_top"]) == {"target"}


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
    explorer = Explorer(Angles(), CHOSEN, GeometrySpec(tasks=[GeometryTask(name="Toy")], template="{instruction}>"))
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
