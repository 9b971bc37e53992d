"""Published results as our scores table: any result cache of mteb, with the prompts of its experiments.

Layout that is read (`results` may lie at any depth): `results/<org>__<model>/<revision>/<Task>.json` is a default run,
`.../experiments/<name>/<Task>.json` one experiment, whose prompt stands in the `model_meta.json` beside it.
What cannot be used is never guessed at: it is named in the table of problems, counted, and left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from helpers.scores.files import inner_path, json_files
from helpers.scores.rows import default_prefix, not_a_result, result_rows

SCORE_COLUMNS = [
    "model", "model_name", "revision", "task", "task_type", "split", "subset", "languages", "prompt_id", "kind",
    "prompt", "level", "source", "generator", "application", "separator", "include_prompt", "seed", "metric",
    "main_score", "mteb_version", "dataset_revision", "data_fingerprint", "dtype", "max_length", "seconds",
    "experiment", "status", "reason", "record", "default_prefix",
]  # fmt: skip

PROBLEM_COLUMNS = ["file", "kind", "reason"]

PROMPT_COLUMNS = ["task", "text", "level", "generator", "file"]


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
        found = result_rows(path, result, tally.metas.get(path.parent, {}), listed)
        if isinstance(found, str):
            tally.problems.append({"file": str(path), "kind": "foreign", "reason": found})
        else:
            rows += found
    _distinct_labels(rows)
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
        tally.problems.append({"file": str(inner or path), "kind": "corrupt", "reason": f"not JSON ({where})"})
        return
    if inner is None:
        tally.problems.append({"file": str(path), "kind": "foreign", "reason": "lies outside results/<org>__<model>/"})
    elif inner.parts[0] == "prompts":
        _take_prompts(tally, inner, data)
    elif inner.name == "model_meta.json":
        if isinstance(data, dict):
            tally.metas[inner.parent] = data
        else:
            tally.problems.append({"file": str(inner), "kind": "foreign", "reason": "not a model's metadata"})
    elif not (len(inner.parts) == 4 or (len(inner.parts) == 6 and inner.parts[3] == "experiments")):
        tally.problems.append({"file": str(inner), "kind": "foreign", "reason": "not at a place where results lie"})
    else:
        reason = not_a_result(data)
        if reason:
            tally.problems.append({"file": str(inner), "kind": "foreign", "reason": reason})
        else:
            tally.results.append((inner, data))


def _distinct_labels(rows: list[dict[str, Any]]) -> None:
    """Where two models or revisions share a label, the label says which: the full name, then the revision."""
    for key in ("model_name", "revision"):
        behind: dict[str, set[str]] = {}
        for row in rows:
            behind.setdefault(row["model"], set()).add(row[key])
        shared = {label for label, many in behind.items() if len(many) > 1}
        for row in rows:
            if row["model"] in shared:
                name = str(row["model_name"])
                whole = row["model"].replace(name.rsplit("/", 1)[-1], name, 1)
                row["model"] = whole if key == "model_name" else f"{row['model']} @{str(row['revision'])[:8]}"


def _take_prompts(tally: _Tally, path: PurePosixPath, data: Any) -> None:
    """Prompts of a generator's file; the merged and report files of the revised version are known and not needed."""
    if path.name.startswith("deduplicated_"):
        return
    good = isinstance(data, list) and all(
        isinstance(d, dict) and isinstance(d.get("generated_prompt"), str) for d in data
    )
    if not good:
        tally.problems.append({"file": str(path), "kind": "foreign", "reason": "not a list of generated prompts"})
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
