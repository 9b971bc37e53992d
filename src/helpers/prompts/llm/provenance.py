"""Where each generated prompt came from, as a table."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from helpers.prompts.prompt import prompt_id

PROVENANCE = [
    "task", "level", "prompt_id", "text", "source", "generator", "model_answered", "revision", "backend", "template",
    "parameters", "seed", "attempt", "created_at", "fingerprint", "prompt_tokens", "answer_tokens", "raw_answer",
    "reasoning", "request",
]  # fmt: skip


def provenance_of(task: str, level: str, text: str, record: dict[str, Any]) -> dict[str, Any]:
    writer, answer = record["writer"], record["answer"] or {}
    parameters = {k: v for k, v in writer.items() if k not in ("model", "revision")}
    return {
        "task": task, "level": level, "prompt_id": prompt_id(text), "text": text, "source": "llm",
        "generator": writer["model"], "model_answered": answer.get("model"), "revision": writer["revision"],
        "backend": record["backend"], "template": record["template"],
        "parameters": json.dumps(parameters, sort_keys=True), "seed": record["seed"], "attempt": record["attempt"],
        "created_at": record["created_at"], "fingerprint": answer.get("fingerprint"),
        "prompt_tokens": answer.get("prompt_tokens"), "answer_tokens": answer.get("answer_tokens"),
        "raw_answer": answer.get("text"), "reasoning": answer.get("reasoning"),
        "request": json.dumps(record["request"], ensure_ascii=False, sort_keys=True),
    }  # fmt: skip


def file_provenance(table: pd.DataFrame, files: str) -> pd.DataFrame:
    """The provenance table of ready prompts: whom the file ascribes them to, and which file it was."""
    rows = table.reindex(columns=PROVENANCE).astype(object)
    rows["backend"] = "file"
    rows["parameters"] = json.dumps({"files": files})
    return rows.where(rows.notna(), None)
