"""Anchored scores against full ones, replayed: `python -m benchmarks.budget RUN_FOLDER [replays=200]`.

The run folder holds a full sweep with the baseline `default` (its tables `query_scores` and `scores`). For every model and
test set whose items have scores of their own, parts of a tenth, a quarter and a half are drawn again and again, the
default stays whole, and the scores of the prompts are estimated (`helpers.sweep.anchored`). Printed, as Markdown: mean
absolute error of a prompt's score from independent parts and anchored, their ratio, coverage of the 90 % interval, the
spread over prompts in full, raw and corrected, agreement of "above the default", Kendall's tau of the prompts' order.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.stats import unit_scores
from helpers.sweep.anchored import anchored, spread
from helpers.sweep.part import binned, item_order

SHARES = (0.1, 0.25, 0.5)
SET = ["model", "task", "subset", "split"]


def replayed(items: np.ndarray, anchor: np.ndarray, gold: np.ndarray | None, strata: list[object], share: float,
             replays: int) -> dict[str, float]:  # fmt: skip
    """Means over the replays of one test set: items (N, k) of the prompts, anchor (N,), gold (N,) or None."""
    true, whole = unit_scores(items, gold), float(unit_scores(anchor[:, None], gold)[0])
    n, rows = max(3, round(share * len(items))), []
    rng = np.random.default_rng(0)
    for seed in range(replays):
        part = item_order(strata, seed)[:n]
        some = None if gold is None else gold[part]
        found = anchored(items[part], anchor[part], whole, len(items), some)
        low, high = found.intervals(0.9)
        apart = [
            float(unit_scores(items[own][:, [p]], None if gold is None else gold[own])[0])
            for p in range(items.shape[1]) for own in [rng.choice(len(items), n, replace=False)]
        ]  # fmt: skip
        raw, corrected = spread(found.scores, found.covariance)
        rows.append({
            "independent": np.abs(np.array(apart) - true).mean(), "anchored": np.abs(found.scores - true).mean(),
            "coverage": ((low <= true) & (true <= high)).mean(), "raw": raw, "corrected": corrected,
            "same side": (np.sign(found.scores - whole) == np.sign(true - whole)).mean(),
            "tau": stats.kendalltau(found.scores, true).statistic,
        })  # fmt: skip
    means = pd.DataFrame(rows).mean().to_dict()
    squares = float(np.sqrt(np.mean([r["corrected"] ** 2 for r in rows])))
    return means | {"true": float(np.std(true, ddof=1)), "ratio": means["anchored"] / means["independent"],
                    "corrected": squares, "items": n, "of": len(items)}  # fmt: skip


def main(folder: str, replays: int = 200) -> None:
    """Print one row per model, test set and share."""
    units = pd.read_parquet(Path(folder) / "tables" / "query_scores.parquet")
    print(
        "| model | task | items | of | independent | anchored | ratio | 90 % | spread | raw | corrected | side | tau |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for (model, task, *_), part in units.groupby(SET, sort=True, observed=True):
        wide = part.pivot_table(index="query_id", columns="prompt_id", values="score")
        if "default" not in wide:
            continue
        gold = None
        if part["gold"].notna().any():
            gold = part.drop_duplicates("query_id").set_index("query_id")["gold"].reindex(wide.index).to_numpy(float)
        prompts = wide.drop(columns=["default", "none"], errors="ignore").to_numpy(float)
        strata = binned(gold) if gold is not None else np.zeros(len(wide))
        for share in SHARES:
            r = replayed(prompts, wide["default"].to_numpy(float), gold, list(strata), share, replays)
            numbers = " | ".join(f"{r[c]:.4f}" for c in ("independent", "anchored"))
            spreads = " | ".join(f"{r[c]:.4f}" for c in ("true", "raw", "corrected"))
            print(f"| {model} | {task} | {r['items']} | {r['of']} | {numbers} | {r['ratio']:.2f} | {r['coverage']:.3f} | "
                  f"{spreads} | {r['same side']:.2f} | {r['tau']:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
