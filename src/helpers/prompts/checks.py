"""Checks of a table of prompts: which rule marks which prompt and why, what is removed, what a person decided.

Nothing is changed or stripped. Rules listed in `prompts.remove` take a prompt out; all others only mark it, and a
person decides in the review file (`helpers.prompts.review`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.prompts.context import TaskContext, contexts_of
from helpers.prompts.near_duplicates import distances, representatives
from helpers.prompts.review import Review, read_review
from helpers.prompts.rules import SINGLE, Case, Spans
from helpers.study.spec import Study

MARKS = ["task", "prompt_id", "text", "level", "generator", "rule", "reason", "other", "distance"]

REMOVALS = [
    "task", "prompt_id", "text", "level", "source", "generator", "rule", "reason", "kept_text", "distance", "by",
]  # fmt: skip

NEED_CONTEXT = ("task drift", "names the data set", "names a language")


def check(
    found: pd.DataFrame,
    contexts: Mapping[str, TaskContext] | None = None,
    texts: Mapping[str, Iterable[str]] | None = None,
    max_characters: int = 200,
    threshold: float | None = 0.1,
    rules: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Apply the rules to every prompt; one row per mark, with the rule's name and its reason in words.

    contexts: task -> its context; without one, rules that need it say nothing. texts: task -> texts of its data set,
    for the rule "leak". threshold: mean normalised Levenshtein distance below which prompts of a task are one. For
    duplicates `other` is the text that stays and `distance` how far it is.
    """
    wanted = set(SINGLE) | {"duplicate", "near-duplicate"} if rules is None else set(rules)
    spans = {task: Spans.of(values) for task, values in (texts or {}).items()}
    names = tuple((contexts or {}).keys())
    rows: list[dict[str, object]] = []
    for task, group in found.groupby("task", sort=False):
        others = tuple(n for n in names if n != task)
        for row in group.itertuples():
            level = row.level if isinstance(row.level, str) else None
            case = Case(row.text, level, (contexts or {}).get(str(task)), others, max_characters, spans.get(str(task)))
            for name, rule in SINGLE.items():
                reason = rule(case) if name in wanted else None
                if reason:
                    rows.append(_mark(row, name, reason))
        rows += [m for m in _repeats(group, threshold) if m["rule"] in wanted]
    marks = pd.DataFrame(rows, columns=["position", *MARKS])
    return marks.sort_values("position", kind="stable", ignore_index=True)


def _mark(
    row: object, rule: str, reason: str, other: str | None = None, distance: float | None = None
) -> dict[str, object]:
    values = {name: getattr(row, name) for name in ("task", "prompt_id", "text", "level", "generator")}
    position = row.Index  # type: ignore[attr-defined]
    return {"position": position, **values, "rule": rule, "reason": reason, "other": other, "distance": distance}


def _repeats(group: pd.DataFrame, threshold: float | None) -> list[dict[str, object]]:
    """Marks of the prompts of one task that repeat another one exactly or nearly."""
    texts = group["text"].tolist()
    stands_for = representatives(texts, threshold or 0)
    between = distances(texts)
    first = {text: number for number, text in reversed(list(enumerate(texts)))}
    rows = []
    for number, row in enumerate(group.itertuples()):
        kept = int(stands_for[number])
        if first[row.text] != number:
            rows.append(_mark(row, "duplicate", "the same text stands above", row.text, 0.0))
        elif texts[kept] != row.text:
            far = float(between[number, kept])
            others = int(np.sum(stands_for == kept))
            reason = f"differs by {far:.3f} from the prompt in the middle of its {others} near-duplicates"
            rows.append(_mark(row, "near-duplicate", reason, texts[kept], far))
    return rows


def decide(
    found: pd.DataFrame,
    study: Study,
    contexts: Mapping[str, TaskContext] | None = None,
    texts: Mapping[str, Iterable[str]] | None = None,
) -> pd.DataFrame:
    """Every candidate with its marks and whether it stays.

    Adds to the candidates: rules, reasons (joined by "; "), kept (bool), rule (what removed it, null where it stays),
    reason, kept_text, distance, by ("rule", "reviewer" or "study"), decision and comment of the reviewer. A person's
    word goes before any rule; an exact repetition is always removed, because one task has one score per text.
    """
    spec = study.prompts
    assert spec is not None
    if contexts is None and set(NEED_CONTEXT) & set(spec.remove):
        contexts = contexts_of(study)
    review = read_review(review_path(study), set(zip(found["task"], found["prompt_id"], strict=True)))
    table = found.reset_index(drop=True)
    over = table.groupby(["task", "level", "generator"], dropna=False).cumcount() >= spec.per_level
    dropped = np.array(
        [review.decision(t, i) == "drop" for t, i in zip(table["task"], table["prompt_id"], strict=True)], dtype=bool
    )
    # What is out already does not stand for others.
    looked_at = table[~over.to_numpy() & ~dropped]
    marks = check(looked_at, contexts, texts, spec.max_characters, spec.near_duplicate_threshold)
    decided = _with_marks(table, marks, {*spec.remove, "duplicate"}, review)
    removed = ["kept", "rule", "reason", "by"]
    decided.loc[over, removed] = [False, "beyond per_level", f"more than {spec.per_level}", "study"]
    decided.loc[dropped, removed] = [False, "review", "dropped by the reviewer", "reviewer"]
    return decided


def _with_marks(table: pd.DataFrame, marks: pd.DataFrame, removing: set[str], review: Review) -> pd.DataFrame:
    by_position = dict(iter(marks.groupby("position")))
    rows = []
    for position, task, text_id in zip(table.index, table["task"], table["prompt_id"], strict=True):
        own = by_position.get(position)
        row = {
            "rules": "" if own is None else "; ".join(own["rule"]),
            "reasons": "" if own is None else "; ".join(own["reason"]),
            "kept": True, "rule": None, "reason": None, "kept_text": None, "distance": np.nan, "by": None,
            "decision": review.decision(task, text_id), "comment": review.comment(task, text_id),
        }  # fmt: skip
        for mark in () if own is None else own.itertuples():
            stays = row["decision"] == "keep" and mark.rule != "duplicate"
            if mark.rule in removing and not stays:
                row |= {"kept": False, "rule": mark.rule, "reason": mark.reason, "by": "rule"}
                row |= {"kept_text": mark.other, "distance": mark.distance}
                break
        rows.append(row)
    extra = pd.DataFrame(rows, index=table.index)
    for name in extra.columns.difference(["kept", "distance"]):
        extra[name] = extra[name].astype(object)
    return pd.concat([table, extra], axis=1)


def removal_report(decided: pd.DataFrame) -> pd.DataFrame:
    """One row per removed prompt: the rule and its reason, the text that stands for it, who removed it."""
    return decided.loc[~decided["kept"].astype(bool), REMOVALS].reset_index(drop=True)


def review_path(study: Study) -> Path:
    """The review file: the study's `review_file`, else `prompts/review.csv` in its run folder."""
    from helpers.base.files import project_path
    from helpers.study.run import run_folder

    spec = study.prompts
    if spec is not None and spec.review_file:
        return project_path(spec.review_file)
    return run_folder(study) / "prompts" / "review.csv"
