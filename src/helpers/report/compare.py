"""Comparison: the models of one or more finished studies side by side, from the tables that their runs left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.files import project_root
from helpers.base.names import unknown
from helpers.base.phrases import count, is_lowest, listed, signed
from helpers.geometry.paper import distractor_summary
from helpers.geometry.pools import POOLS
from helpers.geometry.relevance import statistics_rows
from helpers.study.load import load_study
from helpers.study.run import run_folder, runs_folder
from helpers.sweep.variants import distinct

REPORTED = ["default", "prompt_mean", "low", "high", "percentile", "rank", "rank_low", "rank_high"]

MODELS = ["study", "model", "tasks", *REPORTED, "cv_median", "inflated", "deflated", "undecided", "verdict"]

SHARED = ["model", "task", "study", "n_prompts", "default", "mean", "cv", "percentile", "label", "data"]

ORDERS = ["study", "winner", "loser", "probability", "low", "high", "verdict"]

MOVED = ["displacement", "similarity_improvement", "angulation"]

GEOMETRY = ["study", "model", "task", *MOVED, *POOLS, "own_first"]

TUNING = [*("study", "preset", "seed", "task", "language", "pool"), *("before", "value", "difference", "low", "high")]


@dataclass
class Comparison:
    """Side by side: models, cells that several studies measured, geometry, fine-tuning; empty where nothing ran.

    models: one row per study and model (`model_rows`). shared: one row per study of each (model, task) that at least
    two studies have (`shared_rows`). geometry, tuning: see `geometry_rows`, `tuning_rows`. orders: one row per study and
    pair of models (`certainty.order_table`). problems: tables that could not be read.
    """

    models: pd.DataFrame
    shared: pd.DataFrame
    geometry: pd.DataFrame
    tuning: pd.DataFrame
    orders: pd.DataFrame
    problems: list[str] = field(default_factory=list)


def compare_studies(names: Iterable[str]) -> str:
    """The comparison of finished runs as plain text; `StudyError` where one has not run or its tables do not open."""
    folders = {name: _folder(name) for name in dict.fromkeys(names)}
    for name, folder in folders.items():
        if not (folder / "tables").is_dir():
            there = sorted(p.parent.name for p in runs_folder().glob("*/tables"))
            known = (project_root() / "data" / "studies" / f"{name}.yml").is_file()
            raise StudyError(
                f"study {name} has not run; run it first: make report STUDY={name}"
                if known
                else unknown("study", name, there)
            )
    found = compare(folders)
    if found.problems:
        raise StudyError("\n".join(found.problems))
    if found.models.empty:
        raise StudyError(f"nothing to compare: step 04 has not run in {', '.join(folders)}")
    parts = [("Models", found.models), ("In several studies", found.shared),
             ("Geometry and distractors", found.geometry), ("Fine-tuning", found.tuning)]  # fmt: skip
    shown = [f"{title}\n{plain_text(table)}" for title, table in parts if len(table)]
    return "\n\n".join([*shown, *(f"- {entry['text']}" for entry in findings(found))])


def _folder(name: str) -> Path:
    """The run folder of a study by its name or file, or of a finished run whose study file is no longer there."""
    try:
        return run_folder(load_study(name))
    except StudyError:
        return runs_folder() / name


def plain_text(table: pd.DataFrame) -> str:
    """A frame as aligned text, three decimals, a dash for what is missing."""
    return table.to_string(index=False, na_rep="–", float_format=lambda v: f"{v:.3f}".removesuffix(".000"))


def compare(folders: Mapping[str, Path]) -> Comparison:
    """Compare run folders by the name of their study; a table that is absent counts as a step that did not run."""
    problems: list[str] = []

    def read(name: str) -> dict[str, pd.DataFrame]:
        found = {}
        for study, folder in folders.items():
            path = folder / "tables" / f"{name}.parquet"
            try:
                if path.is_file() and len(table := pd.read_parquet(path)):
                    found[study] = table
            except (OSError, ValueError):
                problems.append(
                    f"study {study}: tables/{path.name} is not readable; delete it and run: make report STUDY={study}"
                )
        return found

    sensitivity = read("sensitivity")
    return Comparison(
        model_rows(read("headline"), sensitivity),
        shared_rows(sensitivity, read("scores")),
        geometry_rows(read("geometry"), read("distractors")),
        tuning_rows(read("finetuning")),
        _stacked([table.assign(study=study) for study, table in read("rank_orders").items()], ORDERS),
        problems,
    )


def model_rows(headline: Mapping[str, pd.DataFrame], sensitivity: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per study and model: its headline (`headline.headline`), the median of its CV over tasks, its labels.

    cv_median: median over the model's tasks of the coefficient of variation over prompts (ratio). inflated, deflated,
    undecided: how many tasks have that label. Scores are in the metric of each study's tasks, so that means of
    different studies can be compared only where they have the same tasks.
    """
    rows = []
    for study, table in headline.items():
        cells = sensitivity.get(study, pd.DataFrame(columns=["model", "cv", "label"]))
        for row in table.to_dict("records"):
            own = cells[cells["model"] == row["model"]]
            counts = own["label"].value_counts()
            rows.append({
                **{c: row.get(c) for c in MODELS}, "study": study, "cv_median": own["cv"].median(),
                **{label: int(counts.get(label, 0)) for label in ("inflated", "deflated", "undecided")},
            })  # fmt: skip
    return pd.DataFrame(rows, columns=pd.Index(MODELS))


