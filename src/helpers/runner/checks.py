"""Study references: what a study names elsewhere in itself, in the project and in its data, checked before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterator

from helpers.base.errors import StudyError
from helpers.base.files import project_path
from helpers.base.names import unknown
from helpers.study.run import runs_folder
from helpers.study.spec import Study, TaskSpec
from helpers.tasks.kinds import SIDED_TYPES

SEARCHED = (*SIDED_TYPES, "BitextMining")


def check_references(study: Study) -> None:
    """Raise `StudyError`, one line, for the first label, task, folder or file that a step of the study would not find."""
    for problem in _problems(study):
        raise StudyError(f"study {study.name}: {problem}")


def _problems(study: Study) -> Iterator[str]:
    study.task_data_root()
    if study.results_from is not None and study.results_from.path:
        yield from _absent(study, "results_from.path", study.results_from.path, or_folder=True)
    if "05" in study.steps:
        yield from _of_geometry(study)
    if "06" in study.steps:
        yield from _of_finetuning(study)


def _of_geometry(study: Study) -> Iterator[str]:
    from helpers.tasks.load import task_class, task_names

    spec = study.geometry
    if spec is None:
        return
    labels = [model.label for model in study.models]
    for key, given in (("models", spec.models or []), ("map_model", [spec.map_model] if spec.map_model else [])):
        for label in given:
            if label not in labels:
                yield f"geometry.{key}: {unknown('model label', label, labels)}"
    tasks = [task.name for task in spec.tasks]
    if spec.map_task and spec.map_task not in tasks:
        yield f"geometry.map_task: {unknown('task', spec.map_task, tasks)}"
    for task in spec.tasks:
        kind = task_class(task.name).metadata.type if task.name in task_names() else "Retrieval"
        if kind not in SEARCHED:
            yield f"geometry.tasks: {task.name} is {kind}; geometry and distractors need retrieval or bitext mining"
        if task.paraphrases:
            yield from _absent(study, f"geometry.tasks.{task.name}.paraphrases", task.paraphrases)


def _of_finetuning(study: Study) -> Iterator[str]:
    from helpers.tasks.load import check_task, task_names

    spec = study.finetuning
    if spec is None:
        return
    labels = [model.label for model in study.models]
    if spec.model not in labels:
        yield f"finetuning.model: {unknown('model label', spec.model, labels)}"
    elif study.model_spec(spec.model).server is not None:
        yield f"finetuning.model: {spec.model} is served; training needs weights that are here"
    for preset in spec.swept_presets or []:
        if preset not in spec.presets:
            yield f"finetuning.swept_presets: {unknown('preset', preset, spec.presets)}"
    kind, _, place = spec.data.partition(":")
    if kind == "jsonl":
        yield from _absent(study, "finetuning.data", place)
    if spec.paraphrases:
        yield from _absent(study, "finetuning.paraphrases", spec.paraphrases)
    named = [("data", TaskSpec(name=place, subsets=spec.subsets))] if kind == "task" else []
    for key in ("side_effects", "sensitivity"):
        named += [(key, TaskSpec(name=name)) for name in getattr(spec, key)]
    for key, task in named:
        try:
            check_task(task)
        except StudyError as error:
            yield f"finetuning.{key}: {error}"
    for other in spec.out_of_domain:
        root = study.task_data_root()
        if other.name not in task_names() and not (root and (root / other.name).is_dir()):
            yield f"finetuning.out_of_domain: {unknown('task', other.name, task_names())}"
        if other.paraphrases:
            yield from _absent(study, f"finetuning.out_of_domain.{other.name}.paraphrases", other.paraphrases)


def _absent(study: Study, key: str, given: str, or_folder: bool = False) -> Iterator[str]:
    """A problem where a file lies neither in the project nor in the local task data."""
    if project_path(given).is_relative_to(runs_folder()):
        return  # a step may have yet to write it
    places = [project_path(given), *([root / given] if (root := study.task_data_root()) else [])]
    if any(os.path.isfile(path) or (or_folder and os.path.isdir(path)) for path in places):
        return
    is_folder = any(os.path.isdir(path) for path in places)
    shown = given if len(given) <= 80 else f"{given[:60]}…"
    yield f"{key}: '{shown}' {'is a folder, not a file' if is_folder else 'does not exist'} in the project or the local task data"


def check_names(study: Study) -> None:
    """Raise `StudyError` where a model, a task or a subset is not known to the installed mteb or to this suite."""
    from helpers.models.source import check_device, check_model
    from helpers.tasks.load import check_task

    application = study.prompts.application if study.prompts and "02" in study.steps else None
    for model in study.models:
        check_model(model, application)
    check_device(study)
    for task in study.tasks:
        check_task(task)
    for place in study.geometry.tasks if study.geometry else []:
        check_task(TaskSpec(name=place.name, subsets=place.subsets, split=place.split))
