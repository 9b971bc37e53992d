"""The title of each figure of chapter 05, computed from the table that the figure draws."""

from __future__ import annotations

import pandas as pd

from helpers.base.phrases import (
    choose,
    count,
    extent,
    is_farthest,
    listed,
    out_of,
    out_of_sets,
    signed,
    units_of,
)
from helpers.geometry.charts import METRIC_NAMES
from helpers.geometry.maps import triangle_rows
from helpers.geometry.relevance import SET, quadrants, statistics_rows
from helpers.sensitivity.words import LEVEL
from helpers.study.geometry import NONE_ID

# -- 05: instruction geometry ----------------------------------------------------------------------------------------


def structure(geometry: pd.DataFrame) -> str:
    """The measure that goes most with the score: median of Spearman's correlation over models and tasks."""
    rows = statistics_rows(geometry)
    names = [name for name in METRIC_NAMES if name in rows]
    known = rows[rows.groupby(SET)["score"].transform("nunique") > 1]
    found = pd.DataFrame(
        [part[names].corrwith(part["score"], method="spearman") for _, part in known.groupby(SET)]
    )
    medians = found.median().dropna() if len(found) else found
    if not len(medians):
        return "All instructions score alike: nothing goes with the score"
    top = medians[is_farthest(medians)]
    said = listed(f"{METRIC_NAMES[name]} (Spearman {signed(value, 2)})" for name, value in top.items())
    over = f", median over {count(len(found), *units_of(known))}" if len(found) > 1 else ""
    return f"The score goes most with {said}{over}"


def relevance(table: pd.DataFrame) -> str:
    """Where relevant instructions score better than others (`relevance.relevance_table`)."""
    tested = table[table["p"].notna()] if len(table) else table
    if tested.empty:
        return "Too few instructions to compare relevant with other ones"
    up = int(((tested["p"] < LEVEL) & (tested["rank_biserial"] > 0)).sum())
    return f"Relevant instructions score better in {out_of_sets(up, tested)}, p < 0.05"


def shift(geometry: pd.DataFrame) -> str:
    """How many of the big shifts bring nothing; a shift is what one instruction does to one set of queries."""
    rows = quadrants(geometry)
    far = int(rows["quadrant"].str.startswith("big shift").sum())
    nothing = int((rows["quadrant"] == "big shift, no gain").sum())
    said = f"{out_of(nothing, far, 'big shift')} of the queries {choose(far, 'brings', 'bring')} no gain"
    return said + (f" ({extent(rows)})" if len(rows[SET].drop_duplicates()) > 1 else "")


def distractors(table: pd.DataFrame) -> str:
    """Mean over models and tasks of the best recall@1 with targets alone and with paraphrases."""
    own = table[(table["instruction_id"] != NONE_ID) & ~table["control"].astype(bool)]
    best = own.groupby([*SET, "pool"], observed=True)["recall_at_1"].max().unstack("pool")
    if "paraphrase" not in best:
        return "No task has paraphrases of its queries"
    both = best.dropna(subset=["normal", "paraphrase"])
    before, after = both["normal"].mean(), both["paraphrase"].mean()
    return f"The best instruction's recall@1 is {before:.2f} among targets and {after:.2f} with paraphrases, on average"


def triangle(per_query: pd.DataFrame) -> str:
    """Share of the queries under a relevant instruction whose top hit is their own paraphrase."""
    rows = triangle_rows(per_query)
    if rows.empty:
        return "No task has paraphrases of its queries"
    share = (rows["paraphrase_top"] == "own paraphrase").mean()
    return f"{share:.0%} of the instructed queries find their own paraphrase first"
