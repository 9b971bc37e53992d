"""The title of each figure of chapter 03, computed from the table that the figure draws."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.base.phrases import cells_named, choose, count, is_highest, out_of
from helpers.base.ties import compare
from helpers.sensitivity.noise import share_of_pairs
from helpers.sweep.variants import distinct
from helpers.sweep.words import widest

LEVEL = 0.05


# -- 03: inflation and deflation -------------------------------------------------------------------------------------


def distribution(cells: pd.DataFrame) -> str:
    """How many defaults lie outside the range of all their prompts."""
    known = cells[cells["score"].notna()]
    prompts = known[known["kind"] == "prompt"].groupby(["model", "task"], observed=True)["score"]
    own = prompts.agg(["min", "max"])
    default = known[known["kind"] == "default"].groupby(["model", "task"], observed=True)["score"].mean()
    both = own.join(default, how="inner")
    if both.empty:
        return widest(cells)
    above = int((compare(both["score"], both["max"]) > 0).sum())
    below = int((compare(both["score"], both["min"]) < 0).sum())
    verb = choose(len(both), "scores", "score")
    return f"{out_of(above, len(both), 'default')} {verb} above every prompt, {below} below every prompt"


def percentiles(table: pd.DataFrame) -> str:
    """How many defaults of models (`variants` apart) are inflated, deflated or cannot be placed."""
    placed = distinct(table[table["percentile"].notna()]) if "percentile" in table else table.iloc[:0]
    if placed.empty:
        return "No default score to place among the prompts"
    counts = placed["label"].value_counts()
    up, down, open_cells = (int(counts.get(label, 0)) for label in ("inflated", "deflated", "undecided"))
    return f"Of {count(len(placed), 'default')} {up} inflated, {down} deflated, {open_cells} undecided"


def cv(table: pd.DataFrame) -> str:
    """The cell with the largest coefficient of variation."""
    known = table[table["cv"].notna() & (table["n_prompts"] > 1)] if "cv" in table else table.iloc[:0]
    if known.empty:
        return "Too few prompts for a coefficient of variation"
    top = known[is_highest(known["cv"])]
    largest = top["cv"].max()
    if largest == 0:
        return "Wording moves no score: every coefficient of variation is 0"
    unsure = "" if top["cv_reliable"].astype(bool).all() else ", with a mean near 0"
    return f"Wording moves {cells_named(top)} most: coefficient of variation {largest:.1%}{unsure}"


def variance(components: pd.DataFrame) -> str:
    """The share of the variance on one task that is wording common to all models."""
    part = components.set_index("source")
    if "prompt" not in part.index or not np.isfinite(part.loc["prompt", "share_on_task"]):
        return "These data cannot tell wording from the other sources of variance"
    share = part.loc["prompt", "share_on_task"]
    unsure = "" if np.isfinite(part.loc["prompt"].get("share_on_task_low", np.nan)) else " (no interval)"
    return f"{share:.0%} of the variance on one task is wording that moves all models together{unsure}"


def noise(single: pd.DataFrame) -> str:
    """The share of differences between two prompts that exceed the noise of the test set."""
    beyond = share_of_pairs(single, "beyond_fdr")
    return f"{beyond:.0%} of the differences between two prompts are beyond the noise of the test set"


def agreement(agreed: pd.DataFrame, fdr: float = LEVEL) -> str:
    """In how many tasks the models agree on the better prompts."""
    known = agreed[agreed["kendall_w"].notna()] if len(agreed) else agreed
    if known.empty:
        return "Too few models or prompts to tell whether models agree on the better ones"
    sure = int((known["q_value"] <= fdr).sum())
    return f"Models agree on the better prompts beyond chance in {out_of(sure, len(known), 'task')}"


def traits(effects: pd.DataFrame, fdr: float = LEVEL) -> str:
    """How many traits of wording go with the score."""
    known = effects[effects["effect"].notna()]
    sure = int((known["q_value"] <= fdr).sum())
    said, verb = out_of(sure, len(known), "trait"), choose(len(known), "goes", "go")
    return f"{said} of wording {verb} with the score beyond chance"


def precision(advice: pd.DataFrame) -> str:
    """How many prompts the mean score needs."""
    row = advice[(advice["measure"] == "mean") & advice["k"].notna()]
    if row.empty:
        return "The error falls with the number of prompts; how many are enough cannot be said"
    first = row.iloc[0]
    beyond = " (extrapolated)" if bool(first["extrapolated"]) else ""
    k = int(first["k"])
    verb = choose(k, "gives", "give")
    return (
        f"About {count(k, 'prompt')}{beyond} {verb} the mean score to within {first['wanted']:.0%} of itself"
    )
