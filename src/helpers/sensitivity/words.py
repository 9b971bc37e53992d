"""Words of chapter 03: what each figure's table says, as title and findings, and sentences about tables without a figure."""

from __future__ import annotations

import math

import pandas as pd

from helpers.base.phrases import cells_named, choose, count, is_highest, out_of, signed
from helpers.base.ties import compare
from helpers.display.figure import Said
from helpers.sensitivity.choice import LEAST_UNITS, chosen
from helpers.sensitivity.defaults import LABELS, tail_p_value
from helpers.sensitivity.noise import UNITS
from helpers.sweep.variants import distinct
from helpers.sweep.words import widest

Finding = dict[str, str]


# -- figures ---------------------------------------------------------------------------------------------------------


def distribution(cells: pd.DataFrame) -> Said:
    """How many defaults lie outside the range of all their prompts."""
    known = cells[cells["score"].notna()]
    prompts = known[known["kind"] == "prompt"].groupby(["model", "task"], observed=True)["score"]
    default = known[known["kind"] == "default"].groupby(["model", "task"], observed=True)["score"].mean()
    both = prompts.agg(["min", "max"]).join(default, how="inner")
    if both.empty:
        return Said(widest(cells))
    above = int((compare(both["score"], both["max"]) > 0).sum())
    below = int((compare(both["score"], both["min"]) < 0).sum())
    verb = choose(len(both), "scores", "score")
    title = f"{out_of(above, len(both), 'default')} {verb} above every prompt, {below} below every prompt"
    return Said(title)


def percentiles(table: pd.DataFrame, level: float = 0.95, tail: float = 0.25, fdr: float = 0.05) -> Said:
    """How many defaults of models (`variants` apart) are inflated, deflated or cannot be placed.

    tail, fdr: as the `sensitivity_table` was made with.
    """
    known = distinct(table[table["percentile"].notna()]) if "percentile" in table else table.iloc[:0]
    if known.empty:
        text = "No default score was found, so nothing can be called inflated or deflated."
        return Said("No default score to place among the prompts", (text,) if len(table) else ())
    n = len(known)
    counts = {label: int((known["label"] == label).sum()) for label in LABELS[:4]}
    above, best, worst = known[["above_mean", "at_or_above_best", "at_or_below_worst"]].sum().astype(int)
    width = float((known["percentile_high"] - known["percentile_low"]).mean())
    return Said(
        f"Of {count(n, 'default')} {counts['inflated']} inflated, {counts['deflated']} deflated, {counts['undecided']} undecided",
        (
            f"The default scores above the mean of the prompts in {out_of(above, n, 'cell')} (model x task); in {best} it "
            f"equals or beats every prompt, in {worst} it equals or loses to every prompt.",
            f"With the false discovery rate controlled over {count(n, 'cell')}: "
            + ", ".join(f"{many} {label}" for label, many in counts.items() if many)
            + f". The {level:.0%} interval of a percentile is {width:.0%} wide on average (from "
            f"{count(int(known['n_prompts'].min()), 'prompt')}).{_reach(known, tail, fdr)}",
        ),
    )  # fmt: skip


def cv(table: pd.DataFrame) -> Said:
    """How far prompts move a score: the cell with the largest coefficient of variation, and the models' medians."""
    known = table[table["cv"].notna() & (table["n_prompts"] > 1)] if "cv" in table else table.iloc[:0]
    if known.empty:
        return Said("Too few prompts for a coefficient of variation")
    top = known[is_highest(known["cv"])]
    largest, named, sure = top["cv"].max(), cells_named(top), bool(top["cv_reliable"].astype(bool).all())
    medians = known.groupby("model")["cv"].median()
    moved = (
        f"{medians.min():.1%} to {medians.max():.1%} (median over tasks, by model)" if len(medians) > 1
        else f"{medians.min():.1%} (median over {count(len(known), 'task')})"
    )  # fmt: skip
    title = (
        f"Wording moves {named} most: coefficient of variation {largest:.1%}{'' if sure else ', with a mean near 0'}"
    )
    return Said(
        title if largest else "Wording moves no score: every coefficient of variation is 0",
        (f"Changing only the prompt moves a score by a coefficient of variation of {moved}; the largest is {largest:.1%} "
         f"({named}{'' if sure else '; a mean near 0 makes this ratio unreliable'}).",),
    )  # fmt: skip


