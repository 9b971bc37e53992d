"""The figures of notebook 05: chart, title, findings and alternative text of each."""

from __future__ import annotations

import pandas as pd

from helpers.display.figure import Absent, Figure
from helpers.geometry import charts, maps, words
from helpers.geometry.relevance import quadrants, relevance_table


def structure(geometry: pd.DataFrame) -> Figure:
    """Figure 1 of study 2: every measure against the score, one mark per instruction."""
    alt = "Scatter plots, one row per task, one column per metric, one mark per instruction, coloured by group."
    return Figure("fig-structure", charts.structure(geometry), words.structure(geometry), alt)


def relevance(geometry: pd.DataFrame) -> Figure:
    """The scores of relevant and of other instructions, beside table 2."""
    alt = "Two rows of ticks per task, one tick per instruction, a diamond at each median, a line at the plain query."
    said = words.relevance(relevance_table(geometry))
    return Figure("fig-relevance", charts.relevance(geometry), said, alt)


def shift(geometry: pd.DataFrame) -> Figure:
    """Which instructions move the queries far and bring nothing."""
    alt = "Scatter plot per task of displacement against gain, with lines at the median displacement and at no gain."
    return Figure("fig-shift", charts.shift(quadrants(geometry)), words.shift(geometry), alt)


def distractors(table: pd.DataFrame) -> Figure:
    """The recall@1 of every instruction in each pool (a table of `distractor_table`), beside table 5."""
    alt = "One line per instruction with three marks: without distractors, with random ones, with paraphrases."
    return Figure("fig-distractors", charts.distractors(table), words.distractors(table), alt)


def triangle(per_query: pd.DataFrame, seed: int = 42) -> Figure | Absent:
    """Figure 2 of study 2: between query, own paraphrase and target; the seed draws the points that are shown."""
    said = words.triangle(per_query)
    if maps.triangle_rows(per_query).empty:
        return Absent("fig-triangle", f"{said.title}.")
    alt = "Two triangles with corners query, distractor and target; points near the query, coloured by the top hit."
    return Figure("fig-triangle", maps.triangle(per_query, seed=seed), said, alt)


def map(coordinates: pd.DataFrame) -> Figure | Absent:
    """UMAP coordinates of targets, plain and instructed queries."""
    if not (coordinates["kind"] == "instructed").any():
        return Absent("fig-map", "No instruction to draw: the study measures only the query without one.")
    alt = "Scatter plot of UMAP coordinates; lines join instructed queries to the same queries without instruction."
    return Figure("fig-map", maps.query_map(coordinates), words.map(coordinates), alt)
