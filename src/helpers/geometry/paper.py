"""The paper's tables 2 to 5, in its shape, computed from the run's tables."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from helpers.base.phrases import is_highest
from helpers.geometry.measures import MEASURES
from helpers.geometry.pools import POOLS
from helpers.geometry.relevance import LEVEL, MEAN, SET, statistics_rows

SHORT = MEASURES | {"displacement": "displ.", "similarity_improvement": "sim.", "angulation": "angl."}  # column heads

LEFT_OUT = {
    "n_missing": "without a paraphrase",
    "n_equal_to_target": "whose paraphrase is the target",
    "n_equal_to_query": "whose paraphrase is the query itself",
}


def relevance_display(relevance: pd.DataFrame) -> pd.DataFrame:
    """Table 2: top-k share, R2 and rank-biserial correlation; a star where p < 0.05, for means how many subsets."""
    rows = relevance.sort_values(["task", "model"], kind="stable", ignore_index=True)
    counts = zip(rows["n_relevant"], rows["n_other"], strict=True)
    significant = zip(rows["subset"], rows["n_significant"], rows["n_subsets"], strict=True)
    return rows[SET].assign(
        **{
            "relevant / other": [f"{a:.0f} / {b:.0f}" for a, b in counts],
            "top-k": [_number(v) for v in rows["top_k"]],
            "R2": [_number(v) for v in rows["r2"]],
            "rank-biserial": [_number(v) + _star(p) for v, p in zip(rows["rank_biserial"], rows["p"], strict=True)],
            "p": ["" if pd.isna(p) else "< 0.001" if p < 0.001 else f"{p:.3f}" for p in rows["p"]],
            "significant": [f"{a:.0f} of {b:.0f}" if subset == MEAN else "" for subset, a, b in significant],
        }
    )


def separability_display(separability: pd.DataFrame) -> pd.DataFrame:
    """Table 3: ROC-AUC per measure with its spread over folds; a star where label permutations reach it in < 5 %."""
    rows = separability[["auc", "auc_sd", "auc_chance", "auc_p"]].itertuples(index=False)
    return _by_measure(
        separability,
        (
            _number(a, 2) + _star(p) + ("" if np.isnan(sd) else f" (sd {sd:.2f}, chance {chance:.2f})")
            for a, sd, chance, p in rows
        ),
    )


def correlation_display(correlations: pd.DataFrame) -> pd.DataFrame:
    """Table 4: Spearman correlation of each measure with the score, interval, star where the adjusted p < 0.05."""
    rows = correlations[["rho", "low", "high", "p_adjusted"]].itertuples(index=False)
    return _by_measure(
        correlations,
        (
            _number(rho, 2) + _star(p) + ("" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]")
            for rho, low, high, p in rows
        ),
    )


SUMMARY = [
    *SET, "n_queries", *POOLS, "relevant", "other", "plain_normal", "plain_paraphrase", "best_normal", "best_paraphrase",
    "own_first", "n_left_out",
]  # fmt: skip


def distractor_summary(distractors: pd.DataFrame, metric: str = "recall_at_1") -> pd.DataFrame:
    """Table 5 per model, task and subset: the best value over instructions in every pool, and by which instruction.

    Columns: SET, n_queries; normal, random, paraphrase (best over instructions); relevant, other (best of the relevant
    and of the other instructions beside paraphrases); plain_normal, plain_paraphrase (without instruction);
    best_normal, best_paraphrase (texts, with the number of further ones that tie); own_first (mean share over
    instructions of queries whose top hit is their own paraphrase); n_left_out (queries without a paraphrase, or with
    one that is their target or themselves). Controls take no part.
    """
    rows = []
    plain = distractors[distractors["group"] == "none"].set_index([*SET, "pool"])[metric]
    for key, part in statistics_rows(distractors).groupby(SET, sort=False):
        pools = {pool: part[part["pool"] == pool] for pool in POOLS}
        beside = pools["paraphrase"]
        relevant = beside["relevant"].astype(bool)
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
                "n_left_out": beside[[c for c in LEFT_OUT if c in beside]].sum(axis=1).max(),
            }
        )
    return pd.DataFrame(rows, columns=pd.Index(SUMMARY))


def _best(rows: pd.DataFrame, metric: str) -> str | None:
    """The instruction with the best value; of several that tie the first by its text, and how many more there are."""
    best = sorted(rows.loc[is_highest(rows[metric]), "text"].astype(str))
    if not best:
        return None
    return best[0] + (f" (and {len(best) - 1} more)" if len(best) > 1 else "")


def _by_measure(rows: pd.DataFrame, shown: Iterable[str]) -> pd.DataFrame:
    """One row per model, task and subset, one column per measure."""
    wide = rows.assign(shown=list(shown)).pivot_table(
        index=SET, columns="metric", values="shown", aggfunc="first", sort=False
    )
    wide = wide[[m for m in MEASURES if m in wide]].rename(columns=SHORT).rename_axis(columns=None)
    return wide.reset_index().sort_values(["task", "model"], kind="stable", ignore_index=True)


def _number(value: float, digits: int = 3) -> str:
    return "–" if pd.isna(value) else f"{value:.{digits}f}"


def _star(p: float) -> str:
    return "*" if p < LEVEL else ""
