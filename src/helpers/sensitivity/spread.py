"""How far the scores of one cell (model x task) spread over its prompts, with bootstrap intervals.

All arrays hold one row per cell and one column per prompt; cells of one call have the same number of prompts.
Convention of the whole suite: a standard deviation of the scores at hand (`sd`, `prompt_sd`, "mean - sd") divides by n
(ddof 0), as the published study does; `prompt_sd` computes it. Standard errors and components of variance, which are about
the prompts or queries that could have been, divide by n - 1.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.base.stats import prompt_sd
from helpers.base.ties import compare, levelled

MEASURES = ("mean", "sd", "cv", "iqr", "range", "mad_median")


def spread(scores: np.ndarray, min_mean: float = 0.02) -> dict[str, np.ndarray]:
    """Mean, standard deviation, CV, interquartile range, range and MAD/median of each row (n_cells, n_prompts).

    cv: sd / |mean|; `cv_reliable` is False where the mean is within 2 standard errors of 0 or below `min_mean` in
    absolute value, or where scores have both signs: there the ratio says little. A mean of 0 gives NaN.
    mad_median: median(|x - median|) / |median|, NaN where the median is 0. One prompt has no spread: its sd, cv, iqr,
    range and mad_median are NaN.
    """
    x = np.atleast_2d(np.asarray(scores, dtype=float))
    n = x.shape[1]
    mean, sd, median = x.mean(1), prompt_sd(x), np.median(x, 1)
    quartile = np.quantile(x, [0.25, 0.75], axis=1)
    mad = np.median(np.abs(x - median[:, None]), 1)
    size, unknown = np.abs(mean), 0.0 if n > 1 else np.nan
    unreliable = (size <= min_mean) | (size <= 2 * sd / np.sqrt(n)) | ((x.min(1) < 0) & (x.max(1) > 0))
    return {
        "mean": mean,
        "sd": sd,
        "cv": _ratio(sd, mean),
        "cv_reliable": ~unreliable & (n > 1),
        "iqr": quartile[1] - quartile[0] + unknown,
        "range": np.ptp(x, axis=1) + unknown,
        "mad_median": _ratio(mad, median) + unknown,
        "median": median,
        "best": x.max(1),
        "worst": x.min(1),
    }


def bootstrap_spread(
    scores: np.ndarray, draws: int = 10_000, level: float = 0.95, seed: int = 42, block: int = 64
) -> dict[str, np.ndarray]:
    """Bootstrap intervals over prompts for every row: `{measure: (n_cells, 2)}` for `MEASURES`.

    The prompts at hand are taken as a random sample of the prompts that somebody could have written; the intervals
    are about that wider set. Methods, chosen for their coverage at 15 prompts (simulated in the tests):
    mean: bootstrap-t; sd and cv: bootstrap-t on the log scale (delta-method standard error); iqr and mad_median: the
    log-ratio pivot; range: plain percentiles, whose upper end can be no more than the observed range (a range grows
    with the number of prompts, so it has no population value to cover). Spread is covered less often than
    `level` says: at 15 prompts and 0.95 about 0.91 for the sd of normal scores, 0.93 uniform, 0.81 exponential.
    Rows with fewer than 3 prompts have no interval (NaN); constant rows have an interval of width 0. An end is NaN
    where too many resamples hold one value only (3 prompts, or nearly all scores equal): it is not known.

    All rows share one set of resampled positions: each interval is as valid as alone, and 1,000 rows cost little.
    """
    x = np.sort(np.atleast_2d(np.asarray(scores, dtype=float)), axis=1)
    n_cells, n = x.shape
    out = {m: np.full((n_cells, 2), np.nan) for m in MEASURES}
    if n < 3 or n_cells == 0:
        return out
    rng = np.random.default_rng(seed)
    positions = np.sort(rng.integers(0, n, size=(n, draws)), axis=0)
    place = positions * draws + np.arange(draws)
    counts = np.bincount(place.ravel(), minlength=n * draws).reshape(n, draws).astype(float)
    tail = [(1 - level) / 2, (1 + level) / 2]
    for start in range(0, n_cells, block):
        rows = slice(start, start + block)
        part = x[rows]
        for measure, interval in _moment_intervals(part, counts, tail).items():
            out[measure][rows] = interval
        for measure, interval in _order_intervals(part, positions, tail).items():
            out[measure][rows] = interval
    return out


def spread_table(cells: pd.DataFrame, draws: int = 10_000, level: float = 0.95, seed: int = 42) -> pd.DataFrame:
    """Spread of each (model, task) of a `task_scores` table over its written prompts, with `<measure>_low/_high`.

    Cells may have different numbers of prompts; missing scores are left out and counted in `n_missing`.
    """
    prompts = cells[cells["kind"] == "prompt"]
    groups: dict[int, list[tuple[tuple[str, str], np.ndarray, int]]] = {}
    for key, part in prompts.groupby(["model", "task"], sort=True):
        found = part["score"].to_numpy(float)
        finite = levelled(found[np.isfinite(found)])
        groups.setdefault(len(finite), []).append((key, finite, len(found) - len(finite)))
    rows = []
    for n, members in sorted(groups.items()):
        values = np.array([m[1] for m in members]) if n else np.full((len(members), 1), np.nan)
        measures = spread(values)
        intervals = bootstrap_spread(values, draws, level, seed) if n else {}
        for i, ((model, task), _, missing) in enumerate(members):
            row = {"model": model, "task": task, "n_prompts": n, "n_missing": missing}
            row |= {name: column[i] for name, column in measures.items()}
            for name, column in intervals.items():
                row |= {f"{name}_low": column[i, 0], f"{name}_high": column[i, 1]}
            rows.append(row)
    table = pd.DataFrame(rows)
    return table.sort_values(["model", "task"], ignore_index=True) if rows else table


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(compare(bottom, 0) == 0, np.nan, top / np.abs(bottom))


def _moment_intervals(x: np.ndarray, counts: np.ndarray, tail: list[float]) -> dict[str, np.ndarray]:
    """Bootstrap-t intervals of mean, log sd and log cv from the resampled first four moments (cells, draws)."""
    n = x.shape[1]
    mean = x.mean(1)
    d = x - mean[:, None]  # centred first: raw fourth moments would cancel
    e1, e2, e3, e4 = (d**k @ counts / n for k in (1, 2, 3, 4))
    square = e1 * e1
    m2 = np.maximum(e2 - square, 0)
    m3 = e3 - 3 * e1 * e2 + 2 * e1 * square
    m4 = e4 - 4 * e1 * e3 + 6 * square * e2 - 3 * square * square
    o2, o3, o4 = (np.mean(d**k, axis=1)[:, None] for k in (2, 3, 4))
    tiny = np.maximum(o2, 1e-300) * 1e-12
    out = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = np.sqrt(o2)
        # A resample of one value has no error: its t is infinite.
        safe, flat = np.maximum(m2, tiny), m2 <= tiny
        low, high = _quantiles(np.where(flat, np.copysign(np.inf, e1), e1 / np.sqrt(safe)), tail)
        out["mean"] = np.stack([mean - high * sd[:, 0], mean - low * sd[:, 0]], 1)
        ratio = 0.5 * np.log(safe / o2)
        for name in ("sd", "cv"):
            if name == "cv":
                centre_b, centre = mean[:, None] + e1, mean[:, None]
                se_b, se = _log_error(m2, m3, m4, centre_b, n, tiny), _log_error(o2, o3, o4, centre, n, tiny)
                ratio = ratio - np.log(np.abs(centre_b / centre))
                estimate = np.log(sd / np.abs(centre))[:, 0]
            else:
                se_b, se = _log_error(m2, m3, m4, None, n, tiny), _log_error(o2, o3, o4, None, n, tiny)
                estimate = np.log(sd)[:, 0]
            low, high = _quantiles(np.where(flat, -np.inf, ratio / se_b), tail)
            out[name] = np.exp(np.stack([estimate - high * se[:, 0], estimate - low * se[:, 0]], 1))
    for interval in out.values():
        interval[~np.isfinite(interval)] = np.nan
    constant = np.ptp(x, axis=1) == 0
    out["mean"][constant] = mean[constant, None]
    out["sd"][constant] = 0.0
    out["cv"][constant] = 0.0
    out["cv"][compare(mean, 0) == 0] = np.nan
    return out


def _quantiles(values: np.ndarray, tail: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper quantile of every row by partition (no interpolation: there are thousands of draws)."""
    n = values.shape[1]
    low, high = int(np.floor(tail[0] * (n - 1))), int(np.ceil(tail[1] * (n - 1)))
    part = np.partition(values, (low, high), axis=1)
    return part[:, low], part[:, high]


