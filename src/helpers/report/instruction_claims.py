"""Our numbers for the claims of study 2, Your Prompt Should Do More: what an instruction does, and what training repairs.

Every function takes the tables of a run and gives one number or text, with its unit and the number of its cases.
"""

from __future__ import annotations

import pandas as pd
from scipy.stats import spearmanr

from helpers.base.errors import StudyError
from helpers.base.phrases import count, is_highest, is_lowest, listed, out_of, signed
from helpers.geometry.paper import distractor_summary
from helpers.geometry.relevance import MEAN, SET, statistics_rows
from helpers.report.claim_tables import Found, Tables, Untestable
from helpers.report.runs import run_study

RETRIEVAL, BITEXT = "ndcg_at_10", "recall_at_1"  # the score of a task of either kind

TRAINED = "distractor"  # the preset with paraphrases as negatives


# -- instructions and scores (tables 1 to 4) --------------------------------------------------------------------------


def models(tables: Tables) -> Found:
    return Found(tables.need("geometry")["model"].nunique())


def instructions(tables: Tables, task: str, relevant: bool = False) -> Found:
    """Instructions of a task, controls of this suite and the plain query left out; the relevant ones alone."""
    rows = _bank(tables, task=task)
    return Found(rows.loc[rows["relevant"].astype(bool) | (not relevant), "instruction_id"].nunique())


def table_value(tables: Tables, name: str, column: str, model: str, task: str, metric: str = "") -> Found:
    """One number of the tables relevance, separability or correlations: of the task's only subset, or the mean of all."""
    chosen = {"model": model, "task": task} | ({"metric": metric} if metric else {})
    return Found(_main(tables.of(name, **chosen))[column].item())


def most_explained(tables: Tables) -> Found:
    """The largest share of the variance of scores over instructions that relevance explains (R2)."""
    rows = _main(tables.need("relevance")).dropna(subset=["r2"])
    return Found(rows["r2"].max(), f"at most {rows['r2'].max():.2f} in {_pairs(rows)}")


def others_among_best(tables: Tables) -> Found:
    """Share of the k best instructions that are not relevant, k the number of relevant ones; mean."""
    rows = _main(tables.need("relevance")).dropna(subset=["top_k"])
    return Found(1 - rows["top_k"].mean(), f"{1 - rows['top_k'].mean():.0%} (mean of {_pairs(rows)})")


def nonsense_among_best(tables: Tables) -> Found:
    """Models for which a nonsense instruction is among the k best of a retrieval task, k the number of relevant ones."""
    rows = _bank(tables, metric=RETRIEVAL)
    if not (rows["group"] == "nonsense").any():
        raise Untestable("no run has a nonsense instruction")
    place = rows.groupby(SET)["score"].rank(ascending=False, method="average")
    k = rows.groupby(SET)["relevant"].transform("sum")
    models = rows.loc[(rows["group"] == "nonsense") & (place <= k), "model"].nunique()
    return Found(models, out_of(models, rows["model"].nunique(), "model"))


def best_instruction(tables: Tables, model: str, task: str) -> Found:
    """The text of the instruction with the best score."""
    rows = _bank(tables, model=model, task=task)
    return Found(listed(set(rows.loc[is_highest(rows["score"]), "text"])))


def separable_more_on_bitext(tables: Tables) -> Found:
    """Mean ROC-AUC over measures of the paper and models: on bitext tasks less on retrieval tasks."""
    rows = _main(_measures(tables, "separability")).merge(_kinds(tables), on="task")
    means = rows.groupby("kind")["auc"].mean()
    if set(means.index) != {RETRIEVAL, BITEXT}:
        raise Untestable("no run has a retrieval and a bitext task")
    gap = means[BITEXT] - means[RETRIEVAL]
    return Found(gap, f"{means[BITEXT]:.2f} against {means[RETRIEVAL]:.2f} ({count(rows['model'].nunique(), 'model')})")


