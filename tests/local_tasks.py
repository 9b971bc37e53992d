"""Small local task data, one set per task type, right as they stand: tests change one thing in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

Tables = dict[str, pd.DataFrame]

WORDS = [
    "apples grow on trees", "boats cross the sea", "cats sleep all day", "dogs guard the house",
    "eggs break on stone", "fish swim in rivers", "goats climb the hills", "horses run in fields",
]  # fmt: skip
DOCUMENTS = pd.DataFrame({"_id": [f"d{n}" for n in range(8)], "title": [None] * 8, "text": WORDS})
QUERIES = pd.DataFrame({"_id": ["q0", "q1", "q2"], "text": ["fruit of trees", "ships at sea", "sleepy pets"]})
QRELS = pd.DataFrame(
    {"query-id": ["q0", "q1", "q2", "q2"], "corpus-id": ["d0", "d1", "d2", "d3"], "score": [1, 1, 2, 1]}
)
TOP_RANKED = pd.DataFrame(
    {
        "query-id": ["q0", "q1", "q2"],
        "corpus-ids": [["d5", "d0", "d3"], ["d4", "d7"], ["d7", "d2", "d3", "d6"]],
    }
)
PAIRS = pd.DataFrame({"sentence1": WORDS, "sentence2": [*WORDS[1:], WORDS[0]]})
LABELLED = pd.DataFrame({"text": WORDS * 2, "label": [0, 1] * 8})
LISTED = LABELLED.assign(label=[[0], [1], [0, 1], [1]] * 4)


def later(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(text=table["text"] + " again")


def tables(kind: str) -> Tables:
    """The files of a task type, by their name below the task's folder, without the suffix."""
    found: dict[str, Tables] = {
        "Retrieval": {"corpus": DOCUMENTS, "queries": QUERIES, "qrels": QRELS},
        "Reranking": {
            "corpus": DOCUMENTS, "queries": QUERIES, "qrels": QRELS, "top_ranked": TOP_RANKED,
        },
        "STS": {"test": PAIRS.assign(score=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 2.5, 1.5])},
        "PairClassification": {"test": PAIRS.assign(labels=[0, 1] * 4)},
        "Classification": {"train": later(LABELLED), "test": LABELLED},
        "MultilabelClassification": {"train": later(LISTED), "test": LISTED},
        "Clustering": {"test": pd.DataFrame({"sentences": WORDS * 8, "labels": [0, 1, 2, 3] * 16})},
        "ClusteringSets": {
            "test": pd.DataFrame({"sentences": [WORDS[:4], WORDS[4:]], "labels": [[0, 0, 1, 1], [1, 0, 1, 0]]})
        },
        "BitextMining": {"deu-eng": PAIRS},
        "PairSets": {
            "test": pd.DataFrame({"sent1": [WORDS], "sent2": [[*WORDS[1:], WORDS[0]]], "labels": [[0, 1] * 4]})
        },
        "Summarization": {
            "test": pd.DataFrame(
                {
                    "text": WORDS[:2],
                    "human_summaries": [WORDS[:2], WORDS[6:]],
                    "machine_summaries": [WORDS[4:], WORDS[:4]],
                    "relevance": [[1.0, 2.0, 3.0, 5.0], [4.0, 3.0, 1.0, 2.0]],
                }
            )
        },
    }  # fmt: skip
    return {name: table.copy() for name, table in found[kind].items()}


TASKS = {
    "Retrieval": "SciFact",
    "Reranking": "AskUbuntuDupQuestions",
    "STS": "STS15",
    "PairClassification": "LegalBenchPC",
    "Classification": "TweetSentimentClassification",
    "MultilabelClassification": "KorHateSpeechMLClassification",
    "Clustering": "TwentyNewsgroupsClustering.v2",
    "ClusteringSets": "TwentyNewsgroupsClustering",
    "BitextMining": "Tatoeba",
    "PairSets": "SprintDuplicateQuestions",
    "Summarization": "SummEval",
}
SUBSETS = {"Classification": ["english"], "BitextMining": ["deu-eng"]}


def write(root: Path, task: str, files: Tables) -> None:
    for name, table in files.items():
        path = root / task / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_parquet(path, index=False)


def spec(kind: str) -> dict[str, Any]:
    return {"name": TASKS[kind]} | ({"subsets": SUBSETS[kind]} if kind in SUBSETS else {})
