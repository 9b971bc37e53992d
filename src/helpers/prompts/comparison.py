"""What the comparison of two sets of prompts says."""

from __future__ import annotations

import pandas as pd

from helpers.base.phrases import cells_named, count, is_farthest, listed, out_of, signed

COMPARISON = [
    "model", "task", "first", "second", "first_prompts", "second_prompts", "first_median", "second_median",
    "difference", "p_value", "p_holm", "differs", "resamples",
]  # fmt: skip


def findings(table: pd.DataFrame, alpha: float = 0.05) -> list[str]:
    """What the comparison says, in sentences; a difference that was not found is not written as equality."""
    if table.empty:
        return ["There are no two sets of prompts with scores to compare."]
    sentences = []
    for (one, other), part in table.groupby(["first", "second"], sort=False):
        differing = part[part["differs"]]
        sentence = (
            f"{one} against {other}: the median score differs in "
            f"{out_of(len(differing), len(part), 'pair of model and task', 'pairs of model and task')}"
        )
        sentence += f" (permutation test, Holm-corrected, alpha {alpha:g})"
        if len(differing):
            most = differing[is_farthest(differing["difference"])]
            sizes = listed({signed(value) for value in most["difference"]})
            sentence += f"; most for {cells_named(most)} ({sizes})"
        else:
            small = int(min(part["first_prompts"].min(), part["second_prompts"].min()))
            sentence += f"; with as few as {count(small, 'prompt')} in a set a difference could be missed"
        sentences.append(sentence + ".")
    return sentences
