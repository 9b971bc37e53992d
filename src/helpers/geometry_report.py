"""Notebook 05 in words and in the shape of the paper's tables 2 to 5, computed from the run's tables."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from helpers.phrases import choose, count, extent, is_highest, out_of, out_of_sets, units_of
from helpers.relevance import MEAN, SET, STRUCTURE, quadrants, statistics_rows, top_k_share
from helpers.ties import compare, levelled

NAMES = {
    "displacement": "displ.",
    "similarity_improvement": "sim.",
    "angulation": "angl.",
    "selectivity": "selectivity",
}
LEFT_OUT = {
    "n_missing": "without a paraphrase",
    "n_equal_to_target": "whose paraphrase is the target",
    "n_equal_to_query": "whose paraphrase is the query itself",
}
LEVEL = 0.05


def relevance_display(relevance: pd.DataFrame) -> pd.DataFrame:
    """Table 2: top-k share, R2 and rank-biserial correlation; a star where p < 0.05, for means how many
    subsets.
    """
    rows = relevance.sort_values(["task", "model"], kind="stable")
    return pd.DataFrame(
        {
            "model": rows["model"],
            "task": rows["task"],
            "subset": rows["subset"],
            "relevant / other": [
                f"{a:.0f} / {b:.0f}" for a, b in zip(rows["n_relevant"], rows["n_other"], strict=True)
            ],
            "top-k": [_number(v) for v in rows["top_k"]],
            "R2": [_number(v) for v in rows["r2"]],
            "rank-biserial": [
                _number(v) + _star(p) for v, p in zip(rows["rank_biserial"], rows["p"], strict=True)
            ],
            "p": [_p(v) for v in rows["p"]],
            "significant": _significant(rows),
        }
    ).reset_index(drop=True)


def separability_display(separability: pd.DataFrame) -> pd.DataFrame:
    """Table 3: ROC-AUC per metric with its spread over folds; a star where label permutations reach it in <
    5 %.
    """
    text = [
        _number(a, 2) + _star(p) + ("" if np.isnan(sd) else f" (sd {sd:.2f}, chance {chance:.2f})")
        for a, sd, chance, p in separability[["auc", "auc_sd", "auc_chance", "auc_p"]].itertuples(index=False)
    ]
    return _per_metric(separability.assign(shown=text))


def correlation_display(correlations: pd.DataFrame) -> pd.DataFrame:
    """Table 4: Spearman correlation of each metric with the score, interval, star where the adjusted p <
    0.05.
    """
    text = [
        _number(rho, 2) + _star(p) + ("" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]")
        for rho, low, high, p in correlations[["rho", "low", "high", "p_adjusted"]].itertuples(index=False)
    ]
    return _per_metric(correlations.assign(shown=text))


def distractor_summary(distractors: pd.DataFrame, metric: str = "recall_at_1") -> pd.DataFrame:
    """Table 5 per model, task and subset: the best value over instructions in every pool, and by which
    instruction.

    Columns: SET, n_queries; normal, random, paraphrase (best over instructions); relevant, other (best of
    the relevant and of the other instructions beside paraphrases); plain_normal, plain_paraphrase (without
    instruction); best_normal, best_paraphrase (texts, with the number of further ones that tie); own_first
    (mean share over instructions of queries whose top hit is their own paraphrase); n_left_out (queries without a
    paraphrase, or with one that is their target or themselves). Controls take no part.
    """
    rows = []
    bank = statistics_rows(distractors)
    plain = distractors[distractors["group"] == "none"].set_index([*SET, "pool"])[metric]
    for key, part in bank.groupby(SET, sort=False):
        pools = {pool: part[part["pool"] == pool] for pool in ("normal", "random", "paraphrase")}
        beside = pools["paraphrase"]
        relevant = beside["relevant"].astype(bool)
        left_out = beside[[c for c in LEFT_OUT if c in beside]].sum(axis=1)
        rows.append(
            {
                **dict(zip(SET, key, strict=True)),
                "n_queries": int(pools["normal"]["n_queries"].max()),
                **{pool: its[metric].max() for pool, its in pools.items()},
                "relevant": beside.loc[relevant, metric].max(),
                "other": beside.loc[~relevant, metric].max(),
                "plain_normal": plain.get((*key, "normal"), np.nan),
                "plain_paraphrase": plain.get((*key, "paraphrase"), np.nan),
                "best_normal": _best(pools["normal"], metric),
                "best_paraphrase": _best(beside, metric),
                "own_first": beside["own_first"].mean(),
                "n_left_out": left_out.max(),
            }
        )
    return pd.DataFrame(rows, columns=pd.Index(SUMMARY))


SUMMARY = [
    *SET,
    *("n_queries", "normal", "random", "paraphrase", "relevant", "other", "plain_normal", "plain_paraphrase"),
    *("best_normal", "best_paraphrase", "own_first", "n_left_out"),
]


def _best(rows: pd.DataFrame, metric: str) -> str | None:
    """The instruction with the best value; of several that tie the first by its text, and how many more there are."""
    best = sorted(rows.loc[is_highest(rows[metric]), "text"].astype(str))
    if not best:
        return None
    return best[0] + (f" (and {len(best) - 1} more)" if len(best) > 1 else "")


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


def _per_metric(rows: pd.DataFrame) -> pd.DataFrame:
    wide = rows.pivot_table(index=SET, columns="metric", values="shown", aggfunc="first", sort=False)
    wide = wide[[m for m in STRUCTURE if m in wide]].rename(columns=NAMES)
    wide.columns.name = None
    return wide.reset_index().sort_values(["task", "model"], kind="stable", ignore_index=True)


def _number(value: float, digits: int = 3) -> str:
    return "–" if pd.isna(value) else f"{value:.{digits}f}"


def _star(p: float) -> str:
    return "*" if p < LEVEL else ""


def _p(value: float) -> str:
    return "" if pd.isna(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _significant(rows: pd.DataFrame) -> list[str]:
    pairs = zip(rows["subset"], rows["n_significant"], rows["n_subsets"], strict=True)
    return [f"{a:.0f} of {b:.0f}" if subset == MEAN else "" for subset, a, b in pairs]
