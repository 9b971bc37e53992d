"""Protocols of servers that embed texts: what is sent, and how vectors are read from the answer and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.study.served import ServerSpec


class NoVectors(ValueError):
    """An answer that does not hold one finite vector per text; the message says what it holds instead."""


def address(server: ServerSpec) -> str:
    """Where texts are sent to."""
    return f"{server.url}/{'embeddings' if server.protocol == 'openai' else 'embed'}"


def request_body(server: ServerSpec, model: str, texts: Sequence[str]) -> dict[str, Any]:
    """What is sent for these texts, with everything set that the protocol lets a client set.

    >>> request_body(ServerSpec(url="http://localhost/v1"), "m", ["a"])
    {'model': 'm', 'input': ['a'], 'encoding_format': 'float'}
    """
    size = {} if server.dimensions is None else {"dimensions": server.dimensions}
    if server.protocol == "openai":
        return {"model": model, "input": list(texts), "encoding_format": "float", **size}
    cut = {} if server.truncate is None else {"truncate": server.truncate}
    return {"inputs": list(texts), "normalize": True, "prompt_name": server.prompt_name, **cut, **size}


def read_vectors(server: ServerSpec, answer: Any, count: int) -> np.ndarray:
    """The vectors of an answer in the order of the texts, (count, dimension) float32; `NoVectors` where it has others."""
    rows = _in_order(answer, count) if server.protocol == "openai" else answer
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise NoVectors("the answer is no list of vectors")
    if len(rows) != count:
        raise NoVectors(f"{len(rows)} vectors came for {count} texts")
    sizes = sorted({len(row) for row in rows})
    if len(sizes) > 1 or sizes == [0]:
        raise NoVectors(f"vectors of {' and '.join(map(str, sizes))} numbers came in one answer")
    try:
        vectors = np.array(rows, dtype=np.float32)
    except (TypeError, ValueError):
        raise NoVectors("a vector holds something that is no number") from None
    if vectors.ndim != 2:
        raise NoVectors("a vector per text is needed, a vector per token came")
    if not np.isfinite(vectors).all():
        bad = int((~np.isfinite(vectors).all(axis=1)).sum())
        raise NoVectors(f"{bad} of {count} vectors hold NaN or infinite numbers")
    if server.dimensions is not None and sizes[0] != server.dimensions:
        raise NoVectors(f"{server.dimensions} dimensions were asked for, {sizes[0]} came")
    return vectors


def _in_order(answer: Any, count: int) -> Any:
    """The vectors of an OpenAI answer sorted by their index, which a server may shuffle."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise NoVectors("the answer has no list 'data'; does the address end with /v1?")
    given = [item.get("index") for item in data]
    if len(data) == count and sorted(map(str, given)) != sorted(map(str, range(count))):
        raise NoVectors(f"the answer's indices are not 0 to {count - 1}, each once: {given[:8]}")
    if len(data) != count:
        return [item.get("embedding") for item in data]
    found: list[Any] = [None] * count
    for item in data:
        found[int(item["index"])] = item.get("embedding")
    return found


def reported_tokens(answer: Any) -> int | None:
    """Tokens that the server says it read; None where it does not say."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return tokens if type(tokens) is int and 0 <= tokens < 2**53 else None
