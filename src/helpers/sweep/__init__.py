"""Sweep (chapter 02): every model x task x prompt once, in cells that are never lost.

`run` starts it, `group` computes one model on one task, `cell` says what a score depends on, `store` keeps it.
"""

from helpers.sweep.cost import plan_table
from helpers.sweep.received import inputs_table
from helpers.sweep.results import export_mteb, query_scores_table, scores_table
from helpers.sweep.run import run_sweep
from helpers.sweep.scaling import scaling_text

__all__ = [
    "export_mteb",
    "inputs_table",
    "plan_table",
    "query_scores_table",
    "run_sweep",
    "scaling_text",
    "scores_table",
]
