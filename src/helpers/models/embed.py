"""Embeddings: every distinct string once, in batches of equal padded size, read from the disk where they are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from helpers.base.progress import counted
from helpers.models.batches import in_batches, token_counts
from helpers.models.cache import Request
from helpers.models.pooling import encode_both
from helpers.models.prefix import FEWEST_TEXTS, encode_suffixes, prompt_states, split
from helpers.models.role import Role
from helpers.models.shape import Model, is_stock, prompt_is_text, rounding

T = TypeVar("T")
STOCK_BATCH = 32  # mteb's
Rows = tuple[np.ndarray, np.ndarray]  # vectors of distinct strings, and which of them each text has


def embed_many(model: Model, requests: Sequence[Request]) -> list[np.ndarray]:
    """Embed several lists of texts, each behind its literal prefix, in one pass over the encoder.

    Returns one (n, dimension) float32 matrix per request, in the order of its texts, not normalised beyond what the
    model does itself. Strings that occur more than once are encoded once; matrices on disk are not encoded again.
    """
    results: list[np.ndarray | None] = [None] * len(requests)
    keys: list[str | None] = [None] * len(requests)
    for number, request in enumerate(requests):
        if model.cache is not None:
            keys[number] = model.cache.key(model.key, request)
            results[number] = model.cache.read(str(keys[number]), len(request[0]))
    open_ones = [n for n, result in enumerate(results) if result is None]
    if open_ones:
        _check_may_encode(model)
    for group in _groups(model, requests, open_ones):
        wanted = [requests[n] for n in group]
        if model.needs_stock_batches(requests[group[0]][2]):
            encode_them = _encode_as_stock
        else:
            encode_them = _encode_with_twin if shares_pass(model) else _encode_group
        for number, (vectors, rows) in zip(group, encode_them(model, wanted), strict=True):
            if model.cache is not None:
                model.cache.write(str(keys[number]), vectors, rows)
                results[number] = model.cache.read(str(keys[number]), len(rows))
            if results[number] is None:
                results[number] = vectors[rows]
    if open_ones and model.cache is not None:
        model.cache.shrink()
    return [r for r in results if r is not None]


def embed_in_stock_batches(model: Model, request: Request) -> np.ndarray:
    """One list of texts as stock mteb's wrapper encodes it, in its batches: (n, dimension) float32, kept on disk.

    Without a prompt there is none to pool, so the vectors are the twin's too (`Study.twin`).
    """
    texts, prefix, role = request
    if model.cache is None:
        return stock_vectors(model.st, texts, prefix, role)
    owners = [model.key] if prefix or not model.has_twin else [model.key, model.twin_key]
    keys = [model.cache.key(f"{owner} in stock batches", request) for owner in owners]
    found = model.cache.read(keys[0], len(texts))
    if found is None:
        _check_may_encode(model)
        found = stock_vectors(model.st, texts, prefix, role)
        for key in keys:
            model.cache.write(key, found)
    return found


def _check_may_encode(model: Model) -> None:
    """Raise `LookupError` for a model that only reads what another process embedded."""
    if model.only_cached:
        raise LookupError("a vector is not in the embedding cache of the run")


def stock_vectors(st: Any, texts: Sequence[str], prefix: str, role: Role) -> np.ndarray:
    """What sentence-transformers gives for these texts and this prompt in batches of `STOCK_BATCH`."""
    encode_texts = encode_method(st, role)
    with counted(st, STOCK_BATCH, len(texts)):
        vectors = np.asarray(encode_texts(list(texts), prompt=prefix, batch_size=STOCK_BATCH, show_progress_bar=False))
    _refuse_useless(vectors, [prefix + text for text in texts])
    return vectors


def encode_method(st: Any, role: Role) -> Any:
    """The method with which sentence-transformers embeds texts of this role."""
    return {"query": st.encode_query, "document": st.encode_document, None: st.encode}[role]


def batches_matter(st: Any, role: Role = None) -> bool:
    """Whether a text's vector depends on the texts beside it, e.g. where padding is read like words.

    Then no other batches than those of `encode` itself give its vectors.
    """
    encode_texts = encode_method(st, role)
    texts = ["bread", "the long way home in the rain, and a cat that sleeps on the warm stove", "a cat"]
    together = np.asarray(encode_texts(texts, prompt="", show_progress_bar=False), dtype=np.float32)
    alone = [np.asarray(encode_texts([t], prompt="", show_progress_bar=False))[0] for t in texts]
    size = max(float(np.linalg.norm(together, axis=1).max()), 1.0)
    return float(np.abs(together - np.asarray(alone, dtype=np.float32)).max()) > 10 * rounding(st) * size


def _encode_as_stock(model: Model, requests: Sequence[Request]) -> list[Rows]:
    """Every request for itself, as sentence-transformers encodes it."""
    return [(stock_vectors(model.st, texts, prefix, role), np.arange(len(texts))) for texts, prefix, role in requests]


def joins_prompt(st: Any) -> bool:
    """Whether prompt and text may be joined beforehand: not where a module of the model's own could tell them apart."""
    return prompt_is_text(st) and is_stock(st)


def _groups(model: Model, requests: Sequence[Request], numbers: list[int]) -> list[list[int]]:
    """Requests that may share batches: all of one role where the prompt is simply part of the text, else one each."""
    if not joins_prompt(model.st) and not shares_pass(model):
        return [[n] for n in numbers]
    by_role: dict[Role, list[int]] = {}
    for number in numbers:
        by_role.setdefault(requests[number][2], []).append(number)
    return list(by_role.values())


