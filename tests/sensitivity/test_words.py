"""What chapter 03 says of a table: the numbers and the words that change with it."""

import numpy as np
import pandas as pd
import pytest
from board_cells import cells_of

from helpers.sensitivity import claims, words

CELLS = cells_of({m: {"T": s} for m, s in (("a", [0.5, 0.7]), ("b", [0.5, 0.6]))}, {"a": {"T": 0.8}, "b": {"T": 0.55}})


def frame(columns: str, *rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


STANDING = frame("model task n_prompts n_missing cv cv_reliable percentile label", *[
    ("a", "T", 9, 0, 0.2, True, 1.0, "inflated"), ("b", "T", 9, 0, 0.05, True, 0.5, "undecided"),
    ("b", "U", 9, 2, np.nan, True, np.nan, "no default"),
]).assign(above_mean=[True, False, False], at_or_above_best=[True, False, False], at_or_below_worst=False,
          percentile_low=0.25, percentile_high=0.75)  # fmt: skip


def test_the_widest_range_is_one_over_equal_numbers_of_prompts():
    """a's three scores spread over 0.6, two of them over 0.4 on average; b's two over 0.5."""
    title = words.distribution(cells_of({"a": {"T": [0.0, 0.3, 0.6]}, "b": {"T": [0.1, 0.6]}})).title
    assert "b on T" in title and "0.500" in title and "equal numbers of them drawn" in title


def test_defaults_are_counted_outside_the_range_of_their_prompts():
    title = words.distribution(CELLS).title
    assert "1 of 2 defaults" in title and "0 below every prompt" in title
    assert "moves a on T" in words.distribution(CELLS[CELLS["kind"] == "prompt"]).title


def test_labels_are_counted_over_the_defaults_that_there_are():
    said = words.percentiles(STANDING)
    assert "Of 2 defaults 1 inflated, 0 deflated, 1 undecided" in said.title
    assert "1 of 2 cells" in said.findings[0] and "in 1 it equals or beats" in said.findings[0]
    assert "1 inflated, 1 undecided. The 95% interval" in said.findings[1] and "50% wide" in said.findings[1]
    none = words.percentiles(STANDING[2:])
    assert "No default" in none.title and "nothing can be called inflated" in none.findings[0]


@pytest.mark.parametrize("rows, missing", [(STANDING, "2 prompt scores and 1 default"), (STANDING[:2], None)])
def test_holes_are_counted(rows, missing):
    assert [f["text"].split(" are missing")[0] for f in words.completeness(rows)] == ([missing] if missing else [])


def test_the_largest_coefficient_of_variation_is_named():
    said = words.cv(STANDING)
    assert "a on T" in said.title and said.title.endswith("20.0%")
    assert "5.0% to 20.0% (median over tasks, by model)" in said.findings[0]
    assert "Too few prompts" in words.cv(STANDING.assign(n_prompts=1)).title
    unsure = words.cv(STANDING.assign(cv_reliable=False))
    assert unsure.title.endswith("mean near 0") and "unreliable" in unsure.findings[0]
    assert "moves no score" in words.cv(STANDING.assign(cv=0.0)).title


def test_shares_of_variance():
    parts = frame("source share_own_scale", ("model", 0.6), ("prompt", 0.25), ("model x prompt + residual", 0.15))
    parts = parts.assign(share_on_task=[0.5, 0.3, 0.2], negative=False, low=np.nan, high=np.nan)
    said = claims.variance(parts)
    assert said.title.startswith("25%") and said.title.endswith("(no interval)")
    assert "15% is wording that suits one" in said.findings[0] and "60% is the model" in said.findings[0]
    assert "In score units" in said.findings[0] and "it is 30% and 20%" in said.findings[0]
    wide = claims.variance(parts.assign(low=0.05, high=0.95))
    assert "(95% interval 5% to 95%: so few tasks cannot tell)" in wide.findings[0]
    assert "cannot tell" in claims.variance(parts[:1]).title


def test_pairs_beyond_noise_are_weighed_by_their_number():
    noise = frame("pairs beyond_fdr beyond noise_share", (10, 1.0, 1.0, 0.1), (30, 0.2, 0.4, 0.3))
    said = words.noise(noise)  # 10 and 6 of 40; 10 and 12 of 40
    assert said.title.startswith("40%") and "40% of" in said.findings[0] and "(55% at 5% each" in said.findings[0]
    assert "explains 20%" in said.findings[0]


def test_agreement_counts_the_tasks_whose_w_is_known():
    agreed = frame("task kendall_w q_value", ("T", 0.9, 0.01), ("U", 0.4, 0.3), ("V", np.nan, np.nan)).assign(
        models=3, families=3
    )
    said = claims.agreement(agreed)
    assert said.title.endswith("1 of 2 tasks")
    assert "1 of 2 tasks" in said.findings[0] and "0.40 (U) to 0.90 (T)" in said.findings[0]


def test_traits_that_go_with_the_score_are_named_with_their_interval():
    effects = frame("trait effect low high q_value", ("n_words", 0.3, 0.1, 0.5, 0.01), ("ends_in_colon", 0.0, -1, 1, 0.9),
                    ("rare", *[np.nan] * 4)).assign(tasks=3, stands_for="")  # fmt: skip
    said = claims.traits(effects)
    assert said.title.startswith("1 of 2 traits") and "number of words +0.30 (+0.10 to +0.50)" in said.findings[0]
    assert "tasks as a sample (n = 3)" in said.findings[0]
    assert claims.traits(effects[1:]).title.startswith("0 of 1 trait ")
    assert "No trait" in claims.traits(effects[1:]).findings[0] and not claims.traits(effects[2:]).findings


def test_the_number_of_prompts_that_is_enough():
    advice = frame("measure wanted k extrapolated", ("mean", 0.01, 12.0, True), ("cv", 0.1, 40.0, False))
    said = words.enough(advice)
    assert said.title.startswith("About 12 prompts (extrapolated) give") and "within 1%" in said.title
    assert (
        "about 12 prompts (extrapolated) for the mean" in said.findings[0]
        and "about 40 prompts for" in said.findings[0]
    )
    assert "cannot be said" in words.enough(advice[1:]).title
