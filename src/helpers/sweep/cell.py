"""A cell: one model, task, subset, split and prompt, and all that its score depends on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import pandas as pd

from helpers.base.hashes import digest
from helpers.models.application import Prefixes, has_sides, prefixes
from helpers.models.load import LoadedModel
from helpers.prompts.prompt import Prompt
from helpers.study.spec import Study, TaskSpec
from helpers.sweep.part import Part, part_of
from helpers.tasks.load import data_fingerprint

SCORED_BY = ("mteb", "scikit-learn", "scipy", "numpy", "pytrec-eval-terrier")


@dataclass
class Cell:
    """One unit of work: a model, a task's subset and split, and a prompt; `slot` is its place in the table."""

    slot: dict[str, Any]
    identity: dict[str, Any]
    prompt: Prompt
    prefixes: Prefixes
    part: Part | None = None  # of the items, which it is scored on; None: all of them

    @cached_property
    def stem(self) -> str:
        return f"{digest(self.slot)}-{digest(self.identity)}"


def prompts_of(study: Study, prompts: pd.DataFrame, task_name: str) -> list[Prompt]:
    """The prompts of a task in their order, and after them the study's baselines."""
    own = prompts[(prompts["task"] == task_name) & (prompts["kind"] == "prompt")]
    found = [Prompt(text=row.text, kind="prompt", level=row.level, source=row.source) for row in own.itertuples()]
    return [*found, *(Prompt(text=None, kind=kind) for kind in study.baselines)]


def anchor_of(prompts: list[Prompt]) -> Prompt:
    """The prompt that is scored on all items where the others are on a part: the default, else the first."""
    return next((p for p in prompts if p.kind == "default"), prompts[0])


def prompt_count(study: Study, prompts: pd.DataFrame, task_name: str) -> int:
    return len(prompts_of(study, prompts, task_name))


def make_cells(
    study: Study, model: LoadedModel, task: Any, task_spec: TaskSpec, prompts: pd.DataFrame
) -> Iterable[Cell]:
    """The cells of a group: subsets x prompts on the task's split, each with its identity."""
    assert study.prompts is not None
    versions = {name: version(name) for name in SCORED_BY}
    settings = task_settings(task)
    for split in task.eval_splits:
        for subset in task.hf_subsets:
            fingerprint = _fingerprint(task, subset, split)
            part, wanted = (
                part_of(task, subset, split, study.budget, study.seed),
                prompts_of(study, prompts, task_spec.name),
            )
            first = anchor_of(wanted)
            for prompt in wanted:
                used = prefixes(model, task.metadata, prompt, study.prompts.application, study.prompts.separator)
                slot = {
                    "model": model.label,
                    "task": task.metadata.name,
                    "subset": subset,
                    "split": split,
                    "prompt_id": prompt.id,
                    "application": used.application,
                }
                identity = {
                    "model": model.key,
                    "prefixes": [used.query, used.document, used.both],
                    "separator": used.separator,
                    "kind": prompt.kind,
                    "data": fingerprint,
                    "task": settings,
                    "seed": study.seed,
                    "exact": study.sweep.exact or keeps_stock_batches(prompt, task),
                    "bitext_side": study.sweep.bitext_side,
                    "versions": versions,
                }
                own = None if prompt == first else part
                if own is not None:
                    identity["items"] = own.digest
                yield Cell(slot | {"seed": study.seed}, identity, prompt, used, own)


def _fingerprint(task: Any, subset: str, split: str) -> str:
    """`data_fingerprint`, computed once per task object: all models of a process share it."""
    known = task.__dict__.setdefault("_fingerprints", {})
    if (subset, split) not in known:
        known[subset, split] = data_fingerprint(task, subset, split)
    return str(known[subset, split])


def task_settings(task: Any) -> dict[str, Any]:
    """The numbers and words of a task's class that its scores can depend on, e.g. samples per label, bootstrap size."""
    found = {}
    for name in sorted(dir(type(task))):
        value = getattr(type(task), name)
        if name in ("data_loaded", "dataset", "fast_loading") or name.startswith("_"):
            continue
        if isinstance(value, (bool, int, float, str, tuple, type(None))):
            found[name] = list(map(str, value)) if isinstance(value, tuple) else value
    return found


def keeps_stock_batches(prompt: Prompt, task: Any) -> bool:
    """Baselines of tasks without sides keep mteb's batches: a reported default is then stock mteb's score exactly.

    Another batch composition moves vectors by 2e-7, which can flip one prediction of a classifier.
    """
    return prompt.kind != "prompt" and not has_sides(task.metadata)
