"""The scores that a run's analyses read: the sweep's table, or the published results that a study names."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.files import project_path
from helpers.base.phrases import choose, count
from helpers.scores.cells import task_scores
from helpers.scores.files import content_digest
from helpers.scores.published import Published, read_results
from helpers.study.published import ResultsSource
from helpers.study.run import Run, download_folder
from helpers.sweep.variants import variant_of

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
    scores = found.scores.assign(variant_of=found.scores["model"].map(variant_of(found.scores)))
    run.save_table("scores", scores)
    run.save_table("problems", found.problems)
    run.save_table("published_prompts", found.prompts)
    return scores


def study_cells(run: Run, scores: pd.DataFrame) -> pd.DataFrame:
    """`task_scores` of a run's scores with the records that its study chooses for each task."""
    return task_scores(scores, known_records(run.study.results_from, scores))


def known_records(source: ResultsSource | None, scores: pd.DataFrame) -> dict[str, str]:
    """The study's choice of records for the tasks that the scores have."""
    return {t: c for t, c in (source.records if source else {}).items() if t in set(scores["task"])}


def load_published(source: ResultsSource, study: str = "") -> Published:
    """Read the results that `source` names, check their content digest, and keep what the study asks for.

    Raises `StudyError` where nothing lies there, or where the content is not the pinned one.
    """
    path = results_path(source, study)
    if source.sha256 is not None and source.sha256 != (digest := content_digest(path)):
        raise StudyError(
            f"study {study}: {path.name} does not hold the pinned results (content {digest[:12]}…, expected "
            f"{source.sha256[:12]}…); fetch them with: helpers fetch-published {study}"
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


def skipped(run: Run) -> list[dict[str, str]]:
    """A sentence about the files that could not be used and the prompts of unlisted origin; none where all is well."""
    out = []
    if run.study.results_from is not None and run.has_table("problems"):
        problems = run.table("problems")
        if len(problems):
            kinds = ", ".join(f"{n} {k}" for k, n in problems["kind"].value_counts().items())
            out.append(
                {
                    "text": f"{count(len(problems), 'file')} of the results {choose(len(problems), 'was', 'were')} skipped "
                    f"({kinds}).",
                    "figure": "tbl-problems",
                }
            )
        scores = run.table("scores")
        unlisted = scores[(scores["kind"] == "prompt") & (scores["source"] == "unlisted")]
        if len(unlisted):
            runs, models = (
                len(unlisted[["model", "task", "prompt_id"]].drop_duplicates()),
                unlisted["model"].nunique(),
            )
            who = choose(models, "this model has", "these models have")
            out.append({
                "text": f"{count(runs, 'run')} of {count(models, 'model')} used prompts that no prompt file lists (most "
                f"likely written by people), so {who} more prompts than the others.",
                "figure": "tbl-models",
            })  # fmt: skip
    return out


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


def reported_defaults(source: ResultsSource | None, study: str = "") -> pd.DataFrame | None:
    """Default scores that were reported elsewhere, as a scores table; None where they are not at hand.

    From `PUBLISHED_DEFAULTS`, else `results_from.reported.path`, else the download: a result cache, or a Parquet table
    with the columns model (or model_name), task, split, subset, main_score and as many of those compared as it has.
    """
    if source is None or source.reported is None:
        return None
    spec = source.reported
    given = os.environ.get(REPORTED_VARIABLE) or spec.path
    if given:
        path = project_path(given).resolve()
        if not path.exists():
            raise StudyError(f"study {study}: the reported defaults '{path.name}' do not exist")
    elif spec.repository and spec.commit and reported_folder(spec.repository, spec.commit).is_dir():
        path = reported_folder(spec.repository, spec.commit)
    else:
        return None
    if path.suffix != ".parquet":
        table = read_results(path).scores
        return table[table["kind"] == "default"].reset_index(drop=True)
    table = pd.read_parquet(path)
    if "model_name" not in table:
        table = table.rename(columns={"model": "model_name"})
    absent = {"model_name", "task", "split", "subset", "main_score"} - set(table.columns)
    if absent:
        raise StudyError(f"study {study}: {path.name} lacks the column(s) {', '.join(sorted(absent))}")
    return table.assign(kind="default", status="ok")


def reported_folder(repository: str, commit: str) -> Path:
    """The folder of downloaded reported results of one commit."""
    return download_folder(repository) / commit


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
            path = project_path(given).resolve()
            if path.exists():
                return _matching_archive(path, source)
            raise StudyError(f"study {study}: {name} names '{path.name}', which does not exist")
    if source.repository and source.commit:
        path = download_path(source.repository, source.commit)
        if path.is_file():
            return path
    raise StudyError(
        f"study {study}: its published results are not here; run 'helpers fetch-published {study}', or set {RESULTS_VARIABLE} "
        "to a folder or archive that holds them"
    )


def download_path(repository: str, commit: str) -> Path:
    """The file that a download of a pinned commit ends in; it lies beside the run folders."""
    return download_folder(repository) / f"{commit}.tar.gz"


def _matching_archive(path: Path, source: ResultsSource) -> Path:
    """A folder may hold archives of several versions: the one whose content is pinned. Else the path itself."""
    archives = sorted(path.glob("*.tar*")) if path.is_dir() else []
    if source.sha256 is not None:
        for archive in archives:
            if content_digest(archive) == source.sha256:
                return archive
    return path
