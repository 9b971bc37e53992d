"""What is said about the sweep: how far wording moves scores, what failed, what was cut, what a model cannot tell apart."""

from __future__ import annotations

import pandas as pd

from helpers.base.extremes import extreme_scores, numbers_of_prompts
from helpers.base.phrases import cells_named, choose, count, is_highest, listed, out_of, out_of_sets
from helpers.base.ties import compare
from helpers.display.figure import Said


def scores(cells: pd.DataFrame, table: pd.DataFrame, inputs: pd.DataFrame) -> Said:
    """All that the sweep says by itself.

    cells: one row per model, task and prompt, with model, task, kind, score (NaN: a hole). table: the scores table, one
    row per subset and split. inputs: the table of what the models received.
    """
    return Said(widest(cells), (*completeness(table), *spreads(table), *told_apart(inputs), *cut(inputs)))


def widest(cells: pd.DataFrame) -> str:
    """The widest range of scores between prompts, over equal numbers of prompts per task.

    >>> rows = [("m", "T", "prompt", 0.5), ("m", "T", "prompt", 0.7), ("m", "T", "default", 0.9)]
    >>> widest(pd.DataFrame(rows, columns=["model", "task", "kind", "score"]))
    'Wording moves m on T: by 0.200 between its prompts'
    """
    known = cells[(cells["kind"] == "prompt") & cells["score"].notna()]
    known = known[known.groupby(["model", "task"], observed=True)["score"].transform("size") > 1]
    ranges = extreme_scores(known, "best") - extreme_scores(known, "worst")
    if ranges.empty:
        return "No two prompts have scores to compare"
    if compare(ranges.max(), 0) == 0:
        return "Wording moves no score: all prompts of a model and task score alike"
    top = ranges[is_highest(ranges)].reset_index()
    most = " most" if len(ranges) > 1 else ""
    its = choose(len(top), "its", "their")
    numbers = numbers_of_prompts(known).loc[top["task"].unique()]
    unequal = (numbers["fewest"] < numbers["most"]).any()
    drawn = ", equal numbers of them drawn for every model" if unequal else ""
    return f"Wording moves {cells_named(top)}{most}: by {ranges.max():.3f} between {its} prompts{drawn}"


def completeness(table: pd.DataFrame) -> list[str]:
    """How many cells of the scores table are complete, and why the first failed ones are not."""
    ok = int((table["status"] == "ok").sum())
    sentences = [f"{out_of(ok, len(table), 'cell')} {choose(len(table), 'is', 'are')} complete."]
    failed = table[table["status"] == "failed"].groupby(["model", "task"]).first().reset_index()
    sentences += [f"{row.model} on {row.task} failed: {row.reason}" for row in failed.head(3).itertuples()]
    if len(failed) > 3:
        further = count(len(failed) - 3, "further pair", "further pairs")
        sentences.append(f"{further} of model and task failed.")
    return sentences


def estimated(estimates: pd.DataFrame) -> list[str]:
    """On how many items the prompts were scored, and how far the spread over prompts is their error (`estimates.spreads`).

    >>> row = {"model": "m", "task": "T", "prompts": 15, "items": 75, "items_of": 300, "error": 0.004, "spread": 0.012,
    ...        "spread_corrected": 0.010}
    >>> estimated(pd.DataFrame([row]))[1]
    'm on T: standard deviation over 15 prompts .012 as estimated, .010 without the errors of the estimates.'
    """
    if estimates.empty:
        return []
    share = estimates["items"] / estimates["items_of"]
    text = (
        f"Prompts were scored on {share.min():.0%}" + (f" to {share.max():.0%}" if share.max() > share.min() else "")
        + f" of the items and anchored at the prompt that was scored on all; median standard error {estimates['error'].median():.4f}. "
        "What pages 3 and 4 say of these scores counts their errors as spread."
    )  # fmt: skip
    widest = estimates.sort_values(["spread", "model", "task"], ascending=[False, True, True]).head(3)
    return [text] + [
        f"{r.model} on {r.task}: standard deviation over {r.prompts} prompts {_short(r.spread)} as estimated, "
        f"{_short(r.spread_corrected)} without the errors of the estimates."
        for r in widest.itertuples()
    ]


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def spreads(table: pd.DataFrame) -> list[str]:
    """The widest spread over prompts on one subset of a task, the median spread, and where no prompt changes anything."""
    prompted = table[(table["status"] == "ok") & (table["kind"] == "prompt")]
    ends = prompted.groupby(["model", "task", "subset"])["main_score"].agg(["min", "max", "count"])
    ends = ends[ends["count"] > 1].reset_index()
    if ends.empty:
        return []
    width, moves = ends["max"] - ends["min"], compare(ends["max"], ends["min"]) > 0
    sentences = []
    if moves.any():
        named = (
            f"{r.model} on {r.task} ({r.subset}) from {r.min:.3f} to {r.max:.3f} over {count(r.prompts, 'prompt')}"
            for r in ends[is_highest(width)].rename(columns={"count": "prompts"}).itertuples()
        )
        sentences.append(
            f"The wording moves {listed(named)}; that is the widest of {count(len(ends), 'spread')}, their median is "
            f"{width.median():.3f}."
        )
    if not moves.all():
        idle = ends[~moves]
        models = listed(set(idle["model"]), 3)
        sentences.append(f"No prompt changes the score in {out_of_sets(len(idle), ends)}: {models}.")
    return sentences


def told_apart(inputs: pd.DataFrame) -> list[str]:
    """One sentence per model that reads different prompts of a task as the same tokens."""
    if "token_digest" not in inputs or inputs["token_digest"].isna().all():
        return []
    shown = inputs[(inputs["kind"] == "prompt") & inputs["side"].isin(["query", "both"])]
    shown = shown.dropna(subset=["token_digest"]).sort_values(["subset", "split", "sample"], kind="stable")
    keys = ["model", "task", "prompt_id"]
    read = shown.groupby(keys).agg(prefix=("prefix", "first"), seen=("token_digest", tuple)).reset_index()
    alike: dict[str, dict[tuple[str, ...], None]] = {}
    for (model, _, _), same in read.groupby(["model", "task", "seen"], sort=True):
        if len(same) > 1:
            alike.setdefault(str(model), {})[tuple(sorted(same["prefix"]))] = None
    return [
        f"{model} cannot tell {' and '.join(map(repr, next(iter(groups))[:2]))} apart: it reads them as the same tokens, so "
        f"their scores are equal ({count(len(groups), 'such group', 'such groups')} of prompts)."
        for model, groups in alike.items()
    ]


def cut(inputs: pd.DataFrame) -> list[str]:
    """The largest share of texts that were cut at a model's maximum length."""
    if inputs.empty:
        return []
    share = inputs.groupby(["model", "task", "side"])["truncated_share"].max()
    if share.max() <= 0:
        return ["No text was truncated at the models' maximum lengths."]
    where = (f"{model} on {task}, side {side}" for model, task, side in share[is_highest(share)].index)
    return [f"Up to {share.max():.1%} of the texts are truncated ({listed(where)})."]


def tried(row: pd.DataFrame) -> str:
    """The place of a typed prompt among the study's (`trial.try_prompt`), in one sentence."""
    if row.empty:
        return "No prompt is typed, and none of the study's has a score to show in its place."
    r = row.iloc[0]
    return (
        f"{r['model']} on {r['task']}: {r['prompt']!r} scores {r['score']:.3f}, percentile {100 * r['percentile']:.0f} of the "
        f"study's {count(int(r['n_prompts']), 'prompt')}."
    )