def shares_pass(model: Model) -> bool:
    """Whether one pass is to give both poolings: the prompt is not pooled here, or not in another model of the study."""
    return (model.has_twin or not prompt_is_text(model.st)) and model.gives_both_poolings


def _encode_with_twin(model: Model, requests: Sequence[Request]) -> list[Rows]:
    """Encode requests of one role together; the model with the other pooling finds its vectors in the cache."""
    pairs, places = _distinct([[(prefix, text) for text in texts] for texts, prefix, _ in requests])
    lengths = token_counts(model.st, [prefix + text for prefix, text in pairs])

    def encode_rows(rows: np.ndarray) -> np.ndarray:
        return encode_both(model.st, [pairs[i][0] for i in rows], [pairs[i][1] for i in rows])

    both = in_batches(model, lengths, encode_rows)
    _refuse_useless(both[0], [prefix + text for prefix, text in pairs])
    own, twin = (both[0], both[1]) if prompt_is_text(model.st) else (both[1], both[0])
    if model.has_twin and model.cache is not None:
        for place, request in zip(places, requests, strict=True):
            model.cache.write(model.cache.key(model.twin_key, request), twin, place)
    return [(own, place) for place in places]


def _encode_group(model: Model, requests: Sequence[Request]) -> list[Rows]:
    """Encode requests of one role together: unique strings, longest first, scattered back."""
    joined = joins_prompt(model.st)
    if joined and model.reuses_prefix:
        return _encode_behind_prompts(model, requests)
    prefix = "" if joined else requests[0][1]
    strings, places = _distinct([[own + text for text in texts] if joined else texts for texts, own, _ in requests])
    unique = encode(model, strings, prefix, requests[0][2])
    return [(unique, place) for place in places]


def _distinct(lists: Sequence[Sequence[T]]) -> tuple[list[T], list[np.ndarray]]:
    """The distinct items of all lists in order of appearance, and where each list's items are among them."""
    index: dict[T, int] = {}
    places = [
        np.fromiter((index.setdefault(item, len(index)) for item in items), np.int64, len(items)) for items in lists
    ]
    return list(index), places


def _encode_behind_prompts(model: Model, requests: Sequence[Request]) -> list[Rows]:
    """Encode requests of one role with a causal decoder: the states of each prompt are computed once for its texts."""
    texts_of: dict[str, dict[str, int]] = {}
    for texts, prefix, _ in requests:
        index = texts_of.setdefault(prefix, {})
        for text in texts:
            index.setdefault(text, len(index))
    found = {prefix: _encode_behind(model, prefix, list(index), requests[0][2]) for prefix, index in texts_of.items()}
    return [
        (found[prefix], np.fromiter((texts_of[prefix][t] for t in texts), np.int64, len(texts)))
        for texts, prefix, _ in requests
    ]


def _encode_behind(model: Model, prefix: str, texts: list[str], role: Role) -> np.ndarray:
    """Texts behind one prompt; those whose tokens do not begin with the prompt's go the plain way."""
    if not prefix or len(texts) < FEWEST_TEXTS:
        return encode(model, [prefix + t for t in texts], "", role)
    parts = split(model.st, prefix, texts)
    size = len(parts.prefix)
    shared = np.asarray([n for n, suffix in enumerate(parts.suffixes) if suffix is not None], dtype=np.int64)
    plain = np.setdiff1d(np.arange(len(texts)), shared)
    out = np.empty((len(texts), model.dimension), dtype=np.float32)
    out[plain] = encode(model, [prefix + texts[n] for n in plain], "", role)
    if len(shared):
        states = prompt_states(model.st, parts.prefix)
        suffixes = [parts.suffixes[n] or [] for n in shared]
        lengths = np.asarray([size + len(s) for s in suffixes])

        def encode_rows(rows: np.ndarray) -> np.ndarray:
            return encode_suffixes(model.st, states, size, [suffixes[i] for i in rows])[None]

        out[shared] = in_batches(model, lengths, encode_rows)[0]
        _refuse_useless(out, [prefix + t for t in texts])
    return out


def encode(model: Model, strings: Sequence[str], prefix: str = "", role: Role = None) -> np.ndarray:
    """Encode strings once each: sorted by token count, batches of a padded-token budget, (n, dimension) float32."""
    if not strings:
        return np.zeros((0, model.dimension), dtype=np.float32)
    lengths = token_counts(model.st, [prefix + s for s in strings], role=role)
    method = encode_method(model.st, role)

    def encode_rows(rows: np.ndarray) -> np.ndarray:
        some = [strings[i] for i in rows]
        vectors = method(some, prompt=prefix, batch_size=len(some), convert_to_tensor=True, show_progress_bar=False)
        return np.asarray(vectors.float().cpu().numpy())[None]

    out = in_batches(model, lengths, encode_rows)[0]
    _refuse_useless(out, strings)
    return out


def _refuse_useless(vectors: np.ndarray, strings: Sequence[str]) -> None:
    """Raise `FloatingPointError` where vectors are not finite, or where all are zero."""
    bad = ~np.isfinite(vectors).all(axis=1)
    if bad.any():
        example = strings[int(np.flatnonzero(bad)[0])][:80]
        raise FloatingPointError(f"{int(bad.sum())} embeddings are not finite, e.g. of {example!r}")
    if len(vectors) > 1 and not vectors.any():
        raise FloatingPointError(f"all {len(vectors)} embeddings are zero")
