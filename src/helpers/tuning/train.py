"""Fine-tuned models of a study: trained once, found again by their identity, saved as ordinary model folders.

`<run>/models/<preset>-seed<k>/` holds the model, `training.json` (identity, settings, log) and its model card; any
study can name it with `weights: path:<folder>`. Checkpoints lie in `<run>/training/` until the model is whole.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.files import project_root, read_json, write_json
from helpers.base.hashes import digest
from helpers.base.paths import below
from helpers.models.load import LoadedModel, load_model
from helpers.study.run import follow_umask
from helpers.study.spec import ModelSpec, Study
from helpers.study.tuning import FinetuningSpec, TrainingSettings
from helpers.tuning.data import fingerprint, training_rows
from helpers.tuning.sets import TuningData, finetuning_of
from helpers.tuning.trainer import LOG_COLUMNS

BASELINE = "baseline"


RECORD = "training.json"


Measure = Callable[[Any], dict[str, float]]


@dataclass
class Tuned:
    """One fine-tuned model: its place, what made it, how the training went. `seconds`: of training, not of reuse."""

    preset: str
    seed: int
    folder: Path
    settings: TrainingSettings
    spec: ModelSpec
    log: pd.DataFrame
    seconds: float
    reused: bool
    identity: dict[str, Any]

    @property
    def label(self) -> str:
        return self.spec.label


@contextmanager
def quiet_bars() -> Iterator[None]:
    """Keep the bars of loading, saving and mapping out of a notebook; progress is told in lines. Also a decorator."""
    from datasets.utils.logging import disable_progress_bar as disable_mapping
    from datasets.utils.logging import enable_progress_bar as enable_mapping
    from datasets.utils.logging import is_progress_bar_enabled as mapping_is_shown
    from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled

    loading, mapping = is_progress_bar_enabled(), mapping_is_shown()
    disable_progress_bar()
    disable_mapping()
    try:
        yield
    finally:
        if loading:
            enable_progress_bar()
        if mapping:
            enable_mapping()


@quiet_bars()
def fine_tune(
    study: Study,
    run_folder: Path,
    data: TuningData,
    progress: Callable[[str], None] = print,
    device: str | None = None,
) -> list[Tuned]:
    """Train every preset with every seed of a study, in the order of its file; finished ones are only read.

    Killed in a training, the next call goes on from its last checkpoint. A model whose identity (base weights,
    settings, seed, training rows, versions) has changed is trained anew.
    """
    spec = finetuning_of(study)
    base = study.model_spec(spec.model)
    found = []
    for preset in spec.presets:
        for seed in spec.seeds:
            measure = dev_measure(spec, data, study.seed)
            found.append(_one(spec, base, data, preset, seed, run_folder, measure, progress, device))
    return found


def tuned_spec(base: ModelSpec, preset: str, seed: int, folder: Path) -> ModelSpec:
    """The tuned model as a model of a study; its path is relative to the project where it lies inside."""
    root = project_root()
    place = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)
    name = f"local/{base.name.rsplit('/', 1)[-1]}-{preset}-seed{seed}"
    keep = base.model_dump(
        include={"application", "template", "dtype", "max_length", "truncate_dim", "parameters"}
    )
    return ModelSpec(name=name, label=f"{preset}, seed {seed}", weights=f"path:{place}", **keep)


def rows_for(spec: FinetuningSpec, data: TuningData, settings: TrainingSettings, seed: int) -> pd.DataFrame:
    """The rows that a preset trains on."""
    part = data.part("train")
    return training_rows(part, spec.prefix, settings.n_negatives, settings.hard_negative_probability, seed)


def dev_measure(spec: FinetuningSpec, data: TuningData, seed: int) -> Measure | None:
    """A function from a sentence-transformers model to the dev part's recall@1 per pool; None without a dev part."""
    from helpers.tuning.evaluation import pool_recalls

    sets = data.sets("dev") if len(data.part("dev")) else []
    if not sets:
        return None
    return lambda model: pool_recalls(model, sets, spec, seed)


