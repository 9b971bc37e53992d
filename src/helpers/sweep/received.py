"""What each model received, as tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.study.spec import Study
from helpers.sweep.results import KEY, current_cells


def inputs_table(study: Study, folder: Path, prompts: pd.DataFrame) -> pd.DataFrame:
    """Three samples per side of every cell as they entered the tokenizer, with token counts and truncation share.

    `sample` counts from 0 on each side; `token_digest` is equal where the model reads the same tokens (None on sides
    without the prompt, and in results of earlier versions).
    """
    rows: list[dict[str, Any]] = []
    for _, record in current_cells(study, folder, prompts):
        key = {k: record["slot"][k] for k in KEY}
        seen: Counter[str] = Counter()
        for sample in record["inputs"]:
            rows.append({**key, "kind": record["kind"], "sample": seen[sample["side"]], **sample})
            seen[sample["side"]] += 1
    columns = [
        *KEY,
        "kind",
        "sample",
        "side",
        "prefix",
        "string",
        "tokens",
        "token_digest",
        "truncated",
        "truncated_share",
        "texts",
    ]
    return pd.DataFrame(rows, columns=columns)


def first_samples(inputs: pd.DataFrame) -> pd.DataFrame:
    """One row per model, task, side and way of applying: the first sample's exact string, cut after 160 characters."""
    first = inputs[inputs["sample"] == 0].sort_values(["model", "task", "application", "side"], kind="stable")
    first = first.groupby(["model", "task", "application", "side"], as_index=False).first()
    shown = first[["model", "task", "application", "side", "string", "tokens", "truncated_share"]].copy()
    shown["string"] = [s if len(s) <= 160 else s[:160] + "…" for s in shown["string"]]
    return shown.rename(columns={"truncated_share": "truncated"})
