"""The page of tables: what a run leaves, written from what the rooms declare (`make docs`)."""

from __future__ import annotations

from helpers.base.files import project_root
from helpers.study.tables import Table, declared_tables

HEAD = """# What a run leaves

<!-- Written by `make docs` from src/helpers/*/tables.yml; change those. -->

Everything is in `data/runs/<study>/` (not in git): `tables/*.parquet`, `findings/*.json`, the executed `notebooks/`,
`logs/`, mteb's own result layout in `results/`, and tuned models as ordinary sentence-transformers folders in `models/`.
`mteb.ResultCache("data/runs/<study>").load_results(load_experiments="match_name")` reads all of `results/`; without
`load_experiments` mteb leaves every prompt out and shows the defaults alone, and its `to_dataframe` averages over prompts.
`run_settings.jsonl` beside each result says the precision, the lengths and the share of texts that were cut.

Every figure and table of the report has its numbers in one file; `fig-` and `tbl-` names are the anchors on the page.

| page | figure or table | table | one row is |
|---|---|---|---|
"""

COLUMNS = """
Columns, in their order. A missing value means that there is nothing to say, never 0. Columns in *italics* may be absent.
*main score* is the unit of the task's own metric, mostly 0 to 1.
"""


def page() -> str:
    """The Markdown of `docs/tables.md`: all tables in the order of the steps, then the columns of each."""
    tables = declared_tables().values()
    rows = [f"| {t.step} | {t.page} | [`{t.name}`](#{t.name}) | {t.row} |" for t in tables]
    return "\n".join([HEAD + "\n".join(rows), COLUMNS, *map(_section, tables)])


def _section(table: Table) -> str:
    lines = [f"## {table.name}", "", "| column | type | unit | meaning |", "|---|---|---|---|"]
    for column in table.columns.values():
        name = f"*{column.name}*" if column.optional else column.name
        lines.append(f"| {name} | {column.type} | {column.unit} | {_cell(column.meaning)} |")
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write `docs/tables.md`."""
    (project_root() / "docs" / "tables.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
