"""The bank's instructions on the test part, before and after: which gained, and what became of the geometry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from helpers.base.proportions import paired_proportions
from helpers.base.ties import levelled
from helpers.geometry.measurement import bank_for, embedder, geometry_table, measure
from helpers.geometry.measures import MEASURES
from helpers.geometry.relevance import statistics_rows
from helpers.geometry.sets import InstructedSet
from helpers.models.load import LoadedModel
from helpers.study.geometry import GeometrySpec
from helpers.study.tuning import FinetuningSpec
from helpers.tuning.trained import BASELINE


def limited(sets: Sequence[InstructedSet], n: int, seed: int) -> list[InstructedSet]:
    """The sets with at most n queries each, drawn without replacement; targets stay as they are. No set for n = 0."""
    return [replace(chosen, search=chosen.search.sample(n, seed)) for chosen in sets] if n else []


def measured(
    model: LoadedModel, sets: Sequence[InstructedSet], spec: FinetuningSpec, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One model under every instruction: (`geometry_table` of the sets, rows of `geometry.measurement.measure`)."""
    tables, rows = [], []
    for chosen in sets:
        task = {"name": chosen.search.task}
        geometry = GeometrySpec.model_validate({"tasks": [task], "template": spec.template})
        per_query, _ = measure(embedder(model), model.label, chosen, bank_for(geometry, chosen), geometry, seed)
        tables.append(geometry_table(per_query, chosen, 0, seed=seed))
        rows.append(per_query)
    return pd.concat(tables, ignore_index=True), pd.concat(rows, ignore_index=True)


def gains(per_query: pd.DataFrame, value: str = "paraphrase_recall_at_1") -> pd.DataFrame:
    """Table 10: per instruction recall@1 among paraphrases before and after, mean over languages' queries.

    per_query: those of `measured` with preset and seed. Columns: preset, seed, instruction_id, text, group, relevant,
    control, n, before, after, gain, low, high; most gained first, ties by text. Intervals:
    Newcombe's over queries, none below ten. Language names in texts are those of the first language.
    """
    about = ["instruction_id", "text", "group", "relevant", "control"]
    key = ["subset", "instruction_id", "query_id"]
    rows = []
    if len(per_query):
        base = per_query[per_query["preset"] == BASELINE].set_index(key)[value].rename("before")
    trained = per_query[per_query["preset"] != BASELINE]
    for (preset, run), after in trained.groupby(["preset", "seed"], sort=False):
        both = after.join(base, on=key).dropna(subset=[value, "before"])
        for _, part in both.groupby("instruction_id", sort=False):
            difference = (part[value] - part["before"]).to_numpy(float)
            low, high = paired_proportions([(part[value].to_numpy(float), part["before"].to_numpy(float))])
            first = part.iloc[0]
            rows.append(
                {"preset": preset, "seed": run, **{k: first[k] for k in about}, "n": len(part),
                 "before": part["before"].mean(), "after": part[value].mean(), "gain": difference.mean(),
                 "low": low, "high": high}
            )  # fmt: skip
    columns = ["preset", "seed", *about, "n", "before", "after", "gain", "low", "high"]
    table = pd.DataFrame(rows, columns=columns)
    training = table.groupby(["preset", "seed"], sort=False).ngroup()
    order = table.assign(training=training, lost=-levelled(table["gain"]))
    order = order.sort_values(["training", "lost", "text"], kind="stable")
    return table.loc[order.index].reset_index(drop=True)


def structure_table(geometry: pd.DataFrame) -> pd.DataFrame:
    """Structural metrics before and after: means over relevant and over other instructions, and the score.

    geometry: tables of `measured` with preset and seed. The suite's controls are left out, as in every statistic.
    """
    if geometry.empty:
        return geometry
    rows = statistics_rows(geometry)
    kinds = rows["relevant"].map({True: "relevant", False: "other"}).rename("instructions")
    groups = rows.groupby(["preset", "seed", kinds], sort=False)
    means = groups[[*MEASURES, "score"]].mean()
    return means.assign(n_instructions=groups["instruction_id"].nunique()).reset_index()
