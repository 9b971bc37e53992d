"""Tuning (chapter 06): can training against distractors repair it?

`sets` and `data` make the examples, `train` and `trainer` train, `evaluation` compares before and after.
"""

from helpers.tuning import figures as figures
from helpers.tuning import words as words
from helpers.tuning.card import write_card
from helpers.tuning.effects import sensitivity_change, side_effect_table
from helpers.tuning.evaluation import dose_table, query_scores, recall_table, seeds_table
from helpers.tuning.instructions import structure_table
from helpers.tuning.sets import tuning_data
from helpers.tuning.train import fine_tune, rows_for
from helpers.tuning.trained import compared, finetuning_of, noting, stacked

__all__ = [
    "compared", "dose_table", "fine_tune", "finetuning_of", "noting", "query_scores", "recall_table", "rows_for",
    "seeds_table", "sensitivity_change", "side_effect_table", "stacked", "structure_table", "tuning_data", "write_card",
]  # fmt: skip
