"""Scores: one score per model, task and prompt, from the sweep or from what others published.

`cells` folds subsets and splits as mteb does; `board` ranks models by the Borda count.
"""

from helpers.scores.board import board_matrix, borda, borda_points
from helpers.scores.cells import PromptScores, prompt_scores, task_scores
from helpers.scores.resample import strata
from helpers.scores.source import study_cells, study_scores

__all__ = [
    "PromptScores",
    "board_matrix",
    "borda",
    "borda_points",
    "prompt_scores",
    "strata",
    "study_cells",
    "study_scores",
    "task_scores",
]
