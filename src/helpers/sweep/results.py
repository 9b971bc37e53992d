"""Results: the sweep's cells as tables, and as a result cache that stock mteb reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.files import read_json
from helpers.base.phrases import choose, out_of
from helpers.study.spec import Study, TaskSpec
from helpers.sweep.cell import prompts_of
from helpers.sweep.estimates import spreads, with_estimates
from helpers.sweep.export import export_cells
from helpers.sweep.files import is_edited, read_cell
from helpers.sweep.store import ListedCell, group_folder, read_cells, settings_of
from helpers.sweep.variants import variant_of

SCORES = {
    "model": "string",
    "model_name": "string",
    "revision": "string",
    "weights": "string",
    "variant_of": "string",
    "task": "string",
    "task_type": "string",
    "split": "string",
    "subset": "string",
    "languages": "string",
    "prompt_id": "string",
    "kind": "string",
    "prompt": "string",
    "level": "string",
    "source": "string",
    "application": "string",
    "separator": "string",
    "include_prompt": "boolean",
    "chat_template": "boolean",
    "seed": "Int64",
    "metric": "string",
    "main_score": "float64",
    "items": "Int64",
    "items_of": "Int64",
    "estimate": "string",
    "standard_error": "float64",
    "mteb_version": "string",
    "dataset_revision": "string",
    "data_fingerprint": "string",
    "dtype": "string",
    "max_length": "Float64",
    "seconds": "float64",
    "experiment": "string",
    "status": "string",
    "reason": "string",
}

QUERY_SCORES = {"model": "string", "task": "string", "subset": "string", "split": "string", "prompt_id": "string"}

KEY = ["model", "task", "subset", "split", "prompt_id", "application"]
EDITED = "its file was changed after it was computed, so it is not used; the sweep computes it again"
GROUP_ERROR = "group.error.json"  # why none of a group's missing cells can be computed


def conform(table: pd.DataFrame, schema: dict[str, str]) -> pd.DataFrame:
    """The columns of a schema in their order and types; columns that are absent are added as missing."""
    return pd.DataFrame(
        {name: table.get(name, pd.Series(index=table.index, dtype="object")) for name in schema}
    ).astype(schema)


def current_cells(study: Study, folder: Path, prompts: pd.DataFrame) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The results of a study as it is: those that the last run of each group listed (`helpers.sweep.store`).

    In a run folder without lists, the newest one of every slot. Slots of prompts that left the study are skipped.
    """
    for model in study.models:
        for task in study.tasks:
            wanted = {p.id for p in prompts_of(study, prompts, task.name)}
            place = group_folder(folder, model, task)
            listed = read_cells(place, settings_of(study, model, task))
            if listed is None and (place / GROUP_ERROR).is_file():
                continue  # the group could not be looked at, so nothing says that its results are current
            newest: dict[str, tuple[str, Path, dict[str, Any]]] = {}
            for path in _result_paths(place, listed, wanted):
                record = read_cell(path)
                if record is None or record["slot"]["prompt_id"] not in wanted:
                    continue
                slot = json.dumps([record["slot"][k] for k in KEY])
                if slot not in newest or record["at"] >= newest[slot][0]:
                    newest[slot] = (record["at"], path, record)
            for slot in sorted(newest):
                yield newest[slot][1], newest[slot][2]


def _result_paths(place: Path, listed: list[ListedCell] | None, wanted: set[str]) -> list[Path]:
    if listed is not None:
        return [place / f"{c.stem}.json" for c in listed if c.prompt_id in wanted]
    return sorted(p for p in place.glob("*-*.json") if not p.name.endswith(".error.json"))


def scores_table(study: Study, folder: Path, prompts: pd.DataFrame) -> pd.DataFrame:
    """One row per cell of the study (schema `SCORES`): finished ones, and failed or missing ones with the reason.

    weights: digest of all tensors. variant_of: the model of the study with the same weights that stands before this one
    (`variants`), missing for a model of its own. estimate: `full`, or `anchored` where the prompt was scored on `items` of
    `items_of` items (`anchored`); standard_error: of that, 0 in full.
    """
    cells = list(current_cells(study, folder, prompts))
    rows = with_estimates([_row(record) for _, record in cells], cells)
    rows += list(_unfinished(study, folder, prompts, rows))
    table = conform(pd.DataFrame(rows), SCORES)
    twins = variant_of(table, [model.label for model in study.models])
    table["variant_of"] = table["model"].map(twins).astype("string")
    return table.sort_values(KEY, kind="stable").reset_index(drop=True)


def estimates_table(study: Study, folder: Path, prompts: pd.DataFrame) -> pd.DataFrame:
    """One row per test set whose prompts were scored on a part of its items (`estimates.spreads`); empty in full runs."""
    return spreads(list(current_cells(study, folder, prompts)))


def _row(record: dict[str, Any]) -> dict[str, Any]:
    model, identity = record["model"], record["identity"]
    limit = model["max_length"]
    return {
        **record["slot"],
        "model_name": model["name"],
        "revision": model["revision"],
        "weights": model["weights"],
        "task_type": record["task_type"],
        "languages": "|".join(record["languages"]),
        "kind": record["kind"],
        "prompt": record["prompt"],
        "level": record["level"],
        "source": record["source"],
        "separator": record["separator"],
        "include_prompt": record["include_prompt"],
        "chat_template": record.get("chat_template", False),
        "metric": record["metric"],
        "main_score": record["main_score"],
        "mteb_version": identity["versions"]["mteb"],
        "dataset_revision": record["dataset_revision"],
        "data_fingerprint": identity["data"],
        "dtype": model["dtype"],
        "max_length": float(limit) if limit is not None else None,
        "seconds": record["seconds"],
        "experiment": None if record["kind"] == "default" else record["slot"]["prompt_id"],
        "status": "ok",
        "reason": None,
    }


