"""Measure instructions on models: embed, search the three pools, and bring geometry and scores into tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.files import project_path
from helpers.base.ranking import METRICS
from helpers.base.stats import score_draws
from helpers.geometry.instructions import load_instructions, select
from helpers.geometry.measures import barycentric, pair_geometry, summarise, unit
from helpers.geometry.pools import (
    Distractors,
    Judgements,
    Search,
    paraphrase_distractors,
    pool_scores,
    random_distractors,
    search,
)
from helpers.geometry.sets import InstructedSet, draw_foreign
from helpers.models.embed import embed_many
from helpers.study.geometry import NONE_ID, GeometrySpec, Instruction

log = logging.getLogger(__name__)

PER_PASS = 16  # instructions whose queries are encoded together; an interrupted run loses no more than that

KEYS = ["model", "task", "subset", "split"]
ABOUT = ["instruction_id", "text", "group", "relevant", "control"]

Embed = Callable[[Sequence[tuple[Sequence[str], str, Any]]], list[np.ndarray]]


def embedder(model: Any) -> Embed:
    """A function from requests (texts, prefix, role) to unit vectors: all of a call share the model's batches."""
    return lambda requests: [unit(m) for m in embed_many(model, requests)]


def bank_for(spec: GeometrySpec, chosen: InstructedSet) -> list[Instruction]:
    """The instructions that a set is measured with: bank and controls of its kind, then the study's own."""
    bank = load_instructions(project_path(spec.instructions), spec.extra)
    own = {"own"} & {i.group for i in bank}
    groups = None if spec.groups is None else [*spec.groups, *own]
    return select(bank, chosen.bank, groups, spec.controls)


def measure(
    embed: Embed,
    label: str,
    chosen: InstructedSet,
    instructions: Sequence[Instruction],
    spec: GeometrySpec,
    seed: int = 42,
) -> tuple[pd.DataFrame, list[Distractors]]:
    """One row per (instruction, query) of one set under one model, and the distractors that were used.

    The first block is the plain query (instruction_id "none"). Columns: KEYS, ABOUT, query_id, those of
    `measures.pair_geometry`, margin (best target minus best other target), w_query, w_distractor, w_target, off_plane,
    and per pool the columns of `pools.pool_scores` as `<pool>_<column>`.
    """
    searched = chosen.search
    ids, targets = list(searched.queries), list(searched.targets)
    judged = Judgements.from_qrels(searched.qrels, ids, targets)
    pools = set_distractors(chosen, spec, seed)
    documents = [list(searched.targets.values()), *(pool.texts for pool in pools)]
    requests = [(list(searched.queries.values()), "", "query"), *((texts, "", "document") for texts in documents)]
    plain, target_vectors, *pool_vectors = embed(requests)
    beside = list(zip(pools, pool_vectors, strict=True))
    answers = target_vectors[judged.target[np.searchsorted(judged.query, np.arange(judged.n_queries))]]
    before = search(plain, target_vectors, judged, spec.block_mb)
    frames = []
    for about, vectors in _instructed(embed, plain, chosen, instructions, spec):
        after = before if vectors is plain else search(vectors, target_vectors, judged, spec.block_mb)
        columns: dict[str, Any] = {**about, "query_id": ids}
        columns |= _geometry_columns(plain, vectors, target_vectors, judged, before, after)
        columns |= _position(plain, vectors, answers, beside)
        scored = pool_scores(after, vectors, block_mb=spec.block_mb)
        columns |= {f"normal_{k}": v for k, v in scored.items() if k != "own_first"}
        for pool, its_vectors in beside:
            scored = pool_scores(after, vectors, pool, its_vectors, spec.block_mb)
            columns |= {f"{pool.pool}_{k}": v for k, v in scored.items()}
        frames.append(pd.DataFrame(columns))
    table = pd.concat(frames, ignore_index=True)
    table = table.assign(model=label, task=searched.task, subset=searched.subset, split=searched.split)
    first = [*KEYS, *ABOUT, "query_id"]
    return table[[*first, *[c for c in table.columns if c not in first]]], pools


def set_distractors(chosen: InstructedSet, spec: GeometrySpec, seed: int) -> list[Distractors]:
    """The random pool, and the paraphrase pool where the set has paraphrases."""
    searched = chosen.search
    queries, targets = list(searched.queries.values()), list(searched.targets.values())
    n = len(queries) if spec.n_distractors is None else spec.n_distractors
    foreign, source = draw_foreign(chosen.foreign, {*queries, *targets, *searched.paraphrases.values()}, n)
    pools = [random_distractors(foreign, queries, targets, n, seed, source)]
    if chosen.paraphrase_source:
        relevant = {q: {searched.targets[t] for t, g in r.items() if g > 0} for q, r in searched.qrels.items()}
        texts = searched.paraphrases, searched.queries
        pools.append(paraphrase_distractors(*texts, relevant, chosen.paraphrase_source))
    return pools


