"""The sentence above a figure says what its table holds, and another thing where the table holds another."""

import numpy as np
import pandas as pd
import pytest

from helpers.leaderboard import words as leaderboard_words
from helpers.prompts import words as prompts_words
from helpers.prompts.statistics import style
from helpers.report import words as report_words
from helpers.sweep import words as sweep_words


def frame(columns: str, *rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


PROMPTS = frame(
    "level text",
    ("task", "Sort it:"),
    ("task", "Classify:"),
    ("task+dataset+language", "Sort these English reviews:"),
)
CELLS = frame("model task kind prompt_id score", *[
    ("a", "T", "prompt", "p", 0.5), ("a", "T", "prompt", "q", 0.7), ("a", "T", "default", "d", 0.8),
    ("b", "T", "prompt", "p", 0.5), ("b", "T", "prompt", "q", 0.6), ("b", "T", "default", "d", 0.55),
])  # fmt: skip


def test_prompts():
    assert (
        prompts_words.prompt_lengths(PROMPTS)
        == "Prompts have 1.5 words with the least context and 4.0 with the most"
    )
    assert prompts_words.prompt_lengths(PROMPTS[:2]) == "A prompt has 1.5 words on average"
    assert (
        prompts_words.prompt_styles(PROMPTS[:1])
        == f"100% of the prompts have the style '{style('Sort it:')}'"
    )
    assert (
        prompts_words.prompt_lengths(PROMPTS[:0])
        == prompts_words.prompt_styles(PROMPTS[:0])
        == "There is no prompt"
    )
    pairs = frame("row column similarity", (0, 0, 1.0), (0, 1, 0.25), (1, 0, 0.25), (1, 1, 1.0))
    assert (
        prompts_words.prompt_similarity(pairs, "T")
        == "The two most alike prompts of T have a similarity of 0.25"
    )


def test_scores_name_the_cell_with_the_widest_range():
    assert "moves a on T most: by 0.200" in sweep_words.widest(CELLS)
    assert "moves b on T: by 0.100" in sweep_words.widest(CELLS[CELLS["model"] == "b"])
    assert "No two prompts" in sweep_words.widest(CELLS.assign(score=np.nan))


def test_a_win_map_of_ties_is_even():
    ties = pd.DataFrame([[np.nan, 0.5], [0.5, np.nan]], index=["a", "b"], columns=["a", "b"])
    assert leaderboard_words.wins(ties) == "Least certain: a and b are even (ties count half)"


def test_boards():
    from helpers.leaderboard.charts import SCENARIOS

    own = frame("model board rank", *[
        ("a", SCENARIOS["best_vs_default"], 1), ("b", SCENARIOS["best_vs_default"], 2),
        ("a", SCENARIOS["best_vs_worst"], 1), ("b", SCENARIOS["best_vs_worst"], 1),
    ])  # fmt: skip
    assert leaderboard_words.scenarios(own) == "No default ranks to compare with"
    default = frame("model board rank", ("a", SCENARIOS["default"], 1), ("b", SCENARIOS["default"], 2))
    assert leaderboard_words.scenarios(pd.concat([own, default])) == (
        "1 of 2 models can be first against defaults, 2 against worst prompts"
    )
    agreed = frame(
        "board kendall_tau models moved", ("default", 1.0, 3, 0), ("best", 1 / 3, 3, 2), ("mean", 1.0, 3, 0)
    )
    assert leaderboard_words.boards(agreed) == "1 of 2 boards rank the models otherwise than the defaults"
    ranks = frame("rank_low rank_high", (1, 2), (1, 2), (3, 3))
    assert (
        leaderboard_words.ranks(ranks)
        == "Under random prompts 2 of 3 models have more than one probable rank"
    )
    wins = pd.DataFrame(
        [[np.nan, 0.4, 0.9], [0.6, np.nan, 0.8], [0.1, 0.2, np.nan]], list("abc"), list("abc")
    )
    assert leaderboard_words.wins(wins.round()).startswith("Every order of two models is the same")
    assert leaderboard_words.wins(wins) == "Least certain: b beats a with probability 60%"


def test_gains_of_the_best_prompt():
    curve = frame("model k gain", ("a", 2, 0.1), ("a", 4, 0.2), ("b", 2, 0.3))  # b has two prompts
    assert leaderboard_words.hacking(curve.assign(k=1)) == "One prompt: there is no best to choose"
    assert leaderboard_words.hacking(curve) == "Reporting the best of 2 prompts adds up to +0.300 (b)"
    halves = frame("model task subset split k reported honest", *[
        ("a", "T", "default", "test", 2, 0.1, 0.1), ("a", "T", "default", "test", 4, 0.2, 0.05)])  # fmt: skip
    assert leaderboard_words.honest(halves) == (
        "The best prompt gains +0.200 on the queries that chose it and +0.050 on the others"
    )


@pytest.mark.parametrize("default, said", [(0.9, "1 of 1"), (0.5, "0 of 1")])
def test_studies_side_by_side(default, said):
    models = frame(
        "model default low high verdict", ("a", default, 0.4, 0.6, ""), ("b", np.nan, 0.4, 0.6, "no default")
    )
    assert report_words.intervals(models) == f"{said} mean default lies outside what random prompts give"
    few = pd.concat(
        [
            models,
            frame(
                "model default low high verdict", ("c", 0.9, 0.4, 0.6, "too few prompts to call it inflated")
            ),
        ]
    )
    assert report_words.intervals(few).startswith(said[:1] + " of 2") and report_words.intervals(
        few
    ).endswith(", 1 with too few prompts to tell")
    pools = frame("normal paraphrase", (0.8, 0.2), (0.5, 0.5), (0.5, np.nan))
    assert report_words.pools(pools) == "Paraphrases in the pool lower the best recall@1 in 1 of 2 cases"
