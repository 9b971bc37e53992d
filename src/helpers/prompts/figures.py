"""The figures of chapter 01, each named like its anchor: chart, title, findings and alternative text in one object."""

from __future__ import annotations

import pandas as pd

from helpers.display.figure import Absent, Figure
from helpers.prompts import charts, words
from helpers.prompts.statistics import most_alike, similarity_map


def prompt_lengths(prompts: pd.DataFrame) -> Figure | Absent:
    """Words of each prompt by level of context. prompts: columns task, level, text."""
    said = words.prompt_lengths(prompts)
    if prompts["text"].isna().all():
        return Absent("fig-prompt-lengths", said.title + ".", said)
    alt = "Dot plot with one point per prompt over its number of words, one row per level of context."
    return Figure("fig-prompt-lengths", charts.lengths(prompts), said, alt)


def prompt_styles(prompts: pd.DataFrame) -> Figure | Absent:
    """Shares of the styles at each level of context. prompts: columns level, text."""
    said = words.prompt_styles(prompts)
    if prompts["text"].isna().all():
        return Absent("fig-prompt-styles", said.title + ".", said)
    alt = "One bar of 100 per cent per level of context, divided by the style of the prompts."
    return Figure("fig-prompt-styles", charts.styles(prompts), said, alt)


def prompt_similarity(prompts: pd.DataFrame, task: str | None = None) -> Figure | Absent:
    """String similarity of every two prompts of a task, by default of the one whose prompts are most alike.

    prompts: columns task, text.
    """
    task = most_alike(prompts) if task is None else task
    pairs = similarity_map(prompts, task)
    said = words.prompt_similarity(pairs, task)
    if len(pairs) < 2:
        return Absent("fig-prompt-similarity", said.title + ".", said)
    alt = "Square map of the pairwise string similarity of one task's prompts."
    return Figure("fig-prompt-similarity", charts.similarity(pairs), said, alt)
