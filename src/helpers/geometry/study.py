"""A whole study in notebook 05: which models meet which sets, what is kept of each, and what the map shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.names import unknown
from helpers.base.phrases import is_highest
from helpers.base.progress import Progress, watching
from helpers.geometry.instructions import instruction_table
from helpers.geometry.measurement import bank_for, embedder, measure
from helpers.geometry.pools import Distractors
from helpers.geometry.projection import chosen_instructions, map_table
from helpers.geometry.relevance import SET, statistics_rows
from helpers.geometry.sets import InstructedSet, geometry_spec
from helpers.models.load import LoadedModel, load_model
from helpers.study.geometry import NONE_ID
from helpers.study.spec import ModelSpec, Study


def models_on_sets(
    study: Study,
    sets: Sequence[InstructedSet],
    folder: Path | None,
    failed: dict[str, str],
    report: Callable[[str], None] = print,
) -> Iterator[tuple[LoadedModel, InstructedSet]]:
    """Every model of the study's geometry with every set, one after the other, with the time that is left.

    A model that cannot be loaded is said and noted in `failed` (label: reason), and the others go on; a `StudyError`
    where none is left. Vectors are cached below `folder`: a repeated run encodes nothing, an interrupted one goes on
    where it was, and one more instruction costs its own queries only.
    """
    failed.clear()
    models = geometry_models(study)
    done, start = 0, time.monotonic()
    with Progress(len(models) * len(sets), "set", report) as bar:
        for spec in models:
            try:
                model = load_model(spec, folder, study.sweep.device)
                _ = model.weights_digest  # of an exported graph: that of the model that it comes from
            except StudyError as error:
                failed[spec.label] = str(error)
                report(f"{spec.label} is not measured: {error}")
                continue
            for chosen in sets:
                about = f"{model.label}, {chosen.search.task} {chosen.search.subset}"
                with watching(report, about):
                    yield model, chosen
                done += 1
                spent = time.monotonic() - start
                left = spent / done * ((len(models) - len(failed)) * len(sets) - done)
                sizes = f"{len(chosen.search.queries)} queries, {len(chosen.search.targets)} targets"
                bar.step(f"{about}: {sizes} ({spent:.0f} s, about {left:.0f} s left)")
    if not done:
        raise StudyError("no model can be measured: " + "; ".join(f"{m}: {why}" for m, why in failed.items()))


def measure_set(model: LoadedModel, chosen: InstructedSet, study: Study) -> tuple[pd.DataFrame, list[Distractors]]:
    """All instructions of the study on one set under one model: `measurement.measure`."""
    spec = geometry_spec(study)
    return measure(embedder(model), model.label, chosen, bank_for(spec, chosen), spec, study.seed)


def kept_queries(per_query: pd.DataFrame, geometry: pd.DataFrame) -> pd.DataFrame:
    """The per-query rows of the plain query, the relevant instructions and the set's best, as float32.

    Of several that tie for the best the first by id is kept: one is enough to look at.
    """
    ranked = statistics_rows(geometry)
    best = sorted(ranked.loc[is_highest(ranked["score"]), "instruction_id"])[:1]
    keep = per_query["relevant"].astype(bool) | per_query["instruction_id"].isin([NONE_ID, *best])
    kept = per_query[keep].reset_index(drop=True)
    numbers = kept.select_dtypes("number").columns
    kept[numbers] = kept[numbers].astype(np.float32)
    return kept


def joined(parts: Iterable[pd.DataFrame], weights: dict[str, str]) -> pd.DataFrame:
    """One table of several, with the column variant_of: the model before this one with the same weights, else None.

    weights: model label -> digest of its weights, in the order of the study.

    >>> joined([pd.DataFrame({"model": ["a", "b", "c"]})], {"a": "1f", "b": "1f", "c": "2e"})["variant_of"].tolist()
    [None, 'a', None]
    """
    first: dict[str, str] = {}
    same = {label: first.setdefault(digest, label) for label, digest in weights.items()}
    table = pd.concat(parts, ignore_index=True)
    variant_of = [None if same[m] == m else same[m] for m in table["model"]]
    return table.assign(variant_of=pd.Series(variant_of, table.index, dtype=object))


def map_subject(
    study: Study, sets: Sequence[InstructedSet], folder: Path | None = None, failed: Container[str] = ()
) -> tuple[LoadedModel, InstructedSet]:
    """The model and the set of the map and the explorer: `map_model` and `map_task`, the first where they are null.

    The first model that did not fail takes the place of one that did.
    """
    spec = geometry_spec(study)
    models, tasks = {m.label: m for m in geometry_models(study)}, [s.search.task for s in sets]
    if spec.map_model is not None and spec.map_model not in models:
        raise StudyError(f"geometry.map_model: {unknown('model label', spec.map_model, list(models))}")
    if spec.map_task is not None and spec.map_task not in tasks:
        raise StudyError(f"geometry.map_task: {unknown('task', spec.map_task, sorted(set(tasks)))}")
    label = next(m for m in (spec.map_model, *models) if m is not None and m not in failed)
    chosen = sets[tasks.index(spec.map_task)] if spec.map_task else sets[0]
    return load_model(models[label], folder, study.sweep.device), chosen


def map_study(study: Study, model: LoadedModel, chosen: InstructedSet, geometry: pd.DataFrame) -> pd.DataFrame:
    """UMAP coordinates of one set under one model, with the instructions that its rows of `geometry` suggest."""
    spec = geometry_spec(study)
    key = {"model": model.label, "task": chosen.search.task, "subset": chosen.search.subset}
    rows = geometry[(geometry[SET] == pd.Series(key)).all(axis=1)]
    picked = chosen_instructions(rows, spec.map_instructions)
    return map_table(embedder(model), chosen, picked, spec, study.seed).assign(**key)


def set_table(study: Study, sets: Sequence[InstructedSet]) -> pd.DataFrame:
    """What is measured: one row per set with its sizes, instruction counts and where distractors come from."""
    rows = []
    for chosen in sets:
        searched = chosen.search
        bank = bank_for(geometry_spec(study), chosen)
        rows.append(
            {
                "task": searched.task,
                "subset": searched.subset,
                "split": searched.split,
                "queries": len(searched.queries),
                "targets": len(searched.targets),
                "instructions": sum(not i.control for i in bank),
                "relevant": sum(i.is_relevant(chosen.kind, searched.task) for i in bank),
                "controls": sum(i.control for i in bank),
                "score": chosen.metric,
                "paraphrases": len(searched.paraphrases),
                "paraphrases from": chosen.paraphrase_source or "none: no paraphrase pool",
            }
        )
    return pd.DataFrame(rows)


def bank_table(study: Study, sets: Sequence[InstructedSet]) -> pd.DataFrame:
    """The instructions that the study uses, each once, as `instructions.instruction_table` shows them."""
    return instruction_table({i.id: i for s in sets for i in bank_for(geometry_spec(study), s)}.values())


def geometry_models(study: Study) -> list[ModelSpec]:
    """The models that the geometry names, else all of the study."""
    labels = geometry_spec(study).models
    return list(study.models) if labels is None else [study.model_spec(label) for label in labels]
