"""The figure of chapter 02 draws one mark per scored prompt and baseline, from fields that its data have."""

import pandas as pd
from chart_checks import fields_exist, rows_drawn

from helpers.display.figure import Absent, Figure
from helpers.sweep import figures

ROWS = [
    ("m", "T", "prompt", "Find:", 0.5), ("m", "T", "prompt", "Query:", 0.7), ("m", "T", "prompt", "Failed:", None),
    ("m", "T", "default", None, 0.6), ("n", "U", "none", None, 0.4),
]  # fmt: skip
CELLS = pd.DataFrame(ROWS, columns=["model", "task", "kind", "prompt", "score"])
TABLE = CELLS.rename(columns={"score": "main_score"}).assign(
    subset="default", status=["ok", "ok", "failed", "ok", "ok"], reason="no memory"
)


def test_every_scored_prompt_and_baseline_is_one_mark() -> None:
    figure = figures.scores(CELLS, TABLE, pd.DataFrame())
    assert isinstance(figure, Figure) and figure.name == "fig-scores"
    fields_exist(figure.chart)
    assert list(rows_drawn(figure.chart).values()) == [2, 2]  # ticks, baselines
    assert "by 0.200" in figure.said.title and "4 of 5 cells" in figure.findings[0]["text"]


def test_without_a_score_there_is_no_figure_but_the_findings_stay() -> None:
    figure = figures.scores(CELLS.assign(score=float("nan")), TABLE.assign(status="failed"), pd.DataFrame())
    assert isinstance(figure, Absent) and "0 of 5 cells" in figure.findings[0]["text"]
