"""Token batches: texts sorted by length in batches of a padded-token budget, which is tuned once per model and device."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from helpers.base.files import read_json, write_json
from helpers.base.progress import tell_texts
from helpers.models.lanes import side_by_side
from helpers.models.role import Role
from helpers.models.shape import Model, input_module, longest_input

EncodeRows = Callable[[np.ndarray], np.ndarray]
EncodeBatches = Callable[[Sequence[np.ndarray]], Iterator[np.ndarray]]
CPU_BATCH_TOKENS = 1024  # measured: the fastest budget of a small encoder on a CPU, 1.4 times batches of 32
GPU_BATCH_TOKENS = 65536
FACTORS = {"cpu": (0.5, 1, 2), "other": (0.25, 0.5, 1, 2, 4)}  # budgets that are tried, times the default
WORTH_A_CHANGE = 0.05  # smaller gains are noise
LARGEST_SHARE = {"cpu": 0.025, "other": 0.1}  # of the tokens at hand that a calibration may encode
LONGEST_BATCH = 4096

COUNTED = 4096  # texts that are tokenised at a time; a tokenizer's own records of 300,000 texts take gigabytes


def in_batches(model: Model, lengths: np.ndarray, encode_rows: EncodeRows) -> np.ndarray:
    """`encode_rows` over all rows, longest first, within the budget of padded tokens: (readings, n, dimension)."""
    order = np.argsort(-lengths, kind="stable")
    out: np.ndarray | None = None
    with side_by_side(model.st) as in_lanes:
        encode_batches = partial(in_lanes, partial(within_memory, encode_rows))
        budget = batch_budget(model, lengths, encode_batches)
        parts = [order[batch] for batch in batches(lengths[order], budget)]
        done = 0
        tell_texts(done, len(lengths))
        for rows, vectors in zip(parts, encode_batches(parts), strict=True):
            if out is None:
                out = np.empty((len(vectors), len(lengths), vectors.shape[2]), dtype=np.float32)
            out[:, rows] = vectors
            done += len(rows)
            tell_texts(done, len(lengths))
    assert out is not None
    return out


def within_memory(encode_rows: EncodeRows, rows: np.ndarray) -> np.ndarray:
    """One batch; when the device is out of memory, its two halves, down to single texts."""
    import torch

    try:
        return encode_rows(rows)
    except torch.OutOfMemoryError:
        if len(rows) == 1:
            raise
    torch.cuda.empty_cache()
    middle = len(rows) // 2
    return np.concatenate([within_memory(encode_rows, half) for half in (rows[:middle], rows[middle:])], axis=1)


def batch_budget(model: Model, lengths: np.ndarray, encode_batches: EncodeBatches) -> int:
    """Padded tokens per batch: the study's, else what was tuned for this model and device, else the device's default.

    Tuned on the first work that is large enough, and kept beside the cached vectors.
    """
    if model.batch_tokens is not None:
        return model.batch_tokens
    from helpers.models.function_module import FunctionModule

    if isinstance(model.st[0], FunctionModule):  # it makes its own batches
        return LONGEST_BATCH * 64
    default = default_batch_tokens(model.st)
    kept = model.cache.folder / "batch_tokens" / f"{model.key}.json" if model.cache is not None else None
    known = _kept_budget(kept)
    if known is None:
        kind = "cpu" if model.st.device.type == "cpu" else "other"
        budgets = [int(default * factor) for factor in FACTORS[kind]]
        sample = (2 if kind == "cpu" else 1) * max(budgets)
        if lengths.sum() * LARGEST_SHARE[kind] < 2 * sample * len(budgets):
            return default
        seconds = calibrate(lengths, encode_batches, budgets, sample)
        known = best_budget(seconds, default)
        if kept is not None:
            write_json(kept, {"batch_tokens": known, "seconds": seconds})
    model.batch_tokens = known
    return known


def calibrate(
    lengths: np.ndarray, encode_batches: EncodeBatches, budgets: Sequence[int], sample: int
) -> dict[int, float]:
    """Seconds that each budget takes for the same texts of about `sample` tokens, spread over all lengths; best of two."""
    spread = np.random.default_rng(0).permutation(len(lengths))
    rows = spread[: int(np.searchsorted(np.cumsum(lengths[spread]), sample)) + 1]
    rows = rows[np.argsort(-lengths[rows], kind="stable")]
    list(encode_batches([rows[-1:]]))  # the first call of a process also sets up its threads and kernels
    seconds = dict.fromkeys(budgets, float("inf"))
    for _ in range(2):
        for budget in budgets:
            started = time.perf_counter()
            list(encode_batches([rows[batch] for batch in batches(lengths[rows], budget)]))
            seconds[budget] = min(seconds[budget], time.perf_counter() - started)
    return seconds


def best_budget(seconds: Mapping[int, float], default: int) -> int:
    """The fastest budget; the default unless another one gains more than `WORTH_A_CHANGE`."""
    fastest = min(seconds, key=lambda budget: seconds[budget])
    return fastest if seconds[fastest] < (1 - WORTH_A_CHANGE) * seconds[default] else default


def _kept_budget(path: Path | None) -> int | None:
    try:
        return int((read_json(path) or {})["batch_tokens"]) if path is not None else None
    except (ValueError, KeyError, TypeError):
        return None


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


def token_counts(st: Any, strings: Sequence[str], truncated: bool = True, role: Role = None) -> np.ndarray:
    """Tokens of every string as the model counts them (special tokens included), cut at its maximum length.

    Words, where a module of the model's own shows no tokenizer.
    """
    tokenizer: Any = getattr(input_module(st, role), "tokenizer", None)
    if hasattr(tokenizer, "encode_batch"):  # a static table works on a bare `tokenizers.Tokenizer`

        def count(some: list[str]) -> list[int]:
            return [len(e.ids) for e in tokenizer.encode_batch(some, add_special_tokens=False)]
    elif not callable(tokenizer):  # a word tokenizer of a bag or table of words, or none
        words = getattr(tokenizer, "tokenize", str.split)

        def count(some: list[str]) -> list[int]:
            return [len(words(text)) for text in some]
    else:

        def count(some: list[str]) -> list[int]:
            return [len(ids) for ids in tokenizer(some, truncation=False, verbose=False)["input_ids"]]

    blocks = [list(strings[n : n + COUNTED]) for n in range(0, len(strings), COUNTED)]
    result = np.asarray([n for block in blocks for n in count(block)], dtype=np.int64)
    limit = longest_input(st, role)
    return np.minimum(result, limit) if truncated and limit else result
