"""Before and after fine-tuning: recall in three pools, with paired intervals over queries.

Pools, ties and metrics are those of the geometry (`helpers.geometry.pools`); tuned and base models get the same texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.stats import paired_interval
from helpers.geometry.measurement import Embed, embedder, set_distractors
from helpers.geometry.measures import unit
from helpers.geometry.pools import POOLS, Judgements, pool_scores, search
from helpers.geometry.sets import InstructedSet, instructed_sets
from helpers.models.embed import stock_vectors
from helpers.models.load import LoadedModel
from helpers.study.geometry import GeometrySpec
from helpers.study.spec import Study
from helpers.study.tuning import FinetuningSpec
from helpers.tuning.sets import TuningData
from helpers.tuning.trained import BASE_SEED, BASELINE, Progress, finetuning_of
from helpers.tuning.trainer import Measure

METRICS = ("recall_at_1", "recall_at_5")
RECALL_COLUMNS = [
    "preset", "seed", "task", "language", "pool", "metric", "value", "n", "before", "difference", "low", "high",
]  # fmt: skip
Search = tuple[InstructedSet, str]  # a search set and the text before its queries


def searches(sets: Sequence[InstructedSet], spec: FinetuningSpec) -> list[Search]:
    """The sets, each with the training's retrieval instruction in the language of its targets."""
    return [(chosen, spec.prefix("retrieval", chosen.search.language)) for chosen in sets]


def searches_elsewhere(study: Study, progress: Progress = print) -> list[Search]:
    """Table 11: other data, `finetuning.out_of_domain`, with the instruction that suits each; only with paraphrases."""
    spec, out = finetuning_of(study), []
    for data in spec.out_of_domain:
        geometry = GeometrySpec.model_validate({"tasks": [data.model_dump()], "template": spec.template})
        sets = instructed_sets(study.model_copy(update={"geometry": geometry}))
        kind = "tatoeba" if sets[0].bank == "bitext-mining" else "squad"
        suited = {"ARCChallenge": "arc-challenge", "Tatoeba": "tatoeba"}.get(data.name, kind)
        usable = [s for s in sets if s.paraphrase_source]
        if len(usable) < len(sets):
            progress(f"{data.name}: no paraphrases, left out")
        keys = {"model": spec.model, "data": suited, "template": spec.template}
        out += searches(usable, FinetuningSpec.model_validate(keys))
    return out


def query_scores(model: LoadedModel, asked: Sequence[Search], seed: int) -> pd.DataFrame:
    """Per query, language and pool: rank, recall@1, recall@5 and whether the query's own distractor came first.

    Targets and distractors are plain. Columns: task, language, pool, query_id, rank, recall_at_1, recall_at_5,
    own_first.
    """
    return _query_scores(embedder(model), asked, seed)


def dev_measure(spec: FinetuningSpec, data: TuningData, seed: int) -> Measure | None:
    """From a bare sentence-transformers model to the dev part's `recall_at_1_<pool>`, mean over its languages.

    None without a dev part.
    """
    asked = searches(data.sets("dev"), spec)

    def measure(st: Any) -> dict[str, float]:
        table = _query_scores(lambda some: [unit(stock_vectors(st, *request)) for request in some], asked, seed)
        means = table.groupby(["pool", "language"])["recall_at_1"].mean().groupby("pool").mean()
        return {f"recall_at_1_{pool}": float(means[pool]) for pool in POOLS}

    return measure if asked else None


