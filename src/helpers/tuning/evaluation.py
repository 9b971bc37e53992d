"""Before and after fine-tuning: recall in three pools, with paired intervals over queries and training seeds.

Pools, ties and metrics are those of the geometry (`helpers.geometry.pools`); tuned and base models get the same texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.proportions import paired_proportions
from helpers.base.ties import levelled
from helpers.geometry.measurement import Embed, embedder, set_distractors
from helpers.geometry.measures import unit
from helpers.geometry.pools import POOLS, Judgements, pool_scores, search
from helpers.geometry.sets import InstructedSet, instructed_sets
from helpers.models.embed import stock_vectors
from helpers.models.load import LoadedModel
from helpers.study.geometry import GeometrySpec
from helpers.study.spec import Study
from helpers.study.tuning import FinetuningSpec
from helpers.tuning.sets import TuningData, held_out_sets
from helpers.tuning.trained import BASE_SEED, BASELINE, Progress, finetuning_of
from helpers.tuning.trainer import Measure

METRICS = ("recall_at_1", "recall_at_5")
RECALL_COLUMNS = [
    "preset", "seed", "task", "language", "pool", "metric", "value", "n", "before", "difference", "low", "high",
]  # fmt: skip
SEEDS_COLUMNS = [*(c for c in RECALL_COLUMNS if c != "seed"), "n_seeds", "seed_sd"]
Search = tuple[InstructedSet, str]  # a search set and the text before its queries


def searches(sets: Sequence[InstructedSet], spec: FinetuningSpec) -> list[Search]:
    """The sets, each with the training's retrieval instruction in the language of its targets."""
    return [(chosen, spec.prefix("retrieval", chosen.search.language)) for chosen in sets]


def searches_elsewhere(study: Study, data: TuningData, progress: Progress = print) -> list[Search]:
    """Table 11: other data, `finetuning.out_of_domain`, with the instruction that suits each; only with paraphrases.

    Besides, the data that were trained on among paraphrases of another source (`sets.held_out_sets`).
    """
    spec, out = finetuning_of(study), []
    for other in spec.out_of_domain:
        geometry = GeometrySpec.model_validate({"tasks": [other.model_dump()], "template": spec.template})
        sets = instructed_sets(study.model_copy(update={"geometry": geometry}))
        kind = "tatoeba" if sets[0].bank == "bitext-mining" else "squad"
        suited = {"ARCChallenge": "arc-challenge", "Tatoeba": "tatoeba"}.get(other.name, kind)
        usable = [s for s in sets if s.paraphrase_source]
        if len(usable) < len(sets):
            progress(f"{other.name}: no paraphrases, left out")
        keys = {"model": spec.model, "data": suited, "template": spec.template}
        out += searches(usable, FinetuningSpec.model_validate(keys))
    return [*out, *searches(held_out_sets(study, data), spec)]


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


def recall_table(scores: pd.DataFrame, against: str = BASELINE) -> pd.DataFrame:
    """Table 6: per preset, seed, language and pool the two recalls and their difference to the base model.

    scores: `query_scores` of all models, with columns preset and seed (those of the base: BASELINE and -1). Language
    "mean" is the unweighted mean over several languages. Intervals: 95 %, Newcombe's of paired proportions, over
    queries alone; none below ten queries. Columns: preset, seed, task, language, pool, metric, value, n, before,
    difference, low, high; the last four are missing for the base itself.
    """
    table = pd.DataFrame(_rows(scores, ["preset", "seed"], against), columns=RECALL_COLUMNS)
    return table.astype({"seed": int})


def seeds_table(scores: pd.DataFrame, against: str = BASELINE) -> pd.DataFrame:
    """What a preset changes, mean over its training seeds, with an interval over seeds and queries.

    Against the base model or against another preset, then paired by seed and by query: both saw the same rows but for
    what the presets change. n_seeds: trainings; seed_sd: standard deviation (n - 1) over them of the difference on
    these queries, missing with one. The interval joins Newcombe's over queries with t over seeds, of whose variance the
    noise of single answers is taken out. With one seed it is over queries alone: what another seed would change is
    unknown then. Simulated in `benchmarks/coverage`. Columns: those of `recall_table`, n_seeds and seed_sd for seed.
    """
    rows = _rows(scores, ["preset"], against)
    table = pd.DataFrame(rows, columns=SEEDS_COLUMNS)
    return table[table["preset"] != against].reset_index(drop=True)


