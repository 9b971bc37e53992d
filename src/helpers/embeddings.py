"""Embeddings: every distinct string once, in batches of equal padded size, kept on disk as memory-mapped matrices."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers.application import Role
from helpers.prefix_reuse import FEWEST_TEXTS, encode_suffixes, prompt_states, split
from helpers.prompt_pooling import can_share_pass, encode_both
from helpers.run import replacing

if TYPE_CHECKING:
    from helpers.models import LoadedModel

Request = tuple[Sequence[str], str, Role]
CPU_BATCH_TOKENS = (
    1024  # measured: the fastest padded-token budget of a small encoder on a CPU (ENGINE, section 7)
)
GPU_BATCH_TOKENS = 65536
LONGEST_BATCH = 4096


class EmbeddingCache:
    """Matrices on disk, one `.npy` per (model, role, prefix, ordered texts); atomic, bounded, shared by processes.

    A file appears whole or not at all, so two processes may write the same one. When the folder grows past
    `limit_bytes` the files that were not read for the longest time are removed.
    """

    def __init__(self, folder: Path, limit_bytes: int | None = None) -> None:
        self.folder = folder
        given = os.environ.get("HELPERS_CACHE_GB")
        self.limit_bytes = limit_bytes or int(float(given or 20) * 2**30)

    def key(self, model_key: str, request: Request) -> str:
        texts, prefix, role = request
        result = hashlib.sha256(f"{model_key}\0{role}\0{len(texts)}\0".encode())
        for text in (prefix, *texts):
            raw = text.encode("utf-8", "surrogatepass")
            result.update(len(raw).to_bytes(8, "little") + raw)
        return result.hexdigest()[:32]

    def path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.npy"

    def read(self, key: str, rows: int) -> np.ndarray | None:
        """The matrix of a key, memory-mapped; None where it is absent. An unreadable file is moved aside."""
        path = self.path(key)
        try:
            matrix = np.load(path, mmap_mode="r")
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            os.replace(path, path.with_suffix(".broken"))
            return None
        if matrix.ndim != 2 or len(matrix) != rows:
            os.replace(path, path.with_suffix(".broken"))
            return None
        os.utime(path)
        return matrix

    def write(self, key: str, matrix: np.ndarray) -> None:
        with replacing(self.path(key)) as temporary, open(temporary, "wb") as file:
            np.save(file, np.asarray(matrix))

    def shrink(self) -> int:
        """Remove the longest unread matrices until the folder fits its bound; the number of removed files."""
        files = sorted(self.folder.glob("*/*.npy"), key=lambda p: p.stat().st_mtime, reverse=True)
        total, removed = 0, 0
        for path in files:
            total += path.stat().st_size
            if total > self.limit_bytes:
                path.unlink(missing_ok=True)
                removed += 1
        return removed


def embed_many(model: LoadedModel, requests: Sequence[Request]) -> list[np.ndarray]:
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
    for group in _groups(model, requests, open_ones):
        wanted = [requests[n] for n in group]
        if shares_pass(model):
            matrices = _encode_with_twin(model, wanted)
        else:
            matrices = _encode_group(model, wanted)
        for number, matrix in zip(group, matrices, strict=True):
            results[number] = matrix
            if model.cache is not None:
                model.cache.write(str(keys[number]), matrix)
    if open_ones and model.cache is not None:
        model.cache.shrink()
    return [r for r in results if r is not None]


def _groups(model: LoadedModel, requests: Sequence[Request], numbers: list[int]) -> list[list[int]]:
    """Requests that may share batches: all of one role where the prompt is simply part of the text, else one each."""
    if not prompt_is_text(model.st) and not shares_pass(model):
        return [[n] for n in numbers]
    by_role: dict[Role, list[int]] = {}
    for number in numbers:
        by_role.setdefault(requests[number][2], []).append(number)
    return list(by_role.values())


def prompt_is_text(st: Any) -> bool:
    """Whether a prompt is nothing but the beginning of the text: no pooling without it, no chat message of its own."""
    from sentence_transformers.sentence_transformer.modules import Pooling

    pooled = all(module.include_prompt for module in st if isinstance(module, Pooling))
    return pooled and not uses_chat_template(st)


def uses_chat_template(st: Any) -> bool:
    """Whether sentence-transformers turns the prompt into a system message of this backbone (ENGINE, trap T18)."""
    modalities = getattr(st[0], "modality_config", None) or {}
    return "message" in modalities and "text" not in modalities


def shares_pass(model: LoadedModel) -> bool:
    """Whether one pass is to give both poolings: the prompt is not pooled here, or not in another model of the study."""
    return (model.has_twin or not prompt_is_text(model.st)) and can_share_pass(model.st)


def _encode_with_twin(model: LoadedModel, requests: Sequence[Request]) -> list[np.ndarray]:
    """Encode requests of one role together; the model with the other pooling finds its vectors in the cache."""
    index: dict[tuple[str, str], int] = {}
    places = [
        np.fromiter((index.setdefault((prefix, t), len(index)) for t in texts), np.int64, len(texts))
        for texts, prefix, _ in requests
    ]
    pairs = list(index)
    lengths = token_counts(model.st, [prefix + text for prefix, text in pairs])

    def encode_rows(rows: np.ndarray) -> np.ndarray:
        return encode_both(model.st, [pairs[i][0] for i in rows], [pairs[i][1] for i in rows])

    both = _in_batches(model, lengths, encode_rows)
    _refuse_not_finite(both[0], [prefix + text for prefix, text in pairs])
    own, twin = (both[0], both[1]) if prompt_is_text(model.st) else (both[1], both[0])
    if model.has_twin and model.cache is not None:
        for place, request in zip(places, requests, strict=True):
            model.cache.write(model.cache.key(model.twin_key, request), twin[place])
    return [own[place] for place in places]


def _encode_group(model: LoadedModel, requests: Sequence[Request]) -> list[np.ndarray]:
    """Encode requests of one role together: unique strings, longest first, scattered back."""
    joined = prompt_is_text(model.st)
    if joined and model.reuses_prefix:
        return _encode_behind_prompts(model, requests)
    prefix = "" if joined else requests[0][1]
    index: dict[str, int] = {}
    places = []
    for texts, own_prefix, _ in requests:
        strings = [own_prefix + t for t in texts] if joined else list(texts)
        places.append(np.fromiter((index.setdefault(s, len(index)) for s in strings), np.int64, len(strings)))
    unique = encode(model, list(index), prefix, requests[0][2])
    return [unique[place] for place in places]


def _encode_behind_prompts(model: LoadedModel, requests: Sequence[Request]) -> list[np.ndarray]:
    """Encode requests of one role with a causal decoder: the states of each prompt are computed once for its texts."""
    texts_of: dict[str, dict[str, int]] = {}
    for texts, prefix, _ in requests:
        index = texts_of.setdefault(prefix, {})
        for text in texts:
            index.setdefault(text, len(index))
    found = {
        prefix: _encode_behind(model, prefix, list(index), requests[0][2])
        for prefix, index in texts_of.items()
    }
    return [
        found[prefix][np.fromiter((texts_of[prefix][t] for t in texts), np.int64, len(texts))]
        for texts, prefix, _ in requests
    ]


def _encode_behind(model: LoadedModel, prefix: str, texts: list[str], role: Role) -> np.ndarray:
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

        out[shared] = _in_batches(model, lengths, encode_rows)[0]
        _refuse_not_finite(out, [prefix + t for t in texts])
    return out


def encode(model: LoadedModel, strings: Sequence[str], prefix: str = "", role: Role = None) -> np.ndarray:
    """Encode strings once each: sorted by token count, batches of a padded-token budget, (n, dimension) float32."""
    if not strings:
        return np.zeros((0, model.dimension), dtype=np.float32)
    lengths = token_counts(model.st, [prefix + s for s in strings])
    method = {"query": model.st.encode_query, "document": model.st.encode_document, None: model.st.encode}[
        role
    ]

    def encode_rows(rows: np.ndarray) -> np.ndarray:
        some = [strings[i] for i in rows]
        vectors = method(
            some, prompt=prefix, batch_size=len(some), convert_to_tensor=True, show_progress_bar=False
        )
        return np.asarray(vectors.float().cpu().numpy())[None]

    out = _in_batches(model, lengths, encode_rows)[0]
    _refuse_not_finite(out, strings)
    return out


def _in_batches(
    model: LoadedModel, lengths: np.ndarray, encode_rows: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """`encode_rows` over all rows, longest first, within the budget of padded tokens: (readings, n, dimension)."""
    order = np.argsort(-lengths, kind="stable")
    out: np.ndarray | None = None
    for batch in batches(lengths[order], model.batch_tokens or default_batch_tokens(model.st)):
        rows = order[batch]
        vectors = within_memory(encode_rows, rows)
        if out is None:
            out = np.empty((len(vectors), len(lengths), vectors.shape[2]), dtype=np.float32)
        out[:, rows] = vectors
    assert out is not None
    return out


def within_memory(encode_rows: Callable[[np.ndarray], np.ndarray], rows: np.ndarray) -> np.ndarray:
    """One batch; when the device is out of memory, its two halves, down to single texts."""
    import torch

    try:
        return encode_rows(rows)
    except torch.OutOfMemoryError:
        if len(rows) == 1:
            raise
    torch.cuda.empty_cache()
    middle = len(rows) // 2
    return np.concatenate(
        [within_memory(encode_rows, half) for half in (rows[:middle], rows[middle:])], axis=1
    )


def _refuse_not_finite(vectors: np.ndarray, strings: Sequence[str]) -> None:
    bad = ~np.isfinite(vectors).all(axis=1)
    if bad.any():
        example = strings[int(np.flatnonzero(bad)[0])][:80]
        raise FloatingPointError(f"{int(bad.sum())} embeddings are not finite, e.g. of {example!r}")


def batches(lengths: np.ndarray, budget: int) -> list[slice]:
    """Consecutive slices of texts sorted by falling length, each within `budget` padded tokens (at least one text)."""
    slices, start = [], 0
    while start < len(lengths):
        size = int(np.clip(budget // max(int(lengths[start]), 1), 1, LONGEST_BATCH))
        slices.append(slice(start, min(start + size, len(lengths))))
        start += size
    return slices


def default_batch_tokens(st: Any) -> int:
    return CPU_BATCH_TOKENS if st.device.type == "cpu" else GPU_BATCH_TOKENS


def token_counts(st: Any, strings: Sequence[str], truncated: bool = True) -> np.ndarray:
    """Tokens of every string as the model counts them (special tokens included), cut at its maximum length."""
    tokenizer = st.tokenizer
    if hasattr(tokenizer, "encode_batch"):  # a static table works on a bare `tokenizers.Tokenizer`
        counts = [len(e.ids) for e in tokenizer.encode_batch(list(strings), add_special_tokens=False)]
    else:
        counts = [len(ids) for ids in tokenizer(list(strings), truncation=False, verbose=False)["input_ids"]]
    result = np.asarray(counts, dtype=np.int64)
    limit = st.max_seq_length
    return np.minimum(result, limit) if truncated and limit and np.isfinite(limit) else result
