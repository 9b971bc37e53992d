"""Tasks: an mteb task by its name, with data from the Hub, from a local folder, or from the demo."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from helpers.base.errors import StudyError
from helpers.base.names import unknown
from helpers.base.network import reason_behind
from helpers.study.spec import Study, TaskSpec
from helpers.tasks.files import SEARCHED, split_files, subset_folder
from helpers.tasks.kinds import CLASSIFIED
from helpers.tasks.own import own_class
from helpers.tasks.rows import load_rows
from helpers.tasks.search_files import read_search


def task_names() -> list[str]:
    """Every task name of the installed mteb and of this suite's demo."""
    from mteb.get_tasks import _TASKS_REGISTRY

    from helpers.tasks.demo import DEMO_TASKS

    return [*DEMO_TASKS, *sorted(_TASKS_REGISTRY)]


def task_class(task: str | TaskSpec) -> Any:
    """The mteb class of a task; a `StudyError` with a suggestion for an unknown name."""
    if isinstance(task, TaskSpec) and task.type is not None:
        if task.name in task_names():
            raise StudyError(f"task {task.name}: this is the name of another task; give the own one another name")
        return own_class(task)
    name = task if isinstance(task, str) else task.name
    from mteb.get_tasks import _TASKS_REGISTRY

    from helpers.tasks.demo import DEMO_TASKS

    found = DEMO_TASKS.get(name) or _TASKS_REGISTRY.get(name)
    if found is None:
        raise StudyError(unknown("task", name, task_names()))
    return found


def check_task(spec: TaskSpec) -> None:
    """Raise `StudyError` where the task, one of its subsets or its split is not known, or it cannot be swept."""
    if spec.name == "SQuAD":  # the second study's own set; only geometry and fine-tuning read it
        return
    cls = task_class(spec)
    metadata = cls.metadata
    if reason := _not_swept(cls):
        raise StudyError(f"task {spec.name} {reason}")
    for subset in spec.subsets or []:
        if subset not in metadata.hf_subsets:
            raise StudyError(f"task {spec.name}: {unknown('subset', subset, list(metadata.hf_subsets))}")
    known_splits = [*metadata.eval_splits, "train", "validation", "dev", "test"]
    if spec.split is not None and spec.split not in known_splits:
        raise StudyError(f"task {spec.name}: {unknown('split', spec.split, list(metadata.eval_splits))}")


def _not_swept(cls: Any) -> str | None:
    """Why prompts of texts cannot be swept over a task, and what to name instead; None where they can."""
    parts = getattr(cls.metadata, "tasks", None)
    if parts:
        names = ", ".join(part.metadata.name for part in parts)
        return f"is the mean of other tasks; name these in the study's tasks: {names}"
    if other := sorted(set(cls.metadata.modalities) - {"text"}):
        return f"embeds {' and '.join(other)}; this suite measures prompts of texts: name a task of texts"
    if getattr(cls, "parallel_subsets", False):
        return "scores all its languages from one table, which cannot be swept by subset; name another bitext task"
    return None


def load_task(spec: TaskSpec, study: Study | None = None, root: Path | None = None) -> Any:
    """An mteb task with its data loaded, restricted to the subsets and split of the spec.

    Data come from the demo, else from `<root>/<task name>/` where that folder exists (`root`: the study's `data_root`
    or the environment variable EMBEDDING_TASK_DATA), else from the Hub through mteb itself.
    """
    if spec.type is None and study is not None and study.task_spec(spec.name).type is not None:
        spec = study.task_spec(spec.name)
    cls = task_class(spec)
    folder = root if root is not None else (study.task_data_root() if study else None)
    local = folder / spec.name if folder and spec.type is None else None
    if local is not None and not local.is_dir():
        local = None
    try:
        if local is not None:
            cls = local_class(cls, local)
        task = cls()
        task.filter_languages(languages=None, hf_subsets=spec.subsets) if spec.subsets else None
        if spec.split:
            task.filter_eval_splits([spec.split])
        task.load_data()
    except StudyError as error:
        raise StudyError(f"task {spec.name}: {error}") from error
    except Exception as error:
        if spec.type is not None:
            raise StudyError(f"task {spec.name}: its data cannot be used: {type(error).__name__}: {error}") from error
        raise StudyError(_why_not_loaded(spec.name, local, folder, error)) from error
    return task


