"""Estimates: scores on a part of the items, anchored at the prompt that was scored on all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.stats import unit_scores
from helpers.sweep.anchored import Anchored, anchored, spread

Found = tuple[Path, dict[str, Any]]  # a cell's file and its record

SET = ("model", "task", "subset", "split")

UNITS_MEAN = 1e-3  # how near the score that the items make must be to mteb's: ties of cosines break by their last digit

COLUMNS = [*SET, "prompts", "items", "items_of", "error", "spread", "spread_corrected"]


def with_estimates(rows: list[dict[str, Any]], cells: Sequence[Found]) -> list[dict[str, Any]]:
    """Rows of the scores table with the anchored score, its standard error and the items behind it.

    rows: one per cell, in the same order. A cell on a part whose anchor is not there is not finished.
    """
    for row in rows:
        row.update(estimate="full", standard_error=0.0)
    for group in _groups(cells):
        whole = next((n for n in group if cells[n][1].get("items") is None and _units(cells[n]) is not None), None)
        part = [n for n in group if cells[n][1].get("items") is not None]
        if not part:
            continue
        if whole is None:
            for n in part:
                rows[n].update(
                    main_score=None, status="missing", reason="its anchor, a prompt on all items, is not computed"
                )
            continue
        found = _anchored(cells[whole], [cells[n] for n in part])
        for n, score, error in zip(part, found.scores, found.errors, strict=True):
            rows[n].update(main_score=float(score), standard_error=float(error), estimate="anchored",
                           items=found.items, items_of=found.items_of)  # fmt: skip
        rows[whole].update(items=found.items_of, items_of=found.items_of)
    return rows


def spreads(cells: Sequence[Found]) -> pd.DataFrame:
    """One row per test set that has prompts on a part of its items: the spread over prompts, as estimated and corrected.

    spread, spread_corrected: standard deviations over prompts (ddof 1), with and without the errors of the estimates
    (`anchored.spread`).
    """
    rows = []
    for group in _groups(cells):
        whole = next((n for n in group if cells[n][1].get("items") is None and _units(cells[n]) is not None), None)
        part = [n for n in group if cells[n][1].get("items") is not None and cells[n][1]["kind"] == "prompt"]
        if whole is None or len(part) < 2:
            continue
        found = _anchored(cells[whole], [cells[n] for n in part])
        raw, corrected = spread(found.scores, found.covariance)
        slot = cells[whole][1]["slot"]
        rows.append(
            [
                *(slot[key] for key in SET),
                len(part),
                found.items,
                found.items_of,
                float(np.median(found.errors)),
                raw,
                corrected,
            ]
        )
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS))


def _groups(cells: Sequence[Found]) -> Iterable[list[int]]:
    groups: dict[tuple[Any, ...], list[int]] = {}
    for n, (_, record) in enumerate(cells):
        groups.setdefault(tuple(record["slot"][key] for key in SET), []).append(n)
    return groups.values()


def _anchored(whole: Found, part: Sequence[Found]) -> Anchored:
    """The anchored scores of cells on one part of the items.

    Raises ValueError where the items do not make the score that mteb gave to the anchor.
    """
    full = _units(whole)
    assert full is not None
    values = [units["score"].to_numpy(float) for units in map(_units, part) if units is not None]
    gold = full["gold"].to_numpy(float) if full["gold"].notna().any() else None
    total = float(unit_scores(full[["score"]].to_numpy(float), gold)[0])
    if abs(total - whole[1]["main_score"]) > UNITS_MEAN:
        slot = whole[1]["slot"]
        raise ValueError(f"{slot['model']} x {slot['task']}: its items do not make its main score; set budget: full")
    rows = _rows(full, part)
    some = None if gold is None else gold[rows]
    return anchored(
        np.column_stack(values), full["score"].to_numpy(float)[rows], whole[1]["main_score"], len(full), some
    )


def _rows(full: pd.DataFrame, part: Sequence[Found]) -> np.ndarray:
    """Where the items of the part stand among all of them."""
    ids = pd.Index(full["query_id"])
    return ids.get_indexer(_units(part[0])["query_id"])  # type: ignore[index]


def _units(cell: Found) -> pd.DataFrame | None:
    path = cell[0].with_suffix(".parquet")
    return pd.read_parquet(path) if path.is_file() else None