def geometry_table(
    per_query: pd.DataFrame, chosen: InstructedSet, n_boot: int = 500, confidence: float = 0.95, seed: int = 42
) -> pd.DataFrame:
    """One row per instruction of a set: geometry means, scores without distractors, gain over the plain query.

    Columns: KEYS, ABOUT, those of `measures.summarise`, the metrics, metric (the one that `score` is), score, gain,
    gain_low, gain_high (percentile bootstrap over queries, paired).
    """
    out = summarise(per_query, [*KEYS, *ABOUT])
    scores = per_query.groupby("instruction_id", sort=False)[[f"normal_{m}" for m in METRICS]].mean()
    scores.columns = list(METRICS)
    out = out.merge(scores, left_on="instruction_id", right_index=True, validate="one_to_one")
    out["metric"], out["score"] = chosen.metric, out[chosen.metric]
    wide = per_query.pivot(index="query_id", columns="instruction_id", values=f"normal_{chosen.metric}")
    difference = wide.sub(wide[NONE_ID], axis=0)[out["instruction_id"]].to_numpy()
    out["gain"] = difference.mean(axis=0)
    if n_boot:
        gains = score_draws(difference, n_boot, seed)
        edges = np.quantile(gains, [0.5 - confidence / 2, 0.5 + confidence / 2], axis=0)
        out["gain_low"], out["gain_high"] = edges
    return out


def distractor_table(per_query: pd.DataFrame, pools: Sequence[Distractors]) -> pd.DataFrame:
    """One row per instruction and pool: the metrics, on how many queries and distractors they rest, what was left out.

    Columns: KEYS, ABOUT, pool, METRICS, own_first (share of queries whose top hit is their own distractor),
    recall_at_1_same_queries (without distractors, on the queries that this pool measures), n_queries, n_distractors;
    n_missing, n_equal_to_target, n_equal_to_query (queries left out because they have no paraphrase, or because it is
    their target or themselves); missing (up to 20 ids of these), source.
    """
    by = [*KEYS, *ABOUT]
    frames = []
    alone = Distractors("normal", [], np.array([]), np.array([]), "")
    for pool in (alone, *pools):
        name = pool.pool
        columns = [c for m in (*METRICS, "own_first") if (c := f"{name}_{m}") in per_query]
        measured = per_query[per_query[f"{name}_rank"].notna()]
        groups = measured.groupby(by, sort=False)
        part = groups[columns].mean().rename(columns=lambda c: str(c).removeprefix(f"{name}_"))  # noqa: B023
        part["recall_at_1_same_queries"] = groups["normal_recall_at_1"].mean()
        part["n_queries"] = groups.size()
        part = part.assign(
            pool=name,
            n_distractors=len(pool.texts),
            n_missing=len(pool.missing),
            n_equal_to_target=len(pool.equal),
            n_equal_to_query=len(pool.unchanged),
            missing=", ".join(pool.left_out[:20]),
            source=pool.source,
        )
        frames.append(part.reset_index())
    return pd.concat(frames, ignore_index=True)


def _instructed(
    embed: Embed, plain: np.ndarray, chosen: InstructedSet, bank: Sequence[Instruction], spec: GeometrySpec
) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """The plain queries, then every instruction's: at most PER_PASS at once, fewer where `embedding_mb` is small."""
    searched = chosen.search
    texts = list(searched.queries.values())
    yield dict(zip(ABOUT, (NONE_ID, "", "none", False, False), strict=True)), plain
    size = int(np.clip(spec.embedding_mb * 2**20 // max(plain.nbytes, 1), 1, PER_PASS))
    for start in range(0, len(bank), size):
        some = bank[start : start + size]
        rendered = [i.render(searched.language) for i in some]
        log.info("%s %s: instructions %d-%d", searched.task, searched.subset, start + 1, start + len(some))
        vectors = embed([(texts, spec.prefix(text), "query") for text in rendered])
        for instruction, text, instructed in zip(some, rendered, vectors, strict=True):
            relevant = instruction.is_relevant(chosen.kind, searched.task)
            values = (instruction.id, text, instruction.group, relevant, instruction.control)
            yield dict(zip(ABOUT, values, strict=True)), instructed


def _geometry_columns(
    plain: np.ndarray, vectors: np.ndarray, targets: np.ndarray, judged: Judgements, before: Search, after: Search
) -> dict[str, np.ndarray]:
    columns = pair_geometry(plain, vectors, targets[judged.target], targets[before.nearest_index], judged.query)
    alone = before.nearest_index < 0  # every target is relevant: there is nothing to select against
    columns["selectivity"][alone] = np.nan
    return columns | {"margin": np.where(alone, np.nan, after.similarity[:, 0] - after.nearest)}


def _position(
    plain: np.ndarray, vectors: np.ndarray, answers: np.ndarray, beside: Iterable[tuple[Distractors, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Barycentric weights between query, own paraphrase and first judged target; NaN for queries without a paraphrase."""
    values = np.full((len(plain), 4), np.nan)
    for pool, its_vectors in beside:
        rows = np.flatnonzero(pool.row_of >= 0)
        if len(rows):
            paraphrases = its_vectors[pool.row_of[rows]]
            values[rows] = np.c_[barycentric(plain[rows], paraphrases, answers[rows], vectors[rows])]
    return dict(zip(("w_query", "w_distractor", "w_target", "off_plane"), values.T, strict=True))
