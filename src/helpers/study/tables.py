"""Tables: what a run may save, declared by the room that makes it in its `tables.yml`: each row, each column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.names import unknown
from helpers.base.yaml import read_yaml

ROOMS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Column:
    """One column: its type (text, number, integer or boolean), its unit, its meaning, and whether it may be absent."""

    name: str
    type: str
    unit: str
    meaning: str
    optional: bool

    @classmethod
    def read(cls, name: str, text: str) -> Column:
        """A column as it is written in `tables.yml`.

        >>> Column.read("tokens", "integer?, tokens | its length")
        Column(name='tokens', type='integer', unit='tokens', meaning='its length', optional=True)
        """
        kind, _, meaning = text.partition(" | ")
        kind, _, unit = kind.partition(", ")
        return cls(name, kind.removesuffix("?"), unit, meaning, kind.endswith("?"))

    def fits(self, values: pd.Series) -> bool:
        """Whether the values that are there have the column's type; whole numbers may be stored as floats."""
        there = values.dropna().infer_objects()
        if there.empty:
            return True
        types = pd.api.types
        if self.type == "text":
            return types.is_string_dtype(there)
        if self.type == "boolean":
            return types.is_bool_dtype(there)
        is_number = types.is_numeric_dtype(there) and not types.is_bool_dtype(there)
        return bool(is_number and (self.type == "number" or (there % 1 == 0).all()))


@dataclass(frozen=True)
class Table:
    """A table that a notebook saves: its step and room, what one row is, the anchors that show it, its columns."""

    name: str
    step: str
    room: str
    row: str
    page: str
    columns: dict[str, Column]


@cache
def declared_tables() -> dict[str, Table]:
    """Every table that a room declares, by its name, in the order of the steps."""
    common = read_yaml(ROOMS / "study" / "columns.yml")
    files = {path.parent.name: read_yaml(path) for path in ROOMS.glob("*/tables.yml")}
    entries: dict[str, Any] = {name: entry for file in files.values() for name, entry in file["tables"].items()}
    found: dict[str, Table] = {}
    for room, file in sorted(files.items(), key=lambda item: (item[1]["step"], item[0])):
        for name, entry in file["tables"].items():
            texts = {**entries.get(entry.get("like"), {}).get("columns", {}), **entry.get("columns", {})}
            columns = {c: Column.read(c, text or common[c]) for c, text in texts.items()}
            found[name] = Table(name, file["step"], room, entry["row"], entry.get("page", ""), columns)
    return found


def completed(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The table; one without rows gets the declared columns that it lacks, so that whoever reads it finds them."""
    declared = declared_tables().get(name)
    if declared is None or len(table):
        return table
    needed = [c.name for c in declared.columns.values() if not c.optional and c.name not in table]
    return table.reindex(columns=[*table.columns, *needed])


def check_table(name: str, table: pd.DataFrame) -> None:
    """Raise ValueError where a declared table has other columns or types; a table that no room declares is free."""
    declared = declared_tables().get(name)
    if declared is None:
        return
    for problem in _problems(declared, table):
        place = f"src/helpers/{declared.room}/tables.yml"
        raise ValueError(f"table '{name}' is not as {place} declares it: {problem}")


def _problems(declared: Table, table: pd.DataFrame) -> Iterator[str]:
    for column in declared.columns.values():
        if column.name not in table:
            if not column.optional:
                yield f"it has no column '{column.name}'"
        elif not column.fits(table[column.name]):
            yield f"column '{column.name}' holds {table[column.name].dtype}, not {column.type}"
    for name in table:
        if name not in declared.columns:
            yield unknown("column", str(name), list(declared.columns))