def _unfinished(
    study: Study, folder: Path, prompts: pd.DataFrame, rows: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Rows of cells without a result, with the recorded reason where there is one."""
    done: dict[tuple[str, str], set[tuple[str, str, str]]] = {}
    for row in rows:
        done.setdefault((row["model"], row["task"]), set()).add(_part_and_prompt(row))
    for model in study.models:
        for task in study.tasks:
            place = group_folder(folder, model, task)
            listed = read_cells(place, settings_of(study, model, task))
            finished = done.get((model.label, task.name), set())
            errors = _cell_errors(place, listed)
            parts = {(c.subset, c.split) for c in listed or []}
            parts = parts or _parts_of(task, {key[:2] for key in [*finished, *errors]})
            group = read_json(place / GROUP_ERROR)
            stems = {(c.subset, c.split, c.prompt_id): c.stem for c in listed or []}
            for prompt in prompts_of(study, prompts, task.name):
                for subset, split in sorted(parts):
                    if (subset, split, prompt.id) in finished:
                        continue
                    error = errors.get((subset, split, prompt.id)) or group
                    stem = stems.get((subset, split, prompt.id))
                    edited = stem is not None and is_edited(place / f"{stem}.json")
                    yield {
                        "model": model.label,
                        "model_name": model.name,
                        "task": task.name,
                        "subset": subset,
                        "split": split,
                        "prompt_id": prompt.id,
                        "kind": prompt.kind,
                        "prompt": prompt.text,
                        "level": prompt.level,
                        "source": prompt.source,
                        "include_prompt": model.include_prompt,
                        "dtype": model.dtype,
                        "seed": study.seed,
                        "status": "failed" if error else "missing",
                        "reason": str(error["reason"]).splitlines()[0]
                        if error
                        else EDITED
                        if edited
                        else "not computed yet",
                    }


def _part_and_prompt(slot: Mapping[str, Any]) -> tuple[str, str, str]:
    return slot["subset"], slot["split"], slot["prompt_id"]


def _cell_errors(place: Path, listed: list[ListedCell] | None) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The recorded errors of a group's cells, by subset, split and prompt; of listed cells only where there is a list."""
    stems = None if listed is None else {c.stem for c in listed}
    paths = [p for p in place.glob("*.error.json") if stems is None or p.name.split(".")[0] in stems]
    return {_part_and_prompt(e["slot"]): e for e in map(read_json, paths) if e and "slot" in e}


def _parts_of(task: TaskSpec, seen: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Subsets and splits of a group without a list: those that the study names, else those that it has files of."""
    subsets = task.subsets or {subset for subset, _ in seen} or {"default"}
    splits = {split for _, split in seen} or {task.split or "test"}
    return {(subset, split) for subset in subsets for split in splits}


def query_scores_table(study: Study, folder: Path, prompts: pd.DataFrame) -> pd.DataFrame:
    """Scores of the single queries and pairs of every cell that has them: the cell's key, query_id, score, gold."""
    frames = []
    for path, record in current_cells(study, folder, prompts):
        units = path.with_suffix(".parquet")
        if units.is_file():
            frame = pd.read_parquet(units)
            for name in reversed(list(QUERY_SCORES)):
                frame.insert(0, name, record["slot"][name])
            frames.append(frame)
    if not frames:
        return pd.DataFrame(columns=[*QUERY_SCORES, "query_id", "score", "gold"])
    return pd.concat(frames, ignore_index=True).astype(QUERY_SCORES)


def cell_counts(scores: pd.DataFrame) -> pd.DataFrame:
    """Per model and task: how many cells are ok, failed and missing."""
    counts = pd.crosstab([scores["model"], scores["task"]], scores["status"])
    return counts.reindex(columns=["ok", "failed", "missing"], fill_value=0).reset_index().rename_axis(columns=None)


def export_mteb(study: Study, folder: Path, prompts: pd.DataFrame) -> int:
    """Write every finished cell as a result that `mteb.ResultCache(<run folder>)` reads; the number of files.

    Scores on a part of the items are no benchmark scores and are left out.
    Files of earlier exports that are not among them are removed.
    """
    whole = ((path, record) for path, record in current_cells(study, folder, prompts) if record.get("items") is None)
    return export_cells(study, folder, whole)


def prompt_label(kind: str, text: str | None) -> str:
    """A prompt as a reader should see it: its text, or the name of the baseline."""
    return text if kind == "prompt" and isinstance(text, str) else f"({kind})"


def require_complete(scores: pd.DataFrame) -> None:
    """Raise `StudyError` where cells failed, after everything that was computed has been saved."""
    failed = scores[scores["status"] != "ok"]
    if len(failed):
        row = failed.iloc[0]
        raise StudyError(
            f"{out_of(len(failed), len(scores), 'cell')} {choose(len(scores), 'is', 'are')} not complete, e.g. "
            f"{row['model']} x {row['task']}: "
            f"{row['reason']}. The others are saved; run notebook 02 again for the missing ones"
        )
