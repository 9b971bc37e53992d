"""The title of each figure of the comparison page, computed from the table that the figure draws."""

from __future__ import annotations

import pandas as pd

from helpers.base.phrases import choose, count, out_of
from helpers.base.ties import compare
from helpers.leaderboard.headline import outside

# -- the page that compares studies ----------------------------------------------------------------------------------


def intervals(models: pd.DataFrame) -> str:
    """How many defaults lie outside the prediction interval (`comparison.model_rows`)."""
    known = models.dropna(subset=["default", "low", "high"])
    if known.empty:
        return "No default to compare with other prompts"
    n = int((outside(known) != 0).sum())
    said, verb = out_of(n, len(known), "mean default"), choose(len(known), "lies", "lie")
    return f"{said} {verb} outside what other prompts predict"


def pools(geometry: pd.DataFrame) -> str:
    """In how many rows paraphrases lower the best recall@1 (`comparison.geometry_rows`)."""
    known = geometry.dropna(subset=["normal", "paraphrase"])
    if known.empty:
        return "No task has paraphrases of its queries"
    lower = int((compare(known["paraphrase"], known["normal"]) < 0).sum())
    return f"Paraphrases in the pool lower the best recall@1 in {out_of(lower, len(known), 'case')}"


# -- the claims of the landing page -----------------------------------------------------------------------------------


def reported(headline: pd.DataFrame) -> str:
    """Where the reported mean scores lie beside the prediction interval (`headline.headline_table`)."""
    known = headline.dropna(subset=["default", "low", "high"])
    side = outside(known)
    above, below, n = int((side > 0).sum()), int((side < 0).sum()), len(known)
    if n and above == n:
        return "Every reported score lies above what other prompts predict"
    if n and not above + below:
        return "Every reported score lies within what other prompts predict"
    said = [f"{k} {word}" for k, word in ((above, "above"), (below, "below")) if k]
    return f"Of {count(n, 'reported score')}, {' and '.join(said)} what other prompts predict"


def ranks(table: pd.DataFrame) -> str:
    """Which places are no order: runs of models whose rank intervals overlap (`random_ranks.rank_table`).

    >>> ranks(pd.DataFrame({"model": list("abc"), "mean_rank": [1.4, 1.6, 3], "rank_low": [1, 1, 3], "rank_high": [2, 2, 3]}))
    'Ranks 1–2 are not an order'
    """
    runs: list[list[int]] = []  # first place, last place, highest rank reached
    ordered = table.sort_values(["mean_rank", "model"])
    for place, row in enumerate(ordered.itertuples(), 1):
        if runs and row.rank_low <= runs[-1][2]:
            runs[-1][1:] = [place, max(runs[-1][2], int(row.rank_high))]
        else:
            runs.append([place, place, int(row.rank_high)])
    unsure = [f"{first}–{last}" for first, last, _ in runs if last > first]
    if not unsure:
        return "The order of the models stands whatever the wording"
    return f"Ranks {' and '.join(unsure)} are not an order"


def changes(tuning: pd.DataFrame) -> str:
    """What training against paraphrases does among them (`compare.tuning_rows`, preset distractor)."""
    rows = tuning[(tuning["preset"] == "distractor") & (tuning["pool"] == "paraphrase")]
    up, down = int((rows["low"] > 0).sum()), int((rows["high"] < 0).sum())
    if len(rows) == 1 and up:
        return f"Training against paraphrases adds {rows['difference'].iloc[0]:.2f} to recall@1 among them"
    if not up + down:
        return "Training against paraphrases: no change that stands out from chance"
    said = [f"{word} in {k}" for k, word in ((up, "better"), (down, "worse")) if k]
    return f"Training against paraphrases: recall@1 {' and '.join(said)} of {count(len(rows), 'case')}"
