"""Phrases: counted nouns with the right plural, and extremes with everything that ties for them.

A sentence must not change when the rows of its table do: whoever ties is named, in alphabetical order.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from helpers.base.ties import compare


def count(n: int, noun: str, many: str = "") -> str:
    """A number with its noun; `many` is the plural where that is not the noun with an s.

    >>> count(1, "task"), count(2, "task"), count(0, "query", "queries")
    ('1 task', '2 tasks', '0 queries')
    """
    return f"{n} {noun if n == 1 else many or noun + 's'}"


def out_of(n: int, total: int, noun: str, many: str = "") -> str:
    """A part of a counted whole: "1 of 3 tasks", "0 of 1 task"."""
    return f"{n} of {count(total, noun, many)}"


def choose(n: int, one: str, many: str) -> str:
    """The form of a word that goes with a number: `choose(1, "is", "are")` is "is"."""
    return one if n == 1 else many


def listed(names: Iterable[str], most: int = 2) -> str:
    """Names in alphabetical order as running text, of which at most `most` are written out.

    >>> listed("b"), listed("cab", most=3), listed("dcba")
    ('b', 'a, b and c', 'a, b and 2 others')
    """
    ordered = sorted(map(str, names))
    if len(ordered) > most + 1:  # "and 1 other" is no shorter than the name
        ordered = [*ordered[:most], f"{len(ordered) - most} others"]
    return " and ".join([part for part in (", ".join(ordered[:-1]), *ordered[-1:]) if part])


def signed(value: float, digits: int = 3) -> str:
    """A number with its sign; what rounds to nothing is +0, whichever way it came there."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def is_highest(values: pd.Series) -> pd.Series:
    """True at the entries that share the largest value; nowhere where all are missing."""
    return (compare(values, values.max()) == 0) & values.notna()


def is_lowest(values: pd.Series) -> pd.Series:
    """True at the entries that share the smallest value; nowhere where all are missing."""
    return is_highest(-values)


def is_farthest(values: pd.Series) -> pd.Series:
    """True at the entries that share the largest absolute value: gains and losses alike."""
    return is_highest(values.abs())


def cells_named(rows: pd.DataFrame, most: int = 2) -> str:
    """Rows by model and task in words: "a on T and b on T"."""
    return listed((f"{m} on {t}" for m, t in zip(rows["model"], rows["task"], strict=True)), most)


def units_of(rows: pd.DataFrame) -> tuple[str, str]:
    """What one row per model, task and subset is, as noun and plural.

    A pair of model and task where no task has several subsets, else a combination of the three: the languages of one
    task are not tasks.
    """
    if "subset" in rows and (rows.groupby(["model", "task"])["subset"].nunique() > 1).any():
        return "combination of model, task and subset", "combinations of model, task and subset"
    return "pair of model and task", "pairs of model and task"


def out_of_sets(n: int, rows: pd.DataFrame) -> str:
    """A part of the rows of a table with one row per model, task and subset: "3 of 8 pairs of model and task"."""
    one, many = units_of(rows)
    if one.startswith("pair"):
        return out_of(n, len(rows), one, many)
    about = f"{count(rows['model'].nunique(), 'model')}, {count(rows['task'].nunique(), 'task')}"
    return f"{out_of(n, len(rows), one, many)} ({about})"


def extent(rows: pd.DataFrame) -> str:
    """What rows by instruction, model, task and subset are made of: "47 instructions in 2 pairs of model and task"."""
    sets = rows[["model", "task", "subset"]].drop_duplicates()
    return f"{count(rows['instruction_id'].nunique(), 'instruction')} in {count(len(sets), *units_of(sets))}"
