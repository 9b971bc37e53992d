"""What the figures and tables of chapter 04 say holds the numbers of their tables, and follows them."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of, random_cells

from helpers.leaderboard import words
from helpers.leaderboard.gains import best_of_k
from helpers.leaderboard.manipulation import plans, reachable_ranks
from helpers.leaderboard.rankings import scenarios
from helpers.scores.board import board_matrix


def frame(columns: str, *rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


def test_the_scenarios_count_who_can_be_first():
    table = frame("model default best_vs_default best_vs_worst", ("a", 1, 1, 1), ("b", 2, 1, 1), ("c", 3, 3, 2))
    told = words.scenarios(table)
    assert told.title.startswith("2 of 3 models") and "3 against" not in told.title
    text = told.findings[0]
    assert "a leads" in text and "1 of 3 models rise" in text and "2 of 3 reach rank 1" in text
    assert "(not: c 2)" in text


def test_the_leader_of_the_scenarios_follows_the_scores():
    cells = random_cells(3, 5, 4, effect=0.3)
    renamed = cells.assign(model=cells["model"].replace({"m0": "m2", "m2": "m0"}))
    assert "m2 leads" in words.scenarios(scenarios(cells)).findings[0]
    assert "m0 leads" in words.scenarios(scenarios(renamed)).findings[0]


@pytest.mark.parametrize(("models", "default", "known"), [("a", {"a": {"x": 0.5}}, 1), ("ab", None, 0)])
def test_fewer_than_two_models_with_a_default_give_no_order(models, default, known):
    told = words.scenarios(scenarios(cells_of({m: {"x": [0.5]} for m in models}, default)))
    assert told.title.endswith(f"there are {known}") and told.findings[0].endswith(f"there are {known}.")


def test_the_sentence_on_absent_defaults_follows_their_treatment():
    default = board_matrix(random_cells(2, 2, 3), "default")
    assert words.absent_defaults(default) == []
    default.iloc[0, 0] = np.nan
    mteb, present = (words.absent_defaults(default, holes)[0]["text"] for holes in ("mteb", "present"))
    assert "1 (model, task) cell has" in mteb and "0 points" in mteb and "means over the tasks" in present


def test_the_candidates_name_the_ranks_that_differ():
    columns = "model default best_vs_default best_vs_worst"
    first = frame(columns, ("a", 1, 1, 1), ("b", 2, 2, 1))
    assert "changes no rank" in words.candidates(first, first)[0]["text"]
    other = first.assign(best_vs_worst=[1, 2])
    assert "b: 2 and 1 with it, 2 and 2 without" in words.candidates(first, other)[0]["text"]
    assert words.candidates(first[:1], other[:1]) == []


def test_the_boards_that_order_otherwise_are_counted():
    columns = "board kendall_tau models moved"
    agreed = frame(columns, ("default", 1.0, 3, 0), ("best", 1 / 3, 3, 2), ("mean", 1.0, 3, 0))
    assert words.boards(agreed).title.startswith("1 of 2 boards")
    assert "cannot be compared" in words.boards(agreed[:1]).title


def test_probable_ranks_are_counted_and_the_fixed_ones_named():
    told = words.ranks(frame("model rank_low rank_high", ("a", 1, 2), ("b", 1, 2), ("c", 3, 3)))
    assert "2 of 3 models have more than one" in told.title
    assert "1 of 3 models keeps one rank" in told.findings[0] and told.findings[0].endswith(": c.")
    assert words.ranks(frame("model rank_low rank_high", ("a", 1, 1))).findings == ()


def test_the_least_certain_pair_is_named():
    wins = pd.DataFrame([[np.nan, 0.4, 0.9], [0.6, np.nan, 0.8], [0.1, 0.2, np.nan]], list("abc"), list("abc"))
    assert "b beats a with probability 60%" in words.wins(wins).title
    assert words.wins(wins.round()).title.startswith("Every order of two models is the same")
    ties = pd.DataFrame([[np.nan, 0.5], [0.5, np.nan]], index=["a", "b"], columns=["a", "b"])
    assert "a and b are even" in words.wins(ties).title
    assert words.wins(ties.loc[["a"], ["a"]]).title == "One model alone beats nobody"


def test_plans_count_who_can_be_first_and_name_the_cheapest():
    table = frame("model scope status changes", ("a", "own", "optimal", 0), ("b", "own", "impossible", None),
                  ("c", "own", "optimal", 2), ("a", "all", "optimal", 0), ("b", "all", "optimal", 3), ("c", "all", "bound", 1))  # fmt: skip
    table = table.astype({"changes": "Int64"})
    text = words.plans(table, frame("model best_all", ("a", 1), ("b", 1), ("c", 1)))[0]["text"]
    assert text.startswith("All 3 models") and "2 can (c: 2 changes)" in text and "1 changed cell: c." in text
    one = cells_of({"a": {"x": [0.9]}}, {"a": {"x": 0.1}})
    assert words.plans(plans(one)[0], reachable_ranks(one)) == []


def test_the_gain_is_that_of_the_prompts_that_every_model_has():
    curve = frame("model k gain", ("a", 2, 0.1), ("a", 4, 0.2), ("b", 2, 0.3))  # b has two prompts
    told = words.hacking(curve)
    assert "best of 2" in told.title and "+0.300 (b)" in told.title
    assert "best of 2" in told.findings[0] and "+0.100 (a) to +0.300 (b)" in told.findings[0]
    assert words.hacking(curve.assign(k=1)).findings == ()


def test_models_that_gain_alike_are_named_once():
    text = words.hacking(best_of_k(cells_of({"a": {"x": [0.1, 0.3]}}))).findings[0]
    assert "+0.100 (a)" in text and " to +0.100" not in text
    flat = words.hacking(best_of_k(cells_of({"a": {"x": [0.5] * 8}}))).findings[0]
    assert "+0.000" in flat and "nan" not in flat


def test_five_tries_are_told_as_a_share_of_all():
    curve = frame("model k gain", ("a", 5, 0.1), ("a", 6, 0.2))
    assert "five tries already give 50%" in words.hacking(curve).findings[0]


@pytest.mark.parametrize(
    ("honest", "told"),
    [
        (0.05, "+0.050 on the other, 50% of it ("),
        (0.0, "+0.000 on the other ("),
        (-0.03, "-0.030 on the other ("),
    ],
)
def test_a_choice_that_loses_on_other_queries_keeps_no_share_of_its_gain(honest, told):
    columns = "model task subset split k reported honest"
    halves = frame(columns, ("m", "t", "s", "test", 2, 0.9, 0.9), ("m", "t", "s", "test", 3, 0.1, honest))
    said = words.honest(halves)
    assert told in said.findings[0] and "+0.100" in said.title and f"{honest:+.3f}" in said.title


COLUMNS = "model default prompt_mean low high verdict"


def test_the_headline_counts_the_defaults_outside_their_intervals():
    rows = [
        ("a", 0.9, 0.5, 0.4, 0.6, "inflated"),
        ("b", 0.5, 0.5, 0.4, 0.6, "within"),
        ("c", 0.3, 0.5, 0.4, 0.6, "deflated"),
    ]
    text = words.headline(frame(COLUMNS, *rows))[0]["text"]
    assert text.startswith("1 of 3 models report") and ", 1 below it" in text and "0.067 above the mean" in text
    assert words.headline(pd.DataFrame()) == []


def test_the_headline_leaves_out_no_model_with_too_few_prompts():
    few = ("a", 0.9, 0.5, None, None, "too few prompts")
    text = words.headline(frame(COLUMNS, few, ("b", 0.5, 0.5, 0.4, 0.6, "within")))[0]["text"]
    assert text.startswith("0 of 1 model ") and "1 has too few prompts to tell" in text
    assert words.headline(frame(COLUMNS, few))[0]["text"].startswith("Too few prompts to say")
