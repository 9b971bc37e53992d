"""Choice: which prompt to use for a model and a task, how sure that is, and what of its gain is luck.

The best of k prompts on some queries looks better than it is (winner's curse). So each candidate's gain over the default
stands with an interval, the choice by mean beside the choice by lower bound, and beside both the gain that remains on
queries that did not choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.errors import StudyError
from helpers.base.names import unknown
from helpers.base.stats import score_draws, unit_scores
from helpers.scores.cells import as_cells
from helpers.study.load import IN_RUN_FOLDER
from helpers.study.run import Run, tables_of
from helpers.sweep.mean_prompt import mean_prompt

LEAST_UNITS = 20  # below, no interval of a mean of so uneven differences holds its level

SAME_SCORE = 1e-4  # mteb rounds its scores to five decimals

CANDIDATES = [
    "model", "task", "prompt_id", "kind", "prompt", "n_units", "score", "gain", "low", "high", "bound", "gain_over_none",
    "best_mean", "best_bound", "honest_gain", "honest_low", "honest_high",
]  # fmt: skip

Units = list[tuple[np.ndarray, np.ndarray | None]]  # per test set: (n_units, k) scores and, for correlations, the gold


def choose_prompt(
    scores: pd.DataFrame,
    query_scores: pd.DataFrame | None = None,
    reference: str = "default",
    level: float = 0.95,
    folds: int = 5,
    repeats: int = 10,
    draws: int = 1_000,
    seed: int = 42,
    with_mean: bool = False,
) -> pd.DataFrame:
    """Every candidate prompt of every model and task, best first, with what choosing it would bring.

    scores: a table of scores (`run_sweep`, or `scores` of a run). query_scores: the scores of single queries; None takes
    those of the same run folder where `scores` knows it. with_mean: a row `(mean)` scores the mean embedding of all prompts
    (`helpers.sweep.mean_prompt`), a remedy that needs no choice and is never chosen here; its models must be at hand.
    Columns (`CANDIDATES`):

    - score; gain: score minus that of `reference`; gain_over_none: minus that without a prompt.
    - low, high: interval of the gain at `level`, gain -+ t(n - 1) x the paired bootstrap's standard error.
    - bound: lower bound of the gain that holds for all candidates of a cell at once (Bonferroni).
    - best_mean: has the largest score; best_bound: has the largest bound.
    - honest_gain (of these two): mean gain on queries that did not choose, over `repeats` x `folds` splits: each time
      the same rule chooses on the other folds. honest_low, honest_high: corrected resampled t interval (Nadeau & Bengio
      2003, doi:10.1023/A:1024068626366).

    Intervals are missing below 20 queries or pairs, and for tasks whose score is not that of the units that are kept.
    """
    if query_scores is None:
        query_scores = tables_of(scores, "query_scores")
    if with_mean:
        scores, query_scores = _with_mean(scores, query_scores)
    cells = as_cells(scores)
    kinds = sorted(set(cells["kind"]) - {"prompt"})
    if reference not in kinds:
        raise StudyError(f"choose_prompt: {unknown('reference', reference, kinds)}; sweep it as a baseline")
    frames = []
    for (model, task), part in cells.groupby(["model", "task"], sort=True):
        part = part[part["score"].notna()]
        if reference in set(part["kind"]) and (part["kind"] == "prompt").any():
            units = _units(query_scores, str(model), str(task), list(part["prompt_id"]))
            if units and np.abs(_score(units) - part["score"].to_numpy(float)).max() > SAME_SCORE:
                units = []  # e.g. nDCG@10 is kept per query, but the task's score is another one
            frames.append(_candidates(part, units, reference, level, folds, repeats, draws, seed))
    if not frames:
        return pd.DataFrame(columns=CANDIDATES)
    return pd.concat(frames, ignore_index=True)[CANDIDATES]


def chosen(candidates: pd.DataFrame) -> pd.DataFrame:
    """One row per model and task: the prompt with the best mean and the one with the best bound, and the verdict.

    Columns model, task, n_units, by_mean, gain, honest_gain, honest_low, honest_high, by_bound, bound, verdict: `better
    than the default` where the bound is above 0, `not distinguishable` where it is not, `unknown` without intervals.
    """
    rows = []
    for (model, task), part in candidates.groupby(["model", "task"], sort=True):
        mean, bound = part[part["best_mean"]].iloc[0], part[part["best_bound"]]
        best = bound.iloc[0] if len(bound) else None
        verdict = "unknown" if best is None else "better" if best["bound"] > 0 else "not distinguishable"
        rows.append(
            {
                "model": model, "task": task, "n_units": mean["n_units"], "by_mean": mean["prompt"], "gain": mean["gain"],
                "honest_gain": mean["honest_gain"], "honest_low": mean["honest_low"], "honest_high": mean["honest_high"],
                "by_bound": None if best is None else best["prompt"],
                "bound": np.nan if best is None else best["bound"], "verdict": verdict,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def _with_mean(scores: pd.DataFrame, units: pd.DataFrame | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    folder = scores.attrs.get("run")
    if folder is None:
        raise StudyError("choose_prompt: with_mean needs scores that know their run folder, as run_sweep returns them")
    rows, its_units = mean_prompt(Run.open(Path(folder) / IN_RUN_FOLDER), list(scores["model"].unique()))
    return pd.concat([scores, rows], ignore_index=True), pd.concat([units, its_units], ignore_index=True)


def _units(table: pd.DataFrame | None, model: str, task: str, ids: list[str]) -> Units:
    """The scores of single units, one array per test set with a column per prompt; empty where one prompt lacks them."""
    if table is None or table.empty:
        return []
    mine = table[(table["model"] == model) & (table["task"] == task)]
    found: Units = []
    for _, part in mine.groupby(["subset", "split"], sort=True, observed=True):
        wide = part.pivot_table(index="query_id", columns="prompt_id", values="score")
        if not set(ids) <= set(wide.columns):
            return []
        wide = wide[ids].dropna()
        gold = part.drop_duplicates("query_id").set_index("query_id")["gold"].reindex(wide.index).to_numpy(float)
        found.append((wide.to_numpy(float), None if np.isnan(gold).all() else gold))
    return found


def _score(units: Units) -> np.ndarray:
    """A task's score of every prompt: the mean over its test sets."""
    return np.mean([unit_scores(values, gold) for values, gold in units], axis=0)


