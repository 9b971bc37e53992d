"""Leaderboard (chapter 04): who can be made first by choosing prompts?

`rankings` has boards and scenarios, `random_ranks` draws prompts, `manipulation` finds the fewest changes.
"""

from helpers.leaderboard.best_of_k import honest_best_of_k, pick_weights
from helpers.leaderboard.headline import headline_table
from helpers.leaderboard.manipulation import plans, reachable_ranks
from helpers.leaderboard.random_ranks import pairwise_wins, random_boards, rank_probabilities, rank_table
from helpers.leaderboard.rankings import board_agreement, boards, scenarios

__all__ = [
    "board_agreement",
    "boards",
    "headline_table",
    "honest_best_of_k",
    "pairwise_wins",
    "pick_weights",
    "plans",
    "random_boards",
    "rank_probabilities",
    "rank_table",
    "reachable_ranks",
    "scenarios",
]
