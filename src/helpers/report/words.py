"""The title of each figure of the comparison page, computed from the table that the figure draws."""

from __future__ import annotations

import pandas as pd

from helpers.base.phrases import choose, out_of
from helpers.base.ties import compare
from helpers.leaderboard.headline import outside

# -- the page that compares studies ----------------------------------------------------------------------------------


def intervals(models: pd.DataFrame) -> str:
    """How many defaults lie outside the interval of random prompts (`comparison.model_rows`)."""
    known = models.dropna(subset=["default", "low", "high"])
    if known.empty:
        return "No default to compare with random prompts"
    few = known["verdict"].str.startswith("too few")
    n, unsure = (int((outside(known[part]) != 0).sum()) for part in (~few, few))
    said, verb = out_of(n, len(known), "mean default"), choose(len(known), "lies", "lie")
    more = f", {unsure} with too few prompts to tell" if unsure else ""
    return f"{said} {verb} outside what random prompts give{more}"


def pools(geometry: pd.DataFrame) -> str:
    """In how many rows paraphrases lower the best recall@1 (`comparison.geometry_rows`)."""
    known = geometry.dropna(subset=["normal", "paraphrase"])
    if known.empty:
        return "No task has paraphrases of its queries"
    lower = int((compare(known["paraphrase"], known["normal"]) < 0).sum())
    return f"Paraphrases in the pool lower the best recall@1 in {out_of(lower, len(known), 'case')}"
