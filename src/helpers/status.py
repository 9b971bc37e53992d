"""Status: what is known of every step of a run, kept in `status.json`, and what a step's result depends on."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from helpers.run import download_folder, write_json
from helpers.study import TASK_DATA_VARIABLE, Study, project_path, project_root

# Folders or archives of published results; also PUBLISHED_RESULTS_<STUDY>.
PUBLISHED_VARIABLES = ("PUBLISHED_RESULTS", "PUBLISHED_DEFAULTS")
WHAT_CHANGED = {
    "notebook": "the notebook",
    "study": "the study file",
    "parameters": "the given parameters",
    "package": "the code in src/helpers",
    "data": "a file in data/",
    "task_data": "the local task data or published results",
    "weights": "the weights of a model given by its path",
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
    cells = [[c.cell_type, c.source, sorted(c.metadata.get("tags", []))] for c in notebook.cells]
    root = project_root()
    data_root = study.task_data_root()
    local = [data_root] if data_root else []
    published = published_places(study)
    paths = [project_path(m.weights[5:]) for m in study.models if m.weights.startswith("path:")]
    earlier = [
        [number, name, file_hash(folder / name)]
        for number, before in sorted(status.steps.items())
        if number < step
        for name in sorted(before.outputs)
        if name.startswith("tables/")  # an executed notebook holds the time, so it always differs
    ]
    return {
        "notebook": digest(cells),
        "study": file_hash(study_file) or "absent",
        "parameters": digest(dict(parameters)),
        "package": _files_hash(root / "src" / "helpers", ("*.py",)),
        "data": _files_hash(root / "data", ("*",), without=("runs", "studies")),
        "task_data": _listing_hash([*local, *published]),
        "weights": _listing_hash(paths),
        "environment": environment_hash(),
        "earlier": digest(earlier),
    }


def published_places(study: Study) -> list[Path]:
    """Every file or folder that published results of a study may be read from: variables, its keys, downloads."""
    source = study.results_from
    if source is None:
        return []
    parts: list[Any] = [source, source.reported] if source.reported else [source]
    given = [value for name, value in sorted(os.environ.items()) if name.startswith(PUBLISHED_VARIABLES)]
    given += [part.path for part in parts if part.path]
    downloads = [download_folder(part.repository) for part in parts if part.repository]
    return [*(project_path(value) for value in given if value), *downloads]


def why_again(before: Step | None, inputs: Mapping[str, str], folder: Path) -> str | None:
    """Why a step has to run (again), or None where its finished result can be used as it is."""
    if before is None:
        return "has not run"
    if before.state == "running" or before.state == "failed":
        return "was stopped before its end" if before.state == "running" else "failed the last time"
    if not before.outputs:
        return before.reason or "has not run"
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
        (
            pd.read_parquet(folder / "tables" / "scores.parquet", columns=["status"])["status"] == "failed"
        ).sum()
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


def digest(value: Any) -> str:
    """A short hash of any JSON-like value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def file_hash(path: Path) -> str | None:
    """The SHA-256 of a file's bytes (16 hexadecimal digits), None where it does not exist."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return None


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


def _files_hash(folder: Path, patterns: Iterable[str], without: tuple[str, ...] = ()) -> str:
    files = sorted({p for pattern in patterns for p in folder.rglob(pattern) if p.is_file()})
    kept = [
        p for p in files if p.relative_to(folder).parts[0] not in without and "__pycache__" not in p.parts
    ]
    return digest([[p.relative_to(folder).as_posix(), file_hash(p)] for p in kept])


def _listing_hash(folders: Iterable[Path]) -> str:
    """Names, sizes and times of the files: large data are not read only to see that nothing changed."""
    rows = []
    for folder in folders:
        for path in [folder, *sorted(folder.rglob("*"))]:
            if path.is_file():
                about = path.stat()
                rows.append([path.relative_to(folder).as_posix(), about.st_size, about.st_mtime_ns])
    return digest(rows)
