"""How good paraphrases are: equal, empty, in another language, giving the answer away, too far from their source."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from rapidfuzz.distance import Levenshtein

from helpers.paraphrases import same

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
    least_similarity: float = 0.5,
    language: str | None = None,
) -> pd.DataFrame:
    """One row per query with a paraphrase: its distances from the source and the checks that it fails.

    distance: normalised Levenshtein, [0, 1]. shared_words: Jaccard overlap of the words. length_ratio: characters of
    the paraphrase / of the source. similarity: cosine of `embed` (texts -> (n, d) unit vectors), missing without it.
    answers: query id -> short answer. language: ISO 639-1 code; null takes the queries' own.
    """
    ids = [i for i in queries if i in paraphrases]
    source = [queries[i] for i in ids]
    other = [paraphrases[i] or "" for i in ids]
    cosine = np.full(len(ids), np.nan)
    if embed is not None and ids:
        cosine = np.einsum(
            "ij,ij->i", np.asarray(embed(source), dtype=float), np.asarray(embed(other), dtype=float)
        )
    expected = language or (language_of(" ".join(source))[0] if source else None)
    rows = []
    for number, query_id in enumerate(ids):
        text, paraphrase = source[number], other[number]
        answer = (answers or {}).get(query_id)
        failed = dict(_failed(text, paraphrase, answer, cosine[number], least_similarity, expected))
        rows.append({
            "id": query_id, "text": text, "paraphrase": paraphrase,
            "distance": Levenshtein.normalized_distance(text, paraphrase), "shared_words": _overlap(text, paraphrase),
            "length_ratio": len(paraphrase) / len(text) if text else np.nan, "similarity": cosine[number],
            "language": language_of(paraphrase)[0], "checks": "; ".join(failed), "reasons": "; ".join(failed.values()),
        })  # fmt: skip
    return pd.DataFrame(rows, columns=QUALITY)


def _failed(
    text: str, paraphrase: str, answer: str | None, cosine: float, least: float, expected: str | None
) -> list[tuple[str, str]]:
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
    if np.isfinite(cosine) and cosine < least:
        found.append(("too far", f"cosine {cosine:.2f} with its source, below {least:.2f}"))
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


def findings(table: pd.DataFrame, wanted: int | None = None) -> list[str]:
    """What the quality table says, in sentences."""
    if table.empty:
        return ["There are no paraphrases."]
    good = int((table["checks"] == "").sum())
    sentences = [f"{good} of {len(table)} paraphrases pass every check."]
    counts = table.loc[table["checks"] != "", "checks"].str.split("; ").explode().value_counts()
    if len(counts):
        sentences.append("Marked: " + ", ".join(f"{n} '{name}'" for name, n in counts.items()) + ".")
    shared = table["shared_words"].median()
    if np.isfinite(shared):
        sentences.append(f"The median paraphrase shares {shared:.0%} of its words with the source.")
    if wanted is not None and wanted > len(table):
        sentences.append(f"{wanted - len(table)} of {wanted} queries have no paraphrase.")
    return sentences
