"""Marks: parts that the charts of all chapters share."""

from __future__ import annotations

import altair as alt
import pandas as pd


def plain(table: pd.DataFrame) -> pd.DataFrame:
    """The frame with text columns as ordinary objects and missing text as None, as JSON wants them."""
    text = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c])]
    out = table.copy()
    for column in text:
        out[column] = out[column].astype(object).where(out[column].notna(), None)
    return out


def model_highlight() -> alt.Parameter:
    """Click a model's mark to bring it forward; a click beside the marks or a double click resets."""
    return alt.selection_point(fields=["model"], on="click", clear="dblclick", empty=True)