def _candidates(
    part: pd.DataFrame, units: Units, reference: str, level: float, folds: int, repeats: int, draws: int, seed: int
) -> pd.DataFrame:
    part = part.reset_index(drop=True)
    base = int(np.flatnonzero(part["kind"] == reference)[0])
    score = part["score"].to_numpy(float)
    none = score[(part["kind"] == "none").to_numpy()]
    n = sum(len(values) for values, _ in units)
    out = part[["model", "task", "prompt_id", "kind", "prompt"]].assign(
        n_units=n, score=score, gain=score - score[base], gain_over_none=score - none[0] if len(none) else np.nan
    )
    out["prompt"] = out["prompt"].astype(object).where(out["kind"] == "prompt", "(" + out["kind"] + ")")
    numbers = ["low", "high", "bound", "honest_gain", "honest_low", "honest_high"]
    out[numbers] = np.nan
    candidate = (part["kind"] == "prompt").to_numpy()
    out["best_mean"] = candidate & (np.arange(len(part)) == np.argmax(np.where(candidate, score, -np.inf)))
    out["best_bound"] = False
    if n >= LEAST_UNITS:
        error = _errors(units, base, draws, seed)
        low, high, bound = _intervals(out["gain"].to_numpy(), error, n, int(candidate.sum()), level)
        out["low"], out["high"], out["bound"] = low, high, np.where(candidate, bound, np.nan)
        out["best_bound"] = candidate & (np.arange(len(part)) == np.argmax(np.where(candidate, bound, -np.inf)))
        for rule, row in (
            ("mean", int(out.index[out["best_mean"]][0])),
            ("bound", int(out.index[out["best_bound"]][0])),
        ):
            honest = honest_gain(units, base, candidate, rule, folds, repeats, level, seed)
            out.loc[row, ["honest_gain", "honest_low", "honest_high"]] = honest
            if rule == "mean" and out["best_bound"][row]:
                break
    return out.sort_values("score", ascending=False, kind="stable")


def _errors(units: Units, base: int, draws: int, seed: int) -> np.ndarray:
    """Standard error of each prompt's gain over the reference, by the paired bootstrap over the units."""
    rng = np.random.default_rng(seed)
    boot = np.mean([score_draws(values, draws, rng, gold) for values, gold in units], axis=0)
    n = min(len(values) for values, _ in units)
    # A bootstrap's variance is (n - 1) / n of a sample's.
    return np.nanstd(boot - boot[:, [base]], axis=0, ddof=1) * np.sqrt(n / (n - 1))


def _intervals(
    gain: np.ndarray, error: np.ndarray, n: int, candidates: int, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    width = stats.t.ppf((1 + level) / 2, n - 1) * error
    return gain - width, gain + width, gain - stats.t.ppf(1 - (1 - level) / max(candidates, 1), n - 1) * error


def honest_gain(
    units: Units,
    base: int,
    candidate: np.ndarray,
    rule: str = "mean",
    folds: int = 5,
    repeats: int = 10,
    level: float = 0.95,
    seed: int = 42,
) -> tuple[float, float, float]:
    """Gain over the reference on units that did not choose the prompt, with its corrected resampled t interval.

    Each repeat splits the units of every test set at random into folds; the rule chooses a prompt on all but one fold,
    and its gain on that fold counts. rule: `mean` takes the largest score, `bound` the largest lower bound. candidate:
    which columns may be chosen, a boolean array (k,).
    """
    rng = np.random.default_rng(seed)
    gains = []
    for _ in range(repeats):
        fold_of = [rng.permutation(np.arange(len(values)) % folds) for values, _ in units]
        for fold in range(folds):
            rest = _subset(units, [of != fold for of in fold_of])
            held_out = _score(_subset(units, [of == fold for of in fold_of]))
            best = _best(rest, base, candidate, rule, level)
            gains.append(held_out[best] - held_out[base])
    mean, spread = float(np.mean(gains)), float(np.std(gains, ddof=1))
    error = spread * np.sqrt(1 / len(gains) + 1 / (folds - 1))
    width = float(stats.t.ppf((1 + level) / 2, len(gains) - 1)) * error
    return mean, mean - width, mean + width


def _subset(units: Units, masks: Sequence[np.ndarray]) -> Units:
    return [
        (values[mask], None if gold is None else gold[mask]) for (values, gold), mask in zip(units, masks, strict=True)
    ]


def _best(units: Units, base: int, candidate: np.ndarray, rule: str, level: float) -> int:
    score = _score(units)
    if rule == "bound":
        n = sum(len(values) for values, _ in units)
        if any(gold is not None for _, gold in units):
            error = _errors(units, base, 100, 0)
        else:  # of a mean the bootstrap's standard error is known
            gaps = [values - values[:, [base]] for values, _ in units]
            error = np.sqrt(np.sum([g.var(axis=0, ddof=1) / len(g) for g in gaps], axis=0)) / len(gaps)
        score = _intervals(score - score[base], error, n, int(candidate.sum()), level)[2]
    return int(np.argmax(np.where(candidate, score, -np.inf)))
