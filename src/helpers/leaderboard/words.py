"""What the figures and tables of chapter 04 say: title and findings, computed from the table that is shown."""

from __future__ import annotations

from itertools import combinations

import pandas as pd

from helpers.base.extremes import numbers_of_prompts
from helpers.base.phrases import choose, count, is_highest, is_lowest, listed, out_of, signed
from helpers.base.ties import compare
from helpers.display import Said
from helpers.leaderboard.gains import largest_choice
from helpers.leaderboard.headline import outside


def scenarios(table: pd.DataFrame) -> Said:
    """How many models their own best prompts make first (`rankings.scenarios`)."""
    known = table.dropna(subset=["default"])
    if len(known) < 2:
        title = f"A leaderboard needs at least two models with a default score; there are {len(known)}"
        return Said(title, (f"{title}.",))
    easy, hard = (int((table[column] == 1).sum()) for column in ("best_vs_default", "best_vs_worst"))
    first = sorted(known.loc[known["default"] == known["default"].min(), "model"])
    rising = int((known["best_vs_default"] < known["default"]).sum())
    never = known[known["best_vs_worst"] > 1]
    top = int((known["best_vs_worst"] == 1).sum())
    text = (
        f"By default {listed(first, 3)} {choose(len(first), 'leads', 'lead')}. "
        + (f"{rising} of {len(known)} models rise" if rising else "No model rises")
        + " when only their own prompts are the best ones; "
        + (f"all {len(known)}" if top == len(known) else f"{top} of {len(known)}")
        + " reach rank 1 when the others get their worst prompts"
    )
    if len(never):
        text += f" (not: {', '.join(f'{row.model} {row.best_vs_worst:.0f}' for row in never.itertuples())})"
    title = f"{out_of(easy, len(table), 'model')} can be first against defaults, {hard} against worst prompts"
    return Said(title, (f"{text}.",))


def absent_defaults(default: pd.DataFrame, holes: str = "mteb") -> list[dict[str, str]]:
    """How many cells of the board of defaults are empty, and how the boards treat them (`scores.borda`)."""
    absent = int(default.isna().sum().sum())
    if not absent or default.notna().any(axis=1).sum() < 2:
        return []
    done = {"mteb": "Borda as mteb counts it gives them 0 points"}
    done |= {"present": "points are means over the tasks that a model has"}
    cells = f"{count(absent, '(model, task) cell')} {choose(absent, 'has', 'have')}"
    return [{"text": f"{cells} no default score; {done[holes]}."}]


def candidates(with_default: pd.DataFrame, prompts_only: pd.DataFrame) -> list[dict[str, str]]:
    """How the scenarios depend on whether the default is a candidate for best and worst (two `rankings.scenarios`)."""
    both = with_default.merge(prompts_only, on="model", suffixes=("", "_only")).dropna()
    if len(both) < 2:
        return []
    ends = ["best_vs_default", "best_vs_worst"]
    moved = both[(both[ends] != both[[f"{end}_only" for end in ends]].to_numpy()).any(axis=1)]
    text = "Whether the default counts as a candidate for best and worst changes no rank."
    if len(moved):
        named = (
            f"{r.model}: {r.best_vs_default:.0f} and {r.best_vs_worst:.0f} with it, "
            f"{r.best_vs_default_only:.0f} and {r.best_vs_worst_only:.0f} without"
            for r in moved.itertuples()
        )
        text = (
            "Whether the default counts as a candidate matters (rank against others' default, and against "
            f"their worst): {'; '.join(named)}."
        )
    return [{"text": text, "figure": "tbl-scenarios"}]


def boards(agreed: pd.DataFrame) -> Said:
    """How many boards order the models otherwise than the defaults (`rankings.board_agreement`)."""
    others = agreed[(agreed["board"] != "default") & agreed["kendall_tau"].notna()]
    if others.empty:
        return Said("The order of the models on the default board cannot be compared with another")
    moving = out_of(int((others["moved"] > 0).sum()), len(others), "board")
    return Said(f"{moving} {choose(len(others), 'ranks', 'rank')} the models otherwise than the defaults")


def unequal_prompts(cells: pd.DataFrame) -> list[dict[str, str]]:
    """That models have unequal numbers of prompts, and what is done about it; nothing where they are equal."""
    numbers = numbers_of_prompts(cells)
    unequal = numbers[numbers["fewest"] < numbers["most"]]
    if unequal.empty:
        return []
    text = (
        f"On {out_of(len(unequal), len(numbers), 'task')} models have unequal numbers of prompts "
        f"({unequal['fewest'].min():.0f} to {unequal['most'].max():.0f}). On boards and in the headline table best and worst "
        "are therefore those expected of as many prompts as every model has there; ranks that can be reached and plans "
        "choose among all prompts, so a model with more of them has more to choose from."
    )
    return [{"text": text, "figure": "tbl-boards"}]


