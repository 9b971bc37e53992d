"""What the geometry measures on: search sets of a study's tasks, with their paraphrases and foreign queries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.files import project_path, project_root
from helpers.base.paths import below
from helpers.study.geometry import Bank, GeometrySpec, GeometryTask
from helpers.study.run import run_folder
from helpers.study.spec import Study, TaskSpec
from helpers.tasks.files import read_file
from helpers.tasks.load import load_task, subset_data, task_names
from helpers.tasks.search import SearchSet, document_texts, search_set
from helpers.tasks.search_files import read_search

FOLDER_FILES = ("corpus", "queries", "qrels")


@dataclass
class InstructedSet:
    """One search set, the bank its instructions come from, what they are relevant for, and foreign queries.

    foreign: pairs (where from, texts) in the order in which they are used up as random distractors. paraphrase_source:
    where the paraphrases come from, "" where the set has none.
    """

    search: SearchSet
    bank: Bank
    kind: str
    foreign: list[tuple[str, list[str]]]
    paraphrase_source: str

    @property
    def metric(self) -> str:
        """The paper's score: nDCG@10 in retrieval, recall@1 in bitext mining."""
        return "recall_at_1" if self.bank == "bitext-mining" else "ndcg_at_10"


def instructed_sets(study: Study) -> list[InstructedSet]:
    """Every (task, subset) of the study's geometry, queries limited and drawn with the study's seed.

    Foreign queries of a set are, in this order: the task's other splits, its own queries beyond the limit, its other
    subsets, the study's other geometry tasks.
    """
    spec = geometry_spec(study)
    loaded = [(task, *_whole_sets(task, study)) for task in spec.tasks]
    instructed = []
    for task, wholes, extra, bank in loaded:
        others = [s for other, sets, _, _ in loaded if other is not task for s in sets]
        for whole in wholes:
            limited = whole.sample(task.n_queries or spec.n_queries, study.seed)
            source = _add_paraphrases(limited, task, study)
            left_out = [t for q, t in whole.queries.items() if q not in limited.queries]
            subsets = [t for s in wholes if s is not whole for t in s.queries.values()]
            foreign = [
                ("the task's other splits", extra.get(whole.subset, [])),
                ("the task's queries beyond the limit", left_out),
                ("the task's other subsets", subsets),
                ("the study's other tasks", [t for s in others for t in s.queries.values()]),
            ]
            kind = task.kind or ("bitext-mining" if bank == "bitext-mining" else "question-answering")
            instructed.append(InstructedSet(limited, bank, kind, foreign, source))
    return instructed


def draw_foreign(foreign: list[tuple[str, list[str]]], taken: set[str], n: int) -> tuple[list[str], str]:
    """Texts of the first sources until there are `n` that are not taken, and a description of these sources.

    >>> draw_foreign([("its train split", ["a", "b"]), ("other tasks", ["c"]), ("more", ["d"])], {"a"}, 2)
    (['b', 'c'], 'its train split; other tasks')
    """
    texts: list[str] = []
    used = []
    for source, some in foreign:
        if len(texts) >= n:
            break
        new = sorted(set(some) - taken - set(texts))
        if new:
            texts += new
            used.append(source)
    return texts, "; ".join(used)


def read_paraphrases(path: Path, queries: dict[str, str], some: bool = True) -> dict[str, str]:
    """Paraphrases by query id from a Parquet or JSON Lines file.

    It needs the column `paraphrase` and either `id` (or `query_id`) or the query's text as `question` or `text`. Rows
    of other queries are passed over; queries without a row stay without a paraphrase. With `some` a file in which no
    row belongs to a query is an error.
    """
    try:
        if path.suffix == ".parquet":
            table = read_file(path.parent, path).rows
        else:
            lines = path.read_text(encoding="utf-8").split("\n")  # a text may hold U+2028
            table = pd.DataFrame([json.loads(line) for line in lines if line.strip()])
    except (OSError, ValueError, RecursionError) as error:
        raise StudyError(f"paraphrases {path.name}: not readable ({type(error).__name__}: {error})") from error
    if "paraphrase" not in table:
        raise StudyError(f"paraphrases {path.name}: needs a column 'paraphrase'; it has {', '.join(table.columns)}")
    table = table.dropna(subset=["paraphrase"])
    # The text first: ids such as "0", "1" of two languages' sentences would be taken for each other.
    by_text, by_id = {q: t.strip() for q, t in queries.items()}, {q: q.strip() for q in queries}
    for column, keys in (("question", by_text), ("text", by_text), ("id", by_id), ("query_id", by_id)):
        if column in table:
            known = dict(zip(table[column].astype(str).str.strip(), table["paraphrase"], strict=True))
            if written := {q: known[key] for q, key in keys.items() if key in known}:
                return written
    if not some:
        return {}
    raise StudyError(f"paraphrases {path.name}: no row belongs to a query; it needs id or question beside paraphrase")