def _why_not_loaded(name: str, local: Path | None, root: Path | None, error: Exception) -> str:
    if local is not None:
        return f"task {name}: the local data in {local.name}/ cannot be used: {type(error).__name__}: {error}"
    looked = f"there is no folder {name}/ in the local task data, and " if root else ""
    return (
        f"task {name}: {looked}its data could not be loaded from the Hub: {reason_behind(error)}. "
        f"Without network: put the data into a folder and name it as data_root or EMBEDDING_TASK_DATA (docs/task-data.md)"
    )


def local_class(cls: Any, folder: Path) -> Any:
    """A subclass of a stock task that reads Parquet files of `folder` instead of the Hub; scores as mteb does.

    Overridden on the class because mteb's `unload_data` drops an instance's own metadata after the first evaluation.
    """
    metadata = cls.metadata
    revision = folder_digest(folder)
    dataset = {**metadata.dataset, "revision": revision}

    def load_data(self: Any, num_proc: int | None = None, **kwargs: Any) -> None:
        if self.data_loaded:
            return
        if metadata.type in SEARCHED:
            self.dataset = {s: _local_search(folder, s, self) for s in self.hf_subsets}
            self.dataset_transform()
        else:
            load_rows(self, {s: split_files(folder, s, self) for s in self.hf_subsets})
        self.data_loaded = True

    return type(
        cls.__name__,
        (cls,),
        {
            "metadata": metadata.model_copy(update={"dataset": dataset}),
            "load_data": load_data,
            "fast_loading": False,
            "__module__": cls.__module__,
        },
    )


def _local_search(folder: Path, subset: str, task: Any) -> dict[str, Any]:
    base, splits = subset_folder(folder, subset, task), list(task.eval_splits)
    return {split: read_search(folder, base, split, splits, task.metadata.type) for split in splits}


def folder_digest(folder: Path) -> str:
    """40 hexadecimal digits over names and bytes of the Parquet files of a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.parquet")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:40]


def data_fingerprint(task: Any, subset: str, split: str) -> str:
    """16 hexadecimal digits over all of (subset, split) that a score can depend on: texts, labels, judgements."""
    digest = hashlib.sha256()
    for name, value in _parts(task, subset, split):
        digest.update(f"{name}\0".encode())
        for item in value:
            digest.update(json.dumps(item, ensure_ascii=False, sort_keys=True, default=str).encode() + b"\n")
    return digest.hexdigest()[:16]


def _parts(task: Any, subset: str, split: str) -> Iterator[tuple[str, Iterable[Any]]]:
    data = subset_data(task, subset)
    if isinstance(data.get(split), dict):
        part = data[split]
        yield "corpus", (tuple(row.values()) for row in part["corpus"])
        yield "queries", (tuple(row.values()) for row in part["queries"])
        yield "qrels", sorted((q, sorted(d.items())) for q, d in part["relevant_docs"].items())
        yield "top_ranked", sorted((part["top_ranked"] or {}).items())
        return
    names = [split] if task.metadata.type not in CLASSIFIED else sorted(data)
    for name in names:
        rows = data[name]
        for column in sorted(rows.column_names):
            yield f"{name}/{column}", rows[column][:]


def subset_data(task: Any, subset: str) -> Any:
    """The splits of one subset, whether or not the task nests its data by subset."""
    if subset in task.dataset:
        return task.dataset[subset]
    if subset == "default":
        return task.dataset
    raise StudyError(f"task {task.metadata.name}: {unknown('subset', subset, list(task.dataset))}")
