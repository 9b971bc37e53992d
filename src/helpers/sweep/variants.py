"""Variants: models of a study that share one set of weights, which boards, agreement and error rates count once.

A study may score the same weights twice: with the prompt pooled and not, or from a package and from a folder. As two
models they would beat each other's rivals twice, agree with themselves and double every test. So the first of them in
the study is the model, the others are its variants: shown and labelled like models, but in no count over models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from helpers.base.phrases import choose, listed


def variant_of(scores: pd.DataFrame, order: Iterable[str] = ()) -> dict[str, str]:
    """Label of each variant -> label of the model whose weights it has.

    scores: a scores table. Two labels share weights where the digest of all tensors (column `weights`) is the same;
    where no digest is known, as in results of others, where model_name and revision are. order: the labels as the study
    lists them; labels that it does not name come after those, by name.
    """
    known = scores.astype(object)
    digest = known["weights"] if "weights" in known else pd.Series(None, index=known.index, dtype=object)
    named = known["model_name"].astype(str) + "@" + known["revision"].astype(str)
    key = digest.fillna(named.where(known["revision"].notna()))
    place = {label: n for n, label in enumerate(order)}
    keys = {str(label): set(part.dropna()) for label, part in key.groupby(known["model"]) if part.notna().any()}
    first: dict[object, str] = {}
    found = {}
    for label in sorted(keys, key=lambda name: (place.get(name, len(place)), name)):
        model = next((first[k] for k in sorted(keys[label], key=str) if k in first), label)
        first |= {k: model for k in keys[label] if k not in first}
        if model != label:
            found[label] = model
    return found


_NOT_FAMILY = re.compile(r"(?:nano|micro|tiny|mini|small|medium|base|large|xl|xxl|instruct|v?\d[\d.]*[bm]?|l\d+)", re.I)


def family(model_name: str) -> str:
    """A model's name without what tells members of one family apart: size, depth, version, "instruct".

    >>> family("BAAI/bge-small-en-v1.5"), family("BAAI/bge-m3"), family("Qwen/Qwen3-Embedding-0.6B")
    ('BAAI/bge-en', 'BAAI/bge-m3', 'Qwen/Qwen3-Embedding')
    """
    folder, _, own = model_name.rpartition("/")
    kept = [word for word in own.split("-") if not _NOT_FAMILY.fullmatch(word)] or [own]
    return f"{folder}/{'-'.join(kept)}".lstrip("/")


def families(scores: pd.DataFrame) -> dict[str, str]:
    """Label of each model -> its `family`; scores: a scores table. Siblings answer alike, so a count may want one of them."""
    named = scores[["model", "model_name"]].astype(str).drop_duplicates("model")
    return {label: family(name) for label, name in named.itertuples(index=False)}


def distinct(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of models, without those of variants (column `variant_of`; where it is absent all rows stay)."""
    return table[table["variant_of"].isna()] if "variant_of" in table else table


def other_models(table: pd.DataFrame, labels: Iterable[str]) -> pd.DataFrame:
    """The rows of the models that have other weights than these labels."""
    if "variant_of" not in table:
        return table[~table["model"].isin(list(labels))] if len(table) else table
    own = table["model"].isin(list(labels))
    same = {*labels, *table.loc[own, "variant_of"].dropna()}
    return distinct(table[~table["model"].isin(same)])


def findings(table: pd.DataFrame) -> list[dict[str, str]]:
    """Which models are variants and what that means, as a sentence; none where all weights are distinct."""
    if "variant_of" not in table or table["variant_of"].isna().all():
        return []
    pairs = table.loc[table["variant_of"].notna(), ["model", "variant_of"]].drop_duplicates()
    named = listed((f"{a} has the weights of {b}" for a, b in pairs.itertuples(index=False)), len(pairs))
    text = (
        f"{named}: pages 2 and 3 show {choose(len(pairs), 'it', 'them')}, but boards, agreement, variance, error rates "
        "and page 5 count every set of weights once."
    )
    return [{"text": text, "figure": ""}]
