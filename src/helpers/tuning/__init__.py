"""Tuning (chapter 06): can training against distractors repair it?

`sets` and `data` make the examples, `train` and `trainer` train, `evaluation` and `study` compare before and after.
"""

from helpers.tuning.card import write_card
from helpers.tuning.data import split_report
from helpers.tuning.effects import sensitivity_change, side_effect_table
from helpers.tuning.evaluation import contrast_table, recall_table
from helpers.tuning.sets import finetuning_of, tuning_data
from helpers.tuning.study import instruction_geometry, structure_table
from helpers.tuning.train import fine_tune, log_table, settings_table

__all__ = [
    "contrast_table",
    "fine_tune",
    "finetuning_of",
    "instruction_geometry",
    "log_table",
    "recall_table",
    "sensitivity_change",
    "settings_table",
    "side_effect_table",
    "split_report",
    "structure_table",
    "tuning_data",
    "write_card",
]
