"""What training changed elsewhere: other tasks, and the sensitivity to prompts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.proportions import FEWEST, paired_proportions
from helpers.base.stats import score_draws
from helpers.base.ties import levelled, zeroed
from helpers.leaderboard.random_ranks import random_boards, rank_table
from helpers.scores.cells import prompt_scores, task_scores
from helpers.sensitivity.defaults import sensitivity_table
from helpers.study.spec import Study, TaskSpec
from helpers.sweep.results import SCORES, conform, query_scores_table, scores_table
from helpers.sweep.run import sweep_study
from helpers.sweep.variants import other_models
from helpers.sweep.work import devices
from helpers.tuning.trained import BASELINE, Progress, Tuned, finetuning_of, quiet_bars, specs_of


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
    models = [model for preset, _, model in specs_of(study, tuned) if preset in going]
    # Without GPUs further processes would only start for these few groups, not speed them up.
    sweep = study.sweep if devices() else study.sweep.model_copy(update={"workers": 1})
    some = study.model_copy(update={"models": models, "tasks": tasks, "sweep": sweep})
    wanted = prompts[prompts["task"].isin(spec.sensitivity)]
    sweep_study(some, folder, wanted, progress)
    return scores_table(some, folder, wanted), query_scores_table(some, folder, wanted)


def side_effect_table(scores: pd.DataFrame, queries: pd.DataFrame, base: str, n_boot: int, seed: int) -> pd.DataFrame:
    """Main score before and after per task (`task_scores`) with the default prompt, with an interval where one exists.

    Intervals: Newcombe's over queries or texts (scores in 0..1), a paired bootstrap over pairs (STS, difference of
    Spearman correlations); none below ten units or where a task type keeps no scores per text. Columns: model, task, task_type, before, after,
    difference, low, high, n_units.
    """
    cells = task_scores(scores[scores["kind"] == "default"]).dropna(subset=["score"])
    means = cells.groupby(["task", "task_type", "model"], sort=False)["score"].mean()
    rows = []
    for (task, task_type, model), after in means.items():
        before = means.get((task, task_type, base))
        if model == base or before is None:
            continue
        prompt = cells.loc[cells["task"] == task, "prompt_id"].iloc[0]
        interval = _unit_interval(queries, task, prompt, model, base, n_boot, seed)
        rows.append((model, task, task_type, before, after, after - before, *interval))
    columns = ["model", "task", "task_type", "before", "after", "difference", "low", "high", "n_units"]
    return pd.DataFrame(rows, columns=columns).sort_values(["task_type", "task", "model"], ignore_index=True)


def _unit_interval(
    queries: pd.DataFrame, task: str, prompt: str, model: str, base: str, n_boot: int, seed: int
) -> tuple[float, float, int]:
    """(low, high, n): 95 % interval of the difference over the n queries or pairs that both models were scored on."""
    low = high = float("nan")
    if queries.empty:
        return low, high, 0
    part = queries[(queries["task"] == task) & (queries["prompt_id"] == prompt)]
    key = ["subset", "split", "query_id"]
    both = part[part["model"] == model].merge(part[part["model"] == base], on=key, suffixes=("", "_base"))
    units = both[["score", "score_base"]].to_numpy(float)
    if len(both) < FEWEST or both["subset"].nunique() > 1:
        return low, high, len(both)
    if both["gold"].isna().all():
        return *paired_proportions([(units[:, 0], units[:, 1])]), len(both)
    if n_boot < 1:
        return low, high, len(both)
    draws = score_draws(units, min(n_boot, 1000), seed, both["gold"].to_numpy(float))
    low, high = zeroed(np.nanquantile(draws[:, 0] - draws[:, 1], [0.025, 0.975]))
    return float(low), float(high), len(both)


def sensitivity_change(
    scores: pd.DataFrame, others: pd.DataFrame, base: str, tasks: Sequence[str], draws: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The loop that neither study closes: does the tuned model depend less on its prompt? (per task, per model).

    First table: `sensitivity_table` of base and tuned models on the tasks swept with all prompts, and of the tuned ones
    `cv_ratio`, the coefficient of variation over that of the base with the same prompts, with its interval. Second: each model's
    rank interval on the board of the study's other models (`others`, scores of step 02, without further variants of
    the base model) and itself, prompts drawn at random; the base model's row is the board before.
    """
    cells = task_scores(scores[scores["task"].isin(tasks)])
    if cells.empty:
        return pd.DataFrame(), pd.DataFrame()
    spread = sensitivity_table(cells, draws=draws, seed=seed)
    ratios = [_cv_change(cells, row.model, base, row.task) for row in spread.itertuples()]
    spread[["cv_ratio", "cv_ratio_low", "cv_ratio_high"]] = ratios
    rivals = others[others["task"].isin(tasks)] if len(others) else others
    rivals = other_models(rivals, cells["model"].unique())
    rival_cells = task_scores(rivals) if len(rivals) else cells.iloc[:0]
    ranks = []
    for model in cells["model"].unique() if len(rival_cells) else []:
        board = pd.concat([rival_cells, cells[cells["model"] == model].assign(variant_of=None)], ignore_index=True)
        drawn = prompt_scores(board)
        table = rank_table(random_boards(drawn.values, draws, seed=seed), drawn.models)
        ranks.append(table[table["model"] == model].assign(n_models=len(drawn.models)))
    return spread, pd.concat(ranks, ignore_index=True) if ranks else pd.DataFrame()


def _cv_change(cells: pd.DataFrame, model: str, base: str, task: str) -> tuple[float, float, float]:
    """`cv_ratio` of a tuned model and the base on one task, over the prompts that both were scored with."""
    part = cells[(cells["task"] == task) & (cells["kind"] == "prompt")].dropna(subset=["score"])
    after, before = (part[part["model"] == name].set_index("prompt_id")["score"] for name in (model, base))
    both = pd.concat([after, before], axis=1, join="inner").to_numpy(float)
    return cv_ratio(both[:, 0], both[:, 1]) if model != base else (np.nan, np.nan, np.nan)


def cv_ratio(after: np.ndarray, before: np.ndarray) -> tuple[float, float, float]:
    """(ratio, low, high): a coefficient of variation over another, of scores (n,) under the same n prompts.

    95 % interval: the jackknife of the log ratio with t(n - 1), which keeps the pairing and asks for no normal scores.
    NaN where fewer than five prompts, a spread of 0 or a mean that is not positive leave nothing to compare.
    Miller (1968), Jackknifing variances, Annals of Mathematical Statistics 39.

    >>> before = np.array([0.5, 0.6, 0.7, 0.8, 0.6])
    >>> np.round(cv_ratio(0.7 + (before - 0.7) / 2, before), 2)
    array([0.48, 0.42, 0.54])
    """
    n = len(after)
    samples = [np.arange(n), *(np.delete(np.arange(n), i) for i in range(n))] if n >= 5 else []
    spread = np.array([[np.std(levelled(x[s]), ddof=1), x[s].mean()] for x in (after, before) for s in samples])
    if not samples or (spread <= 0).any():
        return float("nan"), float("nan"), float("nan")
    first, second = np.log(spread[:, 0] / spread[:, 1]).reshape(2, -1)
    full, *left_out = first - second
    error = np.sqrt((n - 1) ** 2 / n * np.var(left_out, ddof=1))
    low, high = np.exp(full + np.array([-1, 1]) * stats.t.ppf(0.975, n - 1) * error)
    return float(np.exp(full)), float(low), float(high)