def same_sign(tables: Tables, metric: str, sign: int, kind: str = "") -> Found:
    """Share of pairs of model and task in which a measure's correlation with the score has the sign; kind: of task."""
    rows = _main(tables.of("correlations", metric=metric)).merge(_kinds(tables), on="task").dropna(subset=["rho"])
    rows = rows[rows["kind"] == kind] if kind else rows
    if rows.empty:
        raise Untestable("no run has such a task")
    n = int((sign * rows["rho"] > 0).sum())
    return Found(n / len(rows), out_of(n, len(rows), "pair of model and task", "pairs of model and task"))


# -- distractors (table 5, figure 2) ----------------------------------------------------------------------------------


def best_recall(tables: Tables, model: str, task: str, pool: str) -> Found:
    """The best recall@1 over instructions and subsets in a pool; pool `relevant`: of relevant ones among paraphrases."""
    return Found(distractor_summary(tables.of("distractors", model=model, task=task))[pool].max())


def kept_recall(tables: Tables, kind: str, pick: str) -> Found:
    """Best recall@1 among paraphrases over that among targets alone, per model on tasks of a kind, `lowest` or `highest`."""
    kept = _kept(tables, kind)
    chosen = kept[is_highest(kept) if pick == "highest" else is_lowest(kept)]
    return Found(chosen.iloc[0], f"{chosen.iloc[0]:.0%} ({listed(chosen.index)}, {count(len(kept), 'model')})")


def models_that_keep(tables: Tables, kind: str, share: float) -> Found:
    """Models whose best recall@1 among paraphrases is at least this share of that among targets alone."""
    kept = _kept(tables, kind)
    n = int((kept >= share).sum())
    return Found(n, out_of(n, len(kept), "model"))


def random_loss(tables: Tables) -> Found:
    """What random distractors take from the best recall@1, as a share of what paraphrases take; mean over test sets."""
    rows = distractor_summary(tables.need("distractors")).dropna(subset=["normal", "random", "paraphrase"])
    lost = rows["normal"].mean() - rows[["random", "paraphrase"]].mean()
    if rows.empty or lost["paraphrase"] <= 0:
        raise Untestable("no run loses recall to paraphrases")
    return Found(
        lost["random"] / lost["paraphrase"],
        f"{lost['random']:.3f} of {lost['paraphrase']:.3f} ({count(len(rows), 'test set')})",
    )


def movement_keeps_recall(tables: Tables) -> Found:
    """Spearman correlation, over relevant instructions and queries, of the weight of the target and recall@1 among paraphrases."""
    rows = tables.need("geometry_queries")
    if "paraphrase_recall_at_1" not in rows:
        raise Untestable("no run has paraphrases of its queries")
    rows = rows[rows["relevant"].astype(bool)].dropna(subset=["w_target", "paraphrase_recall_at_1"])
    rhos = [
        spearmanr(part["w_target"], part["paraphrase_recall_at_1"]).statistic
        for _, part in rows.groupby(SET)
        if part["paraphrase_recall_at_1"].nunique() > 1 and part["w_target"].nunique() > 1
    ]
    if not rhos:
        raise Untestable("no run has queries that keep and queries that lose their target")
    mean = float(pd.Series(rhos).mean())
    return Found(mean, f"{signed(mean, 2)} (mean of {count(len(rhos), 'test set')})")


# -- fine-tuning (table 6, appendix) ----------------------------------------------------------------------------------


def recall(
    tables: Tables, cell: str, base: str, task: str, preset: str, language: str = "", table: str = "finetuning"
) -> Found:
    """A recall after training, mean over seeds; cell: "recall_at_1 paraphrase". base: the model that was trained."""
    _require_base(tables, base)
    metric, pool = cell.split()
    rows = tables.of(table, task=task, preset=preset, metric=metric, pool=pool)
    rows = rows[rows["language"] == language]
    if rows.empty:
        raise Untestable(f"no run has the mean over languages of {task}")
    return Found(rows["value"].mean())


