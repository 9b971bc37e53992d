"""What chapter 01 says: the numbers of its sentences, whatever the order of rows."""

from __future__ import annotations

import pandas as pd
import pytest

from helpers.prompts import words
from helpers.prompts.statistics import similarity_map


def frame(columns: str, *rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


FULL = "task+dataset+language"
PROMPTS = frame(
    "level text",
    ("task", "Sort it:"),
    ("task", "Classify:"),
    (FULL, "Sort these English reviews:"),
    ("task", None),
)
DECIDED = frame(
    "task kept rule rules",
    ("T", True, None, ""), ("T", True, None, "too long; leak"), ("U", True, None, "leak"),
    ("U", False, "near-duplicate", "near-duplicate"), ("U", False, "duplicate", "duplicate"),
)  # fmt: skip
CHECKED = frame("checks shared_words", ("", 0.5), ("too far", 0.25), ("equal to source; other language", 1.0))
PROVENANCE = frame(
    "generator task level text attempt backend",
    ("m", "T", "task", "a", 1, "openai"), ("m", "T", "task", "b", 2, "openai"), ("m", "U", "task", "a", 1, "openai"),
    ("human", "T", "task", "c", None, "file"),
)  # fmt: skip


def test_lengths_are_those_of_the_levels():
    said = words.prompt_lengths(PROMPTS)  # 2, 1 and 4 words: mean 7/3, variance 14/9
    assert "1.5 words with the least" in said.title and "4.0 with the most" in said.title
    assert "3 prompts have 2.33 words" in said.findings[0] and "deviation 1.25;" in said.findings[0]
    assert f"'{FULL}' are the longest (4.0" in said.findings[1] and "'task' the shortest (1.5" in said.findings[1]
    assert "1.5 words on average" in words.prompt_lengths(PROMPTS[:2]).title
    assert len(words.prompt_lengths(PROMPTS[:2]).findings) == 1
    assert "1 prompt has 2.00" in words.prompt_lengths(PROMPTS[:1]).findings[0]


def test_styles_are_listed_by_their_frequency():
    said = words.prompt_styles(frame("text", ("Sort the text",), ("Find it",), ("What is it?",)))
    assert said.title.startswith("67%") and said.title.endswith("'instruction'")
    assert said.findings == ("Styles: 67% instruction, 33% question.",)
    assert (
        "label and question are equally frequent: 50%"
        in words.prompt_styles(frame("text", ("Query:",), ("What is it?",))).title
    )


def test_the_two_most_alike_prompts_are_different_ones():
    pairs = similarity_map(frame("task text", ("T", "ab"), ("T", "ac"), ("T", "xyz")), "T")
    assert words.prompt_similarity(pairs, "T").title.endswith("of T have a similarity of 0.50")


def test_without_prompts_there_is_a_sentence():
    none, pairs = PROMPTS[:0], frame("row column similarity")
    titles = [words.prompt_lengths(none).title, words.prompt_styles(none).title]
    assert [*titles, words.prompt_similarity(pairs, "").title] == [words.NO_PROMPT] * 3
    assert words.removals(pd.DataFrame()) == ["There are no prompts to check."]
    assert words.paraphrases(CHECKED[:0]) == []


def test_removals_and_marks_are_counted():
    kept, removed, marked, unread = words.removals(DECIDED, ["V"])
    assert kept.startswith("3 of 5 prompts stay, for 2 tasks")
    assert removed == "Removed: 1 duplicate, 1 near-duplicate."
    assert marked.startswith("2 prompts") and "(2 for 'leak', 1 for 'too long')" in marked
    assert unread.endswith(": V.")


def test_prompts_of_a_model_are_told_and_those_of_a_file_are_not():
    assert words.generated(PROVENANCE) == [
        "m wrote 2 distinct prompts for 2 combinations of task and level; 1 of 3 needed more than one attempt."
    ]


def test_paraphrases_are_counted_by_their_checks():
    good, marked, shared = words.paraphrases(CHECKED)
    assert good.startswith("1 of 3 paraphrases pass")
    assert marked == "Marked: 1 'equal to source', 1 'other language', 1 'too far'."
    assert "50%" in shared


@pytest.mark.parametrize(
    ("say", "table"),
    [
        (words.prompt_lengths, PROMPTS), (words.prompt_styles, PROMPTS), (words.removals, DECIDED),
        (words.paraphrases, CHECKED), (words.generated, PROVENANCE),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_no_sentence_depends_on_the_order_of_rows(say, table):
    def said(rows: pd.DataFrame) -> object:
        got = say(rows)
        return sorted(got) if isinstance(got, list) else got

    for seed in range(4):
        mixed = table.sample(frac=1, random_state=seed)
        assert said(mixed) == said(mixed.reset_index(drop=True)) == said(table)
