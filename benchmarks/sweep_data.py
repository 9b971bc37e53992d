"""Data and stand-ins of `benchmarks/sweep.py`: texts of real tasks or drawn from the demo's, a model at no cost."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

PROMPTS = [f"{verb} the {noun} {end}" for verb in ("Find", "Describe", "Match") for noun in ("text", "passage", "topic")
           for end in ("below:", "that fits best:")]  # fmt: skip
TASKS = {
    "retrieval": "SciFact",
    "sts": "STS15",
    "pair": "TwitterSemEval2015",
    "classification": "ImdbClassification",
    "large-classification": "ImdbClassification",
    "clustering": "TwentyNewsgroupsClustering.v2",
    "bitext": "Tatoeba",
}
DIMENSION = 384


def texts(n: int, mean: int, seed: int, real: Path | None = None, sigma: float = 0.4) -> list[str]:
    """n texts of `mean` words on average; lengths are log-normal, 0.4 as in STS15 (mean 14 tokens, 95 % below 25).

    With real task data: consecutive words of SQuAD's paragraphs and SciFact's abstracts. Else words of one passage of
    the demo each, as a text keeps to its subject: characters per token differ between texts (by 11 % here, by 14 to
    26 % in real tasks; words drawn from all passages: 7 %), and stock batches are padded accordingly.
    """
    from helpers.tasks.demo import read_jsonl

    draw = random.Random(seed)
    middle = math.log(mean) - sigma**2 / 2
    lengths = [max(2, round(draw.lognormvariate(middle, sigma))) for _ in range(n)]
    if real is None:
        passages = [p["text"].split() for p in read_jsonl("passages")]
        return [" ".join(draw.choices(draw.choice(passages), k=length)) for length in lengths]
    words = [
        word
        for task in ("SQuAD", "SciFact")
        for text in pd.read_parquet(real / task / "corpus.parquet")["text"]
        for word in text.split()
    ]
    return [" ".join(words[start : start + k]) for k in lengths for start in [draw.randrange(len(words) - k)]]


def write_data(kind: str, folder: Path, share: float = 1.0, real: Path | None = None) -> dict[str, Any]:
    """Local data of one stock task, `share` of the full size; what a study says about it.

    `real`: a folder of task data, whose sentences and tweets then stand in for the drawn ones.
    """
    name = TASKS[kind]
    place = folder / name
    place.mkdir(parents=True)
    n = max(60, int(2000 * share))
    if kind == "retrieval":
        _write_retrieval(place, max(60, int(3000 * share)), max(20, int(150 * share)), real)
    elif kind in ("sts", "bitext", "pair"):
        frame = _pairs(kind, n // 2, real)
        if kind == "pair":
            frame = frame.rename(columns={"sentence1": "sent1", "sentence2": "sent2"})
            frame["labels"] = [number % 2 for number in range(len(frame))]
        else:
            frame["score"] = [random.Random(number).uniform(0, 5) for number in range(len(frame))]
        frame.to_parquet(place / ("deu-eng.parquet" if kind == "bitext" else "test.parquet"))
    elif kind in ("classification", "large-classification"):
        rows = n if kind == "classification" else max(200, int(25_000 * share))
        for split, seed in (("train", 5), ("test", 6)):
            some = _tweets(split, rows, real) if kind == "classification" and real else texts(rows, 24, seed)
            frame = pd.DataFrame({"text": some, "label": [k % 6 for k in range(len(some))]})
            frame.to_parquet(place / f"{split}.parquet")
    else:
        rows = 25 * n  # mteb embeds 4 % of them
        frame = pd.DataFrame({"sentences": texts(rows, 24, 7, real), "labels": [k % 20 for k in range(rows)]})
        frame.to_parquet(place / "test.parquet")
    return {"name": name, "subsets": ["deu-eng"] if kind == "bitext" else None}


def _pairs(kind: str, n: int, real: Path | None) -> pd.DataFrame:
    """Columns sentence1 and sentence2: drawn, or pairs of STS15 (Tatoeba for bitext mining)."""
    if real is None:
        return pd.DataFrame({"sentence1": texts(n, 16, 3), "sentence2": texts(n, 16, 4)})
    frame = pd.read_parquet(real / ("Tatoeba/deu-eng.parquet" if kind == "bitext" else "STS15/test.parquet"))
    return frame[["sentence1", "sentence2"]].sample(n, random_state=0)


def _tweets(split: str, rows: int, real: Path) -> list[str]:
    """Up to `rows` tweets: for the test split most of the training ones, for the training split the others."""
    frames = [
        pd.read_parquet(real / "TweetSentimentClassification" / f"{part}.parquet")
        for part in ("train", "validation", "test")
    ]
    every = pd.concat(frames)["text"].tolist()
    return every[:rows] if split == "test" else every[rows : 2 * rows]


def _write_retrieval(place: Path, documents: int, queries: int, real: Path | None) -> None:
    ids, asked = [f"d{k}" for k in range(documents)], [f"q{k}" for k in range(queries)]
    corpus = {"_id": ids, "title": "", "text": texts(documents, 120, 1, real)}
    pd.DataFrame(corpus).to_parquet(place / "corpus.parquet")
    pd.DataFrame({"_id": asked, "text": texts(queries, 12, 2, real)}).to_parquet(place / "queries.parquet")
    qrels = {"query-id": asked, "corpus-id": ids[:queries], "score": 1}
    pd.DataFrame(qrels).to_parquet(place / "qrels.parquet")


class Table:
    """Vectors at no cost: every string has a row of a random table, the same in the loop and in the sweep."""

    def __init__(self, rows: int = 4096) -> None:
        self.rows = np.random.default_rng(0).standard_normal((rows, DIMENSION)).astype(np.float32)

    def __call__(self, strings: list[str]) -> np.ndarray:
        return np.asarray(self.rows[np.fromiter(map(hash, strings), np.int64, len(strings)) % len(self.rows)])

    def encode(self, model: Any, strings: list[str], prefix: str = "", role: Any = None) -> np.ndarray:
        """In place of `helpers.models.embed.encode`."""
        return self([prefix + s for s in strings])


class FreeWrapper:
    """An mteb encoder around a `Table`, for the loop of `mteb.evaluate`; `prompt` stands before every text."""

    def __init__(self, table: Table, meta: Any) -> None:
        self.table, self.mteb_model_meta, self.prompt = table, meta, ""

    def encode(self, inputs: Any, **kwargs: Any) -> np.ndarray:
        return self.table([self.prompt + t for t in inputs.dataset["text"][:]])

    def similarity(self, one: Any, two: Any) -> Any:
        from sentence_transformers.util import cos_sim

        return cos_sim(one, two)

    def similarity_pairwise(self, one: Any, two: Any) -> Any:
        from sentence_transformers.util import pairwise_cos_sim

        return pairwise_cos_sim(one, two)
