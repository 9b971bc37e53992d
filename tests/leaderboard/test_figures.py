"""The figures of chapter 04 draw one mark per row that a person would count, and stand on small, odd and empty data."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of, random_cells
from chart_checks import fields_exist, rows_drawn
from test_gains import query_scores

from helpers import leaderboard as lb
from helpers import scores as sc
from helpers.display import Absent, Figure

PLAIN = random_cells(3, 3, 6)
ONE = cells_of({"a": {"x": [0.5, 0.5]}}, {"a": {"x": 0.5}})
HOLES = cells_of({"a": {"x": [0.5, np.nan, 0.1]}, "b": {"x": [0.2, 0.3, 0.4], "y": [np.nan] * 3}}, {"b": {"x": -0.5}})


def figures_of(cells):
    prompts = sc.prompt_scores(cells)
    drawn = lb.random_boards(prompts.values)
    default = sc.borda(sc.board_matrix(cells, "default"))
    table, ranks = lb.boards(cells), lb.rank_table(drawn, prompts.models)
    yield lb.figures.scenarios(lb.scenarios(cells))
    yield lb.figures.boards(table, lb.board_agreement(table))
    yield lb.figures.ranks(ranks, lb.rank_probabilities(drawn, prompts.models), default)
    yield lb.figures.wins(lb.pairwise_wins(drawn, prompts.models), list(default["model"]))
    yield lb.figures.hacking(lb.best_of_k(cells))


@pytest.mark.parametrize("cells", [PLAIN, ONE, HOLES], ids=["plain", "one cell", "holes"])
def test_every_field_of_a_figure_exists_and_it_says_something(cells):
    figures = list(figures_of(cells))
    for figure in figures:
        if isinstance(figure, Figure):
            fields_exist(figure.chart)
            assert figure.said.title and "nan" not in f"{figure.said} {figure.alt}"
    assert [f.name for f in figures] == [
        "fig-scenarios",
        "fig-boards",
        "fig-ranks",
        "fig-wins",
        "fig-hacking",
    ]
    assert [f.name for f in figures if isinstance(f, Absent)] == (["fig-wins"] if cells is ONE else [])


def drawn(figure):
    return list(rows_drawn(figure.chart).values())


def test_the_rows_drawn_are_those_that_a_person_counts():
    scenarios, boards, ranks, wins, hacking = figures_of(PLAIN)
    assert drawn(scenarios)[1:] == [
        9,
        3,
    ]  # three models on three boards: a dot each, a label where a line begins
    assert drawn(boards)[1:] == [27, 3]  # nine boards
    assert drawn(ranks)[0] == drawn(ranks)[2] == 3  # an interval and a diamond per model
    assert drawn(wins) == [6, 6]  # every ordered pair of three models, a tile and a number
    assert drawn(hacking)[1:] == [18]  # a dot per model and k


def test_models_that_share_a_rank_share_a_label():
    table = pd.DataFrame({"model": list("ab"), "default": 1, "best_vs_default": 1, "best_vs_worst": 1})
    assert drawn(lb.figures.scenarios(table))[1:] == [6, 1]


def test_ranks_that_never_come_have_no_disc():
    cells = cells_of({"a": {"x": [0.9, 0.8]}, "b": {"x": [0.1, 0.2]}}, {"a": {"x": 0.9}, "b": {"x": 0.1}})
    *_, ranks, _, _ = figures_of(cells)
    assert drawn(ranks) == [2, 2, 2]


def test_the_honest_gain_is_two_lines_per_task():
    units = pd.concat([query_scores(0.1, prompts=4), query_scores(0.1, prompts=4).assign(task="U")])
    figure = lb.figures.honest(lb.honest_best_of_k(units, splits=5))
    fields_exist(figure.chart)
    assert drawn(figure)[1:] == [2 * 2 * 4]  # two lines in two tasks, a dot for each of four k


def test_what_the_data_do_not_allow_is_said():
    for absent in (
        lb.figures.honest(lb.honest_best_of_k(lb.gains.NO_QUERIES)),
        lb.figures.hacking(lb.best_of_k(ONE[:0])),
    ):
        assert isinstance(absent, Absent) and absent.findings == []