def noise(table: pd.DataFrame, level: float = 0.95) -> Said:
    """The share of differences between two prompts that exceed the noise of the test set; table: of `query_noise`."""
    small = table[table["pairs"].isna()]
    left = (
        f"{count(len(small), 'test set')} of fewer than {UNITS} queries or pairs {choose(len(small), 'is', 'are')} left out: "
        "so few say nothing reliable about the noise."
        if len(small)
        else ""
    )
    table = table[table["pairs"].notna()]
    if table.empty:
        text = left or (
            "Scores of single queries under two prompts or more are not at hand, so the prompts' effect cannot be compared "
            "with test-set noise here."
        )
        return Said("No scores of single queries to measure the noise of the test set", (text,))
    pairs = int(table["pairs"].sum())
    beyond, raw = ((table[c] * table["pairs"]).sum() / pairs for c in ("beyond_fdr", "beyond"))
    known = table["noise_share"].dropna()
    text = (
        f"{beyond:.0%} of {count(pairs, 'difference')} between two prompts on {count(len(table), 'test set')} are beyond "
        f"test-set noise with false discoveries controlled over all of them ({raw:.0%} at {1 - level:.0%} each, of which "
        f"about {1 - level:.0%} are expected where no prompt differs from another)"
    )
    if len(known):
        text += f"; noise alone explains {known.median():.0%} of the variance between prompts (median test set)"
    title = f"{beyond:.0%} of the differences between two prompts are beyond the noise of the test set"
    return Said(title, (f"{text}.", *([left] if left else [])))


def enough(advice: pd.DataFrame) -> Said:
    """How many prompts it takes to know a mean, a CV and a percentile; advice: of `recommended`."""
    about = {"mean": "the mean score to within {:.0%} of itself", "cv": "the coefficient of variation to within {:.0%}",
             "percentile": "the default's percentile to within {:.0%}"}  # fmt: skip
    title, parts = "The error falls with the number of prompts; how many are enough cannot be said", []
    known = advice.dropna(subset=["k"]).set_index("measure")
    for row in known.reindex([m for m in about if m in known.index]).itertuples():
        prompts = count(int(row.k), "prompt") + " (extrapolated)" * bool(row.extrapolated)
        parts.append(f"about {prompts} for {about[row.Index].format(row.wanted)}")
        if row.Index == "mean":
            verb = choose(int(row.k), "gives", "give")
            title = f"About {prompts} {verb} the mean score to within {row.wanted:.0%} of itself"
    text = f"To know it in nine cells of ten with 95% confidence it takes {'; '.join(parts)}."
    return Said(title, (text,) if parts else ())


def choice(candidates: pd.DataFrame) -> Said:
    """In how many cells a prompt is better than the default beyond noise; candidates: of `choice.choose_prompt`."""
    verdicts = chosen(candidates)
    known = verdicts[verdicts["verdict"] != "unknown"]
    if known.empty:
        n = len(verdicts)
        text = (
            f"No choice among prompts can be judged: {count(n, 'cell')} of a model and a task, none with scores of at least "
            f"{LEAST_UNITS} single queries or pairs."
        )
        return Said("No scores of single queries to judge a choice of prompt by", (text,))
    better = int((known["verdict"] == "better").sum())
    of = f"{out_of(better, len(known), 'cell')}"
    title = f"In {of} a prompt is better than the default beyond noise"
    if not better:
        title = f"No prompt is distinguishable from the default in {count(len(known), 'cell')} of a model and a task"
    apparent, honest = known["gain"].mean(), known["honest_gain"].mean()
    text = (
        f"{title} (lower bound over all candidates of the cell above 0; {count(len(known), 'cell')} with "
        f"{int(known['n_units'].min()):,} to {int(known['n_units'].max()):,} queries or pairs). The best prompt of a cell "
        f"gains {signed(apparent)} over the default on the queries that chose it and {signed(honest)} on others (means over "
        f"these cells)"
    )
    return Said(title, (f"{text}.",))


# -- tables ----------------------------------------------------------------------------------------------------------


def completeness(table: pd.DataFrame) -> list[Finding]:
    """Holes and unequal numbers of prompts in a `sensitivity_table`; nothing where there are none."""
    if table.empty or "percentile" not in table:
        return []
    out = []
    holes = int(table["n_missing"].sum())
    absent = (
        int((table["label"] == "no default").sum()) if table["percentile"].notna().any() else 0
    )  # else said by `percentiles`
    if holes or absent:
        missing = f"{count(holes, 'prompt score')} and {count(absent, 'default')}"
        out.append({"text": f"{missing} are missing; they were left out, not counted as 0."})
    sizes = table.loc[table["n_prompts"] > 0, "n_prompts"]
    if len(sizes) and sizes.min() != sizes.max():
        text = (
            f"Cells have unequal numbers of prompts ({int(sizes.min())} to {int(sizes.max())}); every interval takes its own "
            "cell's number, and to beat every prompt is harder where there are more."
        )
        out.append({"text": text})
    return out


def _reach(known: pd.DataFrame, tail: float, fdr: float) -> str:
    """How many defaults must lie beyond all prompts before one can be labelled, in words; nothing where one is enough."""
    most = int(known["n_prompts"].max())
    needed = math.ceil(tail_p_value(most, 0, most, tail) * len(known) / fdr - 1e-9)
    if needed > len(known):
        return f" So few prompts (at most {most}) cannot prove that any default lies in a tail."
    text = f" With at most {most} prompts none of {len(known)} defaults can be labelled unless {needed} lie beyond all prompts."
    return text if needed > 1 else ""