def gain(tables: Tables, preset: str, pool: str, table: str = "finetuning") -> Found:
    """Change of recall@1 in a pool after a training, mean over tasks, languages and seeds (all languages, not their mean)."""
    rows = tables.of(table, preset=preset, pool=pool, metric=BITEXT)
    rows = rows[rows["language"] != MEAN].dropna(subset=["difference"])
    if rows.empty:
        raise Untestable("no run has scores before and after")
    value = rows["difference"].mean()
    few = f", {count(int(rows['n'].min()), 'query', 'queries')} at least"
    return Found(
        value, f"{signed(value)} (mean of {count(len(rows), 'training and test set', 'trainings and test sets')}{few})"
    )


def side_effect(tables: Tables) -> Found:
    """The mean absolute change of the scores of other tasks."""
    rows = tables.need("tuning_side_effects").dropna(subset=["difference"])
    value = rows["difference"].abs().mean()
    return Found(value, f"{value:.3f} (mean over {count(rows['task'].nunique(), 'task')})")


def side_tasks(tables: Tables) -> Found:
    return Found(tables.need("tuning_side_effects")["task"].nunique())


def structure_change(tables: Tables, measure: str, task: str) -> Found:
    """After less before training of a measure, mean over relevant instructions; task: the data that was trained on."""
    if task not in set(tables.need("finetuning")["task"]):
        raise Untestable(f"no run trains on {task}")
    rows = tables.of("tuning_structure", instructions="relevant").set_index("preset")[measure]
    if not {"baseline", TRAINED} <= set(rows.index):
        raise Untestable("no run has the measures before and after")
    value = rows[[TRAINED]].mean() - rows[["baseline"]].mean()
    return Found(value, signed(value))


def relevant_gainers(tables: Tables, top: int) -> Found:
    """Share of relevant ones among the instructions that gained most among paraphrases."""
    rows = tables.of("tuning_instructions", preset=TRAINED)
    rows = rows[~rows["control"].astype(bool) & (rows["instruction_id"] != "none")]
    first = rows.sort_values("gain", ascending=False, kind="stable").head(top)
    n = int(first["relevant"].astype(bool).sum())
    return Found(n / len(first), f"{out_of(n, len(first), 'instruction')}; {int(first['n'].min())} queries each")


def _bank(tables: Tables, **values: str) -> pd.DataFrame:
    return statistics_rows(tables.of("geometry", **values))


def _kinds(tables: Tables) -> pd.DataFrame:
    """task, kind: the score by which its instructions are compared."""
    rows = tables.need("geometry")[["task", "metric"]].drop_duplicates("task")
    return rows.rename(columns={"metric": "kind"})


def _measures(tables: Tables, name: str) -> pd.DataFrame:
    rows = tables.need(name)
    return rows[rows["metric"].isin(["displacement", "similarity_improvement", "angulation"])]


def _main(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per model, task (and measure): the mean over subsets where there are several, else the only one."""
    keys = [c for c in ("model", "task", "metric") if c in rows]
    mean = rows["subset"] == MEAN
    several = mean.groupby([rows[k] for k in keys]).transform("any")
    return rows[mean | ~several]


def _kept(tables: Tables, kind: str) -> pd.Series:
    """Per model: the lowest share of its best recall@1 that is left among paraphrases, over the tasks of a kind."""
    rows = distractor_summary(tables.need("distractors")).merge(_kinds(tables), on="task")
    rows = rows[(rows["kind"] == kind) & (rows["normal"] > 0)].dropna(subset=["paraphrase"])
    if rows.empty:
        raise Untestable("no run has such a task with paraphrases")
    best = rows.groupby(["model", "task"])[["normal", "paraphrase"]].max()
    return (best["paraphrase"] / best["normal"]).groupby("model").min()


def _pairs(rows: pd.DataFrame) -> str:
    return count(len(rows), "pair of model and task", "pairs of model and task")


def _require_base(tables: Tables, base: str) -> None:
    try:
        training = run_study(tables.study.folder).finetuning
    except (StudyError, OSError):
        training = None
    if training is None or training.model != base:
        raise Untestable(f"no run trains {base}")
