"""What is known of a task when a prompt for it is written or checked: its kind, its data set, its languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict

from helpers.base.names import language_name
from helpers.study.spec import Study, TaskSpec

# mteb's task types in the words of study 1; every other type in its own words.
KIND_WORDS = {
    "STS": "semantic similarity of sentences",
    "BitextMining": "bitext mining (finding the translation of a sentence)",
    "PairClassification": "pair classification",
    "MultilabelClassification": "multi-label classification",
    "InstructionRetrieval": "retrieval with instructions",
}

# Endings of task names that say how mteb runs a data set, not which one it is.
_ENDINGS = (
    "Classification", "Clustering", "Retrieval", "Reranking", "HardNegatives", "BitextMining", "P2P", "S2S", "STS",
    "Fast", "Lite", "Multilingual", "Mining", "Topic", "TopicClassification",
)  # fmt: skip


class TaskContext(BaseModel):
    """The parts of a task's metadata that a level of context may give."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    type: str
    kind: str
    description: str = ""
    languages: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

    def given(self, level: str) -> dict[str, str]:
        """What a level gives: the task; from the second level the description; at the third the languages."""
        parts = {"Task": self.kind}
        if "dataset" in level:
            parts["Data set"] = self.description
        if "language" in level:
            parts["Language"] = ", ".join(self.languages)
        return parts


def context_of(spec: TaskSpec) -> TaskContext:
    """The context of a task from mteb's metadata, restricted to the subsets of the spec."""
    from helpers.tasks.load import task_class

    metadata = task_class(spec).metadata
    by_subset = metadata.hf_subsets_to_langscripts
    subsets = spec.subsets or list(by_subset)
    codes = dict.fromkeys(str(tag).split("-")[0] for s in subsets for tag in by_subset.get(s, []))
    kind = KIND_WORDS.get(metadata.type) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", metadata.type).lower()
    return TaskContext(
        task=spec.name,
        type=metadata.type,
        kind=kind,
        description=" ".join((metadata.description or "").split()),
        languages=tuple(language_name(code) for code in codes),
        codes=tuple(codes),
    )


def contexts_of(study: Study) -> dict[str, TaskContext]:
    """Task name -> context, for the tasks of a study."""
    return {spec.name: context_of(spec) for spec in study.tasks}


def data_set_names(task: str) -> tuple[str, ...]:
    """Names under which a prompt may mention a task's data set, longest first.

    >>> data_set_names("TweetSentimentClassification")
    ('TweetSentimentClassification', 'Tweet Sentiment', 'TweetSentiment')
    """
    base = re.sub(r"\.v\d+$", "", task)
    names = [task, base]
    while True:
        ending = next((e for e in _ENDINGS if base.endswith(e) and len(base) > len(e)), None)
        if ending is None:
            break
        base = base.removesuffix(ending)
        names.append(base)
    names.append(re.sub(r"\d+$", "", base) if len(re.sub(r"\d+$", "", base)) > 4 else base)
    names += [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", base)]
    names = [n for n in names if len(n) >= 4]
    return tuple(sorted(dict.fromkeys(names), key=lambda n: (-len(n), n)))


def task_texts(task: Any, limit: int = 200_000) -> list[str]:
    """The distinct texts of a loaded mteb task, at most `limit`, in the order of its data."""
    found: dict[str, None] = {}
    for text in _strings(task.dataset):
        found.setdefault(text)
        if len(found) >= limit:
            break
    return list(found)


def _strings(data: Any) -> Iterator[str]:
    """Strings of nested mappings of data sets; ids and judgements are not texts."""
    if hasattr(data, "column_names") and not isinstance(data.column_names, dict):
        for column in data.column_names:
            if column not in ("id", "_id", "labels", "label", "label_text", "lang"):
                yield from _flat(data[column])
    elif isinstance(data, dict):
        for name, part in data.items():
            if name not in ("relevant_docs", "top_ranked"):
                yield from _strings(part)


def _flat(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _flat(value)
