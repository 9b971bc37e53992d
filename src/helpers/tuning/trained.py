"""The models that chapter 06 compares: the base model and those that were trained from it, and which of them failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.progress import watching
from helpers.models.load import LoadedModel, load_model
from helpers.study.spec import ModelSpec, Study
from helpers.study.tuning import FinetuningSpec, TrainingSettings

BASELINE = "baseline"
BASE_SEED = -1  # the seed of the base model's rows: it has none
Progress = Callable[[str], None]


@dataclass
class Tuned:
    """One fine-tuned model: its folder, what made it, how the training went. `seconds`: of training, not of reuse."""

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

    @property
    def steps(self) -> int:
        """Optimiser steps that were done."""
        return int(self.log["step"].max()) if len(self.log) else 0

    @property
    def effective(self) -> dict[str, Any]:
        """The settings that mattered: those of RELER only where it was the objective."""
        return self.settings.model_dump(exclude={"reler"} if self.settings.objective != "reler" else set())


def name_of(preset: str, seed: int) -> str:
    """What a reader calls one training, or the base model.

    >>> name_of("distractor", 42), name_of("baseline", -1)
    ('distractor, seed 42', 'baseline')
    """
    return preset if preset == BASELINE else f"{preset}, seed {seed}"


def finetuning_of(study: Study) -> FinetuningSpec:
    """The part `finetuning` of a study; a `StudyError` where it has none."""
    if study.finetuning is None:
        raise StudyError(f"study {study.name}: step 06 needs the key 'finetuning'")
    return study.finetuning


def specs_of(study: Study, tuned: Sequence[Tuned]) -> list[tuple[str, int, ModelSpec]]:
    """(preset, seed, model of a study) of the base model and of the tuned ones."""
    base = study.model_spec(finetuning_of(study).model)
    return [(BASELINE, BASE_SEED, base), *[(t.preset, t.seed, t.spec) for t in tuned]]


def compared(
    study: Study, folder: Path, tuned: Sequence[Tuned], failed: dict[str, str], progress: Progress = print
) -> Iterator[tuple[str, int, LoadedModel]]:
    """(preset, seed, loaded model) of the base model and of the tuned ones, one in memory at a time.

    One that cannot be loaded is left out; `failed` then says why. folder: the run's, where vectors are cached.
    """
    with quiet_bars():
        for preset, seed, spec in specs_of(study, tuned):
            with noting(failed, name_of(preset, seed), progress):
                model = load_model(spec, folder, study.sweep.device)
                progress(f"measuring {spec.label}")
                with watching(progress, spec.label):
                    yield preset, seed, model


@contextmanager
def noting(failed: dict[str, str], name: str, progress: Progress = print) -> Iterator[None]:
    """Let one model fail and the others go on: its reason, one line, stands in `failed` under its name.

    >>> failed = {}
    >>> with noting(failed, "lora, seed 1"):
    ...     raise StudyError("LoRA needs a transformer; this model has none")
    lora, seed 1 failed: LoRA needs a transformer; this model has none
    >>> failed
    {'lora, seed 1': 'LoRA needs a transformer; this model has none'}
    """
    try:
        yield
    except StudyError as error:
        failed[name] = str(error)
        progress(f"{name} failed: {error}")


@contextmanager
def quiet_bars() -> Iterator[None]:
    """Keep the bars of loading, saving and mapping out of a notebook; progress is told in lines. Also a decorator."""
    from datasets.utils import logging as mapping
    from transformers.utils import logging as loading

    shown = [m for m in (loading, mapping) if m.is_progress_bar_enabled()]
    for module in shown:
        module.disable_progress_bar()
    try:
        yield
    finally:
        for module in shown:
            module.enable_progress_bar()


def stacked(tables: Mapping[tuple[str, int], pd.DataFrame]) -> pd.DataFrame:
    """The tables of several models, {(preset, seed): table}, under each other: columns preset, seed, then theirs.

    >>> stacked({("lora", 1): pd.DataFrame({"step": [4]}), ("lora", 2): pd.DataFrame({"step": [8]})}).values.tolist()
    [['lora', 1, 4], ['lora', 2, 8]]
    """
    if not tables:
        return pd.DataFrame(columns=["preset", "seed"])
    return pd.concat(tables, names=["preset", "seed"]).reset_index([0, 1]).reset_index(drop=True)
