"""The title of each figure of chapter 01, computed from the table that the figure draws."""

from __future__ import annotations

import pandas as pd

from helpers.base.phrases import is_highest, listed
from helpers.prompts.statistics import style, words
from helpers.study.prompts import LEVELS

NO_PROMPT = "There is no prompt"


# -- 01: prompts -----------------------------------------------------------------------------------------------------


def prompt_lengths(prompts: pd.DataFrame) -> str:
    """Mean number of words at the level with least context and at the one with most."""
    known = prompts.dropna(subset=["text"])
    if known.empty:
        return NO_PROMPT
    counts = known["text"].map(lambda text: len(words(text)))
    means = counts.groupby(known["level"]).mean().reindex(list(LEVELS)).dropna()
    if len(means) < 2:
        return f"A prompt has {counts.mean():.1f} words on average"
    first, last = means.iloc[0], means.iloc[-1]
    return f"Prompts have {first:.1f} words with the least context and {last:.1f} with the most"


def prompt_styles(prompts: pd.DataFrame) -> str:
    """The most frequent style and its share."""
    shares = prompts["text"].dropna().map(style).value_counts(normalize=True)
    if shares.empty:
        return NO_PROMPT
    first = shares[is_highest(shares)]
    if len(first) > 1:
        return f"The styles {listed(first.index, len(first))} are equally frequent: {first.max():.0%} each"
    return f"{first.max():.0%} of the prompts have the style '{first.index.item()}'"


def prompt_similarity(pairs: pd.DataFrame, task: str) -> str:
    """The highest similarity of two different prompts of a task."""
    others = pairs.loc[pairs["row"] != pairs["column"], "similarity"]
    if others.empty:
        return f"{task} has one prompt: nothing to compare"
    return f"The two most alike prompts of {task} have a similarity of {others.max():.2f}"
