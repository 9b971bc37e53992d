"""Quick sweep: models, tasks and prompts given in Python, computed and kept like any study's."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from pydantic import ValidationError

from helpers.base.errors import StudyError
from helpers.base.files import project_root, replacing
from helpers.base.names import unknown
from helpers.models.given import given_model
from helpers.models.source import check_model, check_present
from helpers.prompts.files import read_prompts, row, write_prompts
from helpers.prompts.prompt import COLUMNS
from helpers.prompts.table import prompt_table
from helpers.study.errors import readable
from helpers.study.load import IN_RUN_FOLDER
from helpers.study.run import Run
from helpers.study.spec import ModelSpec, Study, TaskSpec
from helpers.sweep.received import inputs_table
from helpers.sweep.results import estimates_table, export_mteb, query_scores_table, scores_table
from helpers.sweep.run import sweep_study
from helpers.tasks.given import OwnTask
from helpers.tasks.load import check_task

ABOUT = "# Written by helpers.run_sweep: the study of this folder. helpers report <this file> makes its pages.\n"


def run_sweep(
    models: Mapping[str, Any] | Sequence[Any],
    tasks: Sequence[Any],
    prompts: Any,
    baselines: Sequence[str] = ("none", "default"),
    folder: str | Path = "runs/sweep",
    *,
    separator: str = "",
    application: str = "raw",
    seed: int = 42,
    budget: str | float | Mapping[str, int] = "full",
    progress: Callable[[str], None] | None = print,
    **settings: Any,
) -> pd.DataFrame:
    """Score every prompt on every task with every model, and keep everything in `folder`.

    models: {label: model} or a list of names; a model is a name of mteb or the Hub, `package:…`, `path:…` or a folder,
    a SentenceTransformer, or a model of `mteb.get_model`. tasks: names of mteb's tasks, task objects of mteb (their
    name, subsets and split are taken), or own ones (`retrieval_task`, `sts_task`, …). prompts: a list for all tasks,
    {task: list}, {task: {level: list}}, a frame with `text` and perhaps `task` and `level`, or a file (JSON, YAML, CSV).
    A prompt and `separator` stand before the text exactly as given. budget: full, a share (0.25) or a
    number of items ({"items": 500}) for prompts other than the anchor (docs/budget.md). settings: keys of a study's
    `sweep`, e.g. device.

    Returns the table of scores, one row per model, task, subset and prompt (`kind` tells prompts from baselines);
    cells that failed say so in `status` and `reason`. Called again, it computes only what is missing. The folder holds
    the study (`study.yml`), so `load_run`, the notebooks and the report work on it. Raises `StudyError` in one line
    for whatever cannot be swept, before anything is computed.
    """
    place = Path(folder).expanduser().resolve()
    entries = _models(models)
    specs = [_task(task, place) for task in tasks]
    for entry in entries:
        check_model(entry, application)
        check_present(entry)
    for spec in specs:
        check_task(spec)
    asked = given_prompts(prompts, [spec.name for spec in specs])
    without = [spec.name for spec in specs if spec.name not in set(asked["task"])]
    if without:
        raise StudyError(f"prompts: there is none for the task {without[0]}; give each task at least one")
    study = _study(place, entries, specs, separator, application, baselines, seed, budget, settings)
    write_prompts(place / "given_prompts.json", asked.to_dict("records"))
    _write_study(place, study)
    run = Run.open(place / IN_RUN_FOLDER, step="02")
    table = prompt_table(run.study)
    run.save_table("prompts", table)
    reports = sweep_study(run.study, run.folder, table, progress)
    scores = scores_table(run.study, run.folder, table)
    run.save_table("scores", scores)
    run.save_table("estimates", estimates_table(run.study, run.folder, table))
    run.save_table("inputs", inputs_table(run.study, run.folder, table))
    run.save_table("query_scores", query_scores_table(run.study, run.folder, table))
    export_mteb(run.study, run.folder, table)
    failed = sum(report.failed for report in reports)
    if failed and progress is not None:
        progress(f"{failed} cells failed; the columns status and reason of the scores say why")
    scores.attrs["run"] = str(run.folder)
    return scores


def load_run(folder: str | Path) -> Run:
    """The run of a folder that `run_sweep` wrote, or of a study by its name: `load_run("runs/mine").table("scores")`."""
    place = Path(folder).expanduser()
    if (place / IN_RUN_FOLDER).is_file():
        return Run.open(place / IN_RUN_FOLDER)
    if place.is_dir():
        raise StudyError(f"{place.name}/ has no {IN_RUN_FOLDER}; name a folder that run_sweep wrote, or a study")
    return Run.open(str(folder))


def _models(models: Mapping[str, Any] | Sequence[Any]) -> list[ModelSpec]:
    if isinstance(models, (str, Path)) or not isinstance(models, (Mapping, Sequence)):
        raise StudyError('models: give {label: model}, e.g. {"mine": model}, or a list of names')
    if not isinstance(models, Mapping):
        unnamed = next((m for m in models if not isinstance(m, (str, Path, ModelSpec))), None)
        if unnamed is not None:
            raise StudyError(f'models: {type(unnamed).__name__} has no label; give {{"mine": model}}')
        models = {m.label if isinstance(m, ModelSpec) else Path(str(m)).name: m for m in models}
    if not models:
        raise StudyError("models: there is none; give at least one")
    return [given_model(str(label), model) for label, model in models.items()]


def _task(task: Any, place: Path) -> TaskSpec:
    if isinstance(task, OwnTask):
        spec = task.write(place / "data")
        return spec.model_copy(update={"data": _from_project(Path(str(spec.data)))})
    if isinstance(task, TaskSpec):
        return task
    if isinstance(task, str):
        return TaskSpec(name=task)
    if isinstance(task, Mapping):
        try:
            return TaskSpec.model_validate(dict(task))
        except ValidationError as error:
            raise StudyError(f"tasks: {readable(error, TaskSpec, unknown)[0]}") from error
    metadata = getattr(task, "metadata", None)
    if metadata is None:
        raise StudyError(
            f"tasks: {type(task).__name__} is no task; give a name of mteb, a task of mteb, or one made by "
            "retrieval_task, sts_task, …"
        )
    subsets = list(task.hf_subsets)
    splits = list(task.eval_splits)
    return TaskSpec(
        name=metadata.name,
        subsets=None if subsets == list(metadata.hf_subsets) else subsets,
        split=splits[0] if len(splits) == 1 and splits != list(metadata.eval_splits) else None,
    )


def given_prompts(prompts: Any, tasks: Sequence[str]) -> pd.DataFrame:
    """Prompts in whatever form as a table of prompts for these tasks (columns as `prompt_table`'s); nothing is stripped.

    >>> given_prompts(["query: "], ["A", "B"])[["task", "text"]].values.tolist()
    [['A', 'query: '], ['B', 'query: ']]
    """
    if isinstance(prompts, (str, Path)):
        path = Path(prompts).expanduser()
        if not path.is_file():
            raise StudyError(f"prompts: there is no file '{path.name}'; a single prompt is given as a list: [prompt]")
        if path.suffix.lower() == ".csv":
            try:
                prompts = pd.read_csv(path, dtype=str, keep_default_na=False)
            except (ValueError, OSError) as error:
                raise StudyError(f"prompts: {path.name} is not readable as CSV ({error})") from error
        else:
            prompts = read_prompts(path)
    if isinstance(prompts, pd.DataFrame):
        found = list(_of_frame(prompts, tasks))
    elif isinstance(prompts, Mapping):
        for task in prompts:
            if task not in tasks:
                raise StudyError(f"prompts: {unknown('task', str(task), list(tasks))}")
        found = [record for task in tasks for record in _of_task(task, prompts.get(task, []))]
    else:
        found = [record for task in tasks for record in _of_task(task, prompts)]
    distinct = {(record["task"], record["text"]): record for record in found}
    return pd.DataFrame(list(distinct.values()), columns=COLUMNS, dtype=object)


def _of_task(task: str, given: Any) -> list[dict[str, Any]]:
    by_level = given if isinstance(given, Mapping) else {None: given}
    found = []
    for level, texts in by_level.items():
        if isinstance(texts, str) or not isinstance(texts, Sequence):
            raise StudyError(f"prompts: {task}: give a list of texts, not {type(texts).__name__}")
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise StudyError(f"prompts: {task}[{number}]: {text!r:.60} is not a text; put it in quotes")
            found.append(row(task, text, level, "human"))
    return found


def _of_frame(table: pd.DataFrame, tasks: Sequence[str]) -> Any:
    column = next((name for name in ("text", "prompt") if name in table), None)
    if column is None:
        raise StudyError(f"prompts: there is no column 'text'; the table has {', '.join(map(str, table))}")
    known = table[table["task"].isin(list(tasks))] if "task" in table else table
    for number, record in enumerate(known.to_dict("records")):
        text, level = record[column], record.get("level") or None
        if not isinstance(text, str):
            raise StudyError(f"prompts, row {number}: {text!r:.60} is not a text")
        extra = {key: record[key] for key in ("source", "generator") if isinstance(record.get(key), str)}
        for task in [record["task"]] if "task" in table else tasks:
            yield row(task, text, level, **{"source": "human", **extra})


def _study(
    place: Path,
    models: list[ModelSpec],
    tasks: list[TaskSpec],
    separator: str,
    application: str,
    baselines: Sequence[str],
    seed: int,
    budget: Any,
    settings: dict[str, Any],
) -> Study:
    prompts: dict[str, Any] = {
        "source": "file",
        "file": _from_project(place / "given_prompts.json"),
        "separator": separator,
        "application": application,
        "near_duplicate_threshold": None,
        "remove": [],
    }
    objects = [model.label for model in models if model.weights.startswith("object:")]
    if objects and (settings.get("workers", 1) != 1 or settings.get("executor", "auto") not in ("auto", "here")):
        raise StudyError(
            f"model {objects[0]} is an object, which lives in one process; set workers: 1, or give a folder"
        )
    try:
        return Study.model_validate(
            {
                "name": re.sub(r"[^a-z0-9-]+", "-", place.name.lower()).strip("-") or "sweep",
                "title": place.name,
                "description": "Models, tasks and prompts given in Python.",
                "steps": ["01", "02", "03", "04"],
                "folder": _from_project(place),
                "models": models,
                "tasks": tasks,
                "prompts": prompts,
                "baselines": list(baselines),
                "sweep": settings,
                "seed": seed,
                "budget": dict(budget) if isinstance(budget, Mapping) else budget,
            }
        )
    except ValidationError as error:
        raise StudyError("\n".join(readable(error, Study, unknown))) from error


def _write_study(place: Path, study: Study) -> None:
    content = study.model_dump(mode="json", exclude_defaults=True)
    with replacing(place / IN_RUN_FOLDER) as temporary:
        temporary.write_text(ABOUT + yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")


def _from_project(path: Path) -> str:
    """A path as a study names it: seen from the project, also where it lies outside."""
    return Path(os.path.relpath(path, project_root())).as_posix()
