"""What the generation of prompts says."""

from __future__ import annotations

import pandas as pd

from helpers.base.phrases import choose, count


def findings(table: pd.DataFrame, missing: pd.DataFrame | None = None) -> list[str]:
    """What was generated, in sentences."""
    if table.empty:
        return ["No prompts were generated."]
    sentences = []
    for generator, part in table.groupby("generator", dropna=False):
        if not isinstance(generator, str):
            continue
        distinct, places = part["text"].nunique(), part.groupby(["task", "level"]).ngroups
        tries = pd.to_numeric(part["attempt"], errors="coerce")
        again = int((tries > 1).sum())
        sentence = (
            f"{generator} wrote {count(distinct, 'distinct prompt')} for "
            f"{count(places, 'combination of task and level', 'combinations of task and level')}"
        )
        sentences.append(
            sentence + (f"; {again} of {len(part)} needed more than one attempt." if again else ".")
        )
    if missing is not None and len(missing):
        short = int(missing["short"].sum())
        sentences.append(
            f"{count(short, 'prompt')} {choose(short, 'is', 'are')} still missing, in {count(len(missing), 'combination')}."
        )
    return sentences
