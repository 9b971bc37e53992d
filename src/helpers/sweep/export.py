"""Export: finished cells as a result cache that stock mteb reads, one file per model, task and prompt.

Layout `results/<org>__<model>/<revision>/[experiments/<name>/]<Task>.json`. The plain path is stock mteb's own; whatever
differs from a default run with the suite's default settings is part of the experiment's name. mteb's `run_settings.jsonl`
beside it tells how it was computed: precision, lengths, and the share of texts that were cut.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from helpers.base.errors import StudyError
from helpers.base.files import read_json, replacing, write_json
from helpers.base.hashes import digest
from helpers.base.paths import below, is_plain, safe_name
from helpers.models.source import PACKAGED
from helpers.study.spec import ModelSpec, Study
from helpers.tasks.kinds import SIDED_TYPES

RESULTS = "results"
SETTINGS = "run_settings.jsonl"
MANIFEST = "cells/exported.json"  # which cells each exported file was made of
STOCK_SEED = 42  # of mteb's tasks
REPLACED = set('<>:"|?*\\/\0')  # what mteb turns into _ in an experiment's name


def export_cells(study: Study, folder: Path, cells: Iterable[tuple[Path, dict[str, Any]]]) -> int:
    """Make `results` hold these cells (file, record) and nothing that was exported before; the number of files."""
    grouped: dict[tuple[str, ...], list[tuple[str, dict[str, Any]]]] = {}
    for path, record in cells:
        key = tuple(str(record["slot"][k]) for k in ("model", "task", "prompt_id", "application"))
        grouped.setdefault(key, []).append((path.stem.split("-")[-1], record))
    made_of: dict[str, list[str]] = {}
    contents: dict[str, tuple[Any, list[dict[str, Any]]]] = {}
    for group in grouped.values():
        identities, records = sorted(identity for identity, _ in group), [record for _, record in group]
        meta = _exported_meta(study, records[0])
        name = _file_name(meta, records[0])
        if made_of.get(name, identities) != identities:  # the same model in something that no setting tells
            label = {"label": records[0]["slot"]["model"]}
            meta = meta.model_copy(update={"experiment_kwargs": (meta.experiment_kwargs or {}) | label})
            name = _file_name(meta, records[0])
        if name not in made_of:  # else one and the same model under two labels
            made_of[name], contents[name] = identities, (meta, records)
    before = _read_manifest(folder)
    if before == made_of and all((folder / name).is_file() for name in made_of):
        return len(made_of)
    # Named before they are written and until they are removed, so that no file is forgotten.
    names = before.keys() | made_of.keys()
    write_json(folder / MANIFEST, {n: before[n] if before.get(n) == made_of.get(n) else [] for n in names})
    for name, (meta, records) in contents.items():
        if before.get(name) != made_of[name] or not (folder / name).is_file():
            path = below(folder / RESULTS, name.removeprefix(f"{RESULTS}/"))
            with replacing(path) as temporary:
                _task_result(records).to_disk(temporary)
            write_json(path.with_name("model_meta.json"), meta.to_dict())
    _write_settings(folder, contents)
    for name in before.keys() - made_of.keys():
        _remove(folder, below(folder / RESULTS, name.removeprefix(f"{RESULTS}/")))
    write_json(folder / MANIFEST, made_of)
    return len(made_of)


def _write_settings(folder: Path, contents: Mapping[str, tuple[Any, list[dict[str, Any]]]]) -> None:
    """One line per task in the folder of its result, in mteb's own form; files that say the same are left alone."""
    lines: dict[str, list[str]] = {}
    for name, (_, records) in sorted(contents.items()):
        place, _, _ = name.removeprefix(f"{RESULTS}/").rpartition("/")
        lines.setdefault(place, []).extend(
            json.dumps(_settings_of(records, split), ensure_ascii=False, sort_keys=True) + "\n"
            for split in sorted({record["slot"]["split"] for record in records})
        )
    for place, told in lines.items():
        path = below(folder / RESULTS, place, SETTINGS)
        if not path.is_file() or path.read_text(encoding="utf-8") != "".join(told):
            with replacing(path) as temporary:
                temporary.write_text("".join(told), encoding="utf-8")


def _settings_of(records: list[dict[str, Any]], split: str) -> dict[str, Any]:
    """What a reader must know of one task's scores: how the vectors were made and how many texts were cut."""
    kept = [record for record in records if record["slot"]["split"] == split]
    model = kept[0]["model"]
    shares: dict[str, float] = {}
    for sample in (sample for record in kept for sample in record.get("inputs", [])):
        shares[sample["side"]] = max(shares.get(sample["side"], 0.0), sample["truncated_share"])
    names = ("dtype", "max_length", "truncate_dim", "attention", "backend", "compile")
    return {
        "task": kept[0]["slot"]["task"],
        "splits": [split],
        "subsets": sorted({record["slot"]["subset"] for record in kept}),
        "version": kept[0]["identity"]["versions"],
        "encode_kwargs": {name: model.get(name) for name in names}
        | {"include_prompt": kept[0].get("include_prompt"), "truncated_share": shares},
    }


