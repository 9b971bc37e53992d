"""A run: the folder in which one study's notebooks leave their tables, findings, models and results."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.files import project_path, project_root, replacing, write_json
from helpers.base.names import unknown
from helpers.study.load import load_study, study_path
from helpers.study.spec import Study
from helpers.study.tables import check_table, completed, declared_tables


class Run:
    """The tables and findings of one study under `data/runs/<study>/`; the only place where notebooks write."""

    def __init__(self, study: Study, step: str = "", overrides: dict[str, Any] | None = None) -> None:
        self.study = study
        self.step = step
        self.overrides = {k: v for k, v in (overrides or {}).items() if v is not None}
        self.reference = study.name  # what a command calls the study
        self.folder = run_folder(study)
        self.folder.mkdir(parents=True, exist_ok=True)

    @classmethod
    def open(cls, study: str | Path | Study, step: str = "", **overrides: Any) -> Run:
        """Open the run of a study for one step; overrides (None: as in the file) are dotted study keys.

        In a notebook run by papermill this first refuses parameters that the notebook does not declare. Raises
        `StudyError` where the run folder belongs to another study file of the same name.
        """
        from helpers.base.interruption import explain_interrupts
        from helpers.base.terminal import quiet_libraries
        from helpers.study.owner import claim, reference
        from helpers.study.parameters import check_injected

        check_injected()
        explain_interrupts()
        quiet_libraries()
        dotted = {key.replace("__", "."): value for key, value in overrides.items()}
        run = cls(load_study(study, **dotted), step, dotted)
        if not isinstance(study, Study):
            file = study_path(study)
            claim(run.folder, run.study.name, file)
            run.reference = reference(run.study.name, file)
        return run

    def settings(self) -> pd.DataFrame:
        """The effective settings as (key, value, from): what the study file says and what was overridden."""
        rows = []
        for key, value in _flatten(self.study.model_dump(exclude_defaults=False)):
            source = "override" if any(key == o or key.startswith(o + ".") for o in self.overrides) else "study"
            rows.append({"key": key, "value": value, "from": source})
        return pd.DataFrame(rows, columns=["key", "value", "from"])

    def table_path(self, name: str) -> Path:
        return self.folder / "tables" / f"{name}.parquet"

    def has_table(self, name: str) -> bool:
        return self.table_path(name).is_file()

    def table(self, name: str) -> pd.DataFrame:
        """Read a table; where it is absent the error names the step that makes it."""
        path = self.table_path(name)
        if not path.is_file():
            there = sorted(p.stem for p in path.parent.glob("*.parquet"))
            declared = declared_tables().get(name)
            if declared is None:
                raise StudyError(f"run '{self.study.name}': {unknown('table', name, there)}")
            raise StudyError(
                f"run '{self.study.name}' has no table '{name}' yet; notebook {declared.step} makes it: "
                f"make report STUDY={self.reference}"
            )
        try:
            return pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise StudyError(
                f"tables/{path.name} of run '{self.study.name}' is not readable ({type(error).__name__}); "
                f"delete it and run its notebook again"
            ) from error

    def save_table(self, name: str, table: pd.DataFrame) -> Path:
        """Write a table as Parquet, whole or not at all; unchanged content gives unchanged bytes.

        Raises ValueError where it has other columns than its room declares (`helpers.study.tables`).
        """
        table = completed(name, table)
        check_table(name, table)
        path = self.table_path(name)
        with replacing(path) as temporary:
            table.reset_index(drop=True).to_parquet(temporary, index=False, compression="zstd")
        return path

    def save_findings(self, findings: Iterable[str | dict[str, str]]) -> Path:
        """Keep a step's finding sentences (with the anchor of the figure that shows each) for the landing page."""
        entries = [{"text": f} if isinstance(f, str) else dict(f) for f in findings]
        return self.save_json(f"findings/{self.step or 'extra'}.json", [{"step": self.step, **e} for e in entries])

    def save_json(self, name: str, content: Any) -> Path:
        """Write a JSON file inside the run folder, whole or not at all."""
        path = self.folder / name
        write_json(path, content)
        return path


def tables_of(table: pd.DataFrame, name: str) -> pd.DataFrame | None:
    """Another table of the run that a table came from (`attrs["run"]`, its folder); None where it does not say."""
    folder = table.attrs.get("run")
    path = Path(folder) / "tables" / f"{name}.parquet" if folder else None
    return pd.read_parquet(path) if path is not None and path.is_file() else None


def download_folder(repository: str) -> Path:
    """The folder of what was downloaded from a public repository, owner/name; it lies beside the run folders."""
    return runs_folder() / ".downloads" / repository.replace("/", "+")


def runs_folder() -> Path:
    """`data/runs` of the project, or `HELPERS_RUNS` where that is set (e.g. a scratch disk)."""
    base = os.environ.get("HELPERS_RUNS")
    return Path(base).expanduser() if base else project_root() / "data" / "runs"


def run_folder(study: Study) -> Path:
    """The folder of a study's run: its `folder`, else one of its name among all runs."""
    return project_path(study.folder).resolve() if study.folder else runs_folder() / study.name


def follow_umask(folder: Path) -> None:
    """Give every file below a folder the permissions of a new file; safetensors writes what only its owner can read."""
    with replacing(folder / "new") as temporary:
        mode = temporary.stat().st_mode & 0o777
    (folder / "new").unlink()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(mode)


def _flatten(value: Any, prefix: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, inner in enumerate(value):
            name = inner.get("label") or inner.get("name") or str(number)
            compact = {k: v for k, v in inner.items() if v not in (None, "", [])}
            yield f"{prefix}[{name}]", ", ".join(f"{k}={v}" for k, v in compact.items())
    else:
        yield prefix, "" if value is None else str(value)
