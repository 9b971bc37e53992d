"""Display: how tables, charts and findings appear in JupyterLab and in the report.

No domain here: `figure` joins a chart with its words, `marks` holds what the charts of all chapters share.
"""

from helpers.display.chart import GRID, INK, MUTED, PALETTE, drawing
from helpers.display.figure import Absent, Figure, Said, said_by, show
from helpers.display.tables import Html, findings, table, visible_whitespace

__all__ = [
    "GRID", "INK", "MUTED", "PALETTE", "Absent", "Figure", "Html", "Said", "drawing", "findings", "said_by", "show", "table",
    "visible_whitespace",
]  # fmt: skip