def ranks(table: pd.DataFrame) -> Said:
    """How many models have one probable rank, and how many more, under random prompts (`random_ranks.rank_table`)."""
    fixed = table.loc[table["rank_low"] == table["rank_high"], "model"]
    moving, verb = out_of(len(table) - len(fixed), len(table), "model"), choose(len(table), "has", "have")
    title = f"Under random prompts {moving} {verb} more than one probable rank"
    if len(table) < 2:
        return Said(title)
    keeping = f"{out_of(len(fixed), len(table), 'model')} {choose(len(fixed), 'keeps', 'keep')} one rank"
    names = f": {listed(fixed, 3)}" if 0 < len(fixed) <= 3 else ""
    text = f"With a random prompt for every model and task, {keeping} in 95% of boards{names}."
    return Said(title, (text, *_leader(table)))


def _leader(table: pd.DataFrame) -> list[str]:
    """How probably the leader is first, and how sure that is, where it was resampled (`certainty.Redrawn.beside`)."""
    if "p_first_tasks" not in table:
        return []
    first = table[is_highest(table["p_first"])].sort_values("model").iloc[0]
    text = (
        f"{first['model']} is first in {first['p_first']:.1%} of boards; over other prompts for the same tasks the 95% "
        f"interval is {first['p_low']:.1%} to {first['p_high']:.1%}"
    )
    if pd.notna(first["p_first_tasks"]):
        text += (
            f", and on other tasks like these it would be first in {first['p_first_tasks']:.0%}, ranks "
            f"{first['rank_low_tasks']:.0f} to {first['rank_high_tasks']:.0f}"
        )
    return [f"{text}."]


def orders(table: pd.DataFrame) -> list[dict[str, str]]:
    """How many orders of two models are certain on these tasks, and how many on others (`certainty.order_table`)."""
    if table.empty:
        return []
    certain, unsure = ((table["verdict"] == v) for v in ("certain", "open"))
    text = (
        f"On these tasks {int(certain.sum())} of {count(len(table), 'order')} of two models "
        f"{choose(int(certain.sum()), 'is', 'are')} certain (at least 95% of boards, whatever prompts had been written)"
    )
    named = sorted(f"{r.winner} before {r.loser}" for r in table[unsure].itertuples())
    text += f"; open: {listed(named, 3)}" if named else "; none is open"
    tested = table["p_holm"].notna()
    if tested.any():
        text += f". On other tasks {int((table['p_holm'] < 0.05).sum())} of {int(tested.sum())} hold beyond chance (sign flips, Holm)"
    return [{"text": f"{text}.", "figure": "tbl-orders"}]


def reliability(curve: pd.DataFrame, wanted: float = 0.9) -> Said:
    """How many tasks it takes with one prompt and with fifteen (`reliability.reliability_curve`)."""
    parts = []
    for n in (1, 15):
        own = curve[curve["n_prompts"] == n]
        reached = own[own["g"] >= wanted]
        takes = (
            count(int(reached["n_tasks"].min()), "task") if len(reached) else f"more than {own['n_tasks'].max()} tasks"
        )
        parts.append(f"{takes} with {count(n, 'prompt')} each")
    title = f"A reliability of {wanted:g} takes {parts[0]}, {parts[1]}"
    at = curve[(curve["n_tasks"] == 11) & (curve["n_prompts"] == 15)].iloc[0]
    interval = (
        "no interval, too few tasks" if pd.isna(at["low"]) else f"95% interval {at['low']:.2f} to {at['high']:.2f}"
    )
    text = (
        f"On 11 tasks with 15 prompts each the reliability of the models' mean scores is {at['g']:.2f} ({interval}); two such "
        f"boards of other tasks and prompts would agree with Kendall's tau of about {at['tau']:.2f}."
    )
    return Said(title, (text,))


