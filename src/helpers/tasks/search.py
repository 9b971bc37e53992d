"""Search sets: queries, targets and judgements of a retrieval or bitext task."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from helpers.base.errors import StudyError
from helpers.tasks.load import subset_data


@dataclass
class SearchSet:
    """A retrieval or bitext mining task as one shape: what is searched with, what is searched, what is right.

    queries, targets: id -> text (targets as mteb would embed them: title and text joined); qrels: query id ->
    {target id: relevance}; paraphrases: query id -> paraphrase (an id may be missing); language: English name of the
    targets' language.
    """

    task: str
    subset: str
    split: str
    language: str
    queries: dict[str, str]
    targets: dict[str, str]
    qrels: dict[str, dict[str, int]]
    paraphrases: dict[str, str] = field(default_factory=dict)


def search_set(
    task: Any,
    subset: str | None = None,
    split: str | None = None,
    max_queries: int | None = None,
    seed: int = 42,
) -> SearchSet:
    """A loaded retrieval or bitext mining task as a `SearchSet`; `max_queries` draws that many without replacement.

    Bitext mining is searched from English into the other language, as in study 2, whichever column mteb puts first.
    """
    name, kind = task.metadata.name, task.metadata.type
    split = split or task.eval_splits[0]
    subset = subset or next(iter(task.hf_subsets))
    if kind == "BitextMining":
        found = _bitext_set(task, subset, split)
    elif isinstance(subset_data(task, subset).get(split), dict):
        found = _retrieval_set(task, subset, split)
    else:
        raise StudyError(f"task {name} is {kind}; geometry and distractors need retrieval or bitext mining")
    if max_queries is not None and max_queries < len(found.queries):
        keep = set(random.Random(seed).sample(sorted(found.queries), max_queries))
        found.queries = {q: t for q, t in found.queries.items() if q in keep}
        found.qrels = {q: r for q, r in found.qrels.items() if q in keep}
        found.paraphrases = {q: t for q, t in found.paraphrases.items() if q in keep}
    return found


def _retrieval_set(task: Any, subset: str, split: str) -> SearchSet:
    from helpers.tasks.demo import demo_paraphrases

    data = subset_data(task, subset)[split]
    columns = data["corpus"].column_names
    titles = data["corpus"]["title"][:] if "title" in columns else [""] * len(data["corpus"])
    targets = {
        str(i): f"{title or ''} {text}".strip()
        for i, title, text in zip(data["corpus"]["id"][:], titles, data["corpus"]["text"][:], strict=True)
    }
    queries = dict(zip(map(str, data["queries"]["id"][:]), data["queries"]["text"][:], strict=True))
    qrels = {q: dict(r) for q, r in data["relevant_docs"].items() if q in queries}
    paraphrases = {q: p for q, p in demo_paraphrases(task.metadata.name).items() if q in queries}
    return SearchSet(
        task.metadata.name, subset, split, _language(task, subset, 0), queries, targets, qrels, paraphrases
    )


def _bitext_set(task: Any, subset: str, split: str) -> SearchSet:
    from helpers.tasks.demo import demo_paraphrases

    rows = subset_data(task, subset)[split]
    tags = task.metadata.hf_subsets_to_langscripts.get(subset, [])
    english_first = bool(tags) and str(tags[0]).startswith("eng")
    sources, targets = ("sentence1", "sentence2") if english_first else ("sentence2", "sentence1")
    numbers = [str(n) for n in range(len(rows))]
    queries = dict(zip(numbers, rows[sources][:], strict=True))
    return SearchSet(
        task.metadata.name,
        subset,
        split,
        _language(task, subset, 1 if english_first else 0),
        queries,
        dict(zip(numbers, rows[targets][:], strict=True)),
        {n: {n: 1} for n in numbers},
        {q: p for q, p in demo_paraphrases(task.metadata.name).items() if q in queries},
    )


def _language(task: Any, subset: str, position: int) -> str:
    """English name of a subset's language at a position, from mteb's own list of languages."""
    from mteb.languages import ISO_TO_LANGUAGE

    tags = task.metadata.hf_subsets_to_langscripts.get(subset, [])
    if not tags:
        return ""
    code = str(tags[min(position, len(tags) - 1)]).split("-")[0]
    return str(ISO_TO_LANGUAGE.get(code, code)).split(" (")[0]
