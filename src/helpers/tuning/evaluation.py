"""Before and after fine-tuning: recall in three pools, with paired intervals over queries.

Pools, ties and metrics are those of the geometry (`helpers.geometry.pools`); tuned and base models get the same texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.stats import paired_interval
from helpers.geometry.measurement import set_distractors
from helpers.geometry.measures import unit
from helpers.geometry.pools import POOLS, Judgements, pool_scores, search
from helpers.geometry.sets import InstructedSet
from helpers.models.embed import batches_matter, embed_many
from helpers.models.load import LoadedModel
from helpers.models.role import Role
from helpers.study.geometry import GeometrySpec
from helpers.study.tuning import FinetuningSpec

METRICS = ("recall_at_1", "recall_at_5")


RECALL_COLUMNS = [
    "preset", "seed", "task", "language", "pool", "metric", "value", "n", "before", "difference", "low", "high",
]  # fmt: skip


def geometry_settings(spec: FinetuningSpec, task: str = "tuning") -> GeometrySpec:
    """The geometry's settings for these data: only the template differs from its defaults."""
    return GeometrySpec.model_validate({"tasks": [{"name": task}], "template": spec.template})


class _Plain:
    """A bare sentence-transformers model as `embed_many` wants it: without cache and identity."""

    cache = batch_tokens = None
    has_twin = reuses_prefix = only_cached = gives_both_poolings = False

    def __init__(self, st: Any) -> None:
        self.st = st

    def needs_stock_batches(self, role: Role) -> bool:
        return batches_matter(self.st, role)

    @property
    def dimension(self) -> int:
        return int(self.st.get_embedding_dimension())


def query_scores(
    model: LoadedModel | _Plain, sets: Sequence[InstructedSet], spec: FinetuningSpec, seed: int
) -> pd.DataFrame:
    """Per query, language and pool: rank, recall@1, recall@5 and whether the query's own distractor came first.

    Queries carry the training's retrieval instruction; targets and distractors are plain.
    """
    frames = []
    for chosen in sets:
        held = chosen.search
        pools = set_distractors(chosen, geometry_settings(spec), seed)
        requests: list[Any] = [
            (list(held.queries.values()), spec.prefix("retrieval", held.language), "query"),
            (list(held.targets.values()), "", "document"),
            *[(p.texts, "", "document") for p in pools],
        ]
        queries, targets, *distractors = [unit(m) for m in embed_many(model, requests)]  # type: ignore[arg-type]
        found = search(
            queries, targets, Judgements.from_qrels(held.qrels, list(held.queries), list(held.targets))
        )
        scored = [("normal", pool_scores(found, queries))]
        for pool, vectors in zip(pools, distractors, strict=True):
            scored.append((pool.pool, pool_scores(found, queries, pool, vectors)))
        for pool_name, values in scored:
            columns = {k: values[k] for k in ("rank", *METRICS, "own_first")}
            about = {
                "task": held.task,
                "language": held.language,
                "pool": pool_name,
                "query_id": list(held.queries),
            }
            frames.append(pd.DataFrame({**about, **columns}))
    return pd.concat(frames, ignore_index=True)


def pool_recalls(st: Any, sets: Sequence[InstructedSet], spec: FinetuningSpec, seed: int) -> dict[str, float]:
    """`recall_at_1_<pool>`, mean over the languages, of a bare sentence-transformers model."""
    table = query_scores(_Plain(st), sets, spec, seed)
    means = table.groupby(["pool", "language"])["recall_at_1"].mean().groupby("pool").mean()
    return {f"recall_at_1_{pool}": float(means[pool]) for pool in POOLS}


def recall_table(
    scores: pd.DataFrame, baseline: str, n_boot: int, seed: int, confidence: float = 0.95
) -> pd.DataFrame:
    """Table 6: per preset, seed, language and pool the two recalls and their difference to the base model.

    scores: `query_scores` of all models, with columns preset and seed (those of the base: `baseline` and -1). Language
    "mean" is the unweighted mean over several languages. Intervals: paired bootstrap over queries (over each
    language's queries for the mean), percentiles. Columns: preset, seed, task, language, pool, metric, value, n,
    before, difference, low, high; the last four are missing for the base itself.
    """
    rows = []
    for (task, pool), part in scores.groupby(["task", "pool"], sort=False):
        base = part[part["preset"] == baseline]
        for (preset, seed_), own in part.groupby(["preset", "seed"], sort=False):
            for metric in METRICS:
                pairs = _pairs(own, base, metric)
                several = [("mean", list(pairs.values()))] if len(pairs) > 1 else []
                for language, members in [*[(k, [v]) for k, v in pairs.items()], *several]:
                    after, before = (float(np.mean([m[:, i].mean() for m in members])) for i in (0, 1))
                    row = {"preset": preset, "seed": seed_, "task": task, "language": language, "pool": pool}
                    row |= {"metric": metric, "value": after, "n": sum(map(len, members))}
                    if preset != baseline:
                        low, high = paired_interval(
                            [m[:, 0] - m[:, 1] for m in members], n_boot, seed, confidence
                        )
                        row |= {"before": before, "difference": after - before, "low": low, "high": high}
                    rows.append(row)
    return pd.DataFrame(rows, columns=RECALL_COLUMNS)


def contrast_table(scores: pd.DataFrame, ablation: str, n_boot: int, seed: int) -> pd.DataFrame:
    """Every other training against the ablation with the same seed, paired by query, as `recall_table` has it.

    Here `before` is the ablation's value. This is the comparison that says what query-side negatives bring: both saw
    the same rows but for those negatives. Empty where a seed has no ablation.
    """
    frames = []
    for run in scores.loc[scores["preset"] == ablation, "seed"].unique():
        table = recall_table(scores[scores["seed"] == run], ablation, n_boot, seed)
        frames.append(table[table["preset"] != ablation])
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=RECALL_COLUMNS)


def _pairs(own: pd.DataFrame, base: pd.DataFrame, metric: str) -> dict[str, np.ndarray]:
    """Per language an (n, 2) array: a query's value after and before, queries that a pool does not measure left out."""
    both = own.merge(base, on=["language", "query_id"], suffixes=("", "_base"), validate="one_to_one")
    both = both.dropna(subset=[metric, f"{metric}_base"])
    return {
        str(k): g[[metric, f"{metric}_base"]].to_numpy(float) for k, g in both.groupby("language", sort=True)
    }


def recall_display(recalls: pd.DataFrame) -> pd.DataFrame:
    """`recall_table` as a reader wants it: a row per model, language and pool; differences as text."""
    if recalls.empty:
        return recalls

    def said(row: pd.Series) -> str:
        if pd.isna(row["difference"]):
            return ""
        inside = "" if pd.isna(row["low"]) else f" [{row['low']:+.3f}, {row['high']:+.3f}]"
        return f"{row['difference']:+.3f}{inside}"

    key = ["task", "language", "pool", "preset", "seed"]
    table = recalls.assign(change=recalls.apply(said, axis=1), seed=recalls["seed"].replace(-1, pd.NA))
    order = table[key].drop_duplicates()
    for metric in METRICS:
        part = table[table["metric"] == metric].rename(
            columns={"value": metric, "change": f"{metric}, change"}
        )
        order = order.merge(
            part[[*key, metric, f"{metric}, change", "n"]], on=key, how="left", suffixes=("", "_")
        )
    return order.drop(columns=[c for c in order if c.endswith("_")])[
        [*key, "n", *[c for m in METRICS for c in (m, f"{m}, change")]]
    ]