def folder_search_set(folder: Path, split: str = "test") -> SearchSet:
    """A search set from `corpus`, `queries` and `qrels` Parquet files (BEIR columns), for data that mteb does not know.

    Target text is title and text joined, as mteb joins them. Checked as the data of mteb's tasks are (`read_search`).
    """
    parts = read_search(folder, folder, split, [split])
    targets = dict(zip(parts["corpus"]["id"][:], document_texts(parts["corpus"]), strict=True))
    queries = dict(zip(parts["queries"]["id"][:], parts["queries"]["text"][:], strict=True))
    return SearchSet(folder.name, "default", split, "English", queries, targets, parts["relevant_docs"])


def _whole_sets(task: GeometryTask, study: Study) -> tuple[list[SearchSet], dict[str, list[str]], Bank]:
    """All search sets of a task without a query limit, the queries of its other splits by subset, and its bank."""
    root = study.task_data_root()
    folder = root / task.name if root else None
    if folder is not None and _is_plain_folder(folder, task.name):
        return [folder_search_set(folder, task.split or "test")], {}, "retrieval"
    if task.name == "SQuAD":
        raise StudyError(
            "task SQuAD is not in mteb; put corpus, queries and qrels Parquet files into a folder SQuAD of the "
            "local task data (data_root or EMBEDDING_TASK_DATA)"
        )
    loaded = load_task(TaskSpec(name=task.name, subsets=task.subsets, split=task.split), study)
    bank: Bank = "bitext-mining" if loaded.metadata.type == "BitextMining" else "retrieval"
    wholes = [search_set(loaded, subset, task.split) for subset in task.subsets or list(loaded.hf_subsets)]
    extra = {s.subset: list(_other_splits(loaded, s)) for s in wholes}
    return wholes, extra, bank


def _is_plain_folder(folder: Path, name: str) -> bool:
    return name not in task_names() and all((folder / f"{n}.parquet").is_file() for n in FOLDER_FILES)


def _other_splits(task: Any, whole: SearchSet) -> Iterator[str]:
    for split in subset_data(task, whole.subset):
        if split != whole.split:
            yield from search_set(task, whole.subset, split).queries.values()


def _add_paraphrases(limited: SearchSet, task: GeometryTask, study: Study) -> str:
    if task.paraphrases is None:
        written = below(run_folder(study) / "paraphrases", task.name) / "paraphrases.jsonl"
        if limited.paraphrases or not written.is_file():
            return "the task's data" if limited.paraphrases else ""
        limited.paraphrases = read_paraphrases(written, limited.queries, some=False)
        return "a language model (notebook 01)" if limited.paraphrases else ""
    roots = [project_root(), study.task_data_root()]
    for root in roots:
        if root is not None and (file := project_path(task.paraphrases, root)).is_file():
            limited.paraphrases = read_paraphrases(file, limited.queries)
            return task.paraphrases
    raise StudyError(
        f"geometry.tasks.{task.name}.paraphrases: there is no file '{task.paraphrases}' in the project or the "
        f"local task data; leave the key out to measure without the paraphrase pool"
    )


def geometry_spec(study: Study) -> GeometrySpec:
    """The study's part `geometry`; a `StudyError` where it has none."""
    if study.geometry is None:
        raise StudyError(f"study {study.name}: step 05 needs the key 'geometry'")
    return study.geometry