def dose_table(scores: pd.DataFrame, doses: Mapping[float, str]) -> pd.DataFrame:
    """Dose-response: `seeds_table` of every share of query-side negatives against the lowest share, and that one itself.

    doses: {share: preset}. The same examples are drawn for every share, a higher one only adds query-side negatives.
    """
    if not doses:
        return pd.DataFrame(columns=["share", *SEEDS_COLUMNS])
    lowest = doses[min(doses)]
    some = scores[scores["preset"].isin(doses.values())] if len(scores) else scores
    rows = pd.DataFrame(_rows(some, ["preset"], lowest), columns=SEEDS_COLUMNS)
    shares = rows["preset"].map({preset: share for share, preset in doses.items()})
    rows.insert(0, "share", shares.astype(float))
    return rows.sort_values("share", kind="stable", ignore_index=True)


def _rows(scores: pd.DataFrame, by: list[str], against: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    if scores.empty:
        return rows
    for (task, pool), part in scores.groupby(["task", "pool"], sort=False):
        base = part[part["preset"] == against]
        for key, after in part.groupby(by, sort=False):
            for metric in METRICS:
                found = _outcomes(after, base, metric)
                groups = {language: [pair] for language, pair in found.items()}
                if len(found) > 1:
                    groups["mean"] = list(found.values())
                for language, members in groups.items():
                    about = {"task": task, "language": language, "pool": pool, "metric": metric}
                    change = key[0] != against
                    rows.append(dict(zip(by, key, strict=True)) | about | _difference(members, change))
    return rows


def _outcomes(after: pd.DataFrame, base: pd.DataFrame, metric: str) -> dict[str, np.ndarray]:
    """Per language an array (2, queries, seeds): after and before, without queries that a pool does not measure.

    The base model's one run stands beside every seed; of another preset those seeds count that both have.
    """
    first, second = (x.pivot(index=["language", "query_id"], columns="seed", values=metric) for x in (after, base))
    if list(second.columns) == [BASE_SEED]:
        second = pd.concat([second[BASE_SEED]] * first.shape[1], axis=1, keys=first.columns)
    seeds = first.columns.intersection(second.columns)
    if seeds.empty:
        return {}
    both = pd.concat([first[seeds], second[seeds]], axis=1).dropna()
    return {
        str(language): rows.to_numpy(float).reshape(len(rows), 2, -1).transpose(1, 0, 2)
        for language, rows in both.groupby(level="language", sort=True)
    }


def _difference(members: list[np.ndarray], change: bool) -> dict[str, Any]:
    """The numbers of one row; members: per language what `_outcomes` gives."""
    value, before = np.mean([m.mean(axis=(1, 2)) for m in members], axis=0)
    row = {"value": float(value), "n": sum(m.shape[1] for m in members), "n_seeds": members[0].shape[2]}
    if change:
        sd, noise = _seed_noise([after - before for after, before in members])
        own = np.sqrt(max(sd**2 - noise, 0.0) / row["n_seeds"]) if row["n_seeds"] > 1 else 0.0
        pairs = [(after.mean(axis=1), before.mean(axis=1)) for after, before in members]
        low, high = paired_proportions(pairs, sd=own, df=max(row["n_seeds"] - 1, 1))
        row |= {"before": float(before), "difference": float(value - before), "low": low, "high": high, "seed_sd": sd}
    return row


def _seed_noise(differences: list[np.ndarray]) -> tuple[float, float]:
    """(standard deviation over seeds of the mean difference, its part that is noise of single answers, a variance).

    differences: per language (queries, seeds). The noise is the mean square of what neither query nor seed explains,
    divided by the number of queries, as in a two-way analysis of variance.
    """
    n_seeds = differences[0].shape[1]
    if n_seeds < 2:
        return float("nan"), float("nan")
    noise = 0.0
    for d in differences:
        rest = d - d.mean(axis=0) - d.mean(axis=1, keepdims=True) + d.mean()
        noise += float((rest**2).sum()) / ((n_seeds - 1) * max(len(d) - 1, 1)) / len(d) / len(differences) ** 2
    means = np.mean([d.mean(axis=0) for d in differences], axis=0)
    return float(np.std(levelled(means), ddof=1)), noise


def recall_display(recalls: pd.DataFrame) -> pd.DataFrame:
    """`recall_table` or `seeds_table` as a reader wants it: a row per model, language and pool; differences as text."""
    key = ["task", "language", "pool", "preset", *(c for c in ("seed", "n_seeds") if c in recalls)]
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
