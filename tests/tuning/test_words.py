"""What chapter 06 says: the numbers, the word that changes with them, ties, and what stays unsaid."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sentences import order_matters_not

from helpers.tuning import words


def frame(columns: str, *rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


def recalls(*changes: tuple[str, int, float], half: float = 0.1) -> pd.DataFrame:
    """Rows of `seeds_table`, (preset, seeds, d): recall 0.5 becomes 0.5 + d in the pools normal and paraphrase."""
    rows = [(p, "T", "default", pool, "recall_at_1", 0.5 + d, 19, 0.5, d, d - half, d + half, seeds, 0.02)
            for p, seeds, d in changes for pool in ("normal", "paraphrase")]  # fmt: skip
    return frame("preset task language pool metric value n before difference low high n_seeds seed_sd", *rows)


def doses() -> pd.DataFrame:
    table = recalls(("ablation", 3, 0.0), ("share-0.25", 3, 0.1), ("distractor", 3, 0.25))
    table.insert(0, "share", table["preset"].map({"ablation": 0.0, "share-0.25": 0.25, "distractor": 0.5}))
    table.loc[table["share"] == 0, ["difference", "low", "high"]] = np.nan
    return table


THREE = [("x", 1, 0.25), ("y", 2, -0.25), ("z", 1, 0.01)]


def gains() -> pd.DataFrame:
    """47 instructions that gain alike under each of two trainings; 7 of them are relevant."""
    rows = [{"preset": p, "seed": 1, "instruction_id": f"i{n}", "text": f"text {n}", "group": "vague", "control": False,
             "relevant": n < 7, "n": 12, "gain": 0.2, "before": 0.1, "after": 0.3} for p in ("x", "y") for n in range(47)]  # fmt: skip
    return pd.DataFrame(rows)


def effects() -> pd.DataFrame:
    rows = [("m", t, d, d - 0.05, d + 0.05) for t, d in (("A", -0.2), ("B", -0.2), ("C", 0.2), ("D", 0.0))]
    return frame("model task difference low high", *rows)


def spread() -> pd.DataFrame:
    nothing = (np.nan,) * 3
    rows = [("base", "T", 0.10, *nothing), ("tuned", "T", 0.02, 0.2, 0.1, 0.4), ("other", "T", 0.09, 0.9, 0.5, 1.5),
            ("more", "T", 0.30, 3.0, 1.5, 6.0), ("few", "T", 0.03, *nothing), ("tuned", "U", 0.5, 0.4, 0.3, 0.6)]  # fmt: skip
    return frame("model task cv cv_ratio cv_ratio_low cv_ratio_high", *rows).assign(n_prompts=15)


def ranks() -> pd.DataFrame:
    return frame("model board rank_low rank_high n_models", ("base", "T", 1, 2, 3), ("tuned", "T", 2, 3, 3))


LOG = frame("preset seed step loss", ("x", 1, 2, 0.5), ("x", 1, 1, 2.0), ("y", 1, 1, 1.0))


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (words.loss, [LOG]),
        (words.dev, [LOG.rename(columns={"loss": "dev_recall_at_1_paraphrase"})]),
        (words.recall, [recalls(*THREE), recalls(*THREE)]),
        (words.dose, [doses()]),
        (words.held_out, [recalls(*THREE).assign(task="D, other"), "D"]),
        (words.instruction_gains, [gains()]),
        (words.side_effects, [effects()]),
        (words.sensitivity, [spread(), ranks(), "base"]),
    ],
)
def test_no_sentence_depends_on_the_order_of_rows(function, given):
    order_matters_not(function, *given)


def test_a_training_is_told_by_its_first_and_last_step():
    title = words.loss(LOG).title
    assert "x, seed 1 2.00 to 0.50" in title and "y, seed 1 1.00 to 1.00" in title
    assert words.dev(LOG).title.endswith("not logged")


def test_the_largest_change_goes_by_size_and_shows_its_sign():
    said = words.recall(recalls(("z", 2, -0.01), ("y", 2, -0.3)))
    assert "-0.300 (y; 95 % interval -0.400 to -0.200)" in said.title and "z" not in said.title
    both = words.recall(recalls(*THREE)).title
    assert "+0.250 (x" in both and "-0.250 (y" in both


def test_recall_rises_falls_or_cannot_be_told_from_no_change():
    up, down, open_ = words.recall(recalls(*THREE)).findings
    assert "rose from 0.500 to 0.750" in up and "n = 19 queries" in up and "0.500 became 0.750 (+0.250" in up
    assert "fell from" in down and "not distinguishable from no change" in open_


def test_one_seed_says_that_another_is_unknown_and_several_say_how_much_they_differ():
    one, two, _ = words.recall(recalls(*THREE)).findings
    assert "one training seed: how much another seed would change is unknown" in one
    assert "mean of 2 training seeds, standard deviation over seeds 0.020" in two and "unknown" not in two


@pytest.mark.parametrize(
    ("difference", "said"),
    [(0.5, "more than the ablation, as in study 2"), (0.0, "not distinguishable"), (-0.5, "unlike in study 2")],
)
def test_what_query_side_negatives_bring_is_said_by_the_paired_difference_alone(difference, said):
    """A training that gains beside an ablation of which that is not shown is no finding: only their difference is."""
    changes = recalls(("distractor", 1, 0.2), ("ablation", 1, 0.05))
    findings = words.recall(changes, recalls(("distractor", 1, difference))).findings
    assert len(findings) == 3 and said in findings[-1] and "against the ablation" in findings[-1]
    assert not any("study 2" in text for text in words.recall(changes).findings)


def test_a_dose_response_is_told_by_differences_to_the_lowest_share():
    said = words.dose(doses())
    assert "0.500 with query-side negatives in 0% of the examples, 0.750 with them in 50%" in said.title
    quarter, half = said.findings
    assert "in 25% instead of 0% of the examples: recall@1 among paraphrases +0.100" in quarter
    assert "targets alone +0.250" in half and "n = 19 queries" in half and "nan" not in half
    assert words.dose(doses()[:0]).findings == ()


def test_another_source_of_paraphrases_is_told_or_that_there_is_none():
    rows = recalls(("x", 3, 0.25))
    (text,) = [s["text"] for s in words.held_out(rows.assign(task="D, other"), "D")]
    assert "nothing was trained on (D, other): recall@1 0.500 became 0.750" in text
    (only,) = [s["text"] for s in words.held_out(rows, "D")]
    assert "finetuning.held_out names no other" in only and "unknown" in only


def test_of_several_languages_the_mean_is_told():
    german = recalls(("x", 1, 0.25)).assign(language="German")
    both = pd.concat([german, german.assign(language="mean", value=0.9, difference=0.4)])
    said = words.recall(both)
    assert len(said.findings) == 1 and "to 0.900 (+0.400" in said.findings[0] and "+0.400 (x" in said.title


def test_queries_without_a_usable_paraphrase_are_counted():
    rows = recalls(("x", 1, 0.25))
    rows.loc[rows["pool"] == "normal", "n"] = 22
    assert "; of 22 queries, the others" in words.recall(rows).findings[0]


def test_without_an_interval_nothing_is_called_distinguishable():
    text = words.recall(recalls(("x", 1, 0.25), half=np.nan)).findings[0]
    assert "went from" in text and "no interval" in text and "nan" not in text


def test_a_tie_for_the_best_ten_is_shared_between_all_that_tie():
    """47 instructions with one gain, 7 of them relevant: 10 x 7 / 47 of the best ten."""
    text = words.instruction_gains(gains()).findings[0]
    assert "of the 10 instructions" in text and " 1.49 describe the task" in text
    assert "47 tie for 10 places" in text
    untied = gains().assign(gain=lambda t: 0.2 - 0.001 * t.groupby("preset").cumcount())
    assert " 7 describe the task; of all 47 it is 15%" in words.instruction_gains(untied).findings[0]


def test_only_instructions_that_gained_are_among_those_that_gained_most():
    few = gains().assign(gain=lambda t: np.where(t["instruction_id"] == "i0", 0.2, -0.1))
    assert "of the 1 instruction " in words.instruction_gains(few).findings[0]
    assert "none of the 47" in words.instruction_gains(few.assign(gain=-0.1)).findings[0]


def test_trainings_times_instructions_are_not_instructions():
    title = words.instruction_gains(gains()).title
    assert "94 of 94 cases" in title and "(47 instructions, 2 trainings)" in title
    one = gains()[lambda t: t["preset"] == "x"]
    assert "47 of 47 instructions" in words.instruction_gains(one).title


def test_the_plain_query_and_the_controls_are_no_instructions():
    one = gains()[lambda t: t["preset"] == "x"]
    others = one[:2].assign(group=["none", "vague"], control=[False, True])
    title = words.instruction_gains(pd.concat([one[:3].assign(gain=[0.1, -0.1, 0.0]), others])).title
    assert "rose for 1 of 3 instructions and fell for 1" in title


def test_losses_and_gains_are_called_so():
    said = words.side_effects(effects())
    assert (
        "fell beyond its interval in 2 and rose in 1 of 4 pairs" in said.title
        and "3 of the 4 with an interval" in said.findings[0]
    )
    assert "loss is -0.2000 (A and B)" in said.findings[0] and "gain is +0.2000 (C)" in said.findings[0]
    lost = words.side_effects(effects()[:2]).findings[0]
    assert "no task shows a gain" in lost
    unsure = words.side_effects(effects()[:2].assign(low=np.nan))
    assert "-0.200 on A" in unsure.title and "no interval" in unsure.title


def test_sensitivity_is_called_changed_only_where_the_paired_ratio_is():
    said = words.sensitivity(spread(), ranks(), "base")
    of = {s["text"].split(" on ")[0]: s["text"] for s in said if s["figure"] == "tbl-sensitivity"}
    assert set(of) == {"tuned", "other", "more", "few"}  # task U was not measured with the base model
    assert (
        "0.20 [0.10, 0.40]" in of["tuned"] and of["tuned"].endswith("a smaller spread.") and "15 prompts" in of["tuned"]
    )
    assert "a change is not shown" in of["other"] and of["more"].endswith("a larger spread.")
    assert "give no interval" in of["few"] and "nan" not in of["few"]
    (rank,) = [s["text"] for s in said if s["figure"] == "tbl-ranks"]
    assert "among 3 models lies in 2-3" in rank and "in 1-2." in rank


def test_nothing_is_said_of_nothing():
    nothing = pd.DataFrame()
    empty = recalls().iloc[:0]
    assert words.recall(empty, empty).findings == () and words.side_effects(effects()[:0]).findings == ()
    assert words.instruction_gains(gains()[:0]).findings == ()
    assert words.sensitivity(nothing, nothing, "base") == [] and words.failures({}) == []
