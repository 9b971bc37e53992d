"""How often the suite's intervals and tests do what they say: the simulations' tables, as the methods page shows them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from helpers.base.phrases import count
from helpers.display.tables import escaped
from helpers.report.small_print import badge, cell, table

WITHIN = 0.02  # of the nominal rate: what counts as "as stated"

WORDS = {"interval": ("covers less than stated", "covers more than stated"),
         "test": ("rejects too rarely", "rejects too often")}  # fmt: skip

ABOUT = (
    "Data are drawn from a known truth at the sizes that occur, the function that the report uses is called, and the table "
    "counts how often its interval holds the truth, or how often its test rejects: where nothing is there (kind test) or "
    f"where something is (kind power). Rates further than {WITHIN:.2f} from the nominal one are named in words; ± is the Monte Carlo "
    "standard error. <em>declined</em>: share of data sets for which the method gives no answer, which are not counted."
)


def coverage_tables(source: Path | None = None) -> dict[str, pd.DataFrame]:
    """The coverage table of every room that has one (`<room>/coverage.csv`), by room; source: the package's folder."""
    source = source or Path(__file__).parents[1]
    return {path.parent.name: pd.read_csv(path) for path in sorted(source.glob("*/coverage.csv"))}


def against_nominal(kind: str, nominal: float, rate: float, error: float = 0.0) -> str:
    """What a simulated rate is beside the nominal one, in words; a power has no nominal rate to keep.

    A gap of more than `WITHIN` that two Monte Carlo errors could explain is one only perhaps.

    >>> against_nominal("interval", 0.95, 0.87, 0.01), against_nominal("test", 0.05, 0.06, 0.01)
    ('covers less than stated', 'as stated')
    >>> against_nominal("test", 0.05, 0.08, 0.027)
    'perhaps rejects too often'
    """
    if kind not in WORDS:
        return ""
    gap = round(rate - nominal, 6)
    if abs(gap) <= WITHIN:
        return "as stated"
    return ("perhaps " if abs(gap) - 2 * error <= WITHIN else "") + WORDS[kind][gap > 0]


def coverage_html(tables: dict[str, pd.DataFrame]) -> str:
    """One table per room, with the command that writes it; a sentence where no room has one."""
    if not tables:
        return "<p>No simulated coverage is at hand; <code>python -m benchmarks.coverage</code> writes it.</p>"
    return f"<p>{ABOUT}</p>" + "".join(_room(room, rows) for room, rows in tables.items())


def _room(room: str, rows: pd.DataFrame) -> str:
    repeats = int(rows["repeats"].max())
    given = rows[["kind", "nominal", "rate", "error"]].itertuples(index=False)
    verdicts = [against_nominal(*row) for row in given]
    judged = [verdict for verdict in verdicts if verdict]
    kept = judged.count("as stated")
    caption = f"{room}: {kept} of {count(len(judged), 'rate')} within {WITHIN:.2f} of the nominal one"
    shown = [
        [
            cell(row.method, row.case),
            cell(row.kind),
            cell(f"{row.nominal:g}"),
            cell(
                f"{row.rate:.3f}", f"±\u00a0{row.error:.3f}", f"declined {row.declined:.0%}" if row.declined > 0 else ""
            ),
            badge(verdict, "hp-state hp-open") if verdict in WORDS.get(row.kind, ()) else cell(verdict),
        ]
        for row, verdict in zip(rows.itertuples(), verdicts, strict=True)
    ]
    markup = table(f"coverage-{room}", caption, ["method and data", "kind", "nominal", "rate", "verdict"], shown)
    command = f"python -m benchmarks.coverage {repeats} {escaped(room)}"
    return f"{markup}<p><code>{command}</code> writes this table, {repeats:,} data sets per row.</p>"
