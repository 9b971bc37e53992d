"""Helpers for asking how much an embedding benchmark depends on its prompts.

Fourteen rooms, lowest first: base, display, study, tasks, prompts, models, sweep, scores, sensitivity, leaderboard,
geometry, tuning, report, runner. A room uses only those before it; each has a face with the names that others need.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# What a script needs; a name is imported when it is asked for, so that `import helpers` costs nothing.
_ROOM_OF = {
    "retrieval_task": "tasks.given", "reranking_task": "tasks.given", "sts_task": "tasks.given",
    "pair_classification_task": "tasks.given", "classification_task": "tasks.given",
    "clustering_task": "tasks.given", "bitext_task": "tasks.given", "embedder": "models.function",
    "served": "models.given", "load_run": "sweep.quick", "choose_prompt": "sensitivity.choice",
    "render_report": "runner.report", "Run": "study", "load_study": "study", "load_task": "tasks",
    "prompt_table": "prompts", "load_model": "models", "run_sweep": "sweep.quick", "sweep_study": "sweep",
    "scores_table": "sweep", "task_scores": "scores", "borda": "scores", "sensitivity_table": "sensitivity",
    "rank_table": "leaderboard", "measure": "geometry.given", "boards": "leaderboard.rankings",
    "board_matrix": "scores.board", "prompt_scores": "scores.cells", "random_boards": "leaderboard.random_ranks",
    "query_noise": "sensitivity", "variance_components": "sensitivity", "agreement_table": "sensitivity",
    "error_curve": "sensitivity", "fine_tune": "tuning", "render_site": "report", "run_chain": "runner",
}  # fmt: skip
__all__ = sorted(_ROOM_OF)


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'helpers' has no attribute '{name}'; it has {', '.join(__all__)}")
    return getattr(import_module(f"helpers.{_ROOM_OF[name]}"), name)
