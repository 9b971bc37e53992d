"""Own task: a person's data as a task of mteb, from a file or a folder of files."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from helpers.base.errors import StudyError
from helpers.base.files import project_path
from helpers.base.names import unknown
from helpers.study.spec import TaskSpec
from helpers.tasks.files import SEARCHED, SUFFIXES, TaskFile, read_file, table_of
from helpers.tasks.pairs import split_rows, texts_of_pairs
from helpers.tasks.rows import load_rows
from helpers.tasks.search_files import read_search

SPLIT, SUBSET = "test", "default"

# mteb's base class for each type, and the score that its own tasks of this type usually report.
BASES = {
    "Retrieval": ("AbsTaskRetrieval", "ndcg_at_10"),
    "Reranking": ("AbsTaskRetrieval", "map_at_1000"),
    "STS": ("AbsTaskSTS", "cosine_spearman"),
    "PairClassification": ("AbsTaskPairClassification", "max_ap"),
    "Classification": ("AbsTaskClassification", "accuracy"),
    "Clustering": ("AbsTaskClustering", "v_measure"),
    "BitextMining": ("AbsTaskBitextMining", "f1"),
}

_PARTS = {"Retrieval": ("corpus", "queries", "qrels"), "Reranking": ("corpus", "queries", "qrels", "top_ranked")}


def own_class(spec: TaskSpec, files: dict[str, TaskFile] | None = None) -> Any:
    """The mteb class of an own task: mteb's base class of its type, reading the spec's file or folder, or given tables.

    Raises `StudyError` for a name that mteb has, data that are not there, or a wrong score or language. The rows are
    read, and checked, when the task loads its data.
    """
    import mteb.abstasks

    assert spec.type is not None
    base_name, usual = BASES[spec.type]
    base = getattr(mteb.abstasks, base_name)
    place = data_place(spec) if files is None else Path(spec.name)
    revision = content_digest(place) if files is None else ""
    content = {
        "metadata": _metadata(spec, place.name, revision, _main_score(spec, usual)),
        "load_data": lambda self, num_proc=None, **kwargs: _load_data(self, spec, place),
        "fast_loading": False,
        "__module__": __name__,
    }
    if spec.type == "Clustering":  # all texts, once: mteb's own sizes are for sets of many thousand
        size = len((files or files_of(spec, place))[SPLIT].rows)
        content |= {"max_fraction_of_documents_to_embed": None, "max_documents_per_cluster": size}
    return type(re.sub(r"\W", "_", spec.name), (base,), content)


def data_place(spec: TaskSpec) -> Path:
    """The file or folder of an own task; a `StudyError` where it is not there or of another kind."""
    assert spec.data is not None
    place = project_path(spec.data)
    if not place.exists():
        raise StudyError(
            f"task {spec.name}: data: there is no '{spec.data}', seen from the project's folder; correct the path"
        )
    if place.is_file() and place.suffix.lower() not in SUFFIXES:
        raise StudyError(
            f"task {spec.name}: data: {place.name} is none of the files that are read ({', '.join(SUFFIXES)})"
        )
    return place


def files_of(spec: TaskSpec, place: Path) -> dict[str, TaskFile]:
    """The tables of an own task by their names: corpus, queries, … or the splits. One file gives all of them."""
    kind = str(spec.type)
    names = _PARTS.get(kind) or (("train", SPLIT) if kind == "Classification" else (SPLIT,))
    if place.is_file():
        whole = mapped_columns(spec, {place.name: read_file(place.parent, place, shown=place.name)})[place.name]
        return texts_of_pairs(whole, kind) if kind in _PARTS else split_rows(whole, kind)
    found = {name: path for name in names if (path := table_of(place, name)) is not None}
    missing = [name for name in names if name not in found]
    if missing:
        raise StudyError(
            f"{place.name}/{missing[0]}.parquet (or {', '.join(SUFFIXES[1:])}) is missing: a task of type {kind} has "
            f"the tables {', '.join(names)} (docs/task-data.md)"
        )
    return mapped_columns(spec, {name: read_file(place, path) for name, path in found.items()})


def mapped_columns(spec: TaskSpec, files: dict[str, TaskFile]) -> dict[str, TaskFile]:
    """Columns under the suite's names, as the spec's `columns` maps them."""
    for ours, theirs in spec.columns.items():
        having = [file for file in files.values() if theirs in file.rows]
        if not having:
            there = list(dict.fromkeys(str(name) for file in files.values() for name in file.rows))
            raise StudyError(f"task {spec.name}: columns.{ours}: {unknown('column', theirs, there)}")
        for file in having:
            kept = file.rows.drop(columns=[ours]) if ours in file.rows and ours != theirs else file.rows
            file.rows = kept.rename(columns={theirs: ours})
    return files


def _load_data(task: Any, spec: TaskSpec, place: Path) -> None:
    if not task.data_loaded:
        load_files(task, files_of(spec, place))
        task.data_loaded = True


def load_files(task: Any, files: dict[str, TaskFile]) -> None:
    """Set a task's `dataset` from its tables; a `StudyError` names table, column, row and remedy."""
    kind = task.metadata.type
    if kind in SEARCHED:
        task.dataset = {SUBSET: {SPLIT: read_search(Path(), Path(), SPLIT, [SPLIT], kind, files)}}
    else:
        load_rows(task, {SUBSET: files})
        if kind == "Classification":
            _number_labels(task)


