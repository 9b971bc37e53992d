"""What chapter 05 found, in sentences."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from helpers.base.phrases import choose, count, extent, out_of, out_of_sets, units_of
from helpers.base.ties import compare, levelled
from helpers.geometry.relevance import MEAN, SET, STRUCTURE, quadrants, statistics_rows, top_k_share
from helpers.geometry.report import LEFT_OUT, LEVEL, NAMES, distractor_summary


def findings(
    geometry: pd.DataFrame,
    relevance: pd.DataFrame,
    correlations: pd.DataFrame,
    separability: pd.DataFrame,
    distractors: pd.DataFrame,
) -> list[dict[str, str]]:
    """What the tables say, as sentences with the anchor of the figure that shows each; none where there is
    nothing.
    """
    found = [
        *_about_distractors(distractors),
        *_about_relevance(relevance),
        *_about_nonsense(geometry),
        *_about_plain(geometry),
        *_about_correlations(correlations),
        *_about_separability(separability),
        *_about_shift(geometry),
    ]
    return [{"text": text, "figure": figure} for text, figure in found]


def _about_relevance(relevance: pd.DataFrame) -> Iterable[tuple[str, str]]:
    tested = (
        relevance[(relevance["subset"] != MEAN) & relevance["p"].notna()] if len(relevance) else relevance
    )
    if not len(tested):
        return
    up = tested[(tested["p"] < LEVEL) & (tested["rank_biserial"] > 0)]
    down = tested[(tested["p"] < LEVEL) & (tested["rank_biserial"] < 0)]
    text = (
        f"Instructions that describe the task score better than others in {out_of_sets(len(up), tested)} "
        "(p < 0.05, not adjusted)"
    )
    text += f", and worse in {len(down)}" if len(down) else ""
    share, chance = tested["top_k"].mean(), (tested["k"] / (tested["n_relevant"] + tested["n_other"])).mean()
    yield (
        f"{text}; on average {share:.0%} of the best k are relevant ones, by chance it would be {chance:.0%}.",
        "fig-relevance",
    )


def _about_nonsense(geometry: pd.DataFrame) -> Iterable[tuple[str, str]]:
    rows = statistics_rows(geometry) if len(geometry) else geometry
    if not len(rows) or "nonsense" not in set(rows["group"]):
        return
    inside, looked_at = [], []
    for key, part in rows.groupby(SET, sort=False):
        if len(np.unique(levelled(part["score"]))) < 2:
            continue  # all instructions score alike: nobody is among the best
        looked_at.append(key)
        nonsense = (part["group"] == "nonsense").to_numpy()
        inside.append(top_k_share(part["score"].to_numpy(), nonsense, int(part["relevant"].sum())) > 0)
    if not inside:
        return
    yield (
        f"A nonsense instruction is among the best k in {out_of_sets(sum(inside), pd.DataFrame(looked_at, columns=SET))} "
        f"(k = number of relevant instructions; ties count).",
        "fig-structure",
    )


def _about_plain(geometry: pd.DataFrame) -> Iterable[tuple[str, str]]:
    if not len(geometry) or "gain_low" not in geometry:
        return
    rows = statistics_rows(geometry)
    if not len(rows):
        return
    highest = rows.groupby(SET)["gain"].max()
    above = int((compare(highest, 0) > 0).sum())
    clear = int((compare(rows["gain_low"], 0) > 0).sum())
    yield (
        f"In {out_of_sets(above, highest.reset_index())} some instruction scores above the query without any; "
        f"in {out_of(clear, len(rows), 'case')} ({extent(rows)}) the gain's interval (over queries, not "
        "adjusted) is above 0.",
        "fig-shift",
    )


def _about_correlations(correlations: pd.DataFrame) -> Iterable[tuple[str, str]]:
    rows = correlations[correlations["subset"] != MEAN] if len(correlations) else correlations
    for metric, word in (
        ("displacement", "displacement"),
        ("similarity_improvement", "similarity improvement"),
    ):
        its = rows[(rows["metric"] == metric) & rows["rho"].notna()] if len(rows) else rows
        if not len(its):
            continue
        sure = its["p_adjusted"] < LEVEL
        negative, positive = int((sure & (its["rho"] < 0)).sum()), int((sure & (its["rho"] > 0)).sum())
        yield (
            f"Over instructions, {word} goes with a lower score in {negative} and with a higher one in "
            f"{out_of_sets(positive, its)} (Spearman, false discovery rate 5 %; rho from "
            f"{its['rho'].min():.2f} to {its['rho'].max():.2f}).",
            "fig-structure",
        )


def _about_separability(separability: pd.DataFrame) -> Iterable[tuple[str, str]]:
    rows = separability[separability["subset"] != MEAN] if len(separability) else separability
    rows = rows[rows["auc"].notna()] if len(rows) else rows
    if not len(rows):
        return
    beyond = rows["auc_p"] < LEVEL
    metrics, sets = rows["metric"].nunique(), rows[SET].drop_duplicates()
    counts = [f"{NAMES[m].rstrip('.')} {int(beyond[rows['metric'] == m].sum())}" for m in STRUCTURE]
    yield (
        f"Score and one metric tell relevant from other instructions beyond chance in "
        f"{out_of(int(beyond.sum()), len(rows), 'test')} ({count(metrics, 'metric')} in "
        f"{count(len(sets), *units_of(sets))}; permutation test, 5 %, not adjusted; per metric: {', '.join(counts)}).",
        "tbl-separability",
    )


def _about_shift(geometry: pd.DataFrame) -> Iterable[tuple[str, str]]:
    if not len(geometry) or not len(statistics_rows(geometry)):
        return
    rows = quadrants(geometry)
    big = rows[rows["quadrant"].str.startswith("big shift")]
    if len(big):
        none = int((big["quadrant"] == "big shift, no gain").sum())
        yield (
            f"Of {count(len(big), 'shift')} of the queries beyond the median one ({extent(rows)}), {none} "
            f"{choose(none, 'brings', 'bring')} no gain in score.",
            "fig-shift",
        )


def _about_distractors(distractors: pd.DataFrame) -> Iterable[tuple[str, str]]:
    summary = distractor_summary(distractors) if len(distractors) else distractors
    summary = summary[summary["paraphrase"].notna()] if len(summary) else summary
    if not len(summary):
        return
    for task, part in summary.groupby("task", sort=False):
        means = part.groupby("model", sort=False)[["normal", "random", "paraphrase", "own_first"]].mean()
        falls = [
            f"from {m.normal:.3f} to {m.paraphrase:.3f} for {m.Index} (random distractors: {m.random:.3f}; for "
            f"{m.own_first:.0%} of the queries the top hit is their own paraphrase)"
            for m in means.itertuples()
        ]
        subsets = part["subset"].nunique()
        where = f"{task} (mean of {subsets} subsets)" if subsets > 1 else str(task)
        yield (
            f"{where}: with a paraphrase of every query in the pool the best recall@1 over instructions changes "
            f"{'; '.join(falls)}{_left_out(distractors[distractors['task'] == task])}.",
            "fig-distractors",
        )
    both = summary.dropna(subset=["relevant", "other"])
    lead = compare(both["relevant"], both["other"])
    yield (
        f"Beside paraphrases the best instruction describes the task in {out_of_sets(int((lead > 0).sum()), both)} "
        f"and does not in {int((lead < 0).sum())}; {int((lead == 0).sum())} tie.",
        "fig-distractors",
    )


def _left_out(rows: pd.DataFrame) -> str:
    """Which queries of a task the pool of paraphrases does not measure, over its subsets; "" where it measures all."""
    there = [c for c in LEFT_OUT if c in rows]
    counts = rows[rows["pool"] == "paraphrase"].groupby("subset")[there].max().sum()
    said = [f"{int(n)} {LEFT_OUT[str(name)]}" for name, n in counts.items() if n]
    return f"; queries left out there: {', '.join(said)}" if said else ""
