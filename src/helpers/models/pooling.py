"""Both poolings of one pass: mean over all tokens and mean without the prompt's, from the same token vectors.

Excluding the prompt from pooling (sentence-transformers' `include_prompt=False`) changes nothing before the pooling
layer, so a study that compares both needs the transformer only once.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.models.shape import finish, is_pooled_transformer, pools_prompt, rounding

CHECKED = ("Represent the text: ", ["bread", "the long way home in the rain", "a cat"])


def gives_both_poolings(st: Any) -> bool:
    """Whether a model may take this path: it has the shape for it, and gives the vectors that `encode` gives."""
    if not is_pooled_transformer(st):
        return False
    prompt, texts = CHECKED
    ours = encode_both(st, [prompt] * len(texts), texts)[0 if pools_prompt(st) else 1]
    return float(np.abs(ours - st.encode(texts, prompt=prompt, show_progress_bar=False)).max()) <= rounding(st)


def encode_both(st: Any, prefixes: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    """One batch of prefix + text: a (2, n, dimension) float32 array, prompt tokens pooled [0] and not pooled [1]."""
    import torch

    rows_of: dict[str, list[int]] = {}
    for row, prefix in enumerate(prefixes):
        rows_of.setdefault(prefix, []).append(row)
    features = st.preprocess([p + t for p, t in zip(prefixes, texts, strict=True)])
    features = {k: v.to(st.device) if isinstance(v, torch.Tensor) else v for k, v in features.items()}
    with torch.inference_mode():
        features = st[0](features)
        pooled = _pool(st, features, include_prompt=True)
        apart = pooled.clone()  # of texts without a prompt both are the same
        for prefix, rows in rows_of.items():
            if prefix:
                part = {k: v[rows] if isinstance(v, torch.Tensor) else v for k, v in features.items()}
                length = st.preprocess([""], prompt=prefix)["prompt_length"]
                apart[rows] = _pool(st, part | {"prompt_length": length}, include_prompt=False)
    return np.stack([pooled.float().cpu().numpy(), apart.float().cpu().numpy()])


def _pool(st: Any, features: dict[str, Any], include_prompt: bool) -> Any:
    """What follows the transformer, with the pooling layer's `include_prompt` as asked, not as configured."""
    pooling = copy.copy(st[1])
    pooling.include_prompt = include_prompt
    return finish(st, pooling(dict(features)), after=2)