def _read_manifest(folder: Path) -> dict[str, list[str]]:
    """What was exported before, by file; an entry that is no file below `results` is not ours and is left out."""
    kept = {}
    for name, cells in (read_json(folder / MANIFEST) or {}).items():
        with contextlib.suppress(StudyError):
            path = below(folder / RESULTS, name.removeprefix(f"{RESULTS}/"))
            if not path.is_dir():
                kept[name] = cells
    return kept


def _remove(folder: Path, path: Path) -> None:
    """Remove an exported file, and its folders where nothing else is left in them."""
    path.unlink(missing_ok=True)
    place = path.parent
    if {p.name for p in place.glob("*")} <= {"model_meta.json", SETTINGS}:
        for name in ("model_meta.json", SETTINGS):
            (place / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not empty
        while place != folder:
            place.rmdir()
            place = place.parent


def _file_name(meta: Any, record: dict[str, Any]) -> str:
    """The path below the run folder, as mteb's own cache names it."""
    parts = [str(meta.name).replace("/", "__"), str(meta.revision)]
    parts += ["experiments", meta.experiment_name] if meta.experiment_name else []
    return "/".join(
        part if is_plain(part) else safe_name(part) for part in [RESULTS, *parts, f"{record['slot']['task']}.json"]
    )


def _exported_meta(study: Study, record: dict[str, Any]) -> Any:
    """The model's mteb metadata; whatever tells this run from a stock default run goes into experiment_kwargs."""
    import mteb
    from mteb.models.model_implementations import MODEL_REGISTRY
    from mteb.models.model_meta import ModelMeta

    name, revision = record["model"]["name"], record["model"]["revision"]
    if name in MODEL_REGISTRY:
        meta = mteb.get_model_meta(name).model_copy(update={"revision": revision})
    else:
        full = name if "/" in name else f"local/{name}"
        meta = ModelMeta.create_empty(overwrites={"name": full, "revision": revision or "no_revision_available"})
    spec = study.model_spec(record["slot"]["model"])
    named = name in MODEL_REGISTRY or spec.revision is not None  # else the revision is a digest of the weights
    kwargs = _prompt_kwargs(record) | _setting_kwargs(study, spec, record, named)
    return meta.model_copy(update={"experiment_kwargs": kwargs or None})


def _prompt_kwargs(record: dict[str, Any]) -> dict[str, Any]:
    if record["kind"] == "default":
        return {}
    task, slot, prompt = record["slot"]["task"], record["slot"], record["prompt"] or ""
    sided = record["task_type"] in SIDED_TYPES
    kwargs: dict[str, Any] = {
        "prompts": {f"{task}-query": prompt, "query": prompt} if sided else {task: prompt},
        "prompt_id": slot["prompt_id"],
        "application": slot["application"],
    }
    if record["separator"] is not None:
        kwargs["separator"] = record["separator"]
    return kwargs


def _setting_kwargs(study: Study, spec: ModelSpec, record: dict[str, Any], named: bool) -> dict[str, Any]:
    """Settings that are not the suite's defaults, the same for the prompts and the baselines of a run."""
    kwargs: dict[str, Any] = {}
    if not spec.include_prompt:
        kwargs["include_prompt"] = False
    stock = {"dtype": "float32", "attention": "sdpa", "backend": "torch", "compile": False}
    for name, value in stock.items():
        if getattr(spec, name) is not None and record["model"].get(name) not in (value, None):
            kwargs[name] = record["model"][name]
    if spec.max_length is not None:
        kwargs["max_length"] = spec.max_length
    if spec.truncate_dim is not None:
        kwargs["truncate_dim"] = spec.truncate_dim
    if spec.template is not None:
        kwargs["template"] = spec.template
    if named and not _has_stock_weights(spec):
        kwargs["weights"] = record["model"]["weights"][:16]
    if study.seed != STOCK_SEED:
        kwargs["seed"] = study.seed
    if study.sweep.exact:
        kwargs["exact"] = True
    if record["task_type"] == "BitextMining" and study.sweep.bitext_side != "query":
        kwargs["bitext_side"] = study.sweep.bitext_side
    separator = record["separator"] or ""
    if spec.template is not None or REPLACED & set(separator):  # their texts can differ where their names do not
        kwargs["text_id"] = digest([spec.template, separator])[:8]
    return kwargs


def _has_stock_weights(spec: ModelSpec) -> bool:
    """Whether the weights are those that the model's name stands for; of a folder nobody knows."""
    kind, _, place = spec.weights.partition(":")
    return place in ("", spec.name) if kind == "hub" else PACKAGED.get(spec.name) == place


def _task_result(records: list[dict[str, Any]]) -> Any:
    from mteb.results.task_result import TaskResult

    first = records[0]
    scores: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        entry = {
            **record["scores"],
            "hf_subset": record["slot"]["subset"],
            "languages": record["languages"],
            "mteb_version": record["identity"]["versions"]["mteb"],
        }
        scores.setdefault(record["slot"]["split"], []).append(entry)
    return TaskResult(
        dataset_revision=str(first["dataset_revision"]),
        task_name=first["slot"]["task"],
        mteb_version=first["identity"]["versions"]["mteb"],
        scores=scores,
        evaluation_time=sum(r["seconds"] for r in records),
        date=datetime.fromisoformat(max(r["at"] for r in records)),
    )
