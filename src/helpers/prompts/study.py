"""What notebook 01 does with a study: prompts from their source, the texts to look for leaks in, paraphrases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.names import unknown
from helpers.base.paths import below
from helpers.base.phrases import is_lowest
from helpers.prompts import checks as prompt_checks
from helpers.prompts import comparison
from helpers.prompts import statistics as prompt_statistics
from helpers.prompts.context import task_texts
from helpers.prompts.llm import generate as generation
from helpers.prompts.llm import provenance
from helpers.prompts.llm import quality as paraphrase_quality
from helpers.prompts.llm import words as prompts_llm_words
from helpers.prompts.llm.paraphrase import paraphrase
from helpers.prompts.llm.quality import Embed, quality
from helpers.prompts.table import candidates
from helpers.study.prompts import GeneratorSpec
from helpers.study.spec import Study, TaskSpec


@dataclass
class Loaded:
    """The candidates of a study, where each is from, and which could not be generated."""

    candidates: pd.DataFrame
    provenance: pd.DataFrame
    missing: pd.DataFrame = field(default_factory=pd.DataFrame)
    generated: bool = False


def load(study: Study, folder: Path, report: Callable[[str], None] = print) -> Loaded:
    """The prompts of a study's source; with `generate`, what is missing in `folder/prompts` is asked for first.

    Raises `StudyError` when the generator left places without prompts; what it wrote is kept.
    """
    spec = study.prompts
    if spec is not None and spec.source == "generate":
        made = generation.generate(study, folder / "prompts", report=report)
        made.require_complete()
        return Loaded(candidates(study), made.table, made.missing, generated=True)
    found = candidates(study)
    files = ", ".join(f.path for f in spec.files()) if spec is not None else ""
    return Loaded(found, provenance.file_provenance(found, files))


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


def paraphrase_queries(study: Study, task: str = "") -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Name -> (queries, ready paraphrases) of the retrieval and bitext tasks; of one task where it is named.

    Bitext mining is searched with its English side, so one subset stands for all.
    """
    from helpers.tasks.load import load_task, task_class
    from helpers.tasks.search import search_set

    specs = [s for s in study.tasks if not task or s.name == task]
    if task and not specs:
        raise StudyError(unknown("task", task, [s.name for s in study.tasks]))
    found = {}
    for spec in specs:
        if task_class(spec).metadata.type not in ("Retrieval", "BitextMining"):
            continue
        try:
            loaded = load_task(
                TaskSpec(name=spec.name, subsets=(spec.subsets or [])[:1] or None, split=spec.split), study
            )
        except StudyError:
            if task:
                raise
            continue
        searched = search_set(loaded)
        found[spec.name] = (searched.queries, searched.paraphrases)
    return found


def paraphrase_table(
    study: Study,
    run_folder: Path,
    write: str = "",
    wording: str = "SQuAD",
    embed: Embed | None = None,
    prices: Mapping[str, float | None] | None = None,
    report: Callable[[str], None] = print,
) -> pd.DataFrame:
    """The quality of every ready paraphrase, or of those that the generator writes now for the task `write`.

    prices: price_in, price_out, max_cost (US dollars per million tokens; US dollars). Written paraphrases lie in
    `paraphrases/<task>/paraphrases.jsonl` of the run folder, which the study's geometry can name.
    """
    spec: GeneratorSpec | None = study.prompts.generator if study.prompts is not None else None
    tables = []
    for name, (queries, ready) in paraphrase_queries(study, write).items():
        if write and spec is not None:
            money = dict(prices or {})
            made = paraphrase(
                queries,
                wording,
                below(run_folder / "paraphrases", name),
                spec,
                price_in=money.get("price_in"),
                price_out=money.get("price_out"),
                max_cost=money.get("max_cost"),
                report=report,
            )
            ready = dict(zip(made["id"], made["paraphrase"].fillna(""), strict=True))
        if ready:
            tables.append(quality(queries, ready, embed=embed).assign(task=name))
    return pd.concat(tables, ignore_index=True) if tables else quality({}, {}).assign(task="")


def most_alike(prompts: pd.DataFrame) -> str:
    """The task whose prompts have the smallest mean distance, of several the first by name; any where none has two."""
    between = prompts.groupby("task", sort=False)["text"].agg(
        lambda texts: prompt_statistics.mean_distance(texts.dropna().tolist())
    )
    if between.notna().any():
        between = between[is_lowest(between)]
    return str(min(between.index, default=""))


def findings(
    loaded: Loaded,
    decided: pd.DataFrame,
    statistics_table: pd.DataFrame,
    compared: pd.DataFrame,
    paraphrased: pd.DataFrame,
    unread: Mapping[str, str],
) -> list[dict[str, str]]:
    """What notebook 01 found, each sentence with the anchor of the figure or table that shows it."""
    kept = decided[decided["kept"].astype(bool)] if len(decided) else decided
    parts = {
        "tbl-removals": prompt_checks.findings(decided, unread),
        "tbl-prompts": prompts_llm_words.findings(loaded.provenance, loaded.missing)
        if loaded.generated
        else [],
        "fig-prompt-lengths": prompt_statistics.findings(kept, statistics_table),
        "fig-prompt-styles": prompt_statistics.style_findings(kept),
        "tbl-comparison": comparison.findings(compared) if len(compared) else [],
        "tbl-paraphrases": paraphrase_quality.findings(paraphrased) if len(paraphrased) else [],
    }
    return [{"text": text, "figure": figure} for figure, texts in parts.items() for text in texts]
