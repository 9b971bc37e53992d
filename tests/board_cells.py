"""Small score tables for the tests of the leaderboard and of sensitivity."""

import numpy as np
import pandas as pd


def cells_of(scores, default=None, task_type="STS"):
    """A `task_scores` table from {model: {task: [scores of prompts p0, p1, ...]}} and {model: {task: default}}."""
    rows = []
    for model, tasks in scores.items():
        for task, values in tasks.items():
            entries = [(f"p{k}", "prompt", f"Prompt {k}:", v) for k, v in enumerate(values)]
            if default is not None and task in default.get(model, {}):
                entries.append(("default", "default", None, default[model][task]))
            for key, kind, text, value in entries:
                rows.append(
                    {"model": model, "task": task, "task_type": task_type, "prompt_id": key, "kind": kind, "prompt": text,
                     "level": "task", "source": "file", "application": "raw", "metric": "m", "score": value,
                     "n_records": 1, "n_missing": int(not np.isfinite(value))}
                )  # fmt: skip
    return pd.DataFrame(rows)


def random_cells(models, tasks, prompts, seed=0, digits=None, effect=0.0):
    """Cells with normal scores; digits rounds them (to make ties), effect adds a model effect."""
    rng = np.random.default_rng(seed)
    scores, default = {}, {}
    for m in range(models):
        draw = 0.5 + effect * m + 0.05 * rng.normal(size=(tasks, prompts + 1))
        draw = draw if digits is None else draw.round(digits)
        scores[f"m{m}"] = {f"t{t}": list(draw[t, :-1]) for t in range(tasks)}
        default[f"m{m}"] = {f"t{t}": draw[t, -1] for t in range(tasks)}
    return cells_of(scores, default)


def records(rows):
    """A scores table (a row per record) from dicts; what is not given is filled in."""
    base = {"model": "m", "model_name": "org/m", "revision": "r", "task": "T", "task_type": "STS", "split": "test",
            "subset": "default", "languages": "eng-Latn", "prompt_id": "p0", "kind": "prompt", "prompt": "P:",
            "application": "raw", "main_score": 0.5, "mteb_version": "2.0", "dataset_revision": "d", "status": "ok"}  # fmt: skip
    return pd.DataFrame([base | row for row in rows])
