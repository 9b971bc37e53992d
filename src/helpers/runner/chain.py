"""Chain: the notebooks of a study in their order, checked before anything runs, and which of them would run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from helpers.base import hashes as file_hashes
from helpers.base.errors import StudyError
from helpers.base.names import unknown
from helpers.runner.checks import check_names
from helpers.runner.notebooks import find_step, notebook_paths, read_notebook
from helpers.runner.status import Status, Step, inputs_of, read_status, why_again
from helpers.study.load import load_study, study_path
from helpers.study.owner import check_owner, reference
from helpers.study.parameters import ParameterError, check, declared
from helpers.study.run import run_folder
from helpers.study.spec import Study

LOCK = ".lock"


@dataclass
class Chain:
    """A study with the notebooks that its steps name, the parameters for each, and what is known of earlier runs."""

    study: Study
    study_file: Path
    folder: Path
    notebooks: dict[str, Path]
    selected: list[str]
    parameters: dict[str, dict[str, Any]]
    status: Status
    force: bool = False
    sources: dict[str, Any] = field(default_factory=dict)

    def why(self, step: str) -> str | None:
        """Why this step would run now, or None where its result is reused."""
        again = why_again(self.status.steps.get(step), self.inputs(step), self.folder)
        return again or ("asked for with --force" if self.force and step in self.selected else None)

    def inputs(self, step: str) -> dict[str, str]:
        given = self.parameters[step]
        return inputs_of(step, self.sources[step], self.study, self.study_file, given, self.status, self.folder)

    def executed(self, step: str) -> Path:
        return self.folder / "notebooks" / self.notebooks[step].name

    @property
    def command(self) -> str:
        """The command that completes the run; a study outside data/studies is named by its file."""
        return f"make report STUDY={reference(self.study.name, self.study_file)}"


def prepare(
    study: str | Path,
    first: str | None = None,
    last: str | None = None,
    given: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Chain:
    """Read and check everything before anything runs.

    Raises `StudyError` for an unknown study, step or notebook, `ParameterError` for a notebook without a parameters
    cell, a given parameter that no selected notebook declares, or a value of the wrong type.
    """
    file = study_path(study)
    loaded = load_study(study)
    if loaded.models or loaded.tasks:
        check_names(loaded)  # a misspelt model is found now, not after an hour
    paths = notebook_paths()
    absent = [step for step in loaded.steps if step not in paths]
    if absent:
        raise StudyError(f"study {loaded.name}: there is no notebook for step {absent[0]} in notebooks/")
    steps: list[str] = sorted(loaded.steps)
    begin = steps.index(find_step(first, steps)) if first else 0
    end = steps.index(find_step(last, steps)) + 1 if last else len(steps)
    selected = steps[begin:end]
    if not selected:
        raise StudyError(f"no step lies between {first} and {last}")
    sources = {step: read_notebook(paths[step]) for step in steps}
    known = {step: declared(sources[step], paths[step].name) for step in steps}
    parameters: dict[str, dict[str, Any]] = {step: {"study": reference(loaded.name, file)} for step in steps}
    used: set[str] = set()
    if "study" in (given or {}):
        raise ParameterError("-p study: the study is the command's argument; leave this parameter out")
    for step in selected:
        own = {key: value for key, value in (given or {}).items() if key in known[step]}
        used |= own.keys()
        parameters[step] |= own
        check(known[step], parameters[step], paths[step].name)
    lost = [key for key in (given or {}) if key not in used]
    if lost:
        everything = sorted({name for step in selected for name in known[step]})
        where = f"notebook{'s' if len(selected) > 1 else ''} {', '.join(selected)}"
        raise ParameterError(f"{where}: {unknown('parameter', lost[0], everything)}")
    folder = run_folder(loaded)
    check_owner(folder, loaded.name, file)
    file_hashes.remember(folder)
    notebooks = {step: paths[step] for step in steps}
    chain = Chain(
        loaded, file, folder, notebooks, selected, parameters, read_status(folder, loaded.name), force, sources
    )
    # What was given for a step that is not run now stays part of its identity.
    for step in set(steps) - set(selected):
        before = chain.status.steps.get(step)
        if before is not None and before.parameters:
            chain.parameters[step] = before.parameters
    return chain


def is_busy(folder: Path) -> bool:
    """Whether a command is running the notebooks of this run folder at this moment."""
    if not folder.is_dir():
        return False
    try:
        with FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True


def plan_lines(chain: Chain) -> list[str]:
    """What would run now and why, one line per step; nothing is computed."""
    lines = []
    earlier_runs, pending, busy = "", Step(notebook=""), is_busy(chain.folder)
    for step in chain.selected:
        again = chain.why(step)
        if busy and chain.status.steps.get(step, pending).state == "running":
            again = "is running now"
            earlier_runs = earlier_runs or step
        elif again is None and earlier_runs:
            again = f"reused if step {earlier_runs} gives the same tables as before"
        elif again is None:
            again = "reused"
        else:
            earlier_runs = earlier_runs or step
            again = f"runs: {again}"
        lines.append(f"{chain.notebooks[step].stem:<30} {again}")
    return lines
