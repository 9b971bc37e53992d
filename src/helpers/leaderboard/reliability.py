"""How many prompts and tasks a stable order of models takes: a decision study of generalisability theory."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, logit

from helpers.scores.cells import as_cells
from helpers.sensitivity.variance import variance_components

TASKS = (1, 2, 3, 5, 8, 11, 15, 20, 30, 50)

PROMPTS = (1, 3, 5, 15, 50)

LEAST = 5  # tasks, below which the interval of the jackknife says nothing

COLUMNS = ["n_tasks", "n_prompts", "g", "low", "high", "tau"]

PARTS = ["source", "share", "reason"]


def reliability_curve(cells: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Reliability of the models' mean scores over `n_tasks` tasks with `n_prompts` prompts each (`COLUMNS`).

    With the components of `variance_components`, every task in its own standard deviations,
        g = model / (model + model x task / n_tasks + (model x prompt + residual) / (n_tasks n_prompts)),
    the relative generalisability coefficient (Brennan 2001, Generalizability Theory): the correlation between the mean
    scores of these models on two such boards of other tasks and prompts. tau = 2 / pi asin(g): Kendall's tau expected
    between the two orders if scores are normal (Kendall & Gibbons 1990, Rank Correlation Methods). low, high: jackknife
    over tasks of g on the logit scale, t(tasks - 1); NaN with fewer than `LEAST` tasks. Empty with fewer than 2 models
    or tasks that have at least 2 prompts.
    """
    cells = as_cells(cells)
    parts = _components(cells)
    if parts is None:
        return pd.DataFrame(columns=COLUMNS)
    tasks = list(cells.loc[(cells["kind"] == "prompt") & cells["score"].notna(), "task"].unique())
    every = [_components(cells[cells["task"] != out]) for out in tasks] if len(tasks) >= LEAST else []
    left = [found for found in every if found is not None]
    sizes = [(t, p) for p in PROMPTS for t in TASKS]
    g = _coefficients(parts, sizes)
    low = high = np.full(len(sizes), np.nan)
    if left and len(left) == len(every):
        n, value = len(left), _logit(g)
        pseudo = n * value - (n - 1) * _logit(np.array([_coefficients(found, sizes) for found in left]))
        reach = stats.t.ppf((1 + level) / 2, n - 1) * pseudo.std(axis=0, ddof=1) / np.sqrt(n)
        low, high = expit(value - reach), expit(value + reach)
    table = pd.DataFrame(sizes, columns=["n_tasks", "n_prompts"])
    return table.assign(g=g, low=low, high=high, tau=2 / np.pi * np.arcsin(g))


def sources_of_error(cells: pd.DataFrame, noise: pd.DataFrame | None = None) -> pd.DataFrame:
    """What one score of one prompt consists of, every task in its own standard deviations: source, share, reason.

    The rest of `variance_components` is split into the test set's noise (half the squared error of a difference of two
    prompts, `query_noise`, mean over the cells that have it) and what remains, wording that suits one model. A source
    that cannot be seen has no share and a reason.
    """
    cells = as_cells(cells)
    components = variance_components(cells, intervals=False).set_index("source")["share_own_scale"]
    if components.empty:
        return pd.DataFrame(columns=PARTS)
    rest, found = components["model x prompt + residual"], _noise_share(cells, noise)
    known = np.isfinite(found)
    missing = "" if known else "no scores of single queries on these tasks (at least 20 per test set)"
    rows = [(s, components[s], "") for s in ("model", "model x task", "prompt")]
    rows += [
        ("model x prompt" if known else "model x prompt + residual", max(rest - found, 0.0) if known else rest, ""),
        ("test-set noise", min(found, rest) if known else np.nan, missing),
        (
            "training seed",
            np.nan,
            "a board scores each model as it is; what another training seed changes is looked at in step 06",
        ),
    ]
    return pd.DataFrame(rows, columns=PARTS)


def _noise_share(cells: pd.DataFrame, noise: pd.DataFrame | None) -> float:
    """Mean over the cells of half the squared error of a difference of prompts, in variances of the task's scores."""
    if noise is None or noise["paired_error"].isna().all():
        return float("nan")
    written = cells[cells["kind"] == "prompt"]
    variance = written.groupby("task")["score"].var(ddof=0)
    known = noise[noise["model"].isin(written["model"])].dropna(subset=["paired_error"])
    own = (known["paired_error"] ** 2 / 2).groupby([known["model"], known["task"]])
    shares = own.sum() / own.size() ** 2 / variance.reindex(own.sum().index.get_level_values("task")).to_numpy()
    return float(shares.groupby("task").mean().mean())


def _components(cells: pd.DataFrame) -> np.ndarray | None:
    """Model, model x task and the rest; None where one of them cannot be seen."""
    table = variance_components(cells, intervals=False).set_index("source")["share_own_scale"]
    found = table.reindex(["model", "model x task", "model x prompt + residual"]).to_numpy(float)
    return found if np.isfinite(found).all() else None


def _coefficients(parts: np.ndarray, sizes: list[tuple[int, int]]) -> np.ndarray:
    tasks, prompts = np.array(sizes).T
    error = parts[1] / tasks + parts[2] / (tasks * prompts)
    return parts[0] / np.maximum(parts[0] + error, 1e-12)


def _logit(share: np.ndarray) -> np.ndarray:
    return logit(np.clip(share, 1e-4, 1 - 1e-4))
