"""Init: a commented study of one's own data, written so that it runs as it is."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from typing import get_args

from helpers.base.errors import StudyError
from helpers.base.files import project_root, replacing
from helpers.base.names import unknown
from helpers.base.yaml import read_yaml
from helpers.models.source import PACKAGED
from helpers.study.load import study_names
from helpers.study.spec import TaskSpec, TaskType
from helpers.tasks.files import NAMES, SUFFIXES, read_file
from helpers.tasks.load import load_task

STARTER = "data/prompts/starter.yml"

COLUMNS = {
    "Retrieval": ("query", "document"),
    "Reranking": ("query", "document", "score"),
    "STS": ("sentence1", "sentence2", "score"),
    "PairClassification": ("sentence1", "sentence2", "label"),
    "Classification": ("text", "label"),
    "Clustering": ("text", "label"),
    "BitextMining": ("sentence1", "sentence2"),
}

STUDY = """\
# {name}: which wording to use for {data}. Change what you like; every key is explained in docs/own-study.md.
# helpers plan {name}     what would run, and what is wrong
# make report STUDY={name}     runs it and builds the pages
name: {name}
title: {title}
steps: ["01", "02", "03", "04"]

models:  # at least two for a board; names of mteb, hub:<org>/<name>, path:<folder>
{models}
tasks:
  - name: {task}
    type: {kind}
    data: {data}
    # columns: {{{columns}}}      where your columns have other names
    # main_score: {score}
    # language: eng-Latn

prompts:
  source: file
  file: {prompts}
  per_level: 100  # all of them
  separator: " "  # stands between a prompt and the text; "" where your prompts bring their own

seed: 42
"""


def init(name: str, data: str, kind: str | None = None) -> list[Path]:
    """Write `data/studies/<name>.yml` and `data/prompts/<name>.yml` for one file or folder of own data; the two files.

    kind: the task's type; None guesses it from the columns. Raises `StudyError` where a file is there already, the data
    cannot be scored, or the type cannot be guessed.
    """
    root = project_root()
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise StudyError(f"'{name}' is no name of a study; write lower case letters, digits and hyphens, e.g. my-study")
    if name in study_names():
        raise StudyError(f"data/studies/{name}.yml is there already; give the new study another name")
    place = Path(data).expanduser()
    place = place.resolve() if place.exists() else root / data
    if not place.exists():
        raise StudyError(f"there is no '{data}'; name a file ({', '.join(SUFFIXES)}) or a folder of them")
    if kind is not None and kind not in get_args(TaskType):
        raise StudyError(f"--type: {unknown('task type', kind, list(get_args(TaskType)))}")
    kind = kind or guessed_type(place)
    shown = Path(os.path.relpath(place, root)).as_posix()
    spec = TaskSpec.model_validate({"name": f"{name}-task", "type": kind, "data": shown})
    score = load_task(spec).metadata.main_score  # read and checked as the sweep will
    texts = read_yaml(root / STARTER)[kind]
    prompts = root / "data" / "prompts" / f"{name}.yml"
    study = root / "data" / "studies" / f"{name}.yml"
    if prompts.exists():
        raise StudyError(f"data/prompts/{name}.yml is there already; give the new study another name")
    columns = ", ".join(f"{own}: your-name" for own in COLUMNS[kind])
    text = STUDY.format(
        name=name, title=name, models=_models(), task=spec.name, kind=kind, data=shown, columns=columns, score=score,
        prompts=f"data/prompts/{name}.yml",
    )  # fmt: skip
    _write(prompts, _prompts(spec.name, texts))
    _write(study, text)
    return [study, prompts]


def guessed_type(place: Path) -> str:
    """The task type that the columns of a file, or the tables of a folder, speak for.

    query and document: Retrieval, with a score: Reranking. Two sentences with a score: STS, with a label:
    PairClassification, alone: BitextMining. A text and a label: Classification.
    """
    if place.is_dir():
        names = {path.stem for path in place.iterdir() if path.suffix.lower() in SUFFIXES}
        if "qrels" in names:
            return "Reranking" if "top_ranked" in names else "Retrieval"
        if "train" in names:
            return "Classification"
        raise StudyError(f"{place.name}/: its type is not clear from its files; say it with --type")
    file = read_file(place.parent, place, shown=place.name)
    has = {name for name in NAMES if file.found(name)}
    if {"query", "document"} <= has:
        return "Reranking" if "score" in has else "Retrieval"
    if {"sentence1", "sentence2"} <= has:
        return "STS" if "score" in has else "PairClassification" if "label" in has else "BitextMining"
    if {"text", "label"} <= has:
        return "Classification"
    raise StudyError(
        f"{place.name}: its type is not clear from the columns {', '.join(map(str, file.rows))}; say it with --type, and "
        "rename the columns as docs/task-data.md has them (question and answer, sentence1 and sentence2, text and label)"
    )


def _models() -> str:
    """Models that are on this machine as they are, and how to name others."""
    there = [(name, module) for name, module in PACKAGED.items() if importlib.util.find_spec(module)]
    lines = [f"  - name: {name}\n    weights: package:{module}\n" for name, module in there]
    return "".join(lines) + "  # - name: intfloat/multilingual-e5-small\n"


def _prompts(task: str, texts: list[str]) -> str:
    lines = "".join(f'    - "{text}"\n' for text in texts)
    about = "# The prompts of the study; change them. task -> level of context -> texts, used exactly as they stand.\n"
    return f"{about}{task}:\n  task:\n{lines}"


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
