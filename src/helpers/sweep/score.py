"""Scores of one cell: those of mteb, and those of the units that a test set is made of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import sklearn

from helpers.sweep.cell import Cell, keeps_stock_batches
from helpers.sweep.encoder import SweepEncoder
from helpers.sweep.mteb_patches import columns_read_at_once, restart_random_state


def evaluate(encoder: SweepEncoder, task: Any, cell: Cell) -> dict[str, Any]:
    """mteb's scores of one cell.

    The random state is reset first: clustering tasks draw from one that advances, so the same task object and the same
    vectors gave v-measures of 0.131, 0.135 and 0.152 in a row.
    """
    restart_random_state(task, cell.slot["seed"])
    task.hits = []
    encoder.prefixes, encoder.calls = cell.prefixes, []
    encoder.stock_batches = keeps_stock_batches(cell.prompt, task)
    # Embeddings are known to be finite here; scikit-learn's checks of its own arguments cost more than its metrics.
    quick = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    with warnings.catch_warnings(), quick, columns_read_at_once():
        warnings.simplefilter("ignore")  # mteb's and scikit-learn's remarks on single labels, once per cell
        try:
            scores = task.evaluate(
                encoder,
                split=cell.slot["split"],
                subsets_to_run=[cell.slot["subset"]],
                encode_kwargs={"batch_size": 32, "show_progress_bar": False},
            )
        except Exception as error:  # a library's sentence alone does not say what it is about
            error.add_note("evaluating {task} ({subset}, {split})".format(**cell.slot))
            raise
    return dict(scores[cell.slot["subset"]])


def unit_scores(encoder: SweepEncoder, task: Any, cell: Cell) -> pd.DataFrame | None:
    """Scores of the units that a test set is made of, else None.

    nDCG@10 per query; cosine and gold per STS pair; per text, where accuracy is the task's score, the share of trained
    classifiers that got it right. Columns: query_id, score, gold (NaN where the task's score is the mean of the units).
    They carry the test-set noise that the analysis needs.
    """
    from helpers.tasks.load import subset_data

    kind = task.metadata.type
    if kind in ("Retrieval", "Reranking") and encoder.results:
        import pytrec_eval

        qrels = subset_data(task, cell.slot["subset"])[cell.slot["split"]]["relevant_docs"]
        evaluator = pytrec_eval.RelevanceEvaluator({q: dict(r) for q, r in qrels.items()}, {"ndcg_cut.10"})
        per_query = evaluator.evaluate(encoder.results)
        rows = [(q, per_query[q]["ndcg_cut_10"], np.nan) for q in sorted(per_query)]
        return pd.DataFrame(rows, columns=["query_id", "score", "gold"])
    if kind == "Classification" and task.metadata.main_score == "accuracy" and task.hits:
        if len({len(hits) for hits in task.hits}) > 1:  # folds of a cross-validation hold different texts
            return None
        share = np.mean(task.hits, axis=0)
        ids = _positions(cell, len(share))
        return pd.DataFrame({"query_id": ids, "score": share, "gold": np.nan})
    if kind == "STS" and len(encoder.calls) == 2:
        left, right = (encoder.vectors(*call) for call in list(encoder.calls))
        del encoder.calls[2:]
        norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        cosine = (left * right).sum(1) / np.where(norms == 0, 1, norms)
        gold = subset_data(task, cell.slot["subset"])[cell.slot["split"]]["score"][:]
        ids = _positions(cell, len(cosine))
        return pd.DataFrame({"query_id": ids, "score": cosine.astype(float), "gold": np.asarray(gold, float)})
    return None


def _positions(cell: Cell, n: int) -> list[str]:
    """Where n scored items stand in the whole test set: there they have the same names as under a prompt on all items."""
    return [str(row) for row in (range(n) if cell.part is None else cell.part.rows)]
