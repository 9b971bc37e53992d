"""Published results as our scores table: any result cache of mteb, with the prompts of its experiments.

Layout that is read (`results` may lie at any depth): `results/<org>__<model>/<revision>/<Task>.json` is a default run,
`.../experiments/<name>/<Task>.json` one experiment, whose prompt stands in the `model_meta.json` beside it.
What cannot be used is never guessed at: it is named in the table of problems, counted, and left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from helpers.prompts import prompt_id
from helpers.result_files import inner_path, json_files

SCORE_COLUMNS = [
    "model", "model_name", "revision", "task", "task_type", "split", "subset", "languages", "prompt_id", "kind",
    "prompt", "level", "source", "generator", "application", "separator", "include_prompt", "seed", "metric",
    "main_score", "mteb_version", "dataset_revision", "data_fingerprint", "dtype", "max_length", "seconds",
    "experiment", "status", "reason", "record", "default_prefix",
]  # fmt: skip
PROBLEM_COLUMNS = ["file", "kind", "reason"]
PROMPT_COLUMNS = ["task", "text", "level", "generator", "file"]
# What of `experiment_kwargs` describes the prompt; anything else makes the run a variant of its model.
PROMPT_KEYS = {"prompts", "prompt_id", "prompt_sha256", "application", "separator"}
SIDED_TYPES = ("Retrieval", "Reranking", "InstructionRetrieval", "InstructionReranking")
TEMPLATE_LOADERS = ("instruct",)  # names of mteb loaders that wrap a prompt in the model's template


@dataclass
class Published:
    """What a result cache holds: scores (one row per record), prompts of its prompt files, problems (skipped files)."""

    scores: pd.DataFrame
    prompts: pd.DataFrame
    problems: pd.DataFrame
    files: int = 0
    origin: str = ""


@dataclass
class _Tally:
    results: list[tuple[PurePosixPath, dict[str, Any]]] = field(default_factory=list)
    metas: dict[PurePosixPath, dict[str, Any]] = field(default_factory=dict)
    prompts: list[dict[str, Any]] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)
    files: int = 0


def read_results(source: Path) -> Published:
    """Read a result cache from a folder or a tar archive. See the module text for the layout.

    Every record of every file becomes a row; `record` is its place in the file (0 = first). Kinds: "default" (no
    experiment), "prompt", "none" (an experiment whose prompt is empty). `level` and `generator` come from prompt
    files of the same source (`prompts/<generator>-gen-prompts.json`), joined with `|` where several have the text;
    `source` is "llm" for these, "unlisted" for a prompt in no file, and null where there are no prompt files.
    `application` is "template" or "raw", inferred from the model's loader in its metadata.
    """
    tally = _Tally()
    for path, content in json_files(source):
        tally.files += 1
        _sort_in(tally, path, content)
    prompts = pd.DataFrame(tally.prompts, columns=PROMPT_COLUMNS)
    listed = _listed(prompts)
    rows: list[dict[str, Any]] = []
    for path, result in tally.results:
        rows += _rows(path, result, tally, listed)
    facts = task_facts(sorted({r["task"] for r in rows}))
    for row in rows:
        row["task_type"], metric = facts.get(row["task"], (None, None))
        row["metric"] = metric or row["metric"]
        if row["kind"] == "default":
            row["default_prefix"] = default_prefix(row["default_prefix"], row["task"], row["task_type"])
    scores = pd.DataFrame(rows, columns=SCORE_COLUMNS)
    keys = ["model", "task", "kind", "prompt_id", "revision", "record"]
    scores = scores.sort_values(keys, kind="stable", ignore_index=True)
    problems = pd.DataFrame(tally.problems, columns=PROBLEM_COLUMNS).sort_values("file", ignore_index=True)
    return Published(scores, prompts, problems, tally.files, source.name)


def task_facts(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Task type and main metric of the tasks that the installed mteb knows; others are left out."""
    names = list(names)
    if not names:
        return {}
    import mteb

    facts = {}
    for name in names:
        try:
            metadata = mteb.get_task(name).metadata
        except (KeyError, ValueError):
            continue
        facts[name] = (str(metadata.type), str(metadata.main_score))
    return facts


def prompt_statistics(prompts: pd.DataFrame) -> pd.DataFrame:
    """Words per prompt (split at white space, repeats kept): one row per generator and one for all of them.

    Columns generator, prompts, distinct, tasks, words_mean, words_sd (ddof 0).
    """
    rows = []
    groups: list[tuple[str, pd.DataFrame]] = [("all", prompts)]
    groups += [(str(k), g) for k, g in prompts.groupby("generator", sort=True)]
    for name, part in groups:
        words = part["text"].str.split().str.len()
        rows.append({"generator": name, "prompts": len(part), "distinct": part.drop_duplicates(["task", "text"]).shape[0],
                     "tasks": part["task"].nunique(), "words_mean": words.mean(), "words_sd": words.std(ddof=0)})  # fmt: skip
    return pd.DataFrame(rows)