def wins(table: pd.DataFrame) -> Said:
    """The pair of models whose order is least certain (`random_ranks.pairwise_wins`)."""
    pairs = {
        (one, other): (table.loc[one, other], table.loc[other, one])
        for one, other in combinations(sorted(table.index), 2)
    }
    certain = pd.Series({pair: abs(wins[0] - 0.5) for pair, wins in pairs.items()}, dtype=float).dropna()
    if certain.empty:
        return Said("One model alone beats nobody")
    if certain.min() == 0.5:
        return Said("Every order of two models is the same under all random prompts drawn")
    least = certain[is_lowest(certain)]
    if compare(least.min(), 0) == 0:
        even = listed(f"{one} and {other}" for one, other in least.index)
        return Said(f"Least certain: {even} are even (ties count half)")
    orders = [pair if pairs[pair][0] >= pairs[pair][1] else pair[::-1] for pair in least.index]
    named = listed(f"{winner} beats {loser}" for winner, loser in orders)
    return Said(f"Least certain: {named} with probability {0.5 + least.min():.0%}")


def plans(table: pd.DataFrame, reach: pd.DataFrame) -> list[dict[str, str]]:
    """Who can be made first, and how cheaply (`manipulation.plans` and `manipulation.reachable_ranks`)."""
    if len(reach) < 2:
        return []
    first = int((reach["best_all"] == 1).sum())
    who = f"All {len(reach)}" if first == len(reach) else f"{first} of {len(reach)}"
    able = table[(table["scope"] == "own") & table["status"].isin(["optimal", "bound"])]
    text = f"{who} models can be made first when all prompts may be chosen; with only their own prompts {len(able)} can"
    moved = able[able["changes"] > 0].sort_values("model")
    if len(moved):
        named = (f"{row.model}: {count(row.changes, 'change')}" for row in moved.itertuples())
        text += f" ({', '.join(named)})"
    both = table[(table["scope"] == "all") & (table["changes"] > 0)]
    if len(both):
        few = both[is_lowest(both["changes"].astype(float))]
        least = count(int(few["changes"].min()), "changed cell")
        text += f". The cheapest overthrow takes {least}: {listed(few['model'])}"
    return [{"text": f"{text}.", "figure": "tbl-plans"}]


def hacking(curve: pd.DataFrame) -> Said:
    """What reporting the best of k prompts adds, k being what every model has (`gains.best_of_k`)."""
    k = int(curve.groupby("model")["k"].max().min())
    if k < 2:
        return Said("One prompt: there is no best to choose")
    gains, five = curve[curve["k"] == k], curve.loc[curve["k"] == 5, "gain"]
    ends = [gains[is_lowest(gains["gain"])], gains[is_highest(gains["gain"])]]
    low, high = (f"{signed(end['gain'].max())} ({listed(end['model'])})" for end in ends)
    span = high if len(ends[0]) == len(gains) else f"{low} to {high}"
    text = f"Reporting the best of {k} prompts per task instead of a random one adds {span} to the mean score"
    if k > 5 and len(five) and gains["gain"].median() > 0:
        text += f"; five tries already give {five.median() / gains['gain'].median():.0%} of it"
    return Said(f"Reporting the best of {k} prompts adds up to {high}", (f"{text}.",))


def honest(halves: pd.DataFrame) -> Said:
    """What is left of the best prompt's gain on other queries (`gains.honest_best_of_k`)."""
    last = largest_choice(halves)
    reported, kept = last["reported"].mean(), last["honest"].mean()
    share = f", {kept / reported:.0%} of it" if min(reported, kept) > 0 else ""
    return Said(
        f"The best prompt gains {signed(reported)} on the queries that chose it and {signed(kept)} on the others",
        (
            f"Chosen on half of the queries, the best prompt shows {signed(reported)} over the mean of the prompts on "
            f"that half and {signed(kept)} on the other{share} (mean of {count(len(last), 'test set')}).",
        ),
    )


def headline(table: pd.DataFrame) -> list[dict[str, str]]:
    """How many models report a mean score that other prompts do not predict (`headline.headline_table`)."""
    known = table.dropna(subset=["default", "prompt_mean"]) if len(table) else table
    if known.empty:
        return []
    side, few = outside(known), int(known["low"].isna().sum())
    up, down, n = int((side > 0).sum()), int((side < 0).sum()), len(known) - few
    verb = choose(n, "reports", "report")
    text = f"{out_of(up, n, 'model')} {verb} a mean score above the 95% interval that other prompts predict"
    text += f", {down} below it" if down else ""
    text += f"; {few} {choose(few, 'has', 'have')} too few prompts to tell" if few else ""
    if not n:
        text = "Too few prompts to say whether a default lies outside what other prompts predict"
    gap = (known["default"] - known["prompt_mean"]).mean()
    where = {1: f"{gap:.3f} above", 0: "at", -1: f"{-gap:.3f} below"}[int(compare(gap, 0))]
    text += f"; on average a default lies {where} the mean of the prompts."
    return [{"text": text, "figure": "tbl-headline"}]
