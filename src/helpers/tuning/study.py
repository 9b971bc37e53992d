"""Notebook 06's measurements for a whole study: recall, instructions, other data, side effects, prompt sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.progress import watching
from helpers.base.stats import paired_interval
from helpers.base.ties import levelled
from helpers.geometry.measurement import bank_for, embedder, geometry_table, measure
from helpers.geometry.sets import InstructedSet, instructed_sets
from helpers.models.load import load_model
from helpers.study.geometry import GeometrySpec
from helpers.study.spec import Study
from helpers.study.tuning import FinetuningSpec
from helpers.tasks.search import SearchSet
from helpers.tuning.evaluation import geometry_settings, query_scores
from helpers.tuning.sets import TuningData, finetuning_of
from helpers.tuning.train import BASELINE, Tuned, quiet_bars

Progress = Callable[[str], None]


BASE_SEED = -1  # the seed of the base model's rows: it has none


STRUCTURE = ["displacement", "similarity_improvement", "angulation", "selectivity"]


def every_model(study: Study, tuned: Sequence[Tuned]) -> list[tuple[str, int, Any]]:
    """(preset, seed, model spec) of the base model and of the tuned ones."""
    base = study.model_spec(finetuning_of(study).model)
    return [(BASELINE, BASE_SEED, base), *[(t.preset, t.seed, t.spec) for t in tuned]]


@quiet_bars()
def recall_scores(
    study: Study, folder: Path, data: TuningData, tuned: Sequence[Tuned], progress: Progress = print
) -> pd.DataFrame:
    """Per-query results of the base and the tuned models on the test part (`tuning_evaluation.query_scores`)."""
    return _scores_on(study, folder, data.sets("test"), tuned, finetuning_of(study), progress)


@quiet_bars()
def out_of_domain_scores(
    study: Study, folder: Path, data: TuningData, tuned: Sequence[Tuned], progress: Progress = print
) -> pd.DataFrame:
    """Table 11: the same on other data, `finetuning.out_of_domain`, with the instruction that suits each."""
    spec, frames = finetuning_of(study), []
    for place in spec.out_of_domain:
        geometry = GeometrySpec.model_validate({"tasks": [place.model_dump()], "template": spec.template})
        sets = instructed_sets(study.model_copy(update={"geometry": geometry}))
        known = {"ARCChallenge": "arc-challenge", "Tatoeba": "tatoeba"}
        bitext = "tatoeba" if sets[0].bank == "bitext-mining" else "squad"
        data_name = known.get(place.name, bitext)
        suited = FinetuningSpec.model_validate(
            {"model": spec.model, "data": data_name, "template": spec.template}
        )
        usable = [s for s in sets if s.paraphrase_source]
        if len(usable) < len(sets):
            progress(f"{place.name}: no paraphrases, left out")
        if usable:
            frames.append(_scores_on(study, folder, usable, tuned, suited, progress))
    empty = pd.DataFrame(columns=["preset", "seed", "task", "pool"])
    return pd.concat(frames, ignore_index=True) if frames else empty


def _scores_on(
    study: Study,
    folder: Path,
    sets: Sequence[InstructedSet],
    tuned: Sequence[Tuned],
    spec: FinetuningSpec,
    progress: Progress,
) -> pd.DataFrame:
    frames = []
    for preset, seed, model_spec in every_model(study, tuned):
        progress(f"{sets[0].search.task}: searching with {model_spec.label}")
        model = load_model(model_spec, folder, study.sweep.device)
        with watching(progress, model_spec.label):
            scores = query_scores(model, sets, spec, study.seed)
        frames.append(scores.assign(preset=preset, seed=seed))
    table = pd.concat(frames, ignore_index=True)
    return table[["preset", "seed", *[c for c in table.columns if c not in ("preset", "seed")]]]


@quiet_bars()
def instruction_geometry(
    study: Study, folder: Path, data: TuningData, tuned: Sequence[Tuned], progress: Progress = print
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The bank's instructions on the test part before and after: (`geometry_table` of all models, gains).

    `finetuning.instruction_queries` queries per language, drawn with the study's seed. Gains: `instruction_gains`.
    """
    spec = finetuning_of(study)
    if not spec.instruction_queries:
        return pd.DataFrame(), instruction_gains(pd.DataFrame(columns=["preset", "seed"]), 0, 0)
    geometry = geometry_settings(spec, data.name)
    tables, queries = [], []
    for preset, seed, model_spec in every_model(study, tuned):
        model = load_model(model_spec, folder, study.sweep.device)
        for whole in data.sets("test"):
            chosen = limited(whole, spec.instruction_queries, study.seed)
            bank = bank_for(geometry, chosen)
            progress(f"{model.label}: {len(bank)} instructions x {len(chosen.search.queries)} queries")
            with watching(progress, model.label):
                rows, _ = measure(embedder(model), model.label, chosen, bank, geometry, study.seed)
            table = geometry_table(rows, chosen, 0, seed=study.seed)
            tables.append(table.assign(preset=preset, seed=seed))
            queries.append(rows.assign(preset=preset, seed=seed))
    per_query = pd.concat(queries, ignore_index=True)
    return pd.concat(tables, ignore_index=True), instruction_gains(per_query, spec.n_boot, study.seed)