def _log_error(
    m2: np.ndarray, m3: np.ndarray, m4: np.ndarray, mean: np.ndarray | None, n: int, tiny: np.ndarray
) -> np.ndarray:
    """Delta-method standard error of log(sd), or of log(sd / mean) where a mean is given."""
    safe = np.maximum(m2, tiny)
    variance = (m4 / (safe * safe) - 1) / 4
    if mean is not None:
        variance = variance + m2 / (mean * mean) - m3 / (safe * mean)
    # Few resampled values can look like two points, whose error is nearly 0; no less than a normal sample's is
    # believed.
    return np.sqrt(np.maximum(variance, 0.5) / n)


def _order_intervals(x: np.ndarray, positions: np.ndarray, tail: list[float]) -> dict[str, np.ndarray]:
    """Intervals of the measures that are made of order statistics; rows of x are sorted, positions (n, draws)."""
    n = x.shape[1]

    def at(q: float) -> np.ndarray:
        place = q * (n - 1)
        low = int(np.floor(place + 1e-12))
        high = min(low + 1, n - 1)
        part = place - low
        lower = x.take(positions[low], axis=1)
        return lower if part < 1e-12 else lower + part * (x.take(positions[high], axis=1) - lower)

    measured = spread(x)
    median = at(0.5)
    mad = np.stack([_mad(row.take(positions), median[i]) for i, row in enumerate(x)])
    out = {"range": np.stack(_quantiles(x.take(positions[-1], axis=1) - x.take(positions[0], axis=1), tail), 1)}
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, boot in (("iqr", at(0.75) - at(0.25)), ("mad_median", mad / np.abs(median))):
            value = measured[name]
            low, high = _quantiles(boot / value[:, None], tail)  # NaN sorts last: an unknown ratio is a large one
            interval = np.stack([value / high, value / low], 1)
            interval[value == 0] = 0.0
            interval[~np.isfinite(interval)] = np.nan  # a resample without spread: the upper end is not known
            out[name] = interval
    return out


def _mad(ordered: np.ndarray, median: np.ndarray) -> np.ndarray:
    """Median absolute deviation of each column (sorted downwards along axis 0), without sorting again.

    The k-th smallest deviation is the smallest reach of k neighbours in order around the median.
    """
    n = len(ordered)

    def smallest(k: int) -> np.ndarray:
        return np.maximum(median - ordered[: n - k + 1], ordered[k - 1 :] - median).min(axis=0)

    return smallest((n + 1) // 2) if n % 2 else (smallest(n // 2) + smallest(n // 2 + 1)) / 2
