"""What every worker of a sweep needs to know, and what one process keeps from group to group."""

from __future__ import annotations

import os
import uuid
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.progress import Say
from helpers.study.spec import ModelSpec, Study, TaskSpec
from helpers.sweep.group import model_or_error, run_group
from helpers.sweep.store import GroupNote, GroupReport

Group = tuple[ModelSpec, TaskSpec]
Outcomes = Generator[tuple[Group, GroupReport], None, None]


@dataclass(frozen=True)
class Work:
    """What every worker of a sweep needs to know; `notes` are the groups' notes from before the sweep began."""

    study: Study
    folder: Path
    prompts: pd.DataFrame
    notes: dict[tuple[str, str], GroupNote | None]
    token: str = field(default_factory=lambda: uuid.uuid4().hex)


class Worker:
    """What one process keeps from group to group: the last model, and with `keep_tasks` the tasks' data."""

    def __init__(self, work: Work, device: str | None = None, keep_tasks: bool = False, say: Say | None = None) -> None:
        sweep = work.study.sweep
        chosen = sweep.model_copy(update={"device": device or sweep.device})
        self.work, self.say = work, say
        self.study = work.study.model_copy(update={"sweep": chosen})
        self.tasks: dict[str, Any] | None = {} if keep_tasks else None
        self._label = ""
        self._model: Any = None

    def run(self, group: Group) -> GroupReport:
        """Compute a group, or report it as locked where another process is computing it."""
        model, task = group
        return run_group(
            self.study,
            self.work.folder,
            self.work.prompts,
            model,
            task,
            model=partial(self.loaded, model),
            tasks=self.tasks,
            shared=True,
            known=self.work.notes.get(name(group)),
            say=self.say,
        )

    def loaded(self, spec: ModelSpec) -> Any:
        """The model, or the `StudyError` that says why it cannot be loaded."""
        if self._label != spec.label:
            self._label, self._model = spec.label, None  # one model in memory at a time
            self._model = model_or_error(spec, self.work.folder, self.study)
        return self._model


def name(group: Group) -> tuple[str, str]:
    return group[0].label, group[1].name


def devices() -> list[str]:
    """The CUDA devices that are visible, as torch names them; empty without one."""
    import torch

    return [f"cuda:{n}" for n in range(torch.cuda.device_count())]


def one_thread() -> None:
    """Keep torch and the libraries below it to one thread in this process."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1)  # libraries that were loaded before the variables were set
