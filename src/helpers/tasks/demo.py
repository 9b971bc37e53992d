"""The demo's five tasks: small texts written for this suite (data/demo, CC0) as proper mteb tasks.

They exist so that the whole suite runs on real models without any network. Small by design, not a benchmark.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTaskBitextMining, AbsTaskClassification, AbsTaskClustering, AbsTaskRetrieval
from mteb.abstasks.sts import AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata

from helpers.base.errors import StudyError
from helpers.base.files import project_root

BITEXT_LANGUAGES = {"deu": ("de", "deu-Latn"), "fra": ("fr", "fra-Latn"), "fin": ("fi", "fin-Latn")}


def demo_folder() -> Path:
    return project_root() / "data" / "demo"


@cache
def read_jsonl(name: str) -> list[dict[str, Any]]:
    """The rows of `data/demo/<name>.jsonl`."""
    path = demo_folder() / f"{name}.jsonl"
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    except (OSError, json.JSONDecodeError) as error:
        raise StudyError(f"data/demo/{name}.jsonl: not readable ({error}); restore it with git checkout") from error


def _metadata(name: str, files: list[str], **keys: Any) -> TaskMetadata:
    content = hashlib.sha256()
    for file in files:
        content.update((demo_folder() / f"{file}.jsonl").read_bytes())
    settings: dict[str, Any] = {
        "name": name,
        "dataset": {"path": "data/demo", "revision": content.hexdigest()[:40]},
        "reference": None,
        "category": "t2t",
        "modalities": ["text"],
        "eval_splits": ["test"],
        "eval_langs": ["eng-Latn"],
        "date": ("2026-11-01", "2026-11-30"),
        "domains": ["Written"],
        "license": "cc0-1.0",
        "annotations_creators": "LM-generated",
        "sample_creation": "created",
        "dialect": [],
        "task_subtypes": [],
        "bibtex_citation": "",
    }
    return TaskMetadata(**(settings | keys))


class DemoRetrieval(AbsTaskRetrieval):
    metadata = _metadata(
        "DemoRetrieval",
        ["questions", "passages"],
        description="Questions and the short passages that answer them, with near misses among the passages.",
        type="Retrieval",
        main_score="ndcg_at_10",
    )

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        if self.data_loaded:
            return
        corpus = Dataset.from_list(
            [{"id": p["id"], "title": p["title"], "text": p["text"]} for p in read_jsonl("passages")]
        )
        self.dataset = {"default": {}}
        for split in ("train", "test"):
            questions = [q for q in read_jsonl("questions") if q["split"] == split]
            self.dataset["default"][split] = {
                "corpus": corpus,
                "queries": Dataset.from_list([{"id": q["id"], "text": q["question"]} for q in questions]),
                "relevant_docs": {q["id"]: {q["passage_id"]: 1} for q in questions},
                "top_ranked": None,
            }
        self.data_loaded = True


class DemoTopicClassification(AbsTaskClassification):
    metadata = _metadata(
        "DemoTopicClassification",
        ["topics"],
        description="Short texts of six everyday topics: cooking, finance, health, sport, technology, travel.",
        type="Classification",
        category="t2c",
        main_score="accuracy",
    )

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        if self.data_loaded:
            return
        labels = {topic: number for number, topic in enumerate(sorted({t["topic"] for t in read_jsonl("topics")}))}
        self.dataset = DatasetDict(
            {
                split: Dataset.from_list(
                    [
                        {"text": t["text"], "label": labels[t["topic"]]}
                        for t in read_jsonl("topics")
                        if t["split"] == split
                    ]
                )
                for split in ("train", "test")
            }
        )
        self.data_loaded = True


class DemoTopicClustering(AbsTaskClustering):
    max_fraction_of_documents_to_embed = None
    max_document_to_embed = 132  # half of the texts, drawn by mteb with its seed: every prompt embeds them anew
    max_documents_per_cluster = 132  # of each of mteb's ten bootstraps; its 16,384 would repeat these texts 124 times
    metadata = _metadata(
        "DemoTopicClustering",
        ["topics"],
        description="The same short texts of six everyday topics, to be grouped without labels.",
        type="Clustering",
        category="t2c",
        main_score="v_measure",
    )

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        if self.data_loaded:
            return
        rows = [{"sentences": t["text"], "labels": t["topic"]} for t in read_jsonl("topics")]
        self.dataset = DatasetDict({"test": Dataset.from_list(rows)})
        self.data_loaded = True


class DemoSTS(AbsTaskSTS):
    min_score = 0
    max_score = 5
    metadata = _metadata(
        "DemoSTS",
        ["sts"],
        description="Pairs of everyday sentences graded from 0 (unrelated) to 5 (same meaning).",
        type="STS",
        main_score="cosine_spearman",
    )

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        if self.data_loaded:
            return
        rows = [{k: r[k] for k in ("sentence1", "sentence2", "score")} for r in read_jsonl("sts")]
        self.dataset = DatasetDict({"test": Dataset.from_list(rows)})
        self.data_loaded = True


class DemoBitextMining(AbsTaskBitextMining):
    metadata = _metadata(
        "DemoBitextMining",
        ["bitext"],
        description="Everyday English sentences and their translations into German, French and Finnish.",
        type="BitextMining",
        main_score="f1",
        eval_langs={f"eng-{code}": ["eng-Latn", tag] for code, (_, tag) in BITEXT_LANGUAGES.items()},
    )

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        if self.data_loaded:
            return
        self.dataset = {}
        for code, (key, _) in BITEXT_LANGUAGES.items():
            if f"eng-{code}" in self.hf_subsets:
                rows = [{"sentence1": r["en"], "sentence2": r[key]} for r in read_jsonl("bitext")]
                self.dataset[f"eng-{code}"] = DatasetDict({"test": Dataset.from_list(rows)})
        self.data_loaded = True


DEMO_TASKS = {
    task.metadata.name: task
    for task in (DemoRetrieval, DemoTopicClassification, DemoTopicClustering, DemoSTS, DemoBitextMining)
}


def demo_paraphrases(task_name: str) -> dict[str, str]:
    """Paraphrases of a demo task's queries by query id: of the questions, and of the English sentences."""
    if task_name == "DemoRetrieval":
        return {q["id"]: q["paraphrase"] for q in read_jsonl("questions")}
    if task_name == "DemoBitextMining":
        return {str(number): r["en_paraphrase"] for number, r in enumerate(read_jsonl("bitext"))}
    return {}
