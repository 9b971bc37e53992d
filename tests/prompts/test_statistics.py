"""Lengths, styles, overlap and the comparison of prompt sets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.base.stats import holm
from helpers.prompts.files import row
from helpers.prompts.statistics import describe, most_alike, overlap, similarity_map, style
from helpers.prompts.words import comparison
from helpers.scores.sets import compare_sets, median_test


def table(*rows: tuple[str, str, str | None]) -> pd.DataFrame:
    return pd.DataFrame([row("T", text, level, "llm", generator) for text, level, generator in rows])


def test_words_and_characters_per_level_by_hand():
    found = describe(table(("a b", "task", None), ("a b c d", "task", None), ("x", "task+dataset", None)))
    level = found[(found["task"] == "all") & (found["level"] == "task")].iloc[0]

    assert (level["prompts"], level["words_mean"], level["words_sd"]) == (2, 3.0, 1.0)
    assert (level["characters_mean"], level["characters_sd"]) == (5.0, 2.0)
    # a b a b c d: four types of six tokens; pairs ab, ab, bc, cd: three of four distinct.
    assert level["type_token_ratio"] == pytest.approx(4 / 6)
    assert level["distinct_bigrams"] == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "label"), ("Query:", "label"), ("Search:", "label"), ("Retrieve the passage:", "instruction"),
        ("Given a claim, find evidence:", "instruction"), ("Which passage fits?", "question"),
        ("What does it say:", "question"), ("[sts | English]", "keywords"),
        ("A question that one passage answers:", "description"), ("→", "label"),
    ],
)  # fmt: skip
def test_the_style_is_the_outer_form(text, expected):
    assert style(text) == expected


def test_overlap_counts_exact_and_near_texts():
    found = overlap(
        table(
            ("same:", "task", "A"),
            ("Query text:", "task", "A"),
            ("same:", "task", "B"),
            ("Query text", "task", "B"),
        )
    )
    first = found.iloc[0]
    assert (first["first"], first["second"], first["shared"], first["near"]) == ("A", "B", 1, 1.0)
    assert first["jaccard"] == pytest.approx(1 / 3)


def test_one_generator_has_no_overlap():
    assert overlap(table(("a", "task", "A"))).empty


def test_the_most_alike_prompts_are_found_with_one_prompt_per_task_too():
    alike = pd.DataFrame({"task": ["A", "A", "B", "B"], "text": ["one:", "other", "Pair:", "Pairs:"]})
    assert most_alike(alike) == "B" and most_alike(alike.head(1)) == "A" and most_alike(alike.head(0)) == ""


def test_the_similarity_map_is_symmetric_with_ones():
    pairs = similarity_map(table(("ab", "task", None), ("ac", "task", None)), "T")
    assert pairs["similarity"].tolist() == [1.0, 0.5, 0.5, 1.0]


def test_the_word_counts_of_study_1_are_reproduced(shared_data):
    published = pd.read_parquet(shared_data / "published" / "prompts.parquet")
    used = published[(published["generator"] == "openai-gpt-oss-120b") & ~published["task"].str.startswith("Masakha")]
    prompts = used.rename(columns={"prompt": "text"})[["task", "text", "level", "generator"]]
    everything = describe(prompts).iloc[-1]

    assert everything["prompts"] == 165
    assert everything["words_mean"] == pytest.approx(5.2485, abs=5e-5)
    assert everything["words_sd"] == pytest.approx(2.3314, abs=5e-5)


def test_two_equal_sets_do_not_differ_and_two_far_ones_do():
    assert median_test(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 3, 4])) == 1.0
    # Of the C(8, 4) = 70 ways to split, only 1 2 3 4 and 1 2 3 11 against the rest, and their mirror images, have
    # medians as far apart.
    low, high = np.array([1.0, 2, 3, 4]), np.array([11.0, 12, 13, 14])
    assert median_test(low, high) == pytest.approx(4 / 70)


def test_holm_by_hand():
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([])).tolist() == []


def scored(values: dict[str, list[float]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    prompts = pd.DataFrame(
        [row("T", f"{name}{n}", "task", "llm", name) for name, scores in values.items() for n in range(len(scores))]
    )
    scores = prompts[["task", "prompt_id"]].assign(
        model="M", subset="default", main_score=[s for v in values.values() for s in v], status="ok"
    )
    return scores, prompts


def test_sets_are_compared_per_model_and_task():
    scores, prompts = scored({"A": [0.1, 0.11, 0.12, 0.13, 0.14], "B": [0.5, 0.51, 0.52, 0.53, 0.54]})
    found = compare_sets(scores, prompts).iloc[0]

    assert (found["first_median"], found["second_median"]) == (0.12, 0.52)
    # 0.10, 0.11, 0.12 and any two of the middle four against the rest, and mirrored: 12 of C(10, 5) ways.
    assert found["p_value"] == pytest.approx(12 / 252)
    assert found["differs"]
    assert "M on T (-0.400)" in comparison(compare_sets(scores, prompts))[0]


def test_enough_shuffles_are_made_to_survive_the_correction():
    """A real difference among 30 comparisons: of 200 shuffles the smallest p-value, 1 / 201, would not survive."""
    rng = np.random.default_rng(0)
    scores, prompts = scored({"A": list(rng.normal(0.1, 0.01, 12)), "B": list(rng.normal(0.5, 0.01, 12))})
    none = scores.assign(main_score=list(rng.normal(0.3, 0.1, 24)))
    many = pd.concat([scores, *(none.assign(model=f"N{k}") for k in range(29))])
    found = compare_sets(many, prompts, resamples=200).set_index("model")
    assert found.loc["M", "differs"] and found["differs"].sum() == 1
    assert found.loc["M", "resamples"] == 10 * 30 / 0.05 and (found["resamples"].drop("M") == 200).any()


def test_a_difference_that_is_not_found_is_not_called_equality():
    scores, prompts = scored({"A": [0.1, 0.2, 0.3], "B": [0.15, 0.25, 0.35]})
    assert "as few as 3 prompts" in comparison(compare_sets(scores, prompts))[0]


def test_one_set_or_missing_scores_give_no_comparison():
    scores, prompts = scored({"A": [0.1, 0.2], "B": [np.nan, 0.3]})
    assert compare_sets(scores, prompts).empty
    assert comparison(compare_sets(scores, prompts)) == []


def test_the_comparison_does_not_depend_on_the_order_of_the_scores():
    scores, prompts = scored({"A": list(np.linspace(0.1, 0.3, 12)), "B": list(np.linspace(0.15, 0.35, 12))})
    first = compare_sets(scores, prompts, resamples=500)
    assert compare_sets(scores, prompts, resamples=500)["p_value"].tolist() == first["p_value"].tolist()
