"""What the sweep shows by itself, in sentences."""

from __future__ import annotations

import pandas as pd

from helpers.base.phrases import choose, count, is_highest, listed, out_of, out_of_sets
from helpers.base.ties import compare


def findings(scores: pd.DataFrame, inputs: pd.DataFrame) -> list[dict[str, str]]:
    """What the sweep shows by itself: completeness, the widest spread over prompts, truncation, idle prompts."""
    ok = scores[scores["status"] == "ok"]
    sentences = [f"{out_of(len(ok), len(scores), 'cell')} {choose(len(scores), 'is', 'are')} complete."]
    failed = scores[scores["status"] == "failed"].groupby(["model", "task"]).first().reset_index()
    for row in failed.head(3).itertuples():
        sentences.append(f"{row.model} on {row.task} failed: {row.reason}")
    if len(failed) > 3:
        sentences.append(
            f"{count(len(failed) - 3, 'further pair', 'further pairs')} of model and task failed."
        )
    keys = ["model", "task", "subset"]
    prompted = (
        ok[ok["kind"] == "prompt"].groupby(keys)["main_score"].agg(["min", "max", "count"]).reset_index()
    )
    prompted = prompted[prompted["count"] > 1]
    if len(prompted):
        width = prompted["max"] - prompted["min"]
        moved = compare(prompted["max"], prompted["min"]) > 0
        if moved.any():
            named = (
                f"{r.model} on {r.task} ({r.subset}) from {r.min:.3f} to {r.max:.3f} over {count(r.prompts, 'prompt')}"
                for r in prompted[is_highest(width)].rename(columns={"count": "prompts"}).itertuples()
            )
            sentences.append(
                f"The wording moves {listed(named)}; that is the widest of {count(len(prompted), 'spread')}, their median "
                f"is {width.median():.3f}."
            )
        idle = prompted[~moved]
        if len(idle):
            models = listed(set(idle["model"]), 3)
            sentences.append(f"No prompt changes the score in {out_of_sets(len(idle), prompted)}: {models}.")
    sentences += _told_apart(inputs)
    if len(inputs):
        cut = inputs.groupby(["model", "task", "side"])["truncated_share"].max()
        if cut.max() > 0:
            where = listed(
                f"{model} on {task}, side {side}" for model, task, side in cut[is_highest(cut)].index
            )
            sentences.append(f"Up to {cut.max():.1%} of the texts are truncated ({where}).")
        else:
            sentences.append("No text was truncated at the models' maximum lengths.")
    return [{"text": s, "figure": "fig-scores"} for s in sentences]


def _told_apart(inputs: pd.DataFrame) -> list[str]:
    """One sentence per model that reads different prompts of a task as the same tokens."""
    if "token_digest" not in inputs or inputs["token_digest"].isna().all():
        return []
    shown = inputs[(inputs["kind"] == "prompt") & inputs["side"].isin(["query", "both"])]
    shown = shown.dropna(subset=["token_digest"]).sort_values(["subset", "split", "sample"], kind="stable")
    keys = ["model", "task", "prompt_id"]
    read = shown.groupby(keys).agg(prefix=("prefix", "first"), seen=("token_digest", tuple)).reset_index()
    found: dict[str, dict[tuple[str, ...], None]] = {}
    for (model, _, _), same in read.groupby(["model", "task", "seen"], sort=True):
        if len(same) > 1:
            found.setdefault(str(model), {})[tuple(sorted(same["prefix"]))] = None
    return [
        f"{model} cannot tell {' and '.join(map(repr, next(iter(groups))[:2]))} apart: it reads them as the same tokens, so "
        f"their scores are equal ({count(len(groups), 'such group', 'such groups')} of prompts)."
        for model, groups in found.items()
    ]
