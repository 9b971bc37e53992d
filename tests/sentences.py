"""What a test asks of a sentence about a table: it must not change when the rows of the table do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from helpers.display.figure import Said


def order_matters_not(function: Callable[..., Any], *given: Any) -> None:
    """The function says the same about its tables in every order of their rows; its sentences may change places."""
    first = _said(function(*given))
    assert first
    for seed in range(4):
        mixed = [g.sample(frac=1, random_state=seed) if isinstance(g, pd.DataFrame) else g for g in given]
        assert _said(function(*mixed)) == first
        fresh = [g.reset_index(drop=True) if isinstance(g, pd.DataFrame) else g for g in mixed]
        assert _said(function(*fresh)) == first


def _said(words: Any) -> Any:
    if isinstance(words, Said):
        return words.title, sorted(words.findings)
    return sorted(map(str, words)) if isinstance(words, list) else words