def limited(whole: InstructedSet, n: int, seed: int) -> InstructedSet:
    """The set with at most n queries drawn without replacement; targets stay as they are."""
    held = whole.search
    if n >= len(held.queries):
        return whole
    order = np.random.default_rng(seed).permutation(sorted(held.queries))[:n]
    keep = set(order)
    fewer = SearchSet(
        held.task,
        held.subset,
        held.split,
        held.language,
        {q: t for q, t in held.queries.items() if q in keep},
        held.targets,
        {q: r for q, r in held.qrels.items() if q in keep},
        {q: t for q, t in held.paraphrases.items() if q in keep},
    )
    return InstructedSet(fewer, whole.bank, whole.kind, whole.foreign, whole.paraphrase_source)


def instruction_gains(
    per_query: pd.DataFrame, n_boot: int, seed: int, value: str = "paraphrase_recall_at_1"
) -> pd.DataFrame:
    """Table 10: per instruction recall@1 among paraphrases before and after, mean over languages' queries.

    per_query: rows of `measurement.measure` with preset and seed. Columns: preset, seed, instruction_id, text, group,
    relevant, control, n, before, after, gain, low, high; most gained first, ties by text. Language names in texts are those of the
    first language.
    """
    about = ["instruction_id", "text", "group", "relevant", "control"]
    key = ["subset", "instruction_id", "query_id"]
    rows = []
    if len(per_query):
        base = per_query[per_query["preset"] == BASELINE].set_index(key)[value].rename("before")
    for (preset, run), own in per_query[per_query["preset"] != BASELINE].groupby(
        ["preset", "seed"], sort=False
    ):
        both = own.join(base, on=key).dropna(subset=[value, "before"])
        for _, part in both.groupby("instruction_id", sort=False):
            difference = (part[value] - part["before"]).to_numpy(float)
            low, high = paired_interval([difference], n_boot, seed)
            first = part.iloc[0]
            rows.append(
                {"preset": preset, "seed": run, **{k: first[k] for k in about}, "n": len(part),
                 "before": part["before"].mean(), "after": part[value].mean(), "gain": difference.mean(),
                 "low": low, "high": high}
            )  # fmt: skip
    columns = ["preset", "seed", *about, "n", "before", "after", "gain", "low", "high"]
    table = pd.DataFrame(rows, columns=columns)
    keys = {
        "place": table.groupby(["preset", "seed"], sort=False).ngroup(),
        "lost": -levelled(table["gain"]),
    }
    order = table.assign(**keys).sort_values(["place", "lost", "text"], kind="stable").index
    return table.loc[order].reset_index(drop=True)


def structure_table(geometry: pd.DataFrame) -> pd.DataFrame:
    """Structural metrics before and after: means over relevant and over other instructions, and the score.

    geometry: first table of `instruction_geometry`. The suite's controls are left out, as in every statistic.
    """
    if geometry.empty:
        return geometry
    rows = geometry[~geometry["control"].astype(bool) & geometry["group"].ne("none")]
    kinds = rows["relevant"].map({True: "relevant", False: "other"}).rename("instructions")
    means = rows.groupby(["preset", "seed", kinds], sort=False)[[*STRUCTURE, "score"]].mean()
    sizes = (
        rows.groupby(["preset", "seed", kinds], sort=False)["instruction_id"]
        .nunique()
        .rename("n_instructions")
    )
    return means.join(sizes).reset_index()
