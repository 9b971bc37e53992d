"""The title of each figure of chapter 04, computed from the table that the figure draws."""

from __future__ import annotations

from itertools import combinations

import pandas as pd

from helpers.base.phrases import choose, is_highest, is_lowest, listed, out_of, signed
from helpers.base.ties import compare
from helpers.leaderboard.best_of_k import largest_choice
from helpers.leaderboard.charts import SCENARIOS

# -- 04: leaderboards ------------------------------------------------------------------------------------------------


def scenarios(ranks: pd.DataFrame) -> str:
    """How many models their own best prompts make first (columns model, board, rank: the drawn ranks)."""
    wide = ranks.pivot(index="model", columns="board", values="rank")
    easy, hard = SCENARIOS["best_vs_default"], SCENARIOS["best_vs_worst"]
    default = SCENARIOS["default"]
    if easy not in wide or default not in wide or wide[default].isna().all():
        return "No default ranks to compare with"
    first = [int((wide[board] == 1).sum()) for board in (easy, hard)]
    return f"{out_of(first[0], len(wide), 'model')} can be first against defaults, {first[1]} against worst prompts"


def boards(agreed: pd.DataFrame) -> str:
    """How many boards order the models otherwise than the defaults (`leaderboard.board_agreement`)."""
    others = agreed[(agreed["board"] != "default") & agreed["kendall_tau"].notna()]
    if others.empty:
        return "The order of the models on the default board cannot be compared with another"
    said = out_of(int((others["moved"] > 0).sum()), len(others), "board")
    return f"{said} {choose(len(others), 'ranks', 'rank')} the models otherwise than the defaults"


def ranks(table: pd.DataFrame) -> str:
    """How many models have more than one probable rank under random prompts."""
    open_ranks = int((table["rank_low"] < table["rank_high"]).sum())
    verb = choose(len(table), "has", "have")
    return (
        f"Under random prompts {out_of(open_ranks, len(table), 'model')} {verb} more than one probable rank"
    )


def wins(table: pd.DataFrame) -> str:
    """The pair of models whose order is least certain; table: `rank_distribution.pairwise_wins`."""
    pairs = {
        (one, other): (table.loc[one, other], table.loc[other, one])
        for one, other in combinations(sorted(table.index), 2)
    }
    certain = pd.Series({pair: abs(wins[0] - 0.5) for pair, wins in pairs.items()}, dtype=float).dropna()
    if certain.empty:
        return "One model alone beats nobody"
    if certain.min() == 0.5:
        return "Every order of two models is the same under all random prompts drawn"
    least = certain[is_lowest(certain)]
    if compare(least.min(), 0) == 0:
        said = listed(f"{one} and {other}" for one, other in least.index)
        return f"Least certain: {said} are even (ties count half)"
    orders = [pair if pairs[pair][0] >= pairs[pair][1] else pair[::-1] for pair in least.index]
    said = listed(f"{winner} beats {loser}" for winner, loser in orders)
    return f"Least certain: {said} with probability {0.5 + least.min():.0%}"


def hacking(curve: pd.DataFrame) -> str:
    """What reporting the best of all prompts adds at most."""
    k = int(curve.groupby("model")["k"].max().min())
    if k < 2:
        return "One prompt: there is no best to choose"
    at_k = curve[curve["k"] == k]
    top = at_k[is_highest(at_k["gain"])]
    return (
        f"Reporting the best of {k} prompts adds up to {signed(top['gain'].max())} ({listed(top['model'])})"
    )


def honest(halves: pd.DataFrame) -> str:
    """What is left of the best prompt's gain on other queries."""
    last = largest_choice(halves)
    reported, kept = last["reported"].mean(), last["honest"].mean()
    return f"The best prompt gains {signed(reported)} on the queries that chose it and {signed(kept)} on the others"
