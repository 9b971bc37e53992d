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
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.files import project_root, read_json, write_json
from helpers.base.hashes import digest
from helpers.base.paths import below
from helpers.models.load import LoadedModel, load_model
from helpers.study.run import follow_umask
from helpers.study.spec import ModelSpec, Study
from helpers.study.tuning import FinetuningSpec, TrainingSettings
from helpers.tuning.data import fingerprint, training_rows
from helpers.tuning.evaluation import dev_measure
from helpers.tuning.sets import TuningData
from helpers.tuning.trained import Progress, Tuned, finetuning_of, name_of, quiet_bars, stacked
from helpers.tuning.trainer import LOG_COLUMNS, run_training

RECORD = "training.json"


def rows_for(spec: FinetuningSpec, data: TuningData, preset: str, seed: int) -> pd.DataFrame:
    """The rows that a preset trains on: `training_rows` of the part train."""
    settings = spec.settings(preset)
    part = data.part("train")
    return training_rows(part, spec.prefix, settings.n_negatives, settings.hard_negative_probability, seed)


@quiet_bars()
def fine_tune(
    study: Study, run: Path, data: TuningData, rows: pd.DataFrame, preset: str, seed: int, tell: Progress = print
) -> Tuned:
    """Train the study's base model on the rows (`rows_for`) with the settings of one preset; a finished one is read.

    Killed in its training, the next call goes on from the last checkpoint. A model whose identity (base weights,
    settings, seed, training rows, versions) has changed is trained anew. run: the run's folder.
    """
    spec = finetuning_of(study)
    settings, base, name = spec.settings(preset), study.model_spec(spec.model), f"{preset}-seed{seed}"
    folder, work = below(run / "models", name), below(run / "training", name)
    loaded = load_model(base, device=study.sweep.device)
    identity = identity_of(loaded, settings, seed, rows, data.part("dev"))
    record = read_json(folder / RECORD) if (folder / "modules.json").is_file() else None  # of a whole model
    reused = record is not None and record["identity"] == identity
    if record is None or not reused:
        tell(f"{name}: training on {len(rows)} rows of {data.name}")
        with _clocked(work, identity) as seconds:
            measure = dev_measure(spec, data, study.seed)
            log = run_training(loaded.st, rows, settings, seed, work, measure, name, tell)
        rows_of_log = log.astype(object).where(log.notna(), None).to_dict("records")
        record = {"identity": identity, "seconds": seconds(), "log": rows_of_log}
        _save(loaded, folder, work, record)
    else:
        tell(f"{name}: trained before, reused")
    log = pd.DataFrame(record["log"])  # JSON sorts its keys
    log = log[[*LOG_COLUMNS, *sorted(set(log) - set(LOG_COLUMNS))]].astype({"step": int})
    made = tuned_spec(base, preset, seed, folder)
    return Tuned(preset, seed, folder, settings, made, log, record["seconds"], reused, identity)


def tuned_spec(base: ModelSpec, preset: str, seed: int, folder: Path) -> ModelSpec:
    """The tuned model as a model of a study; its path is relative to the project where it lies inside."""
    root = project_root()
    path = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)
    name = f"local/{base.name.rsplit('/', 1)[-1]}-{preset}-seed{seed}"
    kept = {"application", "template", "dtype", "max_length", "truncate_dim", "parameters"}
    label, settings = name_of(preset, seed), base.model_dump(include=kept)
    return ModelSpec(name=name, label=label, weights=f"path:{path}", **settings)


def identity_of(
    base: LoadedModel, settings: TrainingSettings, seed: int, rows: pd.DataFrame, dev: pd.DataFrame
) -> dict[str, Any]:
    """Everything that the trained weights and their log depend on, as plain JSON values."""
    texts = {"rows": fingerprint(rows), "dev": fingerprint(dev)}
    unused = {"reler"} if settings.objective != "reler" else set()
    mattered = settings.model_dump(mode="json", exclude=unused)
    identity = {"base": base.identity, "settings": mattered, "seed": seed, **texts}
    return dict(json.loads(json.dumps(identity, default=str)))


@contextmanager
def _clocked(work: Path, identity: dict[str, Any]) -> Iterator[Callable[[], float]]:
    """The folder of a training's checkpoints, emptied where they are of other settings or data.

    Gives a function that says after the block how many seconds it has taken, those of killed attempts included.
    """
    key, marker, clock = digest(identity), work / "identity.txt", work / "seconds.txt"
    if work.is_dir() and (not marker.is_file() or marker.read_text("utf-8") != key):
        shutil.rmtree(work)
    work.mkdir(parents=True, exist_ok=True)
    marker.write_text(key, "utf-8")
    seconds = float(clock.read_text("utf-8")) if clock.is_file() else 0.0
    start = time.monotonic()
    try:
        yield lambda: round(seconds, 1)
    finally:
        seconds += time.monotonic() - start
        clock.write_text(f"{seconds:.1f}", "utf-8")


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


def log_table(tuned: list[Tuned]) -> pd.DataFrame:
    """The training logs of all models under each other: preset, seed, step, loss, ..., dev_<number>."""
    return stacked({(t.preset, t.seed): t.log for t in tuned})


def settings_table(tuned: list[Tuned]) -> pd.DataFrame:
    """One row per setting with a column per preset, those that differ first, then rows, steps and seconds."""
    columns = {t.label: {**t.effective, "steps": t.steps, "seconds": t.seconds, "reused": t.reused} for t in tuned}
    shown = pd.DataFrame(columns).astype(object).map(lambda value: "" if value is None else str(value))
    differs = shown.nunique(axis=1) > 1
    return pd.concat([shown[differs], shown[~differs]]).rename_axis("setting").reset_index()
