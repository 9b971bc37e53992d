"""Search sets: queries, targets and judgements of a retrieval or bitext task."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

from helpers.base.errors import StudyError
from helpers.base.names import language_name
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

    def sample(self, n: int | None, seed: int = 42) -> SearchSet:
        """The set with at most `n` queries (None: all), drawn without replacement; targets stay as they are.

        >>> whole = SearchSet("t", "default", "test", "English", {"a": "A", "b": "B"}, {"1": "x"}, {"a": {"1": 1}})
        >>> len(whole.sample(1).queries), len(whole.sample(1).targets), whole.sample(5) is whole
        (1, 1, True)
        """
        if n is None or n >= len(self.queries):
            return self
        chosen = set(random.Random(seed).sample(sorted(self.queries), n))

        def of_chosen(by_query: dict[str, Any]) -> dict[str, Any]:
            return {query: value for query, value in by_query.items() if query in chosen}

        return replace(
            self, queries=of_chosen(self.queries), qrels=of_chosen(self.qrels), paraphrases=of_chosen(self.paraphrases)
        )


def search_set(task: Any, subset: str | None = None, split: str | None = None) -> SearchSet:
    """A loaded retrieval or bitext mining task as a `SearchSet`; by default its first subset and scored split.

    Bitext mining is searched from English into the other language, as in study 2, whichever column mteb puts first.
    """
    name, kind = task.metadata.name, task.metadata.type
    split = split or task.eval_splits[0]
    subset = subset or next(iter(task.hf_subsets))
    if kind == "BitextMining":
        return _bitext_set(task, subset, split)
    if isinstance(subset_data(task, subset).get(split), dict):
        return _retrieval_set(task, subset, split)
    raise StudyError(f"task {name} is {kind}; geometry and distractors need retrieval or bitext mining")


def document_texts(corpus: Any) -> list[str]:
    """The texts of a corpus (columns title and text) as mteb embeds them: title and text joined, stripped."""
    titles = corpus["title"][:] if "title" in corpus.column_names else [""] * len(corpus)
    return [f"{title or ''} {text}".strip() for title, text in zip(titles, corpus["text"][:], strict=True)]


def _retrieval_set(task: Any, subset: str, split: str) -> SearchSet:
    from helpers.tasks.demo import demo_paraphrases

    data = subset_data(task, subset)[split]
    targets = dict(zip(map(str, data["corpus"]["id"][:]), document_texts(data["corpus"]), strict=True))
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
    """English name of a subset's language at a position."""
    tags = task.metadata.hf_subsets_to_langscripts.get(subset, [])
    return language_name(str(tags[min(position, len(tags) - 1)]).split("-")[0]) if tags else ""
