"""Notebook 06's measurements for a whole study: recall, instructions, other data, side effects, prompt sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from helpers.executors import devices
from helpers.finetuning import BASELINE, Tuned, quiet_bars
from helpers.finetuning_spec import FinetuningSpec
from helpers.geometry_spec import GeometrySpec
from helpers.measurement import bank_for, embedder, geometry_table, measure
from helpers.models import load_model
from helpers.progress import watching
from helpers.results import SCORES, conform, query_scores_table, scores_table
from helpers.search_sets import InstructedSet, instructed_sets
from helpers.study import Study, TaskSpec
from helpers.sweep import run_sweep
from helpers.task_scores import task_scores
from helpers.tasks import SearchSet
from helpers.ties import levelled, zeroed
from helpers.training_sets import TuningData, finetuning_of
from helpers.tuning_evaluation import geometry_settings, paired_interval, query_scores
from helpers.variants import other_models

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


@quiet_bars()
def swept(
    study: Study, folder: Path, tuned: Sequence[Tuned], prompts: pd.DataFrame, progress: Progress = print
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Send base and tuned models through the sweep: (scores, query_scores) as of step 02.

    Tasks of `finetuning.side_effects` get the study's baselines alone, those of `finetuning.sensitivity` all prompts;
    of the tuned models those of `finetuning.swept_presets` go. Cells that step 02 has computed are reused.
    """
    spec = finetuning_of(study)
    names = list(dict.fromkeys([*spec.side_effects, *spec.sensitivity]))
    if not names or study.prompts is None:
        return conform(pd.DataFrame(), SCORES), pd.DataFrame()
    tasks = [next((t for t in study.tasks if t.name == n), TaskSpec(name=n)) for n in names]
    going = [BASELINE, *(spec.presets if spec.swept_presets is None else spec.swept_presets)]
    models = [model for preset, _, model in every_model(study, tuned) if preset in going]
    # Without GPUs further processes would only start for these few groups, not speed them up.
    sweep = study.sweep if devices() else study.sweep.model_copy(update={"workers": 1})
    some = study.model_copy(update={"models": models, "tasks": tasks, "sweep": sweep})
    wanted = prompts[prompts["task"].isin(spec.sensitivity)]
    run_sweep(some, folder, wanted, progress)
    return scores_table(some, folder, wanted), query_scores_table(some, folder, wanted)


def side_effect_table(
    scores: pd.DataFrame, queries: pd.DataFrame, base: str, n_boot: int, seed: int, kind: str = "default"
) -> pd.DataFrame:
    """Main score before and after per task (`task_scores`) under one baseline, with an interval where one exists.

    Intervals: paired bootstrap over queries (retrieval) or pairs (STS, difference of Spearman correlations); other
    task types keep no scores per text, their interval is missing. Columns: model, task, task_type, before, after,
    difference, low, high, n_units.
    """
    cells = task_scores(scores[scores["kind"] == kind])
    own = cells[cells["score"].notna()]
    means = own.groupby(["task", "task_type", "model"], sort=False)["score"].mean()
    rows = []
    for (task, task_type, model), after in means.items():
        before = means.get((task, task_type, base))
        if model == base or before is None:
            continue
        prompt = own.loc[own["task"] == task, "prompt_id"].iloc[0]
        low, high, n = _unit_interval(queries, task, prompt, model, base, n_boot, seed)
        rows.append(
            {"model": model, "task": task, "task_type": task_type, "before": before, "after": after,
             "difference": after - before, "low": low, "high": high, "n_units": n}
        )  # fmt: skip
    columns = ["model", "task", "task_type", "before", "after", "difference", "low", "high", "n_units"]
    return pd.DataFrame(rows, columns=columns).sort_values(["task_type", "task", "model"], ignore_index=True)


def _unit_interval(
    queries: pd.DataFrame, task: str, prompt: str, model: str, base: str, n_boot: int, seed: int
) -> tuple[float, float, int]:
    if queries.empty:
        return float("nan"), float("nan"), 0
    part = queries[(queries["task"] == task) & (queries["prompt_id"] == prompt)]
    key = ["subset", "split", "query_id"]
    both = part[part["model"] == model].merge(part[part["model"] == base], on=key, suffixes=("", "_base"))
    if len(both) < 2 or both["subset"].nunique() > 1:
        return float("nan"), float("nan"), len(both)
    if both["gold"].isna().all():
        low, high = paired_interval([(both["score"] - both["score_base"]).to_numpy(float)], n_boot, seed)
        return low, high, len(both)
    gold, after, before = (both[c].to_numpy(float) for c in ("gold", "score", "score_base"))
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(min(n_boot, 1000)):
        take = rng.integers(0, len(gold), len(gold))
        draws.append(_spearman(after[take], gold[take]) - _spearman(before[take], gold[take]))
    low, high = zeroed(np.nanquantile(draws, [0.025, 0.975])) if draws else (np.nan, np.nan)
    return float(low), float(high), len(both)


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])


def sensitivity_change(
    scores: pd.DataFrame, others: pd.DataFrame, base: str, tasks: Sequence[str], draws: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The loop that neither study closes: does the tuned model depend less on its prompt? (per task, per model).

    First table: `sensitivity.sensitivity` of base and tuned models on the tasks swept with all prompts. Second: each
    model's rank interval on the board of the study's other models (`others`, scores of step 02, without further variants of
    the base model) and itself, prompts drawn at random; the base model's row is the board before.
    """
    from helpers.rank_distribution import prompt_scores, random_boards, rank_table
    from helpers.sensitivity import sensitivity

    cells = task_scores(scores[scores["task"].isin(tasks)])
    if cells.empty:
        return pd.DataFrame(), pd.DataFrame()
    spread = sensitivity(cells, draws=draws, seed=seed)
    rivals = others[others["task"].isin(tasks)] if len(others) else others
    rivals = other_models(rivals, cells["model"].unique())
    rival_cells = task_scores(rivals) if len(rivals) else cells.iloc[:0]
    ranks = []
    for model in cells["model"].unique() if len(rival_cells) else []:
        board = pd.concat([rival_cells, cells[cells["model"] == model]], ignore_index=True)
        drawn = prompt_scores(board)
        table = rank_table(random_boards(drawn.values, draws, seed=seed), drawn.models)
        ranks.append(table[table["model"] == model].assign(n_models=len(drawn.models)))
    return spread, pd.concat(ranks, ignore_index=True) if ranks else pd.DataFrame()
