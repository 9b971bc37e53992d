"""Leaderboard (chapter 04): who can be made first by choosing prompts?

`rankings` has boards, `random_ranks` draws prompts, `certainty` other ones, `manipulation` finds the fewest changes.
"""

from helpers.leaderboard import figures as figures
from helpers.leaderboard import reliability as reliability
from helpers.leaderboard import words as words
from helpers.leaderboard.certainty import order_table, redrawn
from helpers.leaderboard.explorer import BoardExplorer
from helpers.leaderboard.gains import best_of_k, honest_best_of_k
from helpers.leaderboard.headline import headline_table
from helpers.leaderboard.manipulation import plans, reachable_ranks
from helpers.leaderboard.random_ranks import pairwise_wins, random_boards, rank_probabilities, rank_table
from helpers.leaderboard.rankings import board_agreement, boards, scenarios

__all__ = [
    "BoardExplorer", "best_of_k", "board_agreement", "boards", "headline_table", "honest_best_of_k", "order_table",
    "pairwise_wins", "plans", "random_boards", "rank_probabilities", "rank_table", "reachable_ranks", "redrawn", "scenarios",
]  # fmt: skip