def _number_labels(task: Any) -> None:
    """Labels that are texts as 0, 1, … in their order: mteb's average precision of two labels knows no texts."""
    from datasets import Dataset, DatasetDict

    rows = {split: part.to_pandas() for split, part in task.dataset.items()}
    name = task.label_column_name
    number = {label: n for n, label in enumerate(sorted(set(rows["train"][name])))}
    if isinstance(next(iter(number)), str):
        numbered = {split: part.assign(**{name: part[name].map(number)}) for split, part in rows.items()}
        task.dataset = DatasetDict(
            {split: Dataset.from_pandas(part, preserve_index=False) for split, part in numbered.items()}
        )


def _metadata(spec: TaskSpec, source: str, revision: str, main_score: str) -> Any:
    from mteb.abstasks.task_metadata import TaskMetadata

    languages = [spec.language] if isinstance(spec.language, str) else spec.language or ["eng-Latn"]
    if spec.type == "BitextMining":
        if len(languages) == 1:
            languages = languages * 2 if spec.language is None else languages
        if len(languages) != 2:
            raise StudyError(f"task {spec.name}: language: bitext mining has two, e.g. [eng-Latn, deu-Latn]")
    given: dict[str, Any] = {
        "name": spec.name,
        "description": spec.description or f"{spec.name}: data of one's own.",
        "type": spec.type,
        "dataset": {"path": source, "revision": revision},
        "eval_splits": [SPLIT],
        "main_score": main_score,
    }
    try:
        metadata = TaskMetadata(**given, eval_langs=languages)
        metadata._validate_metadata()
        return metadata
    except (ValueError, KeyError) as error:
        raise StudyError(
            f"task {spec.name}: language: {', '.join(map(str, languages))} is not language and script, e.g. eng-Latn"
        ) from error


def content_digest(place: Path) -> str:
    """40 hexadecimal digits over the bytes of a file, or over names and bytes of a folder's tables."""
    digest = hashlib.sha256()
    paths = [place] if place.is_file() else [p for p in sorted(place.rglob("*")) if p.suffix.lower() in SUFFIXES]
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:40]


def measures(kind: str) -> list[str]:
    """The scores that mteb computes for a task type, any of which may be `main_score`."""
    if kind in SEARCHED:
        return [
            f"{measure}_at_{k}"
            for measure in ("ndcg", "map", "recall", "precision", "mrr", "hit_rate")
            for k in (1, 3, 5, 10, 20, 100, 1000)
        ]
    similarities = ("cosine", "manhattan", "euclidean")
    if kind == "STS":
        return ["pearson", "spearman", *(f"{s}_{c}" for s in similarities for c in ("pearson", "spearman"))]
    if kind == "PairClassification":
        sides = ("max", "similarity", *similarities, "dot")
        return [f"{side}_{measure}" for side in sides for measure in ("ap", "accuracy", "f1")]
    if kind == "Classification":
        both = ("f1", "precision", "recall")
        return ["accuracy", *both, *(f"{measure}_weighted" for measure in both)]
    return {"Clustering": ["v_measure"], "BitextMining": ["f1", "accuracy", "precision", "recall"]}[kind]


def _main_score(spec: TaskSpec, usual: str) -> str:
    known = measures(str(spec.type))
    if spec.main_score is not None and spec.main_score not in known:
        raise StudyError(f"task {spec.name}: main_score: {unknown('score', spec.main_score, known)}")
    return spec.main_score or usual
