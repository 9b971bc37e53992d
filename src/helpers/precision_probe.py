"""Precision probe: how far another number type, attention, compiler or backend moves a model's similarities.

A fixed set of texts is embedded by the model as the study has it and by the same weights in float32 with torch; the
differences are recorded in the run (`precision/<model>.json`), so that a reader can set them against the effects.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.models import LoadedModel, load_model
from helpers.run import write_json
from helpers.study import ModelSpec, Study

COLUMNS = {
    "model": "string",
    "dtype": "string",
    "attention": "string",
    "compile": "boolean",
    "backend": "string",
    "texts": "Int64",
    "min_cosine": "float64",
    "max_similarity_difference": "float64",
}


def probe_texts() -> list[str]:
    """64 passages and 64 sentences of the demo: long and short texts, the same for every model."""
    from helpers.demo import read_jsonl

    passages = [f"{p['title']} {p['text']}".strip() for p in read_jsonl("passages")[:64]]
    return [*passages, *(s["sentence1"] for s in read_jsonl("sts")[:64])]


def compare(model: LoadedModel, reference: LoadedModel) -> dict[str, Any]:
    """Smallest cosine between the two vectors of a text, and the largest difference of a pair's cosine similarity."""
    texts = probe_texts()
    own, other = (m.embed(texts).astype(np.float64) for m in (model, reference))
    return {
        "texts": len(texts),
        "min_cosine": float((own * other).sum(axis=1).min()),
        "max_similarity_difference": float(np.abs(own @ own.T - other @ other.T).max()),
    }


def record(model: LoadedModel, folder: Path) -> None:
    """Compare a model that does not compute in plain float32 with its reference, once per run and identity."""
    spec = model.spec
    path = record_path(folder, spec)
    if not spec.moves_scores or (_read(path) or {}).get("key") == model.key:
        return
    reference = load_model(spec.reference(), folder, device=str(model.st.device))
    settings = {"dtype": spec.dtype, "compile": spec.compile, "backend": spec.backend}
    settings["attention"] = model.identity["attention"]
    write_json(path, {"key": model.key, "model": spec.label, **settings, **compare(model, reference)})


def precision_table(study: Study, folder: Path) -> pd.DataFrame:
    """The recorded comparisons of the study's models; no rows where all compute in float32 with torch."""
    found = [_read(record_path(folder, spec)) for spec in study.models if spec.moves_scores]
    rows = [{k: r.get(k) for k in COLUMNS} for r in found if r is not None]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def record_path(folder: Path, spec: ModelSpec) -> Path:
    from helpers.sweep import safe_name

    return folder / "precision" / f"{safe_name(spec.label)}.json"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
