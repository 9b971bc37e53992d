"""Mean prompt: the mean of a text's vectors under all prompts, scored like a prompt; its vectors are in the cache already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.errors import StudyError
from helpers.models.application import Prefixes
from helpers.models.embed import embed_many
from helpers.models.load import LoadedModel
from helpers.study.run import Run
from helpers.sweep.cell import make_cells
from helpers.sweep.encoder import SweepEncoder
from helpers.sweep.group import model_or_error
from helpers.sweep.mteb_patches import prepare
from helpers.sweep.score import evaluate, unit_scores
from helpers.tasks.load import load_task

MEAN = "mean"  # kind and id of such a row


class MeanEncoder(SweepEncoder):
    """A sweep's encoder that gives the sum of the unit vectors under several prompts instead of one prompt's vectors."""

    def __init__(self, model: LoadedModel, prompts: Sequence[Prefixes], bitext_side: str) -> None:
        super().__init__(model, bitext_side=bitext_side)
        self.prompts = prompts

    def vectors(self, side: str, texts: list[str]) -> np.ndarray:
        """As `SweepEncoder.vectors`; sides that carry no prompt (documents) are as always."""
        if side not in ("query", "both"):
            return super().vectors(side, texts)
        self.calls.append((side, texts))
        role = self._prefix(side)[1]
        parts = embed_many(self.model, [(texts, prompt.of(role), role) for prompt in self.prompts])
        total = np.zeros_like(parts[0], dtype=np.float64)
        for part in parts:
            norms = np.linalg.norm(part, axis=1, keepdims=True)
            total += part / np.where(norms == 0, 1, norms)
        return np.asarray(total / len(parts), dtype=np.float32)


def mean_prompt(run: Run, models: Sequence[str] | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Score the mean embedding of a study's written prompts, per model and task of a finished sweep.

    Nothing is embedded anew where the run's cache holds the vectors. Returns rows as in `scores` and `query_scores`, with
    kind and prompt_id "mean". Models that are not at hand here (an object of another process, absent weights) give a row
    with status "failed" and the reason.
    """
    study, prompts = run.study, run.table("prompts")
    scores: list[dict[str, Any]] = []
    units = []
    for spec in study.models:
        if models is not None and spec.label not in models:
            continue
        model = model_or_error(spec, run.folder, study)
        for entry in study.tasks:
            about = {"model": spec.label, "task": entry.name, "prompt_id": MEAN, "kind": MEAN, "prompt": None}
            if isinstance(model, StudyError):
                scores.append({**about, "subset": "", "split": "", "status": "failed", "reason": str(model)})
                continue
            task = prepare(load_task(entry, study))
            cells = [c for c in make_cells(study, model, task, entry, prompts) if c.prompt.kind == "prompt"]
            for place in dict.fromkeys((c.slot["subset"], c.slot["split"]) for c in cells):
                some = [c for c in cells if (c.slot["subset"], c.slot["split"]) == place]
                encoder = MeanEncoder(model, [c.prefixes for c in some], study.sweep.bitext_side)
                found = evaluate(encoder, task, some[0])
                key = {**about, "subset": place[0], "split": place[1]}
                scores.append({
                    **key, "task_type": task.metadata.type, "metric": task.metadata.main_score, "status": "ok",
                    "main_score": float(found["main_score"]), "application": some[0].prefixes.application,
                })  # fmt: skip
                rows = unit_scores(encoder, task, some[0])
                if rows is not None:
                    names = ("model", "task", "subset", "split", "prompt_id")
                    units.append(rows.assign(**{name: key[name] for name in names}))
    columns = ["model", "task", "subset", "split", "prompt_id", "query_id", "score", "gold"]
    return pd.DataFrame(scores), pd.concat(units, ignore_index=True) if units else pd.DataFrame(columns=columns)
