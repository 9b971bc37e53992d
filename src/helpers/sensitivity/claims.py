"""Words of chapter 03 about wording itself: shares of variance, agreement of models, traits, sets of prompts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from helpers.base.phrases import choose, count, is_farthest, is_highest, is_lowest, listed, out_of, signed
from helpers.display.figure import Said
from helpers.sensitivity.sets import ALL
from helpers.sensitivity.variance import SHARED
from helpers.sensitivity.wording import trait_name


def variance(components: pd.DataFrame) -> Said:
    """The share of the variance on one task that is wording common to all models."""
    part = components.set_index("source")
    if "prompt" not in part.index or not np.isfinite(part.loc["prompt", "share_own_scale"]):
        return Said("These data cannot tell wording from the other sources of variance")
    common, rest = part.loc["prompt"], part.loc["model x prompt + residual"]
    share = f"{common['share_own_scale']:.0%}"
    unsure = "" if np.isfinite(common["low"]) else " (no interval)"
    text = (
        f"On one task, {share} of the variance of scores is wording that moves all models together{_interval(common)}, and "
        f"{rest['share_own_scale']:.0%} is wording that suits one model and not another, or noise{_interval(rest)}"
    )
    if np.isfinite(part["share_own_scale"].get("model", np.nan)):
        text += f"; {part.loc['model', 'share_own_scale']:.0%} is the model"
    findings = [
        f"{text}. In score units, where tasks on which scores lie far apart weigh more, it is {common['share_on_task']:.0%} and "
        f"{rest['share_on_task']:.0%}."
    ]
    if np.isfinite(same := part["share_own_scale"].get(SHARED, np.nan)):
        findings.append(
            f"Of the prompts that several tasks share: {same:.0%} of the variance on one task is a goodness that they have on "
            "every one of these tasks."
        )
    if part["negative"].any():
        names = listed(part.index[part["negative"].astype(bool)], len(part))
        findings.append(f"Estimates of variance below 0, which were set to 0: {names}.")
    title = f"{share} of the variance on one task is wording that moves all models together{unsure}"
    return Said(title, tuple(findings))


def agreement(table: pd.DataFrame, fdr: float = 0.05) -> Said:
    """In how many tasks the models agree on the better prompts; table: of `agreement_table`."""
    known = table[table["kendall_w"].notna()] if len(table) else table
    if known.empty:
        return Said("Too few models or prompts to tell whether models agree on the better ones")
    models, families = int(known["models"].max()), int(known["families"].max())
    who = "Models agree" if models == families else "Families of models agree"
    w = known["kendall_w"]
    once = f"W is {w.median():.2f} in the median over tasks and {count(models, 'model')}"
    if models != families:
        once += f", {known['family_w'].median():.2f} where each of {count(families, 'family', 'families')} counts once"
        once += f" (mean rank correlation {known['mean_spearman'].median():.2f} and {known['family_spearman'].median():.2f})"
    if families < 2:
        text = f"All {count(models, 'model')} are of one family: that they agree would say nothing about others. {once}"
        return Said("Models of one family cannot tell whether models agree on prompts", (f"{text}.",))
    sure = out_of(int((known["q_value"] <= fdr).sum()), len(known), "task")
    text = f"{who} on which prompts are better in {sure} (Kendall's W beyond chance); {once}"
    if not is_highest(w).all():
        low, high = (listed(known.loc[at, "task"]) for at in (is_lowest(w), is_highest(w)))
        text += f"; over models it is {w.min():.2f} ({low}) to {w.max():.2f} ({high})"
    return Said(f"{who} on the better prompts beyond chance in {sure}", (f"{text}.",))


def traits(effects: pd.DataFrame, fdr: float = 0.05) -> Said:
    """Which traits of wording go with the score; effects: of `trait_effects`."""
    known = effects[effects["effect"].notna()].sort_values("trait")
    sure = known[known["q_value"] <= fdr]
    title = f"{out_of(len(sure), len(known), 'trait')} of wording {choose(len(known), 'goes', 'go')} with the score beyond chance"
    if known.empty:
        return Said(title)
    named = "; ".join(_effect(r) for r in sure.itertuples())
    tasks = int(known["tasks"].max())
    over = f"tasks as a sample (n = {tasks})" if tasks > 1 else "one task, so about this task only"
    text = f"Wording that goes with the score, in standard deviations of a cell's scores ({over}): {named}."
    if sure.empty:
        most = known[is_farthest(known["effect"])].iloc[0]
        text = (
            f"No trait of wording ({listed(map(trait_name, known['trait']), len(known))}) goes with the score beyond chance "
            f"({over}); the largest estimate, in standard deviations of a cell's scores: {_effect(most)}."
        )
    merged = known[known["stands_for"] != ""]
    pairs = listed(
        (f"the {trait_name(r.trait)} stands for the {_names(r.stands_for)} too" for r in merged.itertuples()), 9
    )
    return Said(title, (text, f"Traits that go together count as one: {pairs}.") if pairs else (text,))


def sets(table: pd.DataFrame, margin: float = 0.01, alpha: float = 0.05) -> Said:
    """Which sets of prompts differ and which are equivalent; table: of `compare_sets`, made with this margin and alpha."""
    pooled = table[table["task"] == ALL].sort_values(["kind", "first", "second"])
    if pooled.empty:
        return Said("No two sets of prompts have two scored prompts each on a task")
    within = f"within {100 * margin:g} {'point' if 100 * margin == 1 else 'points'}"
    n, counts = len(pooled), pooled["verdict"].value_counts()
    same = int(counts.filter(["equivalent", "differs by less than the margin"]).sum())
    title = (
        f"Of {count(n, 'pair')} of prompt sets {same} {choose(same, 'is', 'are')} equivalent {within}, {counts.get('differs', 0)} "
        f"{choose(counts.get('differs', 0), 'differs', 'differ')}, {counts.get('undecided', 0)} undecided"
    )
    findings = []
    for row in pooled.itertuples():
        own = table[(table["kind"] == row.kind) & (table["first"] == row.first) & (table["second"] == row.second)]
        most = own[(own["task"] != ALL).to_numpy() & is_farthest(own["difference"].mask(own["task"] == ALL)).to_numpy()]
        tasks = "one task, so about this task only" if row.tasks == 1 else f"{row.tasks} tasks as a sample"
        text = (
            f"{row.first} against {row.second} ({count(row.first_prompts, 'prompt')} and {row.second_prompts}, "
            f"{count(row.models, 'model')}; {tasks}): {_points(row.difference)} points ({_points(row.low)} to {_points(row.high)}), "
            f"Cliff's delta {row.delta:+.2f} ({row.delta_low:+.2f} to {row.delta_high:+.2f}); {_verdict(row, within)}"
        )
        if row.tasks > 1:
            text += f"; of single tasks farthest on {listed(most['task'])} ({' and '.join(sorted({_points(x) for x in most['difference']}))})"
        findings.append(f"{text}.")
    return Said(title, tuple(findings))


def _points(difference: float) -> str:
    return signed(100 * difference, 1)


def _verdict(row: Any, within: str) -> str:
    p = f"Holm-corrected p {row.p_holm:.3f} and {row.p_equivalent_holm:.3f}"
    words = {
        "equivalent": f"equivalent {within}",
        "differs by less than the margin": f"they differ, but are equivalent {within}",
        "differs": f"they differ, and are not shown to be equivalent {within}",
    }
    return f"{words.get(row.verdict, f'undecided: neither a difference nor equivalence {within} is shown')} ({p})"


def _effect(row: Any) -> str:
    """An effect of a trait with its interval, and its tasks where they are one."""
    alone = "; one task" if row.tasks == 1 else ""
    return f"{trait_name(row.trait)} {row.effect:+.2f} ({row.low:+.2f} to {row.high:+.2f}{alone})"


def _names(traits: str) -> str:
    return listed((trait_name(t) for t in traits.split(", ")), 9)


def _interval(row: pd.Series) -> str:
    if not np.isfinite(row["high"] - row["low"]):
        return " (too few tasks for an interval)"
    wide = ": so few tasks cannot tell" if row["high"] - row["low"] > 0.8 else ""
    return f" (95% interval {row['low']:.0%} to {row['high']:.0%}{wide})"
