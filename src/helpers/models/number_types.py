"""Number types: how far another number type, attention, compiler or backend moves a model's scores.

The demo's questions, passages and sentence pairs are embedded by the model as the study has it and by the same weights
in float32 with torch; the differences of vectors and of two scores are recorded in the run (`precision/<model>.json`),
so that a reader can set them against the effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from helpers.base.files import read_json, write_json
from helpers.base.paths import below, safe_name
from helpers.base.ranking import metrics
from helpers.models.load import LoadedModel, load_model
from helpers.study.spec import ModelSpec, Study

COLUMNS = {
    "model": "string",
    "dtype": "string",
    "attention": "string",
    "compile": "boolean",
    "backend": "string",
    "texts": "Int64",
    "min_cosine": "float64",
    "max_similarity_difference": "float64",
    "ndcg_difference": "float64",
    "spearman_difference": "float64",
}

N_QUESTIONS = 64


@dataclass(frozen=True)
class ProbeTexts:
    """Texts of the demo, the same for every model: questions with the position of their passage, and graded pairs."""

    questions: list[str]
    passages: list[str]
    answers: np.ndarray
    pairs: tuple[list[str], list[str]]
    gold: np.ndarray

    @property
    def all(self) -> list[str]:
        return [*self.questions, *self.passages, *self.pairs[0], *self.pairs[1]]


def probe_texts() -> ProbeTexts:
    """The first `N_QUESTIONS` questions, all passages and all sentence pairs of the demo."""
    from helpers.tasks.demo import read_jsonl

    questions, passages, pairs = (read_jsonl("questions")[:N_QUESTIONS], read_jsonl("passages"), read_jsonl("sts"))
    place = {p["id"]: n for n, p in enumerate(passages)}
    return ProbeTexts(
        [q["question"] for q in questions],
        [f"{p['title']} {p['text']}".strip() for p in passages],
        np.array([place[q["passage_id"]] for q in questions]),
        ([p["sentence1"] for p in pairs], [p["sentence2"] for p in pairs]),
        np.array([p["score"] for p in pairs]),
    )


def compare(model: LoadedModel, reference: LoadedModel) -> dict[str, Any]:
    """Differences between a model and its reference on the probe texts, all embedded without a prompt.

    Smallest cosine between the two vectors of a text; largest difference of the cosine similarity of two texts;
    differences (model less reference) of nDCG@10 of the questions and of Spearman's correlation of the pairs.
    """
    texts = probe_texts()
    own, other = (m.embed(texts.all).astype(np.float64) for m in (model, reference))
    scores = [probe_scores(vectors, texts) for vectors in (own, other)]
    return {
        "texts": len(texts.all),
        "min_cosine": float((own * other).sum(axis=1).min()),
        "max_similarity_difference": float(np.abs(own @ own.T - other @ other.T).max()),
        "ndcg_difference": scores[0][0] - scores[1][0],
        "spearman_difference": scores[0][1] - scores[1][1],
    }


def probe_scores(vectors: np.ndarray, texts: ProbeTexts) -> tuple[float, float]:
    """nDCG@10 of the questions among the passages (one relevant each), and Spearman's correlation of the pairs.

    `vectors`: (n, dimension) unit rows in the order of `ProbeTexts.all`.
    """
    n, m = len(texts.questions), len(texts.passages)
    similar = vectors[:n] @ vectors[n : n + m].T
    right = similar[np.arange(n), texts.answers]
    ranks = 1.0 + (similar > right[:, None]).sum(axis=1, keepdims=True)
    ndcg = metrics(ranks, np.ones_like(ranks))["ndcg_at_10"].mean()
    one, two = np.split(vectors[n + m :], 2)
    return float(ndcg), float(spearmanr((one * two).sum(axis=1), texts.gold).statistic)


def record(model: LoadedModel, folder: Path) -> None:
    """Compare a model that does not compute in plain float32 with its reference, once per run and identity."""
    spec = model.spec
    path = record_path(folder, spec)
    if not spec.moves_scores or (read_json(path) or {}).get("key") == model.key:
        return
    reference = load_model(spec.reference(), folder, device=str(model.st.device))
    settings = {"dtype": spec.dtype, "compile": spec.compile, "backend": spec.backend}
    settings["attention"] = model.identity["attention"]
    write_json(path, {"key": model.key, "model": spec.label, **settings, **compare(model, reference)})


def number_type_table(study: Study, folder: Path) -> pd.DataFrame:
    """The recorded comparisons of the study's models; no rows where all compute in float32 with torch."""
    found = [read_json(record_path(folder, spec)) for spec in study.models if spec.moves_scores]
    rows = [{k: r.get(k) for k in COLUMNS} for r in found if r is not None]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def record_path(folder: Path, spec: ModelSpec) -> Path:
    return below(folder / "precision", f"{safe_name(spec.label)}.json")
