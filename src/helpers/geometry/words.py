"""What chapter 05 says: per figure its title and its sentences among the findings, from the table that it draws."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers.base.phrases import choose, count, extent, is_farthest, listed, out_of, out_of_sets, signed, units_of
from helpers.base.ties import compare, levelled
from helpers.display.figure import Said
from helpers.geometry.maps import triangle_rows
from helpers.geometry.measures import MEASURES
from helpers.geometry.paper import LEFT_OUT, SHORT, distractor_summary
from helpers.geometry.relevance import LEVEL, MEAN, SET, correlation_table, quadrants, statistics_rows, top_k_share

NO_PARAPHRASES = "No task has paraphrases of its queries"


def structure(geometry: pd.DataFrame) -> Said:
    """Title: the measure that goes most with the score (median of Spearman's correlation over models and tasks)."""
    correlations = correlation_table(geometry)
    tested = correlations[(correlations["subset"] != MEAN) & correlations["rho"].notna()]
    medians = tested.groupby("metric")["rho"].median()
    title = "All instructions score alike: nothing goes with the score"
    if len(medians):
        top = medians[is_farthest(medians)]
        named = listed(f"{MEASURES[str(m)]} (Spearman {signed(value, 2)})" for m, value in top.items())
        sets = tested[SET].drop_duplicates()
        over = f", median over {count(len(sets), *units_of(sets))}" if len(sets) > 1 else ""
        title = f"The score goes most with {named}{over}"
    return Said(title, (*_nonsense(geometry), *_correlations(tested)))


def relevance(relevance: pd.DataFrame) -> Said:
    """Where relevant instructions score better than others (a table of `relevance_table`)."""
    tested = relevance[relevance["p"].notna()]  # rows of means have no p
    if tested.empty:
        return Said("Too few instructions to compare relevant with other ones")
    sure = tested[tested["p"] < LEVEL]
    better, worse = int((sure["rank_biserial"] > 0).sum()), int((sure["rank_biserial"] < 0).sum())
    share, chance = tested["top_k"].mean(), (tested["k"] / (tested["n_relevant"] + tested["n_other"])).mean()
    finding = (
        f"Instructions that describe the task score better than others in {out_of_sets(better, tested)} "
        f"(p < {LEVEL}, not adjusted){f', and worse in {worse}' if worse else ''}; on average {share:.0%} of the best k "
        f"are relevant ones, by chance it would be {chance:.0%}."
    )
    title = f"Relevant instructions score better in {out_of_sets(better, tested)}, p < {LEVEL}"
    return Said(title, (finding,))


def shift(geometry: pd.DataFrame) -> Said:
    """How many of the big shifts bring nothing; a shift is what one instruction does to one set of queries."""
    rows = quadrants(geometry)
    big = rows.loc[rows["quadrant"].str.startswith("big shift"), "quadrant"]
    idle, bring = int((big == "big shift, no gain").sum()), choose(len(big), "brings", "bring")
    several = f" ({extent(rows)})" if len(rows[SET].drop_duplicates()) > 1 else ""
    title = f"{out_of(idle, len(big), 'big shift')} of the queries {bring} no gain{several}"
    finding = (
        f"Of {count(len(big), 'shift')} of the queries beyond the median one ({extent(rows)}), {idle} "
        f"{choose(idle, 'brings', 'bring')} no gain in score."
    )
    return Said(title, (*_gains(rows), *([finding] if len(big) else [])))


def distractors(table: pd.DataFrame) -> Said:
    """Title: mean over models and tasks of the best recall@1 with targets alone and with paraphrases."""
    summary = distractor_summary(table).dropna(subset="paraphrase")
    if summary.empty:
        return Said(NO_PARAPHRASES)
    before, after = summary["normal"].mean(), summary["paraphrase"].mean()
    title = (
        f"The best instruction's recall@1 is {before:.2f} among targets and {after:.2f} with paraphrases, on average"
    )
    both = summary.dropna(subset=["relevant", "other"])
    lead = compare(both["relevant"], both["other"])
    describes = (
        f"Beside paraphrases the best instruction describes the task in {out_of_sets(int((lead > 0).sum()), both)} "
        f"and does not in {int((lead < 0).sum())}; {int((lead == 0).sum())} tie."
    )
    falls = [_fall(str(task), part, table[table["task"] == task]) for task, part in summary.groupby("task", sort=False)]
    return Said(title, (*falls, describes))


def triangle(per_query: pd.DataFrame) -> Said:
    """Share of the queries under a relevant instruction whose top hit is their own paraphrase."""
    rows = triangle_rows(per_query)
    if rows.empty:
        return Said(NO_PARAPHRASES)
    share = (rows["paraphrase_top"] == "own paraphrase").mean()
    return Said(f"{share:.0%} of the instructed queries find their own paraphrase first")


def map(coordinates: pd.DataFrame) -> Said:
    """What is drawn; no number is taken from a map."""
    first = coordinates.iloc[0]
    return Said(f"Targets, plain and instructed queries: {first['model']} on {first['task']}")


def separability(table: pd.DataFrame) -> list[dict[str, str]]:
    """How often score and one measure tell relevant from other instructions; it belongs to table 3."""
    rows = table[(table["subset"] != MEAN) & table["auc"].notna()]
    if rows.empty:
        return []
    beyond, sets = rows["auc_p"] < LEVEL, rows[SET].drop_duplicates()
    counts = [f"{SHORT[m].rstrip('.')} {int(beyond[rows['metric'] == m].sum())}" for m in MEASURES]
    text = (
        f"Score and one metric tell relevant from other instructions beyond chance in "
        f"{out_of(int(beyond.sum()), len(rows), 'test')} ({count(rows['metric'].nunique(), 'metric')} in "
        f"{count(len(sets), *units_of(sets))}; permutation test, 5 %, not adjusted; "
        f"per metric: {', '.join(counts)})."
    )
    return [{"text": text, "figure": "tbl-separability"}]


def failures(failed: Mapping[str, str]) -> list[dict[str, str]]:
    """Which models are not measured, and why: {label: reason}."""
    return [{"text": f"{label} is not measured: {reason}", "figure": ""} for label, reason in failed.items()]


def _nonsense(geometry: pd.DataFrame) -> list[str]:
    """In how many sets a nonsense instruction is among the best k; a set that scores all alike has no best."""
    rows = statistics_rows(geometry)
    inside = {
        key: top_k_share(
            part["score"].to_numpy(), (part["group"] == "nonsense").to_numpy(), int(part["relevant"].sum())
        )
        > 0
        for key, part in rows.groupby(SET, sort=False)
        if len(np.unique(levelled(part["score"]))) > 1
    }
    if not inside or "nonsense" not in set(rows["group"]):
        return []
    sets = out_of_sets(sum(inside.values()), pd.DataFrame(list(inside), columns=SET))
    return [f"A nonsense instruction is among the best k in {sets} (k = number of relevant instructions; ties count)."]


def _correlations(tested: pd.DataFrame) -> list[str]:
    """In how many sets a measure falls or rises with the score, for the two measures of movement and nearness."""
    said = []
    for metric in ("displacement", "similarity_improvement"):
        rows = tested[tested["metric"] == metric]
        sure = rows.loc[rows["p_adjusted"] < LEVEL, "rho"]
        if len(rows):
            said.append(
                f"Over instructions, {MEASURES[metric]} goes with a lower score in {int((sure < 0).sum())} and with a "
                f"higher one in {out_of_sets(int((sure > 0).sum()), rows)} (Spearman, false discovery rate 5 %; rho from "
                f"{rows['rho'].min():.2f} to {rows['rho'].max():.2f})."
            )
    return said


def _gains(rows: pd.DataFrame) -> list[str]:
    """How often some instruction beats the plain query, and how often beyond the gain's interval."""
    if rows.empty or "gain_low" not in rows:
        return []
    highest = rows.groupby(SET)["gain"].max()
    above, clear = (int((compare(values, 0) > 0).sum()) for values in (highest, rows["gain_low"]))
    return [
        f"In {out_of_sets(above, highest.reset_index())} some instruction scores above the query without any; "
        f"in {out_of(clear, len(rows), 'case')} ({extent(rows)}) the gain's interval (over queries, not "
        "adjusted) is above 0."
    ]


def _fall(task: str, summary: pd.DataFrame, table: pd.DataFrame) -> str:
    """How the best recall@1 of one task changes beside paraphrases, per model, and which queries are not measured."""
    means = summary.groupby("model", sort=False)[["normal", "random", "paraphrase", "own_first"]].mean()
    falls = [
        f"from {m.normal:.3f} to {m.paraphrase:.3f} for {m.Index} (random distractors: {m.random:.3f}; for "
        f"{m.own_first:.0%} of the queries the top hit is their own paraphrase)"
        for m in means.itertuples()
    ]
    subsets = summary["subset"].nunique()
    where = f"{task} (mean of {subsets} subsets)" if subsets > 1 else task
    there = [c for c in LEFT_OUT if c in table]
    counts = table[table["pool"] == "paraphrase"].groupby("subset")[there].max().sum()
    named = ", ".join(f"{int(n)} {LEFT_OUT[str(name)]}" for name, n in counts.items() if n)
    return (
        f"{where}: with a paraphrase of every query in the pool the best recall@1 over instructions changes "
        f"{'; '.join(falls)}{f'; queries left out there: {named}' if named else ''}."
    )
