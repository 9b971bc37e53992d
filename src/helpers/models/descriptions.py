"""What a model's own files say it is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from helpers.base.errors import StudyError

DESCRIPTIONS = ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json", "config.json")

OTHER_KINDS = {
    "sparse_encoder": "SparseEncoder",
    "cross_encoder": "CrossEncoder",
    "multi_vector_encoder": "MultiVectorEncoder",
}

Descriptions = dict[str, Any]


def read_descriptions(folder: Path) -> Descriptions:
    """The files that say what a model is, by name: parsed JSON, None where a file is absent."""
    return {name: _json(folder / name) for name in DESCRIPTIONS}


def fetch_descriptions(name: str, revision: str | None) -> Descriptions:
    """The same files of a model of the Hub, from the Hugging Face cache or downloaded into it."""
    from sentence_transformers.util import load_file_path

    where: dict[str, Any] = {"revision": revision, "cache_folder": os.environ.get("SENTENCE_TRANSFORMERS_HOME")}
    descriptions = {file: load_file_path(name, file, **where) for file in DESCRIPTIONS}
    return {file: _json(Path(path)) if path else None for file, path in descriptions.items()}


def _json(path: Path) -> Any:
    """A mapping, of `modules.json` a list of mappings; None where the file is absent."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StudyError(f"{path.parent.name}/{path.name}: not readable as JSON ({error})") from error
    rows = content if path.name == "modules.json" and isinstance(content, list) else [content]
    if not all(isinstance(row, dict) for row in rows) or (path.name == "modules.json" and rows is not content):
        raise StudyError(f"{path.parent.name}/{path.name}: not what sentence-transformers writes there")
    return content


def needs_own_architecture(config: dict[str, Any]) -> bool:
    """Whether a transformer's code comes with it; where the library knows the architecture too, it takes its own."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    return "auto_map" in config and config.get("model_type") not in CONFIG_MAPPING_NAMES


def kind_of(descriptions: Descriptions) -> str:
    """SentenceTransformer, SparseEncoder, CrossEncoder or MultiVectorEncoder, as sentence-transformers would read it.

    Without a word in `config_sentence_transformers.json` the modules decide, and without modules the transformer's
    architecture: a head that classifies belongs to a cross-encoder.
    """
    said = (descriptions["config_sentence_transformers.json"] or {}).get("model_type")
    if said:
        return "MultiVectorEncoder" if said == "ColBERT" else str(said)
    for module in descriptions["modules.json"] or []:
        parts = str(module.get("type", "")).split(".")
        if len(parts) > 1 and parts[1] in OTHER_KINDS:
            return OTHER_KINDS[parts[1]]
    heads = (descriptions["config.json"] or {}).get("architectures") or []
    if not descriptions["modules.json"] and any(str(h).endswith("ForSequenceClassification") for h in heads):
        return "CrossEncoder"
    return "SentenceTransformer"