def _sort_in(tally: _Tally, path: PurePosixPath, content: bytes | str) -> None:
    """Decide by its place and shape what a file is; everything else becomes a problem."""
    inner = inner_path(path)
    if isinstance(content, str):
        tally.problems.append({"file": str(path), "kind": "unreadable", "reason": content})
        return
    try:
        data = json.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        where = "empty" if not content.strip() else f"cut off or corrupt: {str(error)[:100]}"
        tally.problems.append(
            {"file": str(inner or path), "kind": "corrupt", "reason": f"not JSON ({where})"}
        )
        return
    if inner is None:
        tally.problems.append(
            {"file": str(path), "kind": "foreign", "reason": "lies outside results/<org>__<model>/"}
        )
    elif inner.parts[0] == "prompts":
        _take_prompts(tally, inner, data)
    elif inner.name == "model_meta.json":
        if isinstance(data, dict):
            tally.metas[inner.parent] = data
        else:
            tally.problems.append({"file": str(inner), "kind": "foreign", "reason": "not a model's metadata"})
    elif not (len(inner.parts) == 4 or (len(inner.parts) == 6 and inner.parts[3] == "experiments")):
        tally.problems.append(
            {"file": str(inner), "kind": "foreign", "reason": "not at a place where results lie"}
        )
    else:
        reason = not_a_result(data)
        if reason:
            tally.problems.append({"file": str(inner), "kind": "foreign", "reason": reason})
        else:
            tally.results.append((inner, data))


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


def _take_prompts(tally: _Tally, path: PurePosixPath, data: Any) -> None:
    """Prompts of a generator's file; the merged and report files of the revised version are known and not needed."""
    if path.name.startswith("deduplicated_"):
        return
    good = isinstance(data, list) and all(
        isinstance(d, dict) and isinstance(d.get("generated_prompt"), str) for d in data
    )
    if not good:
        tally.problems.append(
            {"file": str(path), "kind": "foreign", "reason": "not a list of generated prompts"}
        )
        return
    generator = path.stem.removesuffix("-gen-prompts")
    for entry in data:
        parts = ["task"] + [
            n for n, k in (("dataset", "dataset_description"), ("language", "language")) if entry.get(k)
        ]
        tally.prompts.append({"task": str(entry.get("task")), "text": entry["generated_prompt"], "level": "+".join(parts),
                              "generator": generator, "file": path.name})  # fmt: skip


def _listed(prompts: pd.DataFrame) -> dict[tuple[str, str], tuple[str, str]]:
    """(task, text) -> (levels, generators), several joined with `|` in the order of their appearance."""
    joined: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for row in prompts.itertuples(index=False):
        levels, generators = joined.setdefault((str(row.task), str(row.text)), ([], []))
        if row.level not in levels:
            levels.append(str(row.level))
        if row.generator not in generators:
            generators.append(str(row.generator))
    return {key: ("|".join(a), "|".join(b)) for key, (a, b) in joined.items()}


def _rows(
    path: PurePosixPath,
    result: dict[str, Any],
    tally: _Tally,
    listed: Mapping[tuple[str, str], tuple[str, str]],
) -> list[dict[str, Any]]:
    """One row per record of one result file."""
    folder, revision = path.parts[1], path.parts[2]
    task = result["task_name"]
    experiment = path.parts[4] if len(path.parts) == 6 else None
    meta = tally.metas.get(path.parent, {})
    name = meta.get("name") if isinstance(meta.get("name"), str) else folder.replace("__", "/", 1)
    kwargs = meta.get("experiment_kwargs") or {}
    if (experiment and not isinstance(kwargs, dict)) or (experiment and not kwargs):
        reason = "an experiment whose model_meta.json is missing or says nothing; its prompt is unknown"
        tally.problems.append({"file": str(path), "kind": "foreign", "reason": reason})
        return []
    prompt = prompt_of(kwargs, task) if experiment else None
    if experiment and "prompts" in kwargs and prompt is None:
        tally.problems.append(
            {"file": str(path), "kind": "foreign", "reason": f"its prompts name other tasks than {task}"}
        )
        return []
    kind = "default" if prompt is None else "prompt" if prompt else "none"
    variant = (
        ", ".join(f"{k}={kwargs[k]}" for k in sorted(kwargs) if k not in PROMPT_KEYS) if experiment else ""
    )
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
            "prompt_id": prompt_id(prompt) if kind == "prompt" else kind, "kind": kind,
            "prompt": prompt if kind == "prompt" else None, "level": level,
            "source": None if kind != "prompt" or not listed else "llm" if generator else "unlisted",
            "generator": generator,
            "application": _application(kind, kwargs, meta, task), "separator": kwargs.get("separator"),
            "include_prompt": kwargs.get("include_prompt"), "seed": None,
            "metric": _metric(record), "main_score": float(value) if usable else float("nan"),
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


def _application(kind: str, kwargs: Mapping[str, Any], meta: Mapping[str, Any], task: str) -> str | None:
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


def _metric(record: Mapping[str, Any]) -> str | None:
    """The key whose value is the main score, for tasks that mteb does not know; ambiguous or none: None."""
    same = [
        k
        for k, v in record.items()
        if k != "main_score" and isinstance(v, float) and v == record.get("main_score")
    ]
    return same[0] if len(same) == 1 else None


def main(arguments: list[str] | None = None) -> int:
    """`helpers fetch-published`, see `helpers.download`."""
    from helpers.download import main as fetch

    return fetch(arguments)
