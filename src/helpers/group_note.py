"""Group note: what became of one (model, task) group, for other processes on the run folder and for its cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from helpers.models import digest
from helpers.run import write_json
from helpers.study import Study

NAME = "group.json"
SCHEDULING = {"workers", "executor", "ray", "device", "batch_tokens", "retries", "stale", "offline"}


@dataclass(frozen=True)
class GroupNote:
    """The state of a group when a process left it.

    Attributes: request (digest of what was asked for), finished and failed (cells now), reasons (of failures),
    computed (cells computed for this request in all runs so far), seconds (that took, without loading the model),
    load_seconds (longest loading of the model), at (time of writing).
    """

    request: str
    finished: int = 0
    failed: int = 0
    reasons: list[str] = field(default_factory=list)
    computed: int = 0
    seconds: float = 0.0
    load_seconds: float = 0.0
    at: str = ""

    def answers(self, request: str, known: GroupNote | None) -> bool:
        """Whether another process finished the same group since the note `known` was read."""
        return self != known and self.request == request and self.finished + self.failed > 0


def request_of(study: Study, prompt_ids: Sequence[str]) -> str:
    """Digest of everything in a study that decides about a group's cells; where and how it runs is left out."""
    return digest([study.model_dump(mode="json", exclude={"sweep": SCHEDULING}), list(prompt_ids)])


def read_note(place: Path) -> GroupNote | None:
    """The note in a group's folder; None where there is none or it is not readable."""
    try:
        return GroupNote(**json.loads((place / NAME).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_note(place: Path, request: str, report: Any, load_seconds: float, is_finished: bool = True) -> None:
    """Leave the note of a `GroupReport`, adding its cost to that of earlier runs of the same request.

    The note of a group that is not finished, since only a part of it was to be done, counts its cost alone.
    """
    old = read_note(place)
    note = old if old is not None and old.request == request else GroupNote(request)
    note = replace(
        note,
        finished=report.done + report.reused if is_finished else 0,
        failed=report.failed if is_finished else 0,
        reasons=report.reasons[:3] if is_finished else [],
        computed=note.computed + report.done,
        seconds=note.seconds + (report.seconds if report.done else 0.0),
        load_seconds=max(note.load_seconds, load_seconds),
        at=datetime.now(UTC).isoformat(),
    )
    write_json(place / NAME, asdict(note))
