"""Would a public leaderboard's score of a task be like for like with the prompt runs? Told from the task's definition.

A public score of a task is the mean over every subset and split that mteb defines for it. Prompt runs that cover only
some of them (one language of many) answer another question, whatever the public score is.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from helpers.phrases import out_of

COLUMNS = ["task", "measured", "defined", "measured_records", "defined_records", "whole"]


def public_scope(
    scores: pd.DataFrame, definitions: dict[str, list[tuple[str, str]]] | None = None
) -> pd.DataFrame:
    """Per task: the records (split/subset) that make the prompt runs' score, and those that mteb defines.

    scores: a scores table after `task_scores.chosen_records`. definitions: task -> (split, subset) pairs; null: those of
    the installed mteb. Tasks that it does not know are left out. Columns measured and defined (numbers),
    measured_records and defined_records (joined, at most six named), whole: whether every defined record was measured.
    """
    prompts = scores[scores["kind"] == "prompt"]
    found = {
        str(t): set(zip(p["split"], p["subset"], strict=True)) for t, p in prompts.groupby("task", sort=True)
    }
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


def findings(table: pd.DataFrame) -> list[dict[str, str]]:
    """Which tasks' public scores are another quantity than the prompt runs; nothing where all are whole."""
    part = table[~table["whole"].astype(bool)] if len(table) else table
    if part.empty:
        return []
    named = "; ".join(f"{r.task}: {r.measured} of {r.defined} subsets and splits" for r in part.itertuples())
    return [{
        "text": f"For {out_of(len(part), len(table), 'task')} the prompt runs cover only a part of what mteb's task holds ({named}). "
        "A public leaderboard score of these tasks is a mean over other languages or splits: it is not like for like and "
        "must not be called inflated or deflated by these prompts.",
        "figure": "tbl-scope",
    }]  # fmt: skip


def _joined(records: Iterable[tuple[str, str]]) -> str:
    names = sorted(f"{split}/{subset}" for split, subset in records)
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
