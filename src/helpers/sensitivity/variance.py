"""What share of a score is wording? Variance components by a linear mixed model (statsmodels, REML)."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.ties import levelled
from helpers.scores.cells import as_cells

SOURCES = ("model", "task", "model x task", "prompt", "model x prompt + residual")

COLUMNS = ["source", "variance", "share", "share_on_task", "share_low", "share_high", "share_on_task_low",
           "share_on_task_high"]  # fmt: skip


def variance_components(cells: pd.DataFrame, intervals: bool = True, level: float = 0.95) -> pd.DataFrame:
    """Split the variance of prompt scores into model, task, model x task, prompt within task, and the rest.

    cells: a table of scores, or its `task_scores`; only written prompts with a score are used. Model
        score = mean + model + task + model x task + prompt(task) + rest
    with independent normal effects. Tasks, their models and their prompts are random; the few models are estimated
    as fixed effects and their variance is that of the estimates less that of their errors. One score per model and
    prompt cannot tell model x prompt from noise: both are in the rest (see `noise` for a split).

    Columns source, variance, share (of all), share_on_task (of what remains on one task: without the task effect),
    and with `intervals` share_low/high, share_on_task_low/high: jackknife over tasks on the logit scale with
    t(tasks - 1) quantiles; NaN for fewer than 4 tasks. Unbalanced prompts and holes are allowed.
    One model: no model effects. One task: no task effect, and the model effect is model x task.
    No rows where no cell has two prompts or all scores are equal: there is no variance to split.
    """
    cells = as_cells(cells)
    data = cells[(cells["kind"] == "prompt") & cells["score"].notna()][["model", "task", "prompt_id", "score"]]
    data = data.astype(dict.fromkeys(("model", "task", "prompt_id"), object)).reset_index(drop=True)
    if len(data) < 2 or data.groupby(["model", "task"]).size().max() < 2:
        return pd.DataFrame(columns=COLUMNS)
    if np.ptp(levelled(data["score"])) == 0:
        return pd.DataFrame(columns=COLUMNS)
    components = _fit(data)
    table = _shares(components)
    tasks = sorted(data["task"].unique())
    if intervals:
        table[COLUMNS[4:]] = _jackknife(data, tasks, table, level) if len(tasks) >= 4 else np.nan
    return table


def _fit(data: pd.DataFrame) -> dict[str, float]:
    """REML estimates of the five components; those that the data cannot show are NaN."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    models, tasks = data["model"].nunique(), data["task"].nunique()
    scale = data["score"].std(ddof=0)
    data = data.assign(y=data["score"] / scale, group=data["task"] if tasks > 1 else "all")
    parts = {"prompt": "0 + C(prompt_id)"} if models > 1 else {}
    if models > 1 and tasks > 1:
        parts["model"] = "0 + C(model)"
    fixed = "y ~ C(model, Sum)" if models > 1 else "y ~ 1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a component at 0 is a result here, not a failure
        if not parts and tasks == 1:
            return {"model": np.nan, "task": np.nan, "model x task": np.nan, "prompt": np.nan,
                    "model x prompt + residual": float(data["score"].var())}  # fmt: skip
        formula = {"re_formula": "1" if tasks > 1 else "0", "vc_formula": parts or None}
        model = MixedLM.from_formula(fixed, groups="group", data=data, **formula)
        fit = model.fit(reml=True, method=["lbfgs", "powell"])
    names = sorted(parts)  # the order in which statsmodels keeps its components
    found = dict(zip(names, np.atleast_1d(fit.vcomp), strict=True))
    out = {
        "model": np.nan,
        "task": float(np.asarray(fit.cov_re)[0, 0]) if tasks > 1 else np.nan,
        "model x task": float(found["model"]) if "model" in found else np.nan,
        "prompt": float(found["prompt"]) if "prompt" in found else np.nan,
        "model x prompt + residual": float(fit.scale),
    }
    if models > 1:
        effects = np.asarray(fit.fe_params)[1:]
        error = np.asarray(fit.cov_params())[1:models, 1:models]
        contrast = np.vstack([np.eye(models - 1), -np.ones(models - 1)])
        between = float((contrast @ effects).var(ddof=1) - np.trace(contrast @ error @ contrast.T) / (models - 1))
        out["model" if tasks > 1 else "model x task"] = max(between, 0.0)
    return {k: v * scale**2 for k, v in out.items()}


def _shares(components: dict[str, float]) -> pd.DataFrame:
    table = pd.DataFrame({"source": list(SOURCES), "variance": [components[s] for s in SOURCES]})
    total = np.nansum(table["variance"])
    on_task = total - (0 if np.isnan(components["task"]) else components["task"])
    table["share"] = table["variance"] / total if total > 0 else np.nan
    table["share_on_task"] = table["variance"] / on_task if on_task > 0 else np.nan
    table.loc[table["source"] == "task", "share_on_task"] = np.nan
    return table


def _jackknife(data: pd.DataFrame, tasks: list[str], full: pd.DataFrame, level: float) -> np.ndarray:
    """Intervals of both shares of every component from leaving out one task at a time."""
    left = [_shares(_fit(data[data["task"] != t])) for t in tasks]
    n, out = len(tasks), []
    for column in ("share", "share_on_task"):
        value = _logit(full[column].to_numpy(float))
        pseudo = n * value - (n - 1) * np.array([_logit(t[column].to_numpy(float)) for t in left])
        error = pseudo.std(axis=0, ddof=1) / np.sqrt(n)
        reach = stats.t.ppf((1 + level) / 2, n - 1) * error
        own = full[column].to_numpy(float)  # 0 and 1 have no logit; the interval holds them all the same
        out += [np.minimum(_expit(value - reach), own), np.maximum(_expit(value + reach), own)]
    return np.stack(out, 1)


def _logit(share: np.ndarray) -> np.ndarray:
    inside = np.clip(share, 1e-4, 1 - 1e-4)
    return np.log(inside / (1 - inside))


def _expit(value: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-value))
