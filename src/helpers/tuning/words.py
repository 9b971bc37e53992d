"""The title of each figure of chapter 06, computed from the table that the figure draws."""

from __future__ import annotations

import pandas as pd

from helpers.base.phrases import count, is_farthest, listed, out_of, signed
from helpers.base.ties import compare
from helpers.tuning.charts import name_of
from helpers.tuning.train import BASELINE

# -- 06: distractor fine-tuning --------------------------------------------------------------------------------------


def dev(log: pd.DataFrame) -> str:
    """Recall@1 among paraphrases on the dev part, at the first and at the last check of each training."""
    return _course(log, "dev_recall_at_1_paraphrase", "recall@1 among paraphrases (dev)")


def loss(log: pd.DataFrame) -> str:
    """The training loss at the first and at the last logged step."""
    return _course(log, "loss", "the training loss")


def recall(recalls: pd.DataFrame) -> str:
    """The training with the largest difference of recall@1 among paraphrases, with its interval."""
    rows = recalls[
        (recalls["metric"] == "recall_at_1")
        & (recalls["pool"] == "paraphrase")
        & (recalls["preset"] != BASELINE)
    ]
    if rows["language"].nunique() > 1:
        rows = rows[rows["language"] == "mean"]
    rows = rows.dropna(subset=["difference"])
    if rows.empty:
        return "No training was measured among paraphrases"
    top = rows[is_farthest(rows["difference"])]
    said = listed(
        (
            f"{signed(row.difference)} ({name_of(row.preset, row.seed, BASELINE)}; "
            + ("no interval" if pd.isna(row.low) else f"95 % interval {row.low:+.3f} to {row.high:+.3f}")
            + ")"
            for row in top.itertuples()
        ),
        1,
    )
    return f"Largest change of recall@1 among paraphrases: {said}"


def instruction_gains(gains: pd.DataFrame) -> str:
    """How many instructions gained; a case is one instruction under one training where there are several."""
    rows = gains[~gains["control"].astype(bool) & gains["group"].ne("none")]
    gain = compare(rows["gain"], 0)
    up, down = int((gain > 0).sum()), int((gain < 0).sum())
    trainings = len(rows[["preset", "seed"]].drop_duplicates())
    if trainings < 2:
        return (
            f"Recall@1 among paraphrases rose for {out_of(up, len(rows), 'instruction')} and fell for {down}"
        )
    about = f"{count(rows['instruction_id'].nunique(), 'instruction')}, {count(trainings, 'training')}"
    return f"Recall@1 among paraphrases rose in {out_of(up, len(rows), 'case')} and fell in {down} ({about})"


def side_effects(effects: pd.DataFrame) -> str:
    """In how many cases, a tuned model on another task, the main score changed beyond its interval."""
    known = effects.dropna(subset=["low", "high"])
    if known.empty:
        top = effects[is_farthest(effects["difference"])]
        said = listed(f"{signed(row.difference)} on {row.task}" for row in top.itertuples())
        return f"Largest side effect: {said} (no interval)"
    down, up = int((known["high"] < 0).sum()), int((known["low"] > 0).sum())
    return f"The main score of other tasks fell in {down} and rose in {out_of(up, len(known), 'case')}"


def _course(log: pd.DataFrame, column: str, what: str) -> str:
    rows = log.dropna(subset=[column]).sort_values("step") if column in log else log.iloc[:0]
    if rows.empty:
        return f"{what.capitalize()}: not logged"
    ends = rows.groupby(["preset", "seed"])[column].agg(["first", "last"])
    said = [
        f"{name_of(preset, seed, BASELINE)} {first:.2f} to {last:.2f}"
        for (preset, seed), first, last in zip(ends.index, ends["first"], ends["last"], strict=True)
    ]
    more = f" and {len(said) - 3} more" if len(said) > 3 else ""
    return f"{what[0].upper()}{what[1:]} from first to last: {'; '.join(said[:3])}{more}"
