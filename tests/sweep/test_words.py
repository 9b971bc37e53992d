"""What is said about the sweep names the numbers, and another thing where the table holds another."""

import pandas as pd

from helpers.sweep import words

INPUTS = pd.DataFrame(
    [("m", "T", "both", 0.0), ("m", "T", "query", 0.25), ("n", "T", "both", 0.1)],
    columns=["model", "task", "side", "truncated_share"],
)


def table(*status: str) -> pd.DataFrame:
    rows = [(f"m{n}", "T", s, "out of memory") for n, s in enumerate(status)]
    return pd.DataFrame(rows, columns=["model", "task", "status", "reason"])


def test_failures_are_counted_and_the_first_three_named() -> None:
    said = words.completeness(table("ok", *["failed"] * 5))
    assert said[0].startswith("1 of 6 cells") and "m1 on T failed: out of memory" in said[1]
    assert len(said) == 5 and said[-1].startswith("2 further pairs")
    assert words.completeness(table("ok")) == ["1 of 1 cell is complete."]


def test_the_largest_share_of_cut_texts_is_named() -> None:
    (said,) = words.cut(INPUTS)
    assert "25.0%" in said and "m on T, side query" in said
    assert words.cut(INPUTS[::-1]) == [said]
    assert words.cut(INPUTS.assign(truncated_share=0.0))[0].startswith("No text")


def test_a_tried_prompt_is_placed_among_the_studys() -> None:
    row = pd.DataFrame(
        [("m", "T", "Find:", 0.51239, 0.75, 4)],
        columns=["model", "task", "prompt", "score", "percentile", "n_prompts"],
    )
    said = words.tried(row)
    assert "'Find:' scores 0.512" in said and "percentile 75" in said and "4 prompts" in said
    assert words.tried(row[:0]).startswith("No prompt is typed")