def _query_scores(embed: Embed, asked: Sequence[Search], seed: int) -> pd.DataFrame:
    frames = []
    settings = GeometrySpec.model_validate({"tasks": [{"name": "tuning"}]})
    for chosen, prefix in asked:
        one = chosen.search
        pools = set_distractors(chosen, settings, seed)
        requests: list[Any] = [
            (list(one.queries.values()), prefix, "query"),
            (list(one.targets.values()), "", "document"),
            *[(p.texts, "", "document") for p in pools],
        ]
        queries, targets, *distractors = embed(requests)
        right = Judgements.from_qrels(one.qrels, list(one.queries), list(one.targets))
        hits = search(queries, targets, right)
        scored = {"normal": pool_scores(hits, queries)}
        for pool, vectors in zip(pools, distractors, strict=True):
            scored[pool.pool] = pool_scores(hits, queries, pool, vectors)
        for name, values in scored.items():
            about = {"task": one.task, "language": one.language, "pool": name, "query_id": list(one.queries)}
            frames.append(pd.DataFrame(about | {k: values[k] for k in ("rank", *METRICS, "own_first")}))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def recall_table(scores: pd.DataFrame, n_boot: int, seed: int, baseline: str = BASELINE) -> pd.DataFrame:
    """Table 6: per preset, seed, language and pool the two recalls and their difference to the base model.

    scores: `query_scores` of all models, with columns preset and seed (those of the base: `baseline` and -1). Language
    "mean" is the unweighted mean over several languages. Intervals: 95 %, paired bootstrap over queries (over each
    language's queries for the mean), percentiles. Columns: preset, seed, task, language, pool, metric, value, n,
    before, difference, low, high; the last four are missing for the base itself.
    """
    if scores.empty:
        return pd.DataFrame(columns=RECALL_COLUMNS)
    rows = []
    for (task, pool), part in scores.groupby(["task", "pool"], sort=False):
        base = part[part["preset"] == baseline]
        for (preset, seed_), after in part.groupby(["preset", "seed"], sort=False):
            for metric in METRICS:
                pairs = _pairs(after, base, metric)
                groups = {language: [pair] for language, pair in pairs.items()}
                if len(pairs) > 1:
                    groups["mean"] = list(pairs.values())
                for language, members in groups.items():
                    value, before = (float(np.mean([m[:, i].mean() for m in members])) for i in (0, 1))
                    row = {"preset": preset, "seed": seed_, "task": task, "language": language, "pool": pool}
                    row |= {"metric": metric, "value": value, "n": sum(map(len, members))}
                    if preset != baseline:
                        low, high = paired_interval([m[:, 0] - m[:, 1] for m in members], n_boot, seed)
                        row |= {"before": before, "difference": value - before, "low": low, "high": high}
                    rows.append(row)
    return pd.DataFrame(rows, columns=RECALL_COLUMNS)


def contrast_table(scores: pd.DataFrame, n_boot: int, seed: int, ablation: str = "ablation") -> pd.DataFrame:
    """Every other training against the ablation with the same seed, paired by query, as `recall_table` has it.

    Here `before` is the ablation's value. This is the comparison that says what query-side negatives bring: both saw
    the same rows but for those negatives. Empty where a seed has no ablation.
    """
    tables = [
        recall_table(scores[scores["seed"] == run], n_boot, seed, ablation)
        for run in scores.loc[scores["preset"] == ablation, "seed"].unique()
    ]
    table = pd.concat(tables or [pd.DataFrame(columns=RECALL_COLUMNS)])
    return table[table["preset"] != ablation].reset_index(drop=True)


def _pairs(after: pd.DataFrame, base: pd.DataFrame, metric: str) -> dict[str, np.ndarray]:
    """Per language an (n, 2) array: a query's value after and before, queries that a pool does not measure left out."""
    both = after.merge(base, on=["language", "query_id"], suffixes=("", "_base"), validate="one_to_one")
    columns = [metric, f"{metric}_base"]
    by_language = both.dropna(subset=columns).groupby("language", sort=True)
    return {str(language): rows[columns].to_numpy(float) for language, rows in by_language}


def recall_display(recalls: pd.DataFrame) -> pd.DataFrame:
    """`recall_table` as a reader wants it: a row per model, language and pool; differences as text."""
    key = ["task", "language", "pool", "preset", "seed"]
    table = recalls.assign(change=[change_text(row) for row in recalls.itertuples()]).set_index(key)
    columns = [table.loc[table["metric"] == METRICS[0], "n"]]
    for metric in METRICS:
        part = table.loc[table["metric"] == metric, ["value", "change"]]
        columns.append(part.set_axis([metric, f"{metric}, change"], axis=1))
    return pd.concat(columns, axis=1).reset_index().replace({"seed": {BASE_SEED: pd.NA}})


def change_text(row: Any) -> str:
    """The difference of a row of `recall_table` with its interval: "+0.250 [+0.100, +0.400]"; "" without one."""
    if pd.isna(row.difference):
        return ""
    interval = "" if pd.isna(row.low) else f" [{row.low:+.3f}, {row.high:+.3f}]"
    return f"{row.difference:+.3f}{interval}"
