"""What a claim of a paper is computed from: the tables of one run, and the reason where they do not suffice."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from helpers.base.errors import StudyError
from helpers.report.answers import Evidence
from helpers.report.runs import run_study
from helpers.scores.cells import Records, chosen_records, task_scores
from helpers.scores.source import known_records, reported_defaults
from helpers.sensitivity import audit
from helpers.sweep.variants import distinct

DEFAULTS = ("measured", "reported", "reported, same records")


class Untestable(Exception):
    """A claim cannot be computed from a run; the message says why, as the end of "not testable here: …"."""


@dataclass(frozen=True)
class Found:
    """Our value of a claim, how it is written with its unit and number of cases, and its interval where it has one."""

    value: float | str
    text: str = ""
    interval: tuple[float, float] | None = None

    @property
    def shown(self) -> str:
        return self.text or (self.value if isinstance(self.value, str) else f"{self.value:.4g}")


@dataclass(frozen=True)
class Tables:
    """The tables of one run, each read once; what is absent raises `Untestable`."""

    study: Evidence
    read: dict[str, pd.DataFrame] = field(default_factory=dict)
    made: dict[str, pd.DataFrame] = field(default_factory=dict)

    def need(self, name: str) -> pd.DataFrame:
        """The saved table of that name, models that stand twice with other settings left out."""
        if name not in self.read:
            self.read[name] = self.study.table(name)
        if self.read[name].empty:
            raise Untestable(f"no run has the table {name}")
        return distinct(self.read[name])

    def of(self, name: str, **values: str) -> pd.DataFrame:
        """The rows of a table in which every column named has the value named, one at least."""
        rows = self.need(name)
        for column, value in values.items():
            if column not in rows:
                raise Untestable(f"the table {name} has no column {column}")
            rows = rows[rows[column] == value]
            if rows.empty:
                raise Untestable(f"no run has {value}")
        return rows

    def cells(self) -> pd.DataFrame:
        """One score per model, task and prompt, with the records that the study says make a task's score."""
        if "cells" not in self.made:
            self.made["cells"] = task_scores(self.need("scores"), self._records())
        return self.made["cells"]

    def defaults(self, which: str) -> pd.DataFrame:
        """Default scores as model, task, score.

        which: "measured" beside the prompts; "reported" on a public board, over all its records; "reported, same
        records", of these only those that the prompt runs have.
        """
        if which not in DEFAULTS:
            raise ValueError(f"defaults are {', '.join(DEFAULTS)}, not '{which}'")
        if which not in self.made:
            self.made[which] = self._defaults(which)
        return self.made[which]

    def _defaults(self, which: str) -> pd.DataFrame:
        if which == "measured":
            cells = self.cells()
            return cells.loc[cells["kind"] == "default", ["model", "task", "score"]].dropna()
        scores = self.need("scores")
        try:
            reference = reported_defaults(run_study(self.study.folder).results_from, self.study.name)
        except (StudyError, OSError):
            reference = None
        if reference is None:
            raise Untestable("the defaults that were reported are not at hand (helpers fetch-published)")
        if which != "reported":
            reference = audit.same_records(reference, chosen_records(scores, self._records()))
        return audit.reported_scores(reference, scores).dropna()

    def _records(self) -> Records:
        try:
            return known_records(run_study(self.study.folder).results_from, self.need("scores"))
        except (StudyError, OSError):
            return None