def _one(
    spec: FinetuningSpec,
    base: ModelSpec,
    data: TuningData,
    preset: str,
    seed: int,
    run_folder: Path,
    measure: Measure | None,
    progress: Callable[[str], None],
    device: str | None,
) -> Tuned:
    settings = spec.settings(preset)
    name = f"{preset}-seed{seed}"
    folder, work = below(run_folder / "models", name), below(run_folder / "training", name)
    loaded = load_model(base, device=device)
    rows = rows_for(spec, data, settings, seed)
    identity = identity_of(loaded, settings, seed, rows, data.part("dev"))
    made = tuned_spec(base, preset, seed, folder)
    record = _record(folder)
    if record is None or record["identity"] != identity:
        progress(f"{name}: training on {len(rows)} rows of {data.name}")
        log, seconds = _train(loaded, rows, settings, seed, work, identity, measure, name, progress)
        rows_of_log = log.astype(object).where(log.notna(), None).to_dict("records")
        record = {"identity": identity, "seconds": seconds, "log": rows_of_log}
        _save(loaded, folder, work, record)
        reused = False
    else:
        progress(f"{name}: trained before, reused")
        reused = True
    log = pd.DataFrame(record["log"])  # JSON sorts its keys
    log = log[[*LOG_COLUMNS, *sorted(set(log) - set(LOG_COLUMNS))]].astype({"step": int})
    return Tuned(preset, seed, folder, settings, made, log, record["seconds"], reused, identity)


def identity_of(
    base: LoadedModel, settings: TrainingSettings, seed: int, rows: pd.DataFrame, dev: pd.DataFrame
) -> dict[str, Any]:
    """Everything that the trained weights and their log depend on, as plain JSON values."""
    identity = {
        "base": base.identity,
        "settings": settings.model_dump(mode="json"),
        "seed": seed,
        "rows": fingerprint(rows),
        "dev": fingerprint(dev),
    }
    return dict(json.loads(json.dumps(identity, default=str)))


def _train(
    loaded: LoadedModel,
    rows: pd.DataFrame,
    settings: TrainingSettings,
    seed: int,
    work: Path,
    identity: dict[str, Any],
    measure: Measure | None,
    name: str,
    progress: Callable[[str], None],
) -> tuple[pd.DataFrame, float]:
    from helpers.tuning.trainer import run_training

    key, marker = digest(identity), work / "identity.txt"
    if work.is_dir() and (not marker.is_file() or marker.read_text("utf-8") != key):
        shutil.rmtree(work)  # checkpoints of other settings or data
    work.mkdir(parents=True, exist_ok=True)
    marker.write_text(key, "utf-8")
    clock = work / "seconds.txt"
    before = float(clock.read_text("utf-8")) if clock.is_file() else 0.0
    start = time.monotonic()
    try:
        log = run_training(loaded.st, rows, settings, seed, work, measure, name, progress)
    finally:
        seconds = before + time.monotonic() - start
        clock.write_text(f"{seconds:.1f}", "utf-8")
    return log, round(seconds, 1)


def _save(loaded: LoadedModel, folder: Path, work: Path, record: dict[str, Any]) -> None:
    """Save into a folder beside and rename: a model folder is whole or absent. Then the checkpoints can go."""
    part = folder.with_name(f".{folder.name}.part")
    for old in (part, folder):
        if old.is_dir():
            shutil.rmtree(old)
    part.parent.mkdir(parents=True, exist_ok=True)
    loaded.st.save_pretrained(str(part), create_model_card=False)
    write_json(part / RECORD, record)
    follow_umask(part)
    os.replace(part, folder)
    shutil.rmtree(work)


def _record(folder: Path) -> dict[str, Any] | None:
    """`training.json` of a whole model folder, None where there is none."""
    return read_json(folder / RECORD) if (folder / "modules.json").is_file() else None


def log_table(tuned: list[Tuned]) -> pd.DataFrame:
    """The training logs of all models under each other: preset, seed, step, loss, ..., dev_<number>."""
    frames = [t.log.assign(preset=t.preset, seed=t.seed) for t in tuned]
    table = (
        pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["preset", "seed", "step"])
    )
    return table[["preset", "seed", *[c for c in table.columns if c not in ("preset", "seed")]]]


def settings_table(tuned: list[Tuned]) -> pd.DataFrame:
    """One row per setting with a column per preset, those that differ first, then rows, steps and seconds."""
    columns: dict[str, dict[str, Any]] = {}
    for t in tuned:
        values = {
            k: v
            for k, v in t.settings.model_dump().items()
            if k != "reler" or t.settings.objective == "reler"
        }
        steps = int(t.log["step"].max()) if len(t.log) else 0
        columns[t.label] = {**values, "steps": steps, "seconds": t.seconds, "reused": t.reused}
    table = pd.DataFrame(columns).astype(object)
    shown = table.map(lambda v: "" if v is None else str(v))
    differs = shown.nunique(axis=1) > 1
    order = np.argsort(~differs.to_numpy(), kind="stable")
    return shown.iloc[order].rename_axis("setting").reset_index()
