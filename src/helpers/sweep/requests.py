"""Requests: what served models will be sent in a sweep, estimated before it starts, and refused beyond a limit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.errors import StudyError
from helpers.models.served import sent_so_far
from helpers.prompts.table import prompt_table
from helpers.study.spec import Study
from helpers.sweep.cost import TOKENS_PER_CHARACTER, planned

OF_A_MODEL = (6, 3_200)  # requests and tokens that show what a server does
OF_A_TASK = 5  # requests that show what a prompt does
PROMPT = 60.0  # characters, of prompts that are not written yet


def requests_table(study: Study, folder: Path, plan: pd.DataFrame | None = None) -> pd.DataFrame:
    """One row per served model of a study: requests and tokens of the whole sweep, sent so far and still to send.

    plan: the table of `plan_table`. Columns: model, url, requests, tokens (estimates for all cells), requests_sent,
    tokens_sent, requests_left, tokens_left, counted (whether the size of every task is known), problem (which limit the
    rest would pass; None).
    """
    rows = []
    served = [model for model in study.models if model.server is not None]
    plan = planned(study, folder)[0] if plan is None and served else plan
    lengths = _prompt_lengths(study) if served else {}
    for model in served:
        assert model.server is not None and plan is not None
        sent = sent_so_far(model, folder / "cache")
        total, left = list(OF_A_MODEL), [0.0, 0.0] if sent["requests"] else list(map(float, OF_A_MODEL))
        own = plan[plan["model"] == model.label]
        for task in own[own["texts"].notna() & own["mtokens"].notna()].itertuples():
            runs = int(task.prompt_runs + task.baseline_runs)
            prompted = task.texts * task.prompt_runs / max(runs, 1)
            tokens = float(task.mtokens) * 1e6 + prompted * lengths.get(task.task, PROMPT) * TOKENS_PER_CHARACTER
            fits = model.server.batch_tokens / max(tokens / max(task.texts, 1), 1.0)
            size = max(1, min(model.server.batch_texts, int(fits)))
            needed = runs * math.ceil(task.texts / max(runs, 1) / size) + OF_A_TASK, tokens
            missing = 1 - min(1.0, task.cells_done / max(runs * task.subsets, 1))
            for n, number in enumerate(needed):
                total[n] += math.ceil(number)
                left[n] += number * missing
        row: dict[str, Any] = {"model": model.label, "url": model.server.url}
        limits = {"requests": model.server.max_requests, "tokens": model.server.max_tokens}
        problem: str | None = None
        for n, (what, most) in enumerate(limits.items()):
            # Of a cell that broke off the vectors are kept: no more is left than was not sent.
            rest = math.ceil(min(left[n], max(0, total[n] - sent[what])))
            row |= {what: total[n], f"{what}_sent": sent[what], f"{what}_left": rest}
            if most is not None and rest and sent[what] + rest > most and problem is None:
                so_far = f" after {sent[what]:,} that were sent" if sent[what] else ""
                problem = (
                    f"model {model.label}: about {rest:,} {what} are needed{so_far}, and server.max_{what} is {most:,}; "
                    "raise it, or take fewer prompts or tasks"
                )
        rows.append(row | {"counted": bool(own["texts"].notna().all()), "problem": problem})
    columns = ["model", "url", "requests", "tokens", "requests_sent", "tokens_sent", "requests_left", "tokens_left"]
    return pd.DataFrame(rows, columns=[*columns, "counted", "problem"])


def _prompt_lengths(study: Study) -> dict[str, float]:
    """Mean characters of a task's prompts, where they are written."""
    if study.prompts is None or study.prompts.source == "generate":
        return {}
    table = prompt_table(study)
    written = table[table["kind"] == "prompt"]
    return dict(written["text"].str.len().groupby(written["task"]).mean())


def check_limits(study: Study, folder: Path) -> None:
    """Raise `StudyError` where a sweep would, by the estimate, ask a server for more than the study allows."""
    if not any(m.server and (m.server.max_requests or m.server.max_tokens) for m in study.models):
        return
    for problem in requests_table(study, folder)["problem"].dropna():
        raise StudyError(str(problem))
