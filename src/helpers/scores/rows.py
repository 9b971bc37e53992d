"""One result file of mteb as rows: which prompt was used, how it was applied, and every record's score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from helpers.prompts.prompt import prompt_id
from helpers.tasks.kinds import SIDED_TYPES

# What of `experiment_kwargs` describes the prompt; anything else makes the run a variant of its model.
PROMPT_KEYS = {"prompts", "prompt_id", "prompt_sha256", "application", "separator", "text_id"}

TEMPLATE_LOADERS = ("instruct",)  # names of mteb loaders that wrap a prompt in the model's template

Listed = Mapping[tuple[str, str], tuple[str, str]]  # (task, text) -> (levels, generators)


def not_a_result(data: Any) -> str | None:
    """Why a JSON value is not a task result of mteb 1.11 or newer; None where it is one."""
    if not isinstance(data, dict):
        return f"not a task result: a {type(data).__name__}"
    if "mteb_dataset_name" in data:
        return "a result of mteb before 1.11; load and save it once with mteb to convert it"
    scores = data.get("scores")
    if not isinstance(data.get("task_name"), str) or not isinstance(scores, dict):
        return "not a task result: task_name or scores is missing"
    if not scores or not any(scores.values()):
        return "a task result without any score"
    for split, records in scores.items():
        if not isinstance(records, list) or not all(isinstance(r, dict) for r in records):
            return f"scores of split '{str(split)[:40]}' are not a list of records"
    return None


def result_rows(
    path: PurePosixPath, result: Mapping[str, Any], meta: Mapping[str, Any], listed: Listed
) -> list[dict[str, Any]] | str:
    """One row per record of a result file, or the reason why it cannot be used.

    path: `results/<org>__<model>/<revision>/[experiments/<name>/]<Task>.json`; meta: the `model_meta.json` beside it;
    listed: where the prompts of the prompt files come from. The row's `default_prefix` of a default still holds the
    metadata, because the task's type is not known here.
    """
    folder, revision = path.parts[1], path.parts[2]
    task = result["task_name"]
    experiment = path.parts[4] if len(path.parts) == 6 else None
    name = meta.get("name") if isinstance(meta.get("name"), str) else folder.replace("__", "/", 1)
    kwargs = meta.get("experiment_kwargs") or {}
    if (experiment and not isinstance(kwargs, dict)) or (experiment and not kwargs):
        return "an experiment whose model_meta.json is missing or says nothing; its prompt is unknown"
    prompt = prompt_of(kwargs, task) if experiment else None
    if experiment and "prompts" in kwargs and prompt is None:
        return f"its prompts name other tasks than {task}"
    kind = "default" if prompt is None else "prompt" if prompt else "none"
    variant = ", ".join(f"{k}={kwargs[k]}" for k in sorted(kwargs) if k not in PROMPT_KEYS) if experiment else ""
    level, generator = listed.get((task, prompt or ""), (None, None))
    rows = []
    records = [(split, record) for split, many in result["scores"].items() for record in many]
    for number, (split, record) in enumerate(records):
        value = record.get("main_score")
        usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        rows.append({
            "model": str(name).rsplit("/", 1)[-1] + (f" ({variant})" if variant else ""),
            "model_name": name, "revision": revision, "task": task,
            "split": split, "subset": str(record.get("hf_subset", "default")),
            "languages": "|".join(map(str, record.get("languages") or [])),
            "prompt_id": prompt_id(prompt) if prompt else kind, "kind": kind,
            "prompt": prompt if kind == "prompt" else None, "level": level,
            "source": None if kind != "prompt" or not listed else "llm" if generator else "unlisted",
            "generator": generator,
            "application": _application(kind, kwargs, meta), "separator": kwargs.get("separator"),
            "include_prompt": kwargs.get("include_prompt"), "seed": None,
            "metric": metric_of(record), "main_score": float(value) if usable else float("nan"),
            "mteb_version": record.get("mteb_version") or result.get("mteb_version"),
            "dataset_revision": result.get("dataset_revision"), "data_fingerprint": None, "dtype": kwargs.get("dtype"),
            "max_length": (meta.get("loader_kwargs") or {}).get("max_seq_length") or meta.get("max_tokens"),
            "seconds": result.get("evaluation_time"), "experiment": experiment,
            "status": "ok" if usable else "failed", "reason": None if usable else "main_score is not a finite number",
            "record": number, "default_prefix": meta if kind == "default" else None,
        })  # fmt: skip
    return rows


def prompt_of(kwargs: Mapping[str, Any], task: str) -> str | None:
    """The prompt that an experiment gave a task: keys as mteb resolves them, most particular first; None without one."""
    prompts = kwargs.get("prompts")
    if isinstance(prompts, str):
        return prompts
    if isinstance(prompts, dict):
        for key in (f"{task}-query", task, "query"):
            if isinstance(prompts.get(key), str):
                return str(prompts[key])
    return None


def _application(kind: str, kwargs: Mapping[str, Any], meta: Mapping[str, Any]) -> str | None:
    if kind in ("none", "default"):
        return kind
    if isinstance(kwargs.get("application"), str):
        return str(kwargs["application"])
    loader = meta.get("loader")
    if not isinstance(loader, str):
        return None
    return "template" if any(word in loader.lower() for word in TEMPLATE_LOADERS) else "raw"


def default_prefix(meta: Mapping[str, Any], task: str, task_type: str | None) -> str | None:
    """What a model's default puts before a text of a task: "template", "raw" or "nothing"; None where unknown.

    Inferred from the metadata beside the result. An instruction loader always uses its template. mteb's plain wrapper
    looks for a prompt named `<Task>-query`, `<Task>`, `<Type>-query`, `<Type>` or `query`, those for queries only where
    the task tells queries from documents, and otherwise puts nothing there.
    """
    loader, kwargs = meta.get("loader"), meta.get("loader_kwargs")
    if not isinstance(loader, str):
        return None
    if any(word in loader.lower() for word in TEMPLATE_LOADERS):
        return "template"
    if loader != "SentenceTransformerEncoderWrapper" or task_type is None:
        return None
    named = (kwargs or {}).get("model_prompts") or {}
    sided = task_type in SIDED_TYPES
    keys = [f"{task}-query", task, f"{task_type}-query", task_type, "query"] if sided else [task, task_type]
    return "raw" if any(named.get(k) for k in keys) else "nothing"


def metric_of(record: Mapping[str, Any]) -> str | None:
    """The key whose value is the main score, for tasks that mteb does not know; ambiguous or none: None."""
    same = [
        k for k, v in record.items() if k != "main_score" and isinstance(v, float) and v == record.get("main_score")
    ]
    return same[0] if len(same) == 1 else None
