"""What the run folders say: executed notebooks, the state of every step, and the findings of each study."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from helpers.base.errors import StudyError
from helpers.base.files import project_root, read_json
from helpers.base.visible import show_controls
from helpers.report.provenance import RECORD
from helpers.study.load import IN_RUN_FOLDER, load_study
from helpers.study.spec import Study


@dataclass
class StudyRun:
    """What one study's run folder says: its executed notebooks, findings per step, and the state of every step."""

    name: str
    title: str
    description: str
    folder: Path
    notebooks: dict[str, Path]
    steps: dict[str, dict[str, str]]
    command: str
    findings: list[dict[str, str]] = field(default_factory=list)
    executed: str = ""  # when the last notebook ended, ISO
    recorded: dict[str, str] | None = None  # `provenance.record` of that notebook

    @property
    def incomplete(self) -> dict[str, dict[str, str]]:
        """The steps that are not done, with state and reason."""
        return {s: entry for s, entry in self.steps.items() if entry.get("state") != "done"}


def study_runs(runs: Path) -> list[StudyRun]:
    """Every run below `data/runs` that has an executed notebook; the demo first, then by name."""
    found = [read_run(folder) for folder in sorted(runs.glob("*/")) if list(folder.glob("notebooks/0*.ipynb"))]
    return sorted(found, key=lambda run: (run.name != "demo", run.name))


def read_run(folder: Path) -> StudyRun:
    """Read one run folder; a file that is absent or unreadable counts as saying nothing."""
    notebooks = {p.name[:2]: p for p in sorted(folder.glob("notebooks/0*.ipynb"))}
    status = read_json(folder / "status.json") or {}
    steps = {str(k): dict(v) for k, v in status.get("steps", {}).items()}
    for step in notebooks:
        steps.setdefault(step, {"state": "done"})
    findings = []
    for step in sorted(steps):
        for entry in _entries(folder / "findings" / f"{step}.json"):
            entry = {"text": entry} if isinstance(entry, str) else entry
            findings.append({**entry, "step": step})
    command = status.get("command") or f"make report STUDY={folder.name}"
    title, description = _study_words(folder)
    notes = [(read_json(path) or {}).get("metadata", {}) for path in notebooks.values()]
    last: dict[str, Any] = max(notes, key=_end_time, default={})
    return StudyRun(
        folder.name, title, description, folder, notebooks, dict(sorted(steps.items())), command, findings,
        _end_time(last), last.get(RECORD),
    )  # fmt: skip


def _end_time(notes: dict[str, Any]) -> str:
    return str((notes.get("papermill") or {}).get("end_time") or "")


def page_title(path: Path) -> str:
    """The first heading of a notebook, else the name of its file."""
    for cell in (read_json(path) or {}).get("cells", []):
        source = "".join(cell.get("source", "")).lstrip()
        if cell.get("cell_type") == "markdown" and source.startswith("# "):
            return source.split("\n", 1)[0][2:].strip()
    return path.stem


@cache
def step_name(step: str) -> str:
    """What a step does, from the first heading of its notebook: "03" -> "inflation and deflation"."""
    for path in (project_root() / "notebooks").glob(f"{step}_*.ipynb"):
        return page_title(path).partition(" · ")[2].lower()
    return step


def run_study(folder: Path) -> Study:
    """The study of a run folder: the one that lies in it, else the project's of that name; `StudyError` where neither is."""
    return load_study(folder if (folder / IN_RUN_FOLDER).is_file() else folder.name)


def _study_words(folder: Path) -> tuple[str, str]:
    try:
        study = run_study(folder)
        return show_controls(study.title), show_controls(study.description)
    except (StudyError, OSError):
        return folder.name, ""  # a study given by its path; the run folder knows only its name


def _entries(path: Path) -> list[Any]:
    try:
        return list(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return []
