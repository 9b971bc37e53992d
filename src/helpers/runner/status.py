"""Status: what is known of every step of a run, kept in `status.json`, and what a step's result depends on."""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from helpers.base.files import project_root, write_json
from helpers.base.hashes import content_hash, digest, file_hash
from helpers.runner.reach import reached
from helpers.study.inputs import input_places, review_files
from helpers.study.parameters import TAG, declared
from helpers.study.spec import TASK_DATA_VARIABLE, Study

NEVER = "has not run"

WHAT_CHANGED = {
    "notebook": "the notebook",
    "study": "the study file",
    "parameters": "the parameters",
    "package": "code in src/helpers that it uses",
    "data": "a file in data/",
    "prompt_files": "a prompt file",
    "review": "the review file",
    "instructions": "the file of instructions",
    "paraphrases": "a file of paraphrases",
    "training_data": "the training data",
    "task_data": "the local task data",
    "published": "the published results",
    "weights": "the weights of a model given by its path or package",
    "environment": "the version of an installed package",
    "earlier": "the tables of an earlier step",
}


class Step(BaseModel):
    """One step of a run. `inputs` holds a hash per kind of input, `outputs` one per file that the step wrote."""

    model_config = ConfigDict(extra="ignore")

    notebook: str
    state: Literal["pending", "running", "done", "failed"] = "pending"
    reason: str | None = None
    reused: bool = False
    started: str | None = None
    finished: str | None = None
    seconds: float | None = None
    log: str | None = None
    parameters: dict[str, Any] = {}
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}


class Status(BaseModel):
    """All steps of a run and the command that completes it; `state` is complete, failed, running or incomplete."""

    model_config = ConfigDict(extra="ignore")

    study: str
    state: str = "incomplete"
    command: str = ""
    steps: dict[str, Step] = {}

    def save(self, folder: Path) -> None:
        """Write `status.json` into the run folder, whole or not at all."""
        states = {step.state for step in self.steps.values()}
        order = ("failed", "running", "pending")
        worst = next((state for state in order if state in states), "done")
        self.state = {"done": "complete", "pending": "incomplete"}.get(worst, worst)
        write_json(folder / "status.json", self.model_dump())


def read_status(folder: Path, study: str) -> Status:
    """The status of a run folder; an empty one where the file is absent or unreadable (every step runs again)."""
    try:
        return Status.model_validate_json((folder / "status.json").read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return Status(study=study)


def inputs_of(
    step: str,
    notebook: Any,
    study: Study,
    study_file: Path,
    parameters: Mapping[str, Any],
    status: Status,
    folder: Path,
) -> dict[str, str]:
    """A hash per kind of input of a step; two equal dictionaries mean that the step would compute the same again."""
    root = project_root()
    code = [c for c in notebook.cells if TAG not in c.metadata.get("tags", [])]
    # What the notebook itself says of its parameters counts too, but not of `study`: JupyterLab saves by itself.
    effective = {**declared(notebook, step), "study": None, **parameters}
    earlier = [
        [number, name, file_hash(folder / name)]
        for number, before in sorted(status.steps.items())
        if number < step
        for name in sorted(before.outputs)
        if name.startswith("tables/")  # an executed notebook holds the time, so it always differs
    ]
    data = root / "data"
    return {
        "notebook": digest([[c.cell_type, c.source, sorted(c.metadata.get("tags", []))] for c in code]),
        "study": file_hash(study_file) or "absent",
        "parameters": digest(effective),
        "package": content_hash(reached((c.source for c in code if c.cell_type == "code"), root / "src")),
        "data": content_hash([data], without=[data / "runs", data / "studies", *review_files(study)]),
        **{kind: content_hash(places) for kind, places in input_places(study, step).items()},
        "environment": environment_hash(),
        "earlier": digest(earlier),
    }


def why_again(before: Step | None, inputs: Mapping[str, str], folder: Path) -> str | None:
    """Why a step has to run (again), or None where its finished result can be used as it is."""
    if before is None:
        return NEVER
    if before.state == "running" or before.state == "failed":
        return "was stopped before its end" if before.state == "running" else "failed the last time"
    if not before.outputs:
        return before.reason or NEVER
    changed = [WHAT_CHANGED.get(k, k) for k in inputs if inputs[k] != before.inputs.get(k)]
    if changed:
        return f"{' and '.join(changed)} changed"
    for name, expected in before.outputs.items():
        actual = file_hash(folder / name)
        if actual != expected:
            return f"{name} was {'removed' if actual is None else 'changed by something else'}"
    return _failed_cells(before, folder)


def _failed_cells(before: Step, folder: Path) -> str | None:
    """The sweep ends well although cells failed; such cells are worth another try."""
    if "tables/scores.parquet" not in before.outputs:
        return None
    import pandas as pd

    failed = int(
        (pd.read_parquet(folder / "tables" / "scores.parquet", columns=["status"])["status"] == "failed").sum()
    )
    return f"{failed} scores failed the last time" if failed else None


def snapshot(folder: Path, notebook: Path) -> dict[str, tuple[int, int]]:
    """Identity and time of every result file, to see afterwards which ones a step wrote."""
    kinds = ("tables/*.parquet", "findings/*.json", "prompts/*")  # a person may decide in prompts/review.csv
    files = [*(path for kind in kinds for path in folder.glob(kind)), notebook]
    found = {}
    for path in files:
        if path.is_file():
            about = path.stat()
            found[path.relative_to(folder).as_posix()] = (about.st_mtime_ns, about.st_ino)
    return found


def written(before: Mapping[str, Any], after: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Hashes of the files that differ between two snapshots."""
    return {name: file_hash(folder / name) or "" for name in sorted(after) if after[name] != before.get(name)}


@cache
def environment_hash() -> str:
    """Versions of Python and of the packages that the suite names, and the variable that names local task data."""
    required = [line for line in importlib.metadata.requires("helpers") or [] if "extra ==" not in line]
    names = [re.split(r"[\[ ;=<>!~]", line)[0] for line in required]
    versions = {}
    for name in sorted({*names, "transformers", "tokenizers"}):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:  # of an extra that is not installed
            continue
    return digest([sys.version_info[:3], versions, os.environ.get(TASK_DATA_VARIABLE)])
