"""The prompts of a study with their origin, and the texts of its data in which a leak is looked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from helpers.base.errors import StudyError
from helpers.prompts.context import task_texts
from helpers.prompts.llm.generate import generate
from helpers.prompts.llm.provenance import file_provenance
from helpers.prompts.table import candidates
from helpers.study.spec import Study


def load_prompts(
    study: Study, folder: Path, report: Callable[[str], None] = print
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every prompt before the checks (columns `prompt.COLUMNS`), and where each is from (`llm.provenance.PROVENANCE`).

    With `prompts.source: generate`, what is missing in `folder/prompts` is asked for first. Raises `StudyError` when
    the generator left places without prompts; what it wrote is kept.
    """
    spec = study.prompts
    if spec is not None and spec.source == "generate":
        written = generate(study, folder / "prompts", report=report)
        written.require_complete()
        return candidates(study), written.table
    table = candidates(study)
    return table, file_provenance(table, ", ".join(f.path for f in spec.files()) if spec else "")


def leak_texts(study: Study) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Task -> texts of its data, and task -> reason for those whose data could not be read."""
    from helpers.tasks.load import load_task

    texts, unread = {}, {}
    for spec in study.tasks:
        try:
            texts[spec.name] = task_texts(load_task(spec, study))
        except StudyError as error:
            unread[spec.name] = str(error).splitlines()[0]
    return texts, unread
