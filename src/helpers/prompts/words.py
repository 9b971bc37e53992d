"""What chapter 01 says: title and findings of each figure, and the sentences on its tables, each from its own table."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from helpers.base.phrases import choose, count, is_highest, is_lowest, listed, out_of
from helpers.display.figure import Said
from helpers.prompts.statistics import style, words
from helpers.study.prompts import LEVELS

NO_PROMPT = "There is no prompt"


def prompt_lengths(prompts: pd.DataFrame) -> Said:
    """Words per prompt: overall beside study 1's 5.24 ± 2.33, and which level of context makes them longest.

    prompts: columns level, text; the standard deviation is that of the population (ddof 0), as in study 1.
    """
    known = prompts.dropna(subset=["text"])
    if known.empty:
        return Said(NO_PROMPT, ("There are no prompts to describe.",))
    counts = known["text"].map(lambda text: len(words(text)))
    means = counts.groupby(known["level"]).mean().reindex(list(LEVELS)).dropna()
    n = len(counts)
    findings = [
        f"The {count(n, 'prompt')} {choose(n, 'has', 'have')} {counts.mean():.2f} words on average "
        f"(standard deviation {counts.std(ddof=0):.2f}; study 1: 5.24 and 2.33)."
    ]
    if len(means) < 2:
        return Said(f"A prompt has {counts.mean():.1f} words on average", tuple(findings))
    longest, shortest = (
        listed((f"'{level}'" for level in means[at].index), 3) for at in (is_highest(means), is_lowest(means))
    )
    if longest != shortest:
        findings.append(
            f"Prompts of level {longest} are the longest ({means.max():.1f} words), those of {shortest} the shortest "
            f"({means.min():.1f})."
        )
    title = f"Prompts have {means.iloc[0]:.1f} words with the least context and {means.iloc[-1]:.1f} with the most"
    return Said(title, tuple(findings))


def prompt_styles(prompts: pd.DataFrame) -> Said:
    """The shares of the styles, the most frequent first. prompts: column text."""
    shares = _by_size(prompts["text"].dropna().map(style), normalize=True)
    if shares.empty:
        return Said(NO_PROMPT)
    finding = "Styles: " + ", ".join(f"{share:.0%} {name}" for name, share in shares.items()) + "."
    first = shares[is_highest(shares)]
    if len(first) > 1:
        title = f"The styles {listed(first.index, len(first))} are equally frequent: {first.max():.0%} each"
    else:
        title = f"{first.max():.0%} of the prompts have the style '{first.index.item()}'"
    return Said(title, (finding,))


def prompt_similarity(pairs: pd.DataFrame, task: str) -> Said:
    """The highest similarity of two different prompts of a task. pairs: see `statistics.similarity_map`."""
    others = pairs.loc[pairs["row"] != pairs["column"], "similarity"]
    if others.empty:
        return Said(f"{task} has one prompt: nothing to compare" if len(pairs) else NO_PROMPT)
    return Said(f"The two most alike prompts of {task} have a similarity of {others.max():.2f}")


def generated(provenance: pd.DataFrame) -> list[str]:
    """What each language model wrote, and how often it was asked again; nothing about prompts from files.

    provenance: see `llm.provenance`.
    """
    sentences = []
    for generator, part in provenance[provenance["backend"] != "file"].groupby("generator"):
        places = part.groupby(["task", "level"]).ngroups
        again = int((pd.to_numeric(part["attempt"], errors="coerce") > 1).sum())
        sentences.append(
            f"{generator} wrote {count(part['text'].nunique(), 'distinct prompt')} for "
            f"{count(places, 'combination of task and level', 'combinations of task and level')}"
            + (f"; {again} of {len(part)} needed more than one attempt." if again else ".")
        )
    return sentences


def removals(decided: pd.DataFrame, unread: Iterable[str] = ()) -> list[str]:
    """How many prompts stay, why others do not, and what a reader should decide.

    decided: see `checks.decide`; unread: tasks whose data could not be looked through for leaks.
    """
    if decided.empty:
        return ["There are no prompts to check."]
    stays = decided["kept"].astype(bool)
    kept, marked = decided[stays], decided[stays & (decided["rules"] != "")]
    stay = choose(len(decided), "stays", "stay")
    sentences = [f"{out_of(len(kept), len(decided), 'prompt')} {stay}, for {count(decided['task'].nunique(), 'task')}."]
    if len(kept) < len(decided):
        counts = ", ".join(f"{n} {rule}" for rule, n in _by_size(decided.loc[~stays, "rule"]).items())
        sentences.append(f"Removed: {counts}.")
    if len(marked):
        names = _by_size(marked["rules"].str.split("; ").explode())
        each = ", ".join(f"{n} for '{rule}'" for rule, n in names.items())
        sentences.append(
            f"{count(len(marked), 'prompt')} that {choose(len(marked), 'stays carries', 'stay carry')} a mark ({each}); a "
            f"reader should decide on {choose(len(marked), 'it', 'them')}."
        )
    if tasks := sorted(set(unread)):
        sentences.append(f"Not looked for texts of the data set, because it could not be read: {', '.join(tasks)}.")
    return sentences


def paraphrases(table: pd.DataFrame) -> list[str]:
    """How many paraphrases pass every check, and how near they are to their sources. table: see `llm.quality`."""
    if table.empty:
        return []
    good = int((table["checks"] == "").sum())
    sentences = [f"{out_of(good, len(table), 'paraphrase')} {choose(len(table), 'passes', 'pass')} every check."]
    counts = _by_size(table.loc[table["checks"] != "", "checks"].str.split("; ").explode())
    if len(counts):
        sentences.append("Marked: " + ", ".join(f"{n} '{name}'" for name, n in counts.items()) + ".")
    if np.isfinite(shared := table["shared_words"].median()):
        sentences.append(f"The median paraphrase shares {shared:.0%} of its words with the source.")
    return sentences


def _by_size(names: pd.Series, normalize: bool = False) -> pd.Series:
    """How often each name occurs, the most frequent first, equals by name."""
    return names.value_counts(normalize=normalize).sort_index().sort_values(ascending=False, kind="stable")
