"""Statistics of prompts: lengths, styles, variety, similarity, and how far generators write the same."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers.base.phrases import is_lowest
from helpers.prompts.lexicon import IMPERATIVES, QUESTION_WORDS
from helpers.prompts.near_duplicates import distances

STYLES = ("label", "instruction", "question", "keywords", "description")

STATISTICS = [
    "task", "level", "generator", "prompts", "words_mean", "words_sd", "characters_mean", "characters_sd", "shortest",
    "longest", "distinct_words", "type_token_ratio", "distinct_bigrams", "mean_distance",
    *(f"share_{s}" for s in STYLES),
]  # fmt: skip

_STARTS = {"given", "please"}


def words(text: str) -> list[str]:
    """Pieces between blanks, as study 1 counts them."""
    return text.split()


def style(text: str) -> str:
    """The outer form of a prompt.

    keywords: separated by | or in brackets or `key: value` marks; question: ends with a question mark or begins with a
    question word and a verb; instruction: begins with an imperative (after "given ...,"); label: at most three words;
    description: everything else, such as "A question whose answer stands in one passage:".

    >>> [style(t) for t in ("Query:", "Retrieve the passage:", "Which one fits?", "[sts | English]")]
    ['label', 'instruction', 'question', 'keywords']
    """
    bare = text.strip()
    tokens = [t.casefold() for t in re.findall(r"[^\W\d_]+", bare)]
    if not tokens:
        return "label"
    if " | " in bare or re.fullmatch(r"[\[(<{].*[\])>}]:?", bare) or bare.startswith("#"):
        return "keywords"
    if bare.rstrip(" :").endswith("?") or (tokens[0] in QUESTION_WORDS and len(tokens) > 3):
        return "question"
    first = tokens[0]
    if first in _STARTS:
        rest = bare.split(",", 1)[1] if "," in bare else ""
        tail = [t.casefold() for t in re.findall(r"[^\W\d_]+", rest)] or tokens[1:]
        first = tail[0] if tail else first
    if first in IMPERATIVES and (len(tokens) > 1 or not bare.endswith(":")):
        return "instruction"
    return "label" if len(tokens) <= 3 else "description"


def describe(table: pd.DataFrame) -> pd.DataFrame:
    """One row per task, level and generator, then one per level and one for all (task or level "all").

    Means and population standard deviations (ddof 0, as study 1's 5.24 and 2.33) of words and characters; variety:
    distinct words, types per token, distinct among the pairs of neighbouring words, mean normalised Levenshtein
    distance within a task; the share of each style.
    """
    rows = []
    prompts = table[table["kind"] == "prompt"] if "kind" in table else table
    groupings: tuple[list[str], ...] = (["task", "level", "generator"], ["level"], ["generator"], [])
    for keys in groupings:
        if keys == ["generator"] and prompts["generator"].nunique(dropna=True) < 1:
            continue
        groups = prompts.groupby(keys, dropna=False, sort=False) if keys else [((), prompts)]
        for names, group in groups:
            given = dict(zip(keys, names if isinstance(names, tuple) else (names,), strict=True))
            label = {k: _or_none(given[k]) if k in given else "all" for k in ("task", "level", "generator")}
            rows.append(label | _describe(group))
    return pd.DataFrame(rows, columns=STATISTICS)


def _describe(group: pd.DataFrame) -> dict[str, object]:
    texts = group["text"].tolist()
    counts = np.array([len(words(t)) for t in texts], dtype=float)
    lengths = np.array([len(t) for t in texts], dtype=float)
    tokens = [[w.casefold() for w in re.findall(r"\w+", t)] for t in texts]
    flat = list(itertools.chain.from_iterable(tokens))
    pairs = [pair for t in tokens for pair in itertools.pairwise(t)]
    shares = pd.Series([style(t) for t in texts], dtype=object).value_counts(normalize=True)
    per_task = [mean_distance(part["text"].tolist()) for _, part in group.groupby("task", sort=False)]
    known = [d for d in per_task if np.isfinite(d)]
    return {
        "prompts": len(texts),
        "words_mean": _mean(counts), "words_sd": _sd(counts),
        "characters_mean": _mean(lengths), "characters_sd": _sd(lengths),
        "shortest": int(lengths.min()) if len(lengths) else 0, "longest": int(lengths.max()) if len(lengths) else 0,
        "distinct_words": len(set(flat)), "type_token_ratio": len(set(flat)) / len(flat) if flat else np.nan,
        "distinct_bigrams": len(set(pairs)) / len(pairs) if pairs else np.nan,
        "mean_distance": float(np.mean(known)) if known else np.nan,
        **{f"share_{s}": float(shares.get(s, 0.0)) for s in STYLES},
    }  # fmt: skip


def mean_distance(texts: Sequence[str]) -> float:
    """Mean normalised Levenshtein distance of the pairs of texts; missing for fewer than two."""
    if len(texts) < 2:
        return float("nan")
    between = distances(texts)
    return float(between[np.triu_indices(len(texts), 1)].mean())


def similarity_map(table: pd.DataFrame, task: str) -> pd.DataFrame:
    """1 - normalised Levenshtein distance of every pair of a task's prompts: columns first, second, similarity."""
    texts = table.loc[table["task"] == task, "text"].dropna().tolist()
    near = 1 - distances(texts)
    return pd.DataFrame(
        [
            {"row": a, "column": b, "first": texts[a], "second": texts[b], "similarity": float(near[a, b])}
            for a in range(len(texts))
            for b in range(len(texts))
        ],
        columns=["row", "column", "first", "second", "similarity"],
    )


def set_column(table: pd.DataFrame) -> str:
    """What tells two prompt sets apart: their generators, else their sources, else their levels."""
    return next((c for c in ("generator", "source") if table[c].nunique(dropna=True) > 1), "level")


def overlap(table: pd.DataFrame, by: str | None = None, threshold: float = 0.1) -> pd.DataFrame:
    """How far two sets write the same, per pair of values of `by` (generator, source or level; None: `set_column`).

    shared: texts that both have for the same task; jaccard: shared / all distinct; near: share of the first set's texts
    with one of the second set's at a distance below the threshold. One row per ordered pair.
    """
    by = set_column(table) if by is None else by
    sets = {
        str(name): {(t, x) for t, x in zip(part["task"], part["text"], strict=True)}
        for name, part in table.dropna(subset=["text"]).groupby(by, sort=False)
    }
    rows = []
    for one, other in itertools.permutations(sets, 2):
        a, b = sets[one], sets[other]
        rows.append({
            "first": one, "second": other, "first_size": len(a), "second_size": len(b), "shared": len(a & b),
            "jaccard": len(a & b) / len(a | b), "near": _near_share(a, b, threshold),
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["first", "second", "first_size", "second_size", "shared", "jaccard", "near"])


def _near_share(a: set[tuple[str, str]], b: set[tuple[str, str]], threshold: float) -> float:
    found = 0
    for task in {t for t, _ in a}:
        mine = sorted(x for t, x in a if t == task)
        other = sorted(x for t, x in b if t == task)
        if other:
            between = distances([*mine, *other])[: len(mine), len(mine) :]
            found += int((between.min(axis=1) < threshold).sum())
    return found / len(a) if a else float("nan")


def most_alike(prompts: pd.DataFrame) -> str:
    """The task whose prompts have the smallest mean distance, of several the first by name; any where none has two."""
    between = prompts.groupby("task", sort=False)["text"].agg(lambda texts: mean_distance(texts.dropna().tolist()))
    if between.notna().any():
        between = between[is_lowest(between)]
    return str(min(between.index, default=""))


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _sd(values: np.ndarray) -> float:
    return float(values.std(ddof=0)) if len(values) else float("nan")


def _or_none(value: object) -> object:
    return value if isinstance(value, str) else None