def shared_rows(sensitivity: Mapping[str, pd.DataFrame], scores: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every (model, task) that at least two studies measured, a row per study.

    data: "same" where the studies read the same records (fingerprint of the data), "differs" where not: scores then
    are of different quantities; "unknown" where a study does not say.
    """
    parts = [table.assign(study=study) for study, table in sensitivity.items()]
    if len(parts) < 2:
        return pd.DataFrame(columns=pd.Index(SHARED))
    table = pd.concat(parts, ignore_index=True)
    table = table[table.groupby(["model", "task"])["study"].transform("nunique") > 1]
    prints = {study: _fingerprints(found) for study, found in scores.items()}
    said = {
        pair: _same([prints.get(study, {}).get(pair) for study in part["study"]])
        for pair, part in table.groupby(["model", "task"])
    }
    table = table.assign(data=[said[pair] for pair in zip(table["model"], table["task"], strict=True)])
    return table.sort_values(["task", "model", "study"], ignore_index=True).reindex(columns=SHARED)


def geometry_rows(geometry: Mapping[str, pd.DataFrame], distractors: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per study, model and task: what instructions do to queries, and the best recall@1 in each pool.

    displacement, similarity_improvement, angulation: means over instructions (controls left out), then over subsets.
    normal, random, paraphrase: best recall@1 over instructions, mean over subsets; own_first: share of queries whose
    top hit is their own paraphrase.
    """
    rows = []
    for study, table in geometry.items():
        bank = distinct(statistics_rows(table))
        moved = bank.groupby(["model", "task", "subset"])[MOVED].mean().groupby(["model", "task"]).mean()
        pools = (
            distractor_summary(distractors[study]).groupby(["model", "task"])[[*POOLS, "own_first"]].mean()
            if study in distractors
            else pd.DataFrame()
        )
        rows.append(moved.join(pools).reset_index().assign(study=study))
    return _stacked(rows, GEOMETRY)


def tuning_rows(finetuning: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per study, training, task, language and pool: recall@1 before and after, and the paired difference."""
    rows = [
        table[(table["metric"] == "recall_at_1") & table["difference"].notna()].assign(study=study)
        for study, table in finetuning.items()
    ]
    return _stacked(rows, TUNING)


def findings(found: Comparison) -> list[dict[str, str]]:
    """What the comparison says, in sentences with computed numbers."""
    out = []
    for study, part in found.orders.groupby("study", sort=False):
        certain, unsure = (int((part["verdict"] == verdict).sum()) for verdict in ("certain", "open"))
        least = part[is_lowest(part["probability"].astype(float))]
        named = listed(f"that {row.winner} has more points than {row.loser}" for row in least.itertuples())
        chance, low, high = (float(least[column].iloc[0]) for column in ("probability", "low", "high"))
        interval = f", 95% interval over other prompts {low:.0%} to {high:.0%}" if len(least) == 1 else ""
        text = (
            f"{study}: under random prompts {certain} of {count(len(part), 'order')} of two models "
            f"{'is' if certain == 1 else 'are'} certain and {unsure} open; least probable is {named} ({chance:.0%}{interval})."
        )
        out.append({"text": text, "figure": "fig-compare-scores"})
    if found.models["study"].nunique() > 1:
        medians = found.models.groupby("study", sort=False)["cv_median"].median().dropna()
        said = ", ".join(f"{study} {value:.1%}" for study, value in medians.items())
        if len(medians) > 1:
            out.append({"text": f"Median coefficient of variation over prompts, by study: {said}.",
                        "figure": "tbl-compare-models"})  # fmt: skip
    if len(found.shared):
        pairs_of = found.shared.groupby(["model", "task"])
        one = int((pairs_of["label"].nunique() == 1).sum())
        other = int((found.shared.drop_duplicates(["model", "task"])["data"] == "differs").sum())
        many = pairs_of.ngroups > 1
        text = f"{pairs_of.ngroups} {'cells (model x task) are' if many else 'cell (model x task) is'} in several studies; "
        text += f"the default has the same label there in {one}."
        text += f" In {other} of them the studies read different records." if other else ""
        out.append({"text": text, "figure": "tbl-compare-shared"})
    lost = found.geometry.dropna(subset=["normal", "paraphrase"])
    if len(lost):
        change = (lost["paraphrase"] - lost["normal"]).round(12)  # equal recalls may differ in their last digit
        worst = lost[is_lowest(change)]
        named = listed(f"{r.model} on {r.task}, study {r.study}" for r in worst.itertuples())
        text = (
            f"Paraphrases in the pool change the best recall@1 by {signed(change.min())} to {signed(change.max())}; the "
            f"largest loss is that of {named}."
            if change.min() < 0
            else "Paraphrases in the pool lower no best recall@1."
        )
        out.append({"text": text, "figure": "fig-compare-distractors"})
    return out


def _fingerprints(scores: pd.DataFrame) -> dict[tuple[str, str], frozenset[str]]:
    known = scores.dropna(subset=["data_fingerprint"]) if "data_fingerprint" in scores else scores.iloc[:0]
    return {
        (str(model), str(task)): frozenset(map(str, part["data_fingerprint"]))
        for (model, task), part in known.groupby(["model", "task"])
    }


def _same(prints: list[frozenset[str] | None]) -> str:
    known = [p for p in prints if p]
    if len(known) < len(prints):
        return "unknown"
    return "same" if len(set(known)) == 1 else "differs"


def _stacked(parts: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    kept = [part for part in parts if len(part)]
    if not kept:
        return pd.DataFrame(columns=pd.Index(columns))
    table = pd.concat(kept, ignore_index=True).reindex(columns=columns)
    return table.replace({np.inf: np.nan, -np.inf: np.nan})
