"""Notebook 05's work for a whole study: every model on every set, as tables; one picture; one explorer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.names import unknown
from helpers.base.phrases import is_highest
from helpers.base.progress import Progress, watching
from helpers.geometry.instructions import instruction_table
from helpers.geometry.measurement import bank_for, distractor_table, embedder, geometry_table, measure
from helpers.geometry.projection import chosen_instructions, query_map
from helpers.geometry.relevance import statistics_rows
from helpers.geometry.sets import InstructedSet, geometry_spec
from helpers.models.load import LoadedModel, load_model
from helpers.study.geometry import NONE_ID, Instruction
from helpers.study.spec import ModelSpec, Study


def measure_study(
    study: Study,
    sets: Sequence[InstructedSet],
    folder: Path | None = None,
    report: Callable[[str], None] = print,
) -> dict[str, pd.DataFrame]:
    """The tables `geometry`, `distractors` and `geometry_queries` of a study on its sets (`instructed_sets`).

    Vectors are cached below `folder`, so that a repeated run encodes nothing and one more instruction costs
    its own queries only. `geometry_queries` keeps, per set, the queries under no instruction, the relevant
    ones and the best. Column variant_of: the model before this one with the same weights (`variants`), None for a
    model of its own.
    """
    spec = geometry_spec(study)
    geometry, distractors, queries = [], [], []
    models = geometry_models(study)
    first: dict[str, str] = {}  # digest of weights -> label of the model that has them
    done, start = 0, time.monotonic()
    bar = Progress(len(models) * len(sets), "set", report)
    for model_spec in models:
        model = load_model(model_spec, folder, study.sweep.device)
        label = first.setdefault(model.weights_digest, model.label)
        variant = {"variant_of": None if label == model.label else label}
        for chosen in sets:
            instructions = bank_for(spec, chosen)
            with watching(report, f"{model.label}, {chosen.search.task} {chosen.search.subset}"):
                rows, pools = measure(embedder(model), model.label, chosen, instructions, spec, study.seed)
            table = geometry_table(rows, chosen, spec.n_boot, spec.confidence, study.seed)
            geometry.append(table.assign(**variant))
            distractors.append(distractor_table(rows, pools).assign(**variant))
            queries.append(_kept(rows, table).assign(**variant))
            done += 1
            spent = time.monotonic() - start
            left = spent / done * (len(models) * len(sets) - done)
            held = chosen.search
            bar.step(
                f"{model.label}, {held.task} {held.subset}: {len(instructions)} instructions x {len(held.queries)} "
                f"queries, {len(held.targets)} targets ({spent:.0f} s, about {left:.0f} s left)"
            )
    bar.close()
    return {
        "geometry": pd.concat(geometry, ignore_index=True),
        "distractors": pd.concat(distractors, ignore_index=True),
        "geometry_queries": pd.concat(queries, ignore_index=True),
    }


def map_study(
    study: Study, model: LoadedModel, chosen: InstructedSet, geometry: pd.DataFrame
) -> pd.DataFrame:
    """UMAP coordinates of one set under one model, with the instructions that its rows of `geometry`
    suggest.
    """
    spec = geometry_spec(study)
    held = chosen.search
    own = (
        (geometry["model"] == model.label)
        & (geometry["task"] == held.task)
        & (geometry["subset"] == held.subset)
    )
    picked = chosen_instructions(geometry[own], spec.map_instructions)
    table = query_map(embedder(model), chosen, picked, spec, study.seed)
    return table.assign(model=model.label, task=held.task, subset=held.subset)


def shown(
    study: Study, sets: Sequence[InstructedSet], folder: Path | None = None
) -> tuple[LoadedModel, InstructedSet]:
    """The model and the set of the map and the explorer: `map_model` and `map_task`, the first where they
    are null.
    """
    spec = geometry_spec(study)
    models = geometry_models(study)
    labels, tasks = [m.label for m in models], [s.search.task for s in sets]
    if spec.map_model is not None and spec.map_model not in labels:
        raise StudyError(f"geometry.map_model: {unknown('model label', spec.map_model, labels)}")
    if spec.map_task is not None and spec.map_task not in tasks:
        raise StudyError(f"geometry.map_task: {unknown('task', spec.map_task, sorted(set(tasks)))}")
    model = models[labels.index(spec.map_model)] if spec.map_model else models[0]
    chosen = sets[tasks.index(spec.map_task)] if spec.map_task else sets[0]
    return load_model(model, folder, study.sweep.device), chosen


def set_table(study: Study, sets: Sequence[InstructedSet]) -> pd.DataFrame:
    """What is measured: one row per set with its sizes, instruction counts and where distractors come
    from.
    """
    spec = geometry_spec(study)
    rows = []
    for chosen in sets:
        held = chosen.search
        bank = bank_for(spec, chosen)
        rows.append(
            {
                "task": held.task,
                "subset": held.subset,
                "split": held.split,
                "queries": len(held.queries),
                "targets": len(held.targets),
                "instructions": sum(not i.control for i in bank),
                "relevant": sum(i.is_relevant(chosen.kind, held.task) for i in bank),
                "controls": sum(i.control for i in bank),
                "score": chosen.metric,
                "paraphrases": len(held.paraphrases),
                "paraphrases from": chosen.paraphrase_source or "none: no paraphrase pool",
            }
        )
    return pd.DataFrame(rows)


def geometry_models(study: Study) -> list[ModelSpec]:
    """The models that the geometry names, else all of the study."""
    labels = geometry_spec(study).models
    return list(study.models) if labels is None else [study.model_spec(label) for label in labels]


def _kept(rows: pd.DataFrame, geometry: pd.DataFrame) -> pd.DataFrame:
    """The per-query rows of the plain query, the relevant instructions and the set's best, as float32.

    Of several that tie for the best the first by id is kept: one is enough to look at.
    """
    ranked = statistics_rows(geometry)
    best = sorted(ranked.loc[is_highest(ranked["score"]), "instruction_id"])[:1]
    keep = rows["relevant"].astype(bool) | rows["instruction_id"].isin([NONE_ID, *best])
    kept = rows[keep].reset_index(drop=True)
    numbers = kept.select_dtypes("number").columns
    kept[numbers] = kept[numbers].astype(np.float32)
    return kept


def geometry_instructions(study: Study, sets: Sequence[InstructedSet]) -> pd.DataFrame:
    """The instructions that the study uses, as `instructions.instruction_table` shows them."""
    spec = geometry_spec(study)
    bank: dict[str, Instruction] = {}
    for chosen in sets:
        bank |= {i.id: i for i in bank_for(spec, chosen)}
    return instruction_table(bank.values())
