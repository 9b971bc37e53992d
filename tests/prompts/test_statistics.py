"""Lengths, styles and overlap of prompt sets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.base.stats import holm
from helpers.prompts.files import row
from helpers.prompts.statistics import describe, most_alike, overlap, similarity_map, style


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


def test_holm_by_hand():
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([])).tolist() == []
