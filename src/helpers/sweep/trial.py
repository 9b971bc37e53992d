"""Trial: the score of a prompt that somebody types, and its place among the study's prompts."""

from __future__ import annotations

from functools import partial

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.names import unknown
from helpers.base.ties import compare
from helpers.prompts.prompt import COLUMNS as PROMPTS
from helpers.prompts.prompt import Prompt
from helpers.study.run import Run
from helpers.sweep.group import model_or_error, run_group
from helpers.sweep.received import inputs_table
from helpers.sweep.results import scores_table

COLUMNS = ["model", "task", "prompt", "score", "percentile", "n_prompts"]


def try_prompt(run: Run, model: str | None = None, task: str | None = None, prompt: str | None = None) -> pd.DataFrame:
    """Score one prompt for a model and a task of a study, beside the scores that the study's prompts have there.

    model: label; task: name; prompt: text, word by word as the model is to read it. What is not given is the first of the
    study or of its scores; no rows where no prompt is given and none has a score. The sweep's own engine scores it, mean
    over subsets, unless the study has its score already; what is computed stays in `tried/` of the run folder and enters
    no table of the study.

    Returns one row: model, task, prompt (str); score (float); percentile (float, share of the study's prompts that score
    less, ties count half; NaN where none has a score); n_prompts (int, the study's prompts with a score). Needs the table
    `scores`. Raises `StudyError` where the model or task is unknown or the prompt cannot be scored.
    """
    study, scores = run.study, run.table("scores")
    models, tasks = {m.label: m for m in study.models}, {t.name: t for t in study.tasks}
    model, task = model or next(iter(models)), task or next(iter(tasks))
    for kind, name, there in (("model", model, models), ("task", task, tasks)):
        if name not in there:
            raise StudyError(f"study '{study.name}': {unknown(kind, name, list(there))}")
    peers = scores[(scores["model"] == model) & (scores["task"] == task) & (scores["kind"] == "prompt")]
    part = study.model_copy(update={"models": [models[model]], "tasks": [tasks[task]], "baselines": []})
    known = _by_prompt(peers).dropna()
    if prompt is None:
        scored = peers[peers["prompt_id"].isin(known.index)]
        if scored.empty:
            return pd.DataFrame(columns=COLUMNS)
        prompt = str(scored["prompt"].iloc[0])
    typed = Prompt(text=prompt)
    if typed.id not in known:
        row = pd.DataFrame([{"task": task, "prompt_id": typed.id, "kind": "prompt", "text": prompt}], columns=PROMPTS)
        folder, load = run.folder / "tried", partial(model_or_error, models[model], run.folder, study)
        report = run_group(part, folder, row, models[model], tasks[task], load)
        if report.failed:
            raise StudyError(f"the prompt cannot be scored: {report.reasons[0]}")
        score = float(_by_prompt(scores_table(part, folder, row))[typed.id])
    else:
        score = float(known[typed.id])
    place = float(((1 - compare(known, score)) / 2).mean()) if len(known) else float("nan")
    return pd.DataFrame([(model, task, prompt, score, place, len(known))], columns=COLUMNS)


def _by_prompt(rows: pd.DataFrame) -> pd.Series:
    """Score by prompt id: the mean over all subsets and splits; NaN where one of them has none."""
    value = rows["main_score"].where(rows["status"] == "ok").astype(float)
    return value.groupby(rows["prompt_id"]).agg(lambda v: v.mean(skipna=False))


def literal_inputs(run: Run, model: str, task: str, prompt: str) -> list[tuple[str, str]]:
    """(side, string) of the first sample of each side behind a prompt that was swept or tried, as it was embedded."""
    study = run.study
    part = study.model_copy(
        update={"models": [study.model_spec(model)], "tasks": [study.task_spec(task)], "baselines": []}
    )
    rows = pd.DataFrame(
        [{"task": task, "prompt_id": Prompt(text=prompt).id, "kind": "prompt", "text": prompt}], columns=PROMPTS
    )
    for folder in (run.folder / "tried", run.folder):
        inputs = inputs_table(part, folder, rows)
        if len(inputs):
            first = inputs[inputs["sample"] == 0].drop_duplicates("side")
            return list(zip(first["side"], first["string"], strict=True))
    return []
