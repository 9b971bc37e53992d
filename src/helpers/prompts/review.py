"""The review file: a CSV in which a person marks each prompt keep or drop, with a comment."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

COLUMNS = ["task", "prompt_id", "text", "level", "generator", "rules", "reasons", "decision", "comment"]

DECISIONS = ("keep", "drop", "")


@dataclass
class Review:
    """What a person decided, by task and prompt id."""

    rows: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def decision(self, task: str, prompt_id: str) -> str | None:
        return self.rows.get((task, prompt_id), {}).get("decision") or None

    def comment(self, task: str, prompt_id: str) -> str | None:
        return self.rows.get((task, prompt_id), {}).get("comment") or None


def read_review(path: Path, known: Iterable[tuple[str, str]] = ()) -> Review:
    """Read the review file; an absent one is an empty review.

    known: (task, prompt_id) of the present prompts. Raises `StudyError` for another word than keep or drop, a missing
    column, or a decided row whose prompt id is no longer that of its text (the text was edited instead of the prompt).
    """
    from helpers.base.errors import StudyError
    from helpers.prompts.prompt import prompt_id

    if path.is_dir():
        raise StudyError(f"prompts.review_file: {path.name} is a folder; name a CSV file, which may be absent yet")
    if not path.is_file():
        return Review()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise StudyError(f"{path.name}: not UTF-8; save the review file as 'CSV UTF-8'") from None
    # Spreadsheets of many countries separate by semicolons.
    head = text.splitlines()[0] if text else ""
    delimiter = ";" if head.count(";") > head.count(",") else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    missing = {"task", "prompt_id", "decision"} - set(reader.fieldnames or [])
    if missing:
        raise StudyError(f"{path.name}: the column '{sorted(missing)[0]}' is missing")
    review, present = Review(), set(known)
    for record in reader:
        row = {k: (v or "") for k, v in record.items() if isinstance(k, str)}
        row["decision"] = row["decision"].strip().lower()
        if row["decision"] not in DECISIONS:
            raise StudyError(
                f"{path.name}, line {reader.line_num}: decision '{row['decision']}' must be keep, drop or left empty"
            )
        key = (unguarded(row["task"].strip()), row["prompt_id"].strip())
        shown = row.get("text", "")
        if row["decision"] and key in present and shown and prompt_id(unguarded(shown)) != key[1]:
            raise StudyError(
                f"{path.name}, line {reader.line_num}: the text was changed; the review only keeps or drops. Change "
                "the prompt in its own file"
            )
        review.rows[key] = row
    return review


def write_review(path: Path, decided: pd.DataFrame) -> Path:
    """Write every prompt with its marks for a person to decide on; decisions that are there already are kept.

    Rows of prompts that are no longer present stay at the end while they hold a decision.
    """
    from helpers.base.files import replacing

    before = read_review(path)
    rows = {}
    for record in decided.itertuples():
        key = (record.task, record.prompt_id)
        if key not in rows:
            values = {name: getattr(record, name, None) for name in COLUMNS}
            row = {k: v if isinstance(v, str) else "" for k, v in values.items()}
            row = {name: guarded(value) for name, value in row.items()}
            old = before.rows.get(key, {})
            row |= {k: old.get(k, "") or row[k] for k in ("decision", "comment")}
            rows[key] = row
    for key, old in before.rows.items():
        if key not in rows and (old.get("decision") or old.get("comment")):
            rows[key] = {name: old.get(name, "") for name in COLUMNS}
    # The file is named .csv and begins with a byte order mark so that spreadsheets read UTF-8.
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8-sig", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())
    return path


def guarded(text: str) -> str:
    """A text that a spreadsheet cannot take for a formula: one apostrophe before = + - @ tab, as they show text."""
    return "'" + text if text and text[0] in "=+-@\t\r'" else text


def unguarded(text: str) -> str:
    return text[1:] if text[:1] == "'" else text
