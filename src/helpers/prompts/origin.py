"""Prompt origin: what a run's table of prompts was made from, and whether its study still says the same."""

from __future__ import annotations

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.files import read_json
from helpers.base.hashes import content_hash, digest
from helpers.prompts.checks import review_path
from helpers.prompts.prompt import COLUMNS
from helpers.prompts.table import prompt_table
from helpers.study.inputs import prompt_files
from helpers.study.load import load_study
from helpers.study.run import Run
from helpers.study.spec import Study

NAME = "prompts/made_from.json"

WORDS = {
    "tasks": "the study's tasks",
    "settings": "the study's 'prompts'",
    "files": "a prompt file",
    "review": "the review file",
    "generated": "the generated prompts",
}


def save_prompts(run: Run, prompts: pd.DataFrame) -> None:
    """Save the table of prompts with what it was made from; given parameters, such as `per_level`, are part of it."""
    run.save_table("prompts", prompts)
    run.save_json(NAME, {"overrides": run.overrides, "made_from": made_from(run.study)})


def known_prompts(run: Run) -> pd.DataFrame:
    """The table of step 01 where there is one, else the prompts that the study names; empty where it names none.

    Raises `StudyError` where step 01 has to run again since the study, a prompt file or the review file changed.
    """
    study = run.study
    if study.prompts is None:
        return pd.DataFrame(columns=COLUMNS)
    if not run.has_table("prompts"):
        return prompt_table(study)
    changed = _changed(run)
    if not changed:
        return run.table("prompts")
    if "01" not in study.steps:
        return prompt_table(study)
    raise StudyError(
        f"run '{study.name}': tables/prompts.parquet does not fit the study any more ({' and '.join(changed)} changed "
        f"since it was made); run: helpers run {run.reference} --to 01"
    )


def made_from(study: Study) -> dict[str, str]:
    """Hashes of all that decides which prompts a study has: its tasks, its settings, and the files that it reads."""
    from helpers.study.run import run_folder

    assert study.prompts is not None
    generated = study.prompts.source == "generate"
    settings = study.prompts.model_dump(mode="json", exclude=None if generated else {"generator"})
    return {
        "tasks": digest([task.name for task in study.tasks]),
        "settings": digest(settings),
        "files": content_hash(prompt_files(study)),
        "review": content_hash([review_path(study)]),
        "generated": content_hash([run_folder(study) / "prompts" / "prompts.json"]) if generated else "",
    }


def _changed(run: Run) -> list[str]:
    """What differs from when the table was made, in words; empty where it fits."""
    try:
        record = read_json(run.folder / NAME) or {}
        before, overrides = dict(record["made_from"]), dict(record["overrides"])
        now = made_from(load_study(run.study, **{k: v for k, v in overrides.items() if k.startswith("prompts.")}))
    except (OSError, ValueError, TypeError, KeyError):
        return ["what it was made from"]
    return [WORDS[kind] for kind in now if before.get(kind) != now[kind]]
