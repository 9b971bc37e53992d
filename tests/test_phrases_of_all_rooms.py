"""What sentences are made of: plurals, names of everything that ties, units; and no sentence follows the table's order."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

from helpers.base.phrases import (
    count,
    is_farthest,
    is_highest,
    is_lowest,
    listed,
    out_of,
    out_of_sets,
    signed,
)
from helpers.display import Said
from helpers.geometry import paper as geometry_paper
from helpers.geometry import words as geometry_words
from helpers.geometry.relevance import relevance_table
from helpers.leaderboard import words as leaderboard_words
from helpers.report import words as report_words
from helpers.sensitivity import claims, fairness
from helpers.sensitivity import defaults as sensitivity
from helpers.sensitivity import words as sensitivity_words
from helpers.sweep import words as sweep_words


def test_a_number_and_its_noun_agree():
    assert [count(n, "task") for n in (0, 1, 2)] == ["0 tasks", "1 task", "2 tasks"]
    assert (out_of(0, 1, "query", "queries"), out_of(1, 3, "query", "queries")) == (
        "0 of 1 query",
        "1 of 3 queries",
    )


def test_names_are_in_alphabetical_order_and_the_rest_is_counted():
    assert [listed(names) for names in ("", "b", "ba", "cab", "dbca")] == [
        "", "b", "a and b", "a, b and c", "a, b and 2 others"
    ]  # fmt: skip


def test_all_that_tie_are_extremes_whatever_the_order_of_a_sum():
    values = pd.Series([0.1 + 0.2, 0.3, -0.3, np.nan])
    assert list(is_highest(values)) == [True, True, False, False]
    assert list(is_lowest(values)) == [False, False, True, False]
    assert list(is_farthest(values)) == [True, True, True, False]
    assert not is_highest(values[3:]).any()


def test_a_number_that_rounds_to_nothing_has_no_minus():
    assert (signed(-1e-17), signed(-0.0126, 2)) == ("+0.000", "-0.01")


def test_languages_of_one_task_are_not_tasks():
    rows = pd.DataFrame({"model": "m", "task": "T", "subset": list("abcdefgh")})
    assert out_of_sets(8, rows) == "8 of 8 combinations of model, task and subset (1 model, 1 task)"
    assert out_of_sets(1, rows[:1]) == "1 of 1 pair of model and task"


# -- sentences do not follow the order of rows -----------------------------------------------------------------------


def frame(columns: str, *rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


def cells() -> pd.DataFrame:
    rows = [
        {"model": m, "task": t, "subset": s, "kind": kind, "prompt_id": f"{kind}{k}", "status": "ok",
         "main_score": 0.25 + k / 4, "score": 0.25 + k / 4, "data_fingerprint": t}
        for m in "ab" for t in ("T", "U") for s in ("x", "y") for kind, n in (("prompt", 3), ("default", 1)) for k in range(n)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def geometry() -> pd.DataFrame:
    """Six instructions on two languages; four share the best score, of which two describe the task."""
    rows = []
    for subset in ("deu", "fra"):
        for n, score in enumerate((0.5, 0.5, 0.5, 0.5, 0.25, 0.125)):
            rows.append({
                "model": "m", "task": "T", "subset": subset, "instruction_id": f"i{n}", "text": f"text {n}",
                "group": "nonsense" if n == 4 else "vague", "control": False, "relevant": n % 2 == 0, "score": score,
                "gain": score - 0.25, "gain_low": score - 0.3, "displacement": [0.1, 0.2, 0.3, 0.3, 0.2, 0.1][n],
                "similarity_improvement": -score, "angulation": score, "selectivity": [3, 1, 2, 6, 5, 4][n],
            })  # fmt: skip
    return pd.DataFrame(rows)


def pools() -> pd.DataFrame:
    base = geometry().drop(columns="score")
    parts = [base.assign(pool=pool, recall_at_1=value, own_first=0.5, n_queries=8, n_missing=1, n_equal_to_target=0)
             for pool, value in (("normal", 0.75), ("random", 0.5), ("paraphrase", 0.25))]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def spread() -> pd.DataFrame:
    rows = [(m, t, 9, 0.2, 0.1, 0.3, True, p, label, 0.9) for m in ("base", "m")
            for t, p, label in (("T", 1.0, "inflated"), ("U", 0.5, "undecided"))]  # fmt: skip
    return frame("model task n_prompts cv cv_low cv_high cv_reliable percentile label default", *rows)


def ranks() -> pd.DataFrame:
    rows = [("base", "T", 1, 2, 3), ("m", "T", 2, 3, 3)]
    return frame("model board rank_low rank_high n_models", *rows)


def wins() -> pd.DataFrame:
    return pd.DataFrame([[np.nan, 0.6, 0.4], [0.4, np.nan, 0.9], [0.6, 0.1, np.nan]], list("abc"), list("abc"))


SENTENCES = {
    sweep_words.scores: [cells(), cells(), pd.DataFrame()],
    sweep_words.widest: [cells()],
    sweep_words.completeness: [cells()],
    sweep_words.spreads: [cells()],
    sensitivity_words.distribution: [cells()[lambda t: t["subset"] == "x"]],
    sensitivity_words.percentiles: [spread().assign(above_mean=True, at_or_above_best=False, at_or_below_worst=False,
                                                    percentile_low=0.25, percentile_high=0.75)],
    sensitivity_words.completeness: [spread().assign(n_missing=[0, 1, 0, 2], n_prompts=[8, 9, 8, 9])],
    sensitivity_words.cv: [spread()],
    claims.variance: [frame("source share_own_scale", ("model", 0.6), ("prompt", 0.25), ("model x prompt + residual", 0.15)).assign(
        share_on_task=0.2, negative=True, low=0.1, high=0.2
    )],
    sensitivity_words.noise: [frame("pairs beyond_fdr beyond noise_share", (10, 1.0, 1.0, 0.1), (30, 0.2, 0.3, 0.2))],
    claims.sets: [frame("kind first second task difference low high delta delta_low delta_high p_holm p_equivalent_holm verdict",
        ("level", "a", "b", "all tasks", 0.01, 0, 0.02, 0.1, 0, 0.2, 0.04, 0.5, "differs"), ("level", "a", "b", "T", 0.02, *[0] * 7, ""),
        ("level", "a", "b", "U", 0.02, *[0] * 7, ""), ("level", "a", "c", "all tasks", 0, -0.01, 0.01, 0, -0.1, 0.1, 1, 0.01, "equivalent"),
        ("level", "a", "c", "T", 0, *[0] * 7, "")).assign(models=2, tasks=2, first_prompts=10, second_prompts=12)],
    claims.agreement: [frame("task kendall_w q_value", ("T", 0.9, 0.01), ("U", 0.9, 0.3)).assign(models=3, families=3)],
    claims.traits: [
        frame("trait effect low high q_value", ("n_words", 0.3, 0.1, 0.5, 0.01), ("b", 0.0, -0.1, 0.1, 0.9)).assign(tasks=3, stands_for="")
    ],
    sensitivity_words.enough: [frame("measure wanted k extrapolated", ("mean", 0.01, 12.0, True), ("cv", 0.1, 40.0, False))],
    leaderboard_words.boards: [frame("board kendall_tau moved", ("default", 1.0, 0), ("best", 0.5, 2), ("mean", 1.0, 0))],
    leaderboard_words.ranks: [ranks()],
    leaderboard_words.orders: [frame("winner loser verdict p_holm",
        ("a", "b", "certain", 0.01), ("b", "c", "open", 0.5),
        ("a", "c", "open", 1.0))],
    leaderboard_words.reliability: [frame("n_tasks n_prompts g low high tau",
        (11, 15, 0.9, 0.8, 0.95, 0.7), (11, 1, 0.8, 0.7, 0.9, 0.6),
        (50, 1, 0.95, 0.9, 0.99, 0.8))],
    leaderboard_words.hacking: [frame("model k gain", ("a", 2, 0.1), ("b", 2, 0.1), ("c", 2, 0.0), ("a", 1, 0.0))],
    geometry_words.structure: [geometry()],
    geometry_words.shift: [geometry()],
    geometry_words.distractors: [pools()],
    report_words.pools: [frame("normal paraphrase", (0.8, 0.2), (0.5, 0.5))],
    report_words.intervals: [frame("default low high verdict", (0.9, 0.4, 0.6, ""), (0.5, 0.4, 0.6, ""))],
    geometry_paper.distractor_summary: [pools()],
    sensitivity.model_summary: [spread().assign(above_mean=True, at_or_above_best=False, at_or_below_worst=False)],
    leaderboard_words.scenarios: [frame("model default best_vs_default best_vs_worst", ("a", 1, 1, 1), ("b", 1, 1, 1))],
    leaderboard_words.plans: [
        frame("model scope status changes", *[(m, s, "optimal", 2) for m in "ab" for s in ("own", "all")]),
        frame("model best_all", ("a", 1), ("b", 1)),
    ],
    leaderboard_words.headline: [frame("model default prompt_mean low high verdict", *[(m, 0.5, 0.5, 0.4, 0.6, "") for m in "ab"])],
}  # fmt: skip


def said(function, tables) -> object:
    """What the function says; sentences and rows may come in the order of the table, so they are compared as a set."""
    found = function(*tables)
    if isinstance(found, Said):
        return found.title, sorted(found.findings)
    if isinstance(found, pd.DataFrame):
        return sorted(map(str, found.astype(str).to_numpy().tolist()))
    return sorted(map(str, found)) if isinstance(found, list) else found


@pytest.mark.parametrize("function", SENTENCES, ids=lambda f: f"{f.__module__.split('.')[-1]}.{f.__name__}")
def test_no_sentence_depends_on_the_order_of_rows(function):
    tables = SENTENCES[function]
    first = said(function, tables)
    assert first
    for seed in range(4):
        mixed = [t.sample(frac=1, random_state=seed) for t in tables]
        assert said(function, mixed) == first
        assert said(function, [t.reset_index(drop=True) for t in mixed]) == first


def test_the_least_certain_pairs_do_not_depend_on_the_order_of_models():
    first = leaderboard_words.wins(wins())
    assert "a beats b and c beats a with probability 60%" in first.title
    assert all(leaderboard_words.wins(wins().loc[list(o), list(o)]) == first for o in ("bca", "cba"))


def test_findings_of_the_geometry_do_not_depend_on_the_order_of_rows():
    def text(rows: pd.DataFrame, beside: pd.DataFrame) -> list[str]:
        # separability is left out: its permutation test draws labels by position
        parts = [geometry_words.distractors(beside), geometry_words.relevance(relevance_table(rows))]
        parts += [geometry_words.structure(rows), geometry_words.shift(rows)]
        return sorted(text for said in parts for text in (said.title, *said.findings))

    first = text(geometry(), pools())
    assert len(first) == 4 + 8
    assert text(geometry()[::-1], pools()[::-1]) == first
    assert any("In 2 of 2 combinations of model, task and subset (1 model, 1 task)" in line for line in first)


WORDS = [
    sweep_words, sensitivity_words, claims, leaderboard_words, geometry_words, report_words,
]  # fmt: skip


def test_every_sentence_about_tables_is_among_those_that_were_permuted():
    """A new claim must come into the list, or stand here with the reason."""
    elsewhere = {
        "relevance", "wins",  # tested by themselves above
        "honest",  # a mean over rows
        "absent_defaults", "unequal_prompts", "candidates",  # counts; rows named in the order of the scenario table
        "choice",  # counts and means of rows: tests/sensitivity/test_choice_figure.py
        "triangle",  # counts and shares: test_claims
        "separability", "failures", "map",  # its test draws labels by position; names and reasons
        "estimated",  # test sets in order of their spread and name
        "reported", "changes",  # counts of rows: tests/report/test_landing.py
        "told_apart", "cut", "tried",  # tested in tests/sweep/test_words.py
    }  # fmt: skip
    here = {f.__name__ for f in SENTENCES if f.__module__ in {module.__name__ for module in WORDS}}
    known = {
        name for module in WORDS for name, f in inspect.getmembers(module, inspect.isfunction)
        if f.__module__ == module.__name__ and not name.startswith("_")
    }  # fmt: skip
    assert known == here | elsewhere


def test_the_order_of_models_is_compared_between_all_choices_of_defaults():
    views = frame("defaults above_mean at_or_below_worst cells borda_order",
                  ("reported", 1, 0, 2, "a > b"), ("fair", 1, 0, 2, "b > a"), ("measured", 1, 0, 2, "a > b"))  # fmt: skip
    texts = [entry["text"] for entry in fairness.consequences(views)]
    assert texts[1:] == ["Borda with reported and measured: a > b.", "Borda with fair: b > a."]
    assert "does not depend" in fairness.consequences(views.assign(borda_order="a > b"))[1]["text"]


# -- ties, signs and units -------------------------------------------------------------------------------------------


def test_instructions_times_languages_are_not_instructions():
    text = geometry_words.shift(geometry()).title
    assert "of 4 big shifts" in text and "(6 instructions in 2 combinations of model, task and subset)" in text


def test_a_sweep_whose_prompts_all_score_alike_names_nobody():
    flat = cells().assign(main_score=0.5)
    said = sweep_words.scores(flat.assign(score=0.5), flat, pd.DataFrame())
    text = " ".join(said.findings)
    assert "moves no score" in said.title
    assert "widest" not in text and "No prompt changes the score in 8 of 8" in text
