"""The scores that a run's analyses read: the sweep's table, or the published results that a study names."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from helpers.published import Published, read_results
from helpers.published_spec import ResultsSource
from helpers.result_files import content_digest
from helpers.run import Run, run_folder
from helpers.study import StudyError, project_root
from helpers.task_scores import task_scores

RESULTS_VARIABLE = "PUBLISHED_RESULTS"
REPORTED_VARIABLE = "PUBLISHED_DEFAULTS"


def study_scores(run: Run) -> pd.DataFrame:
    """The scores table of a run. A study with `results_from` is read from there and its tables are saved.

    Saved then: `scores`, `problems` (files that were skipped) and `published_prompts`.
    """
    source = run.study.results_from
    if source is None:
        return run.table("scores")
    found = load_published(source, run.study.name)
    run.save_table("scores", found.scores)
    run.save_table("problems", found.problems)
    run.save_table("published_prompts", found.prompts)
    return found.scores


def study_cells(run: Run, scores: pd.DataFrame) -> pd.DataFrame:
    """`task_scores` of a run's scores with the records that its study chooses for each task."""
    source = run.study.results_from
    records = {t: c for t, c in (source.records if source else {}).items() if t in set(scores["task"])}
    return task_scores(scores, records)


def load_published(source: ResultsSource, study: str = "") -> Published:
    """Read the results that `source` names, check their content digest, and keep what the study asks for.

    Raises `StudyError` where nothing lies there, or where the content is not the pinned one.
    """
    path = results_path(source, study)
    if source.sha256 is not None and source.sha256 != (digest := content_digest(path)):
        raise StudyError(
            f"study {study}: {path.name} does not hold the pinned results (content {digest[:12]}…, expected "
            f"{source.sha256[:12]}…); fetch them with: helpers download {study}"
        )
    found = read_results(path)
    kept = select(found.scores, source)
    prompts = found.prompts[~found.prompts["task"].isin(source.exclude_tasks)].reset_index(drop=True)
    if source.generators is not None:
        prompts = prompts[prompts["generator"].isin(source.generators)].reset_index(drop=True)
    if kept.empty:
        raise StudyError(
            f"study {study}: {path.name} holds no result that the study keeps ({len(found.scores)} in all)"
        )
    return Published(kept, prompts, found.problems, found.files, path.name)


def select(scores: pd.DataFrame, source: ResultsSource) -> pd.DataFrame:
    """The rows whose model, task, prompt origin and generator the study keeps. Defaults always stay."""
    keep = ~scores["task"].isin(source.exclude_tasks)
    names = scores["model_name"]
    if source.models is not None:
        keep &= names.isin(source.models)
    keep &= ~names.isin(source.exclude_models)
    prompt = scores["kind"] == "prompt"
    if source.sources is not None:
        wanted = set(source.sources)
        keep &= ~prompt | scores["source"].isin(wanted)
    if source.generators is not None:
        generators = set(source.generators)
        keep &= ~prompt | scores["generator"].fillna("").map(lambda g: bool(generators & set(g.split("|"))))
    return scores[keep].reset_index(drop=True)


def results_path(source: ResultsSource, study: str = "") -> Path:
    """Where the results lie: `PUBLISHED_RESULTS_<STUDY>`, `PUBLISHED_RESULTS`, the study's path, or the download.

    The variable with the study's name (upper case, `-` as `_`) serves machines that hold more than one version.
    """
    own = os.environ.get(f"{RESULTS_VARIABLE}_{study.upper().replace('-', '_')}")
    for given, name in (
        (own or os.environ.get(RESULTS_VARIABLE), RESULTS_VARIABLE),
        (source.path, "results_from.path"),
    ):
        if given:
            path = (project_root() / Path(given).expanduser()).resolve()
            if path.exists():
                return path
            raise StudyError(f"study {study}: {name} names '{path.name}', which does not exist")
    if source.repository and source.commit:
        path = download_path(source.repository, source.commit)
        if path.is_file():
            return path
    raise StudyError(
        f"study {study}: its published results are not here; run 'helpers download {study}', or set {RESULTS_VARIABLE} "
        "to a folder or archive that holds them"
    )


def download_path(repository: str, commit: str) -> Path:
    """The file that a download of a pinned commit ends in; it lies beside the run folders."""
    return run_folder("x").parent / ".downloads" / repository.replace("/", "+") / f"{commit}.tar.gz"
