"""Run owner: the study file that a run folder belongs to, so that two studies of one name never share a folder."""

from __future__ import annotations

from pathlib import Path

from helpers.base.errors import StudyError
from helpers.base.files import project_root, read_json, write_json

NAME = "study_file.json"


def claim(folder: Path, name: str, file: Path) -> None:
    """Let a run folder remember its study file; a `StudyError` where it belongs to another one."""
    check_owner(folder, name, file)
    if not (folder / NAME).is_file():
        write_json(folder / NAME, {"study_file": shown_file(file)})


def check_owner(folder: Path, name: str, file: Path) -> None:
    """Raise `StudyError`, naming both files and the remedy, where a run folder belongs to another study file."""
    owner = owner_of(folder)
    if owner is None or owner == shown_file(file):
        return
    record = folder / NAME
    where = shown_file(record) if record.is_relative_to(project_root()) else f"{folder.name}/{NAME}"
    if (project_root() / owner).is_file():
        raise StudyError(
            f"{shown_file(file)} and {owner} both have the name '{name}', and the run folder holds the results of "
            f"{owner}; give one of them another 'name' (or delete {where} to go on in this folder with {file.name})"
        )
    raise StudyError(
        f"the run folder of '{name}' belongs to {owner}, which is no longer there; if {shown_file(file)} is the same "
        f"study, delete {where} and the folder is taken over; else give it another 'name'"
    )


def owner_of(folder: Path) -> str | None:
    """The study file of a run folder as `shown_file` writes it; None where the folder does not say."""
    owner = (read_json(folder / NAME) or {}).get("study_file")
    return owner if isinstance(owner, str) else None


def shown_file(file: Path) -> str:
    """A file relative to the project where it lies inside, else its absolute path."""
    root = project_root()
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)


def reference(name: str, file: Path) -> str:
    """What a command calls a study: its name, or its file where that is not `data/studies/<name>.yml`."""
    standard = (project_root() / "data" / "studies" / f"{name}.yml").resolve()
    return name if file == standard else shown_file(file)
