"""How good paraphrases are: equal, empty, in another language, giving the answer away, too far from their source."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from rapidfuzz.distance import Levenshtein

from helpers.prompts.llm.paraphrase import same

Embed = Callable[[Sequence[str]], np.ndarray]

CHECKS = ("empty", "equal to source", "other language", "answer leaked", "too far")

QUALITY = [
    "id", "text", "paraphrase", "distance", "shared_words", "length_ratio", "similarity", "language", "checks",
    "reasons",
]  # fmt: skip

LEAST_LETTERS = 20  # shorter texts say too little about their language

SURE = 0.95


def quality(
    queries: Mapping[str, str],
    paraphrases: Mapping[str, str],
    answers: Mapping[str, str] | None = None,
    embed: Embed | None = None,
    least_similarity: float = 0.3,
    language: str | None = None,
) -> pd.DataFrame:
    """One row per query with a paraphrase: its distances from the source and the checks that it fails.

    distance: normalised Levenshtein, [0, 1]. shared_words: Jaccard overlap of the words. length_ratio: characters of
    the paraphrase / of the source. similarity: cosine of `embed` (texts -> (n, d) unit vectors), missing without it.
    A paraphrase is too far when that is below `least_similarity`, or when another query is nearer than its source:
    models differ in what a cosine of 0.5 means, but not in that. answers: query id -> short answer. language: ISO 639-1
    code; null takes the queries' own.
    """
    ids = [i for i in queries if i in paraphrases]
    source = [queries[i] for i in ids]
    other = [paraphrases[i] or "" for i in ids]
    cosine, far = _too_far(source, other, embed, least_similarity)
    expected = language or (language_of(" ".join(source[:1000]))[0] if source else None)
    rows = []
    for number, query_id in enumerate(ids):
        text, paraphrase = source[number], other[number]
        failed = dict(_failed(text, paraphrase, (answers or {}).get(query_id), expected))
        if far[number] and "empty" not in failed:
            failed["too far"] = far[number]
        rows.append({
            "id": query_id, "text": text, "paraphrase": paraphrase,
            "distance": Levenshtein.normalized_distance(text, paraphrase), "shared_words": _overlap(text, paraphrase),
            "length_ratio": len(paraphrase) / len(text) if text else np.nan, "similarity": cosine[number],
            "language": language_of(paraphrase)[0], "checks": "; ".join(failed), "reasons": "; ".join(failed.values()),
        })  # fmt: skip
    return pd.DataFrame(rows, columns=QUALITY)


def quality_table(
    sets: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]], embed: Embed | None = None
) -> pd.DataFrame:
    """The quality of the paraphrases of several tasks: `quality` of each with the column task.

    sets: task -> (query id -> text, query id -> paraphrase); a task without paraphrases has no rows.
    """
    tables = [
        quality(queries, ready, embed=embed).assign(task=task) for task, (queries, ready) in sets.items() if ready
    ]
    return pd.concat(tables, ignore_index=True) if tables else quality({}, {}).assign(task="")


def _too_far(
    source: Sequence[str], other: Sequence[str], embed: Embed | None, least: float, block: int = 1024
) -> tuple[np.ndarray, list[str]]:
    """Cosine of each paraphrase with its source, and a reason where it is low or another query is nearer."""
    cosine, reasons = np.full(len(source), np.nan), [""] * len(source)
    if embed is None or not source:
        return cosine, reasons
    a, b = np.asarray(embed(source), dtype=float), np.asarray(embed(other), dtype=float)
    cosine = np.einsum("ij,ij->i", a, b)
    for start in range(0, len(source), block):
        near = b[start : start + block] @ a.T
        for number, best in enumerate(near.argmax(axis=1), start):
            if cosine[number] < least:
                reasons[number] = f"cosine {cosine[number]:.2f} with its source, below {least:.2f}"
            elif near[number - start, best] > cosine[number] + 1e-6 and source[best] != source[number]:
                reasons[number] = (
                    f"nearer to the query '{source[best]}' ({near[number - start, best]:.2f}) than to its source "
                    f"({cosine[number]:.2f})"
                )
    return cosine, reasons


def _failed(text: str, paraphrase: str, answer: str | None, expected: str | None) -> list[tuple[str, str]]:
    if not paraphrase.strip():
        return [("empty", "the paraphrase is empty")]
    found = []
    if same(text, paraphrase):
        found.append(("equal to source", "the same words as the source"))
    code, sure = language_of(paraphrase)
    letters = sum(c.isalpha() for c in paraphrase)
    if expected and code != expected and sure >= SURE and letters >= LEAST_LETTERS:
        found.append(("other language", f"looks like '{code}', the queries are '{expected}'"))
    if answer and _contains(paraphrase, answer) and not _contains(text, answer):
        found.append(("answer leaked", f"contains the answer '{answer}'"))
    return found


def language_of(text: str) -> tuple[str, float]:
    """ISO 639-1 code of the likeliest language and its probability (0 to 1); unsure for a few words."""
    if not text.strip():
        return "", 0.0
    code, sure = _identifier().classify(text)
    return str(code), float(sure)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _contains(text: str, part: str) -> bool:
    words = re.findall(r"\w+", part.casefold())
    pattern = r"\W+".join(map(re.escape, words))
    return bool(words) and re.search(rf"(?<!\w){pattern}(?!\w)", text.casefold()) is not None


def _overlap(one: str, other: str) -> float:
    a, b = set(re.findall(r"\w+", one.casefold())), set(re.findall(r"\w+", other.casefold()))
    return len(a & b) / len(a | b) if a | b else np.nan
