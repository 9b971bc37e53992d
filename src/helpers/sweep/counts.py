"""Text counts: how many texts of a task a sweep embeds for every prompt, and how many once for all prompts."""

from __future__ import annotations

from typing import Any

from helpers.study.spec import Study, TaskSpec
from helpers.sweep.mteb_patches import drawn_rows
from helpers.tasks.checks import columns_of
from helpers.tasks.kinds import CLASSIFIED
from helpers.tasks.load import load_task, subset_data, task_class
from helpers.tasks.search import document_texts

Counts = tuple[int, int, int]  # texts that every prompt meets, texts shared by all prompts, characters of both


def text_counts(task: TaskSpec, study: Study | None = None) -> tuple[int | None, int | None, float | None]:
    """Texts that every prompt meets, texts shared by all prompts (documents), mean characters; None where unknown.

    Over all subsets and splits that are scored: rows as mteb hands them to the model, with the training texts of
    classification, of clustering the share that mteb draws. A text that repeats counts again, although it is embedded
    once. From the demo's or the study's local data where there are any (raises `StudyError` where these cannot be
    used), else from mteb's own descriptive statistics (training texts: at most as many as its undersampling can draw).
    """
    cls = task_class(task)
    root = study.task_data_root() if study else None
    demo = cls.metadata.dataset.get("path") == "data/demo"
    if demo or task.type is not None or (root is not None and (root / task.name).is_dir()):
        side = study.sweep.bitext_side if study else "query"
        parts: list[Counts | None] = list(_loaded_counts(load_task(task, study, root), side))
    else:
        parts = _stated_counts(cls, task)
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None, None, None
    sided, shared, characters = (sum(numbers) for numbers in zip(*known, strict=True))
    return sided, shared, characters / max(sided + shared, 1)


def _loaded_counts(task: Any, bitext_side: str) -> list[Counts]:
    """Counts of each subset and split of a loaded task; documents and training texts of a subset count once."""
    found = []
    for subset in task.hf_subsets:
        data = subset_data(task, subset)
        seen: set[str] = set()
        trained: set[int] = set()
        for split in task.eval_splits:
            rows = data[split]
            if isinstance(rows, dict):
                queries, documents = _length(rows["queries"]["text"]), rows["corpus"]
                texts = [text for text in document_texts(documents) if text not in seen]
                seen |= set(texts)
                found.append((queries[0], len(texts), queries[1] + sum(map(len, texts))))
                continue
            columns, _ = columns_of(task)
            if task.metadata.type == "BitextMining" and bitext_side == "query":
                asked, searched = _length(rows["sentence1"]), _length(rows["sentence2"])
                found.append((asked[0], searched[0], asked[1] + searched[1]))
                continue
            columns = columns or [name for name in rows.column_names if isinstance(rows[0][name], (str, list))]
            if task.metadata.type == "Summarization":
                columns = [task.human_summaries_column_name, task.machine_summaries_column_name]
            sizes = [_length(rows[column]) for column in columns]
            count, characters = sum(n for n, _ in sizes), sum(c for _, c in sizes)
            drawn = _embedded(task, count)
            found.append((drawn, 0, round(characters * drawn / max(count, 1))))
            if task.metadata.type in CLASSIFIED and not task.is_cross_validation:
                trained |= _trained_on(task, data[task.train_split])
        if trained:
            texts = data[task.train_split][task.input_column_name][:]
            found.append((len(trained), 0, sum(len(texts[i]) for i in trained)))
    return found


def _trained_on(task: Any, train: Any) -> set[int]:
    """Rows of the training split that mteb draws for its classifiers, with its own draws."""
    if task.metadata.type == "MultilabelClassification":
        labels = {label for row in train[task.label_column_name] for label in row}
        return set(range(min(len(train), task.samples_per_label * task.n_experiments * len(labels))))
    return drawn_rows(task, train)


def _length(values: Any) -> tuple[int, int]:
    """(texts, characters) of a column whose rows hold a text or a list of texts."""
    texts = [text for value in values[:] for text in (value if isinstance(value, list) else [value])]
    return len(texts), sum(len(text) for text in texts)


def _stated_counts(cls: Any, task: TaskSpec) -> list[Counts | None]:
    """Counts of each subset and split from mteb's descriptive statistics, None for one that they lack."""
    metadata = cls.metadata
    found: list[Counts | None] = []
    splits = [task.split] if task.split else list(metadata.eval_splits)
    stats: dict[str, Any] = metadata.descriptive_stats or {}
    trains = metadata.type in CLASSIFIED and not cls.is_cross_validation
    train = [cls.train_split] if trains else []
    for split in [*splits, *train]:
        whole = stats.get(split) or {}
        by_subset = whole.get("hf_subset_descriptive_stats") or {}
        subsets = task.subsets or list(by_subset)
        parts = [by_subset[subset] for subset in subsets if subset in by_subset] or [whole]
        if task.subsets is None and any(_counts_of(part) is None for part in parts):
            parts = [whole]
        for part in parts:
            counts = _counts_of(part)
            found.append(counts and _drawn(cls, part, counts, split not in splits))
    return found


def _drawn(cls: Any, part: dict[str, Any], counts: Counts, is_training: bool) -> Counts:
    """Counts of what mteb draws of a part: a share or a number of a clustering task's texts, of training texts."""
    sided, shared, characters = counts
    if is_training:
        labels = (part.get("label_statistics") or part.get("labels_statistics") or {}).get("unique_labels")
        drawn = min(sided, labels * cls.samples_per_label * cls.n_experiments) if labels else sided
    else:
        drawn = _embedded(cls, sided)
    return drawn, shared, round(characters * (drawn + shared) / max(sided + shared, 1))


def _embedded(task: Any, rows: int) -> int:
    """How many of a part's texts mteb embeds: clustering draws a share or a number of them."""
    share = getattr(task, "max_fraction_of_documents_to_embed", None)
    most = getattr(task, "max_document_to_embed", None)
    return int(share * rows) if share is not None else min(rows, most) if most is not None else rows


def _counts_of(part: dict[str, Any]) -> Counts | None:
    """(texts with prompt, documents, characters) from one block of mteb's descriptive statistics."""
    if part.get("queries_text_statistics"):
        queries, documents = part["queries_text_statistics"], part["documents_text_statistics"] or {}
        characters = queries["total_text_length"] + documents.get("total_text_length", 0)
        return _size(queries), _size(documents), int(characters)
    blocks = [
        v for k, v in part.items() if k.endswith("_statistics") and isinstance(v, dict) and "total_text_length" in v
    ]
    if not blocks or "num_samples" not in part:
        return None
    return int(part["num_samples"]) * len(blocks), 0, int(sum(b["total_text_length"] for b in blocks))


def _size(block: dict[str, Any]) -> int:
    """Number of texts that a block of statistics describes: total characters over their mean."""
    return round(block["total_text_length"] / block["average_text_length"]) if block.get("average_text_length") else 0
