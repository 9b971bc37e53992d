"""Sweep (chapter 02): every model x task x prompt once, in cells that are never lost.

`run` starts it, `group` computes a model on a task, `cell` says what a score depends on; an upgrade of mteb: `mteb_patches`.
"""

from helpers.sweep.cell import prompts_of
from helpers.sweep.cost import plan_table
from helpers.sweep.received import first_samples, inputs_table
from helpers.sweep.results import (
    cell_counts,
    estimates_table,
    export_mteb,
    query_scores_table,
    require_complete,
    scores_table,
)
from helpers.sweep.run import sweep_study
from helpers.sweep.scaling import scaling_text
from helpers.sweep.trial import try_prompt

__all__ = [
    "cell_counts",
    "estimates_table",
    "export_mteb",
    "first_samples",
    "inputs_table",
    "plan_table",
    "prompts_of",
    "query_scores_table",
    "require_complete",
    "scaling_text",
    "scores_table",
    "sweep_study",
    "try_prompt",
]  # fmt: skip
