"""Would a public leaderboard's score of a task be like for like with the prompt runs? Told from the task's definition.

A public score of a task is the mean over every subset and split that mteb defines for it. Prompt runs that cover only
some of them (one language of many) answer another question, whatever the public score is.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from helpers.scores.cells import chosen_records
from helpers.scores.source import known_records, reported_defaults
from helpers.sensitivity import audit
from helpers.study.run import Run

COLUMNS = ["task", "measured", "defined", "measured_records", "defined_records", "whole"]


def public_scope(scores: pd.DataFrame, definitions: dict[str, list[tuple[str, str]]] | None = None) -> pd.DataFrame:
    """Per task: the records (split/subset) that make the prompt runs' score, and those that mteb defines.

    scores: a scores table after `task_scores.chosen_records`. definitions: task -> (split, subset) pairs; null: those of
    the installed mteb. Tasks that it does not know are left out. Columns measured and defined (numbers),
    measured_records and defined_records (joined, at most six named), whole: whether every defined record was measured.
    """
    prompts = scores[scores["kind"] == "prompt"]
    found = {str(t): set(zip(p["split"], p["subset"], strict=True)) for t, p in prompts.groupby("task", sort=True)}
    known = defined_records(found) if definitions is None else definitions
    rows = [
        {
            "task": task, "measured": len(records), "defined": len(known[task]), "measured_records": _joined(records),
            "defined_records": _joined(known[task]), "whole": set(known[task]) <= records,
        }
        for task, records in found.items() if task in known
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def defined_records(tasks: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """The (split, subset) pairs that the installed mteb evaluates for each task that it knows."""
    import mteb

    out = {}
    for name in tasks:
        try:
            metadata = mteb.get_task(name).metadata
        except (KeyError, ValueError):
            continue
        out[name] = [(split, subset) for split in metadata.eval_splits for subset in metadata.hf_subsets]
    return out


def _joined(records: Iterable[tuple[str, str]]) -> str:
    names = sorted(f"{split}/{subset}" for split, subset in records)
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def comparability(
    run: Run, scores: pd.DataFrame, cells: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The audit of a run's defaults, and of the reported ones where the study names them (`audit`, `public_scope`).

    Returns the checks (column `defaults`: "measured" beside the prompts or "reported"), what the choice of defaults
    changes, and the scope of the tasks; `fairness.comparability` puts them into sentences.
    """
    if run.has_table("inputs") and "default_prefix" not in scores:
        scores = audit.with_default_prefix(scores, run.table("inputs"))
    source = run.study.results_from
    kept = chosen_records(scores, known_records(source, scores))
    scope = public_scope(kept)
    measured = cells.loc[cells["kind"] == "default", ["model", "task", "score"]]
    own = audit.audit_table(kept)
    if "default" not in run.study.baselines:  # what was not asked for is not missing
        own = own[own["status"] != "missing"].reset_index(drop=True)
    strict = audit.cell_grades(own).query("strictly_like")[["model", "task"]]
    views = {"all measured ones": measured}
    if 0 < len(strict) < len(measured):
        views = {"the measured ones without any caution": measured.merge(strict, on=["model", "task"])} | views
    checks = own.assign(defaults="measured")
    reference = reported_defaults(source, run.study.name)
    if reference is not None:
        other = audit.audit_table(kept, reference)
        fair = audit.cell_grades(other).query("like_for_like")[["model", "task"]]
        reported = audit.reported_scores(reference, scores)
        same = audit.reported_scores(audit.same_records(reference, kept), scores)
        views = {
            "the reported ones": reported,
            "the reported ones that are like for like": reported.merge(fair, on=["model", "task"]),
            "the reported ones on the prompts' own records": same,
        } | views
        checks = pd.concat([other.assign(defaults="reported"), checks], ignore_index=True)
    return checks, audit.consequences(cells, views), scope
