"""Prompts: their exact texts, their ids, and the table of a study's prompts.

A prompt is never stripped or normalised. Its id is a hash of its text, so two prompts that differ in one blank are two.
"""

from __future__ import annotations

import pandas as pd

from helpers.base.errors import StudyError
from helpers.prompts.files import read_prompts
from helpers.prompts.prompt import BASELINES, COLUMNS
from helpers.study.prompts import PromptFile
from helpers.study.spec import Study


def prompt_table(study: Study) -> pd.DataFrame:
    """The prompts that a study evaluates, then per task its two baselines.

    Columns task, prompt_id, kind, text, level, source, generator; one row per task and distinct text, in the order of
    the study's tasks. Prompts that a removing rule or a reviewer takes out are left out (`helpers.prompts.checks`
    reports them). Raises `StudyError` for a task without prompts, an unreadable file, or prompts not generated yet.
    """
    from helpers.prompts.checks import decide

    return with_baselines(decide(candidates(study), study), study)


def with_baselines(decided: pd.DataFrame, study: Study) -> pd.DataFrame:
    """The prompts that stay after the checks (`helpers.prompts.checks.decide`), and the two baselines of every task."""
    kept = decided.loc[decided["kept"].astype(bool), COLUMNS]
    baselines = pd.DataFrame(
        [{"task": t.name, "prompt_id": kind, "kind": kind} for t in study.tasks for kind in BASELINES]
    )
    order = {t.name: number for number, t in enumerate(study.tasks)}
    table = pd.concat([kept, baselines.reindex(columns=COLUMNS)], ignore_index=True)
    table = table.sort_values("task", key=lambda names: names.map(order), kind="stable", ignore_index=True)
    return table.astype(object).where(table.notna(), None)


def candidates(study: Study) -> pd.DataFrame:
    """Every prompt that the study's source has for its tasks and levels, before any check (columns as the table's)."""
    from helpers.base.files import project_path
    from helpers.base.names import unknown

    spec = study.prompts
    if spec is None:
        raise StudyError(f"study {study.name}: the key 'prompts' is missing")
    if spec.source == "generate":
        from helpers.study.run import run_folder

        path = run_folder(study) / "prompts" / "prompts.json"
        if not path.is_file():
            raise StudyError(
                f"study {study.name}: its {spec.expected_count(len(study.tasks))} prompts are not generated yet; set "
                f"{spec.generator.base_url_env} and {spec.generator.key_env} and run notebook 01, or set "
                "prompts.source to file"
            )
        table = read_prompts(path)
        _require_complete(study, table)
    else:
        parts = [_ascribed(read_prompts(project_path(f.path)), f, spec.source) for f in spec.files()]
        table = pd.concat(parts, ignore_index=True)
    missing = [t.name for t in study.tasks if t.name not in set(table["task"])]
    if missing:
        where = ", ".join(f.path for f in spec.files()) or "generated prompts"
        near = unknown("task", missing[0], sorted(set(table["task"]))) if len(table) else "there is no prompt at all"
        raise StudyError(f"{where}: no prompts for '{missing[0]}': {near}")
    wanted = [t.name for t in study.tasks]
    return table[table["task"].isin(wanted) & table["level"].isin([*spec.levels, None])].reset_index(drop=True)


def _require_complete(study: Study, table: pd.DataFrame) -> None:
    """Raise `StudyError` where generated prompts are fewer than the study wants."""
    spec = study.prompts
    assert spec is not None
    counts = table.groupby(["task", "level"]).size()
    short = {
        (t.name, level): spec.per_level - int(counts.get((t.name, level), 0))
        for t in study.tasks
        for level in spec.levels
    }
    lacking = {place: n for place, n in short.items() if n > 0}
    if lacking:
        (task, level), _ = next(iter(lacking.items()))
        raise StudyError(
            f"study {study.name}: {sum(lacking.values())} of {spec.expected_count(len(study.tasks))} generated prompts "
            f"are missing (first: {task}, level {level}); run notebook 01 again: it asks only for these"
        )


def _ascribed(table: pd.DataFrame, file: PromptFile, source: str) -> pd.DataFrame:
    if file.source or source == "published":
        table = table.assign(source=file.source or "published")
    return table.assign(generator=file.generator) if file.generator else table
