"""Given texts: the geometry of instructions on queries, targets and a model that somebody has at hand in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.errors import StudyError
from helpers.geometry.measurement import Embed, distractor_table, embedder, geometry_table
from helpers.geometry.measurement import measure as measure_set
from helpers.geometry.measures import MEASURES, unit
from helpers.geometry.sets import InstructedSet
from helpers.models.load import LoadedModel
from helpers.study.geometry import TEMPLATE, GeometrySpec, Instruction
from helpers.tasks.given import retrieval_task
from helpers.tasks.search import SearchSet

LEAST_QUERIES = 10  # the bootstrap's interval of fewer covers far less than it says

COLUMNS = ["instruction", "n_queries", *MEASURES, "score", "gain", "gain_low", "gain_high"]


def measure(
    embed: Any,
    queries: Any,
    targets: Any,
    qrels: Any,
    instructions: Sequence[str],
    paraphrases: Mapping[Any, str] | None = None,
    template: str = TEMPLATE,
    n_boot: int = 500,
    seed: int = 42,
) -> pd.DataFrame:
    """What each instruction does to the queries: one row per instruction, the plain query ("none") first.

    embed: a function `list[str] -> (n, dimension) array`, a SentenceTransformer or a loaded model. queries, targets:
    {id: text}, or texts (their ids are 0, 1, …). qrels: {query id: target id}, lists of them, or {id: relevance}.
    template: what stands before a query; `{instruction}` is replaced. paraphrases: {query id: text}, put into the pool as
    texts that are like a query and never its answer (study 2, section 4).

    Columns: instruction, n_queries, displacement, similarity_improvement, angulation, selectivity (means over queries,
    `helpers.geometry.measures`), score (nDCG@10), gain (over the plain query) with a 95 % bootstrap interval over
    queries (missing below 10); with paraphrases also recall_at_1 beside them and own_first, the share of queries whose top hit is their own
    paraphrase. Raises `StudyError` where ids do not fit together.
    """
    if "{instruction}" not in template:
        raise StudyError("measure: template must contain '{instruction}'")
    texts = _instructions(instructions)
    searched = _search_set(queries, targets, qrels, paraphrases)
    spec = GeometrySpec.model_validate({"tasks": [{"name": "given"}], "template": template, "n_distractors": 0})
    source = "given in Python" if searched.paraphrases else ""
    chosen = InstructedSet(searched, "retrieval", "question-answering", [("none", [])], source)
    per_query, pools = measure_set(_embed(embed), "given", chosen, texts, spec, seed)
    table = geometry_table(per_query, chosen, n_boot, seed=seed).rename(columns={"text": "instruction"})
    table.loc[table["instruction_id"] == "none", "instruction"] = None
    table.loc[table["n_queries"] < LEAST_QUERIES, ["gain_low", "gain_high"]] = np.nan
    out = table[["instruction_id", *[c for c in COLUMNS if c in table]]]
    if source:
        beside = distractor_table(per_query, [pool for pool in pools if pool.pool == "paraphrase"])
        beside = beside[beside["pool"] == "paraphrase"][["instruction_id", "recall_at_1", "own_first"]]
        out = out.merge(beside, on="instruction_id", how="left")
    return out.drop(columns="instruction_id")


def _instructions(given: Sequence[str]) -> list[Instruction]:
    if isinstance(given, str) or not given or not all(isinstance(text, str) for text in given):
        raise StudyError("measure: instructions: give a list of texts")
    distinct = list(dict.fromkeys(given))
    return [Instruction(id=f"i{number:03d}", text=text) for number, text in enumerate(distinct, 1)]


def _search_set(queries: Any, targets: Any, qrels: Any, paraphrases: Mapping[Any, str] | None) -> SearchSet:
    files = retrieval_task("given", targets, queries, qrels).files
    asked, searched, judged = (files[name].rows for name in ("queries", "corpus", "qrels"))
    titles = searched["title"] if "title" in searched else pd.Series("", index=searched.index)
    right: dict[str, dict[str, int]] = {}
    for query, target, relevance in judged[["query-id", "corpus-id", "score"]].itertuples(index=False):
        right.setdefault(str(query), {})[str(target)] = int(relevance)
    own = {str(query): text for query, text in (paraphrases or {}).items()}
    unknown = [query for query in own if query not in right]
    if unknown:
        raise StudyError(f"measure: paraphrases: there is no judged query '{unknown[0]}'")
    return SearchSet(
        "given", "default", "test", "English",
        {str(i): t for i, t in zip(asked["id"], asked["text"], strict=True) if str(i) in right},
        {str(i): f"{a} {t}".strip() for i, a, t in zip(searched["id"], titles, searched["text"], strict=True)},
        right, own,
    )  # fmt: skip


def _embed(model: Any) -> Embed:
    """Requests (texts, prefix, role) as vectors of unit length, by whatever was given."""
    if isinstance(model, LoadedModel):
        return embedder(model)
    encode = getattr(model, "encode", model)
    if not callable(encode):
        raise StudyError(f"measure: {type(model).__name__} gives no vectors; give a function, or a model with encode")
    return lambda requests: [
        unit(_array(encode([prefix + text for text in texts]), len(texts))) if len(texts) else np.zeros((0, 1))
        for texts, prefix, _ in requests
    ]


def _array(vectors: Any, n: int) -> np.ndarray:
    found = np.asarray(vectors, dtype=np.float32)
    if found.ndim != 2 or len(found) != n or not np.isfinite(found).all():
        raise StudyError(
            f"measure: embed returned shape {found.shape} for {n} texts; finite numbers, one row per text, are needed"
        )
    return found
