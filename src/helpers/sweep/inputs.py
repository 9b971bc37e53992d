"""What a model received: samples of each side as they enter the tokenizer, and the share of texts that were cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.base.hashes import digest
from helpers.models.batches import token_counts
from helpers.models.load import LoadedModel
from helpers.models.role import Role
from helpers.models.shape import input_module, longest_input, uses_chat_template
from helpers.sweep.encoder import SweepEncoder

DESCRIBED = 2_000  # texts of a side over which the share of cut ones is counted
FUSED = 8  # tokens by which a prefix and a text may differ from the sum of both


def token_digest(st: Any, prefix: str, role: Role, text: str) -> str:
    """Digest of everything that the model reads of a text behind a prefix: equal where it cannot tell two apart."""
    given = {} if role is None else {"task": role}
    features = st.preprocess([text], prompt=prefix, **given)
    return digest({name: v.tolist() if hasattr(v, "tolist") else v for name, v in features.items()})


def describe_inputs(
    model: LoadedModel, calls: list[tuple[str, list[str]]], encoder: SweepEncoder
) -> list[dict[str, Any]]:
    """Three samples per side as they enter the tokenizer: exact string, tokens, and the side's truncation share.

    `token_digest` (of the sides that carry the prompt) tells whether the model reads two prompts as the same tokens.

    The share is counted over at most 2,000 texts of the side. For a backbone with a chat template the string is what
    the template makes of prompt and text.
    """
    described: list[dict[str, Any]] = []
    seen = set()
    for side, texts in calls:
        if side in seen or not texts:
            continue
        seen.add(side)
        prefix, role = encoder._prefix(side)
        key = (side, prefix, encoder.key_of(texts))
        if key not in encoder.described:
            found = _describe(model, encoder, prefix, role, texts)
            for sample, text in zip(found, texts[:3], strict=True):
                prompted = side in ("query", "both")
                sample["token_digest"] = token_digest(model.st, prefix, role, text) if prompted else None
            encoder.described[key] = found
        described += [{"side": side, **sample} for sample in encoder.described[key]]
    return described


def _describe(
    model: LoadedModel, encoder: SweepEncoder, prefix: str, role: Role, texts: list[str]
) -> list[dict[str, Any]]:
    samples = [prefix + t for t in texts[:3]]
    if uses_chat_template(model.st):
        samples = [_in_template(model.st, prefix, role, t) for t in texts[:3]]
    tokens = token_counts(model.st, samples, truncated=False, role=role)
    limit = longest_input(model.st, role)
    share = _cut_share(model.st, encoder, prefix, role, texts[:DESCRIBED], limit) if limit else 0.0
    return [
        {
            "prefix": prefix,
            "string": string,
            "tokens": int(count),
            "truncated": bool(limit and count > limit),
            "truncated_share": share,
            "texts": len(texts),
        }
        for string, count in zip(samples, tokens, strict=True)
    ]


def _cut_share(st: Any, encoder: SweepEncoder, prefix: str, role: Role, texts: list[str], limit: int) -> float:
    """Share of texts that are longer than the limit behind a prefix; only those near it are tokenised again."""
    key = encoder.key_of(texts), role
    if key not in encoder.counts:
        encoder.counts[key] = token_counts(st, texts, truncated=False, role=role)
    alone = encoder.counts[key]
    extra = int(token_counts(st, [prefix], truncated=False, role=role)[0]) + FUSED if prefix else 0
    near = np.flatnonzero(alone + extra > limit)
    return float(
        (token_counts(st, [prefix + texts[n] for n in near], truncated=False, role=role) > limit).sum() / len(texts)
    )


def _in_template(st: Any, prefix: str, role: Role, text: str) -> str:
    """What a chat template makes of a prompt and a text, read back from the token ids."""
    given = {} if role is None else {"task": role}
    ids = st.preprocess([text], prompt=prefix, **given)["input_ids"][0]
    return str(input_module(st, role).tokenizer.decode(ids))
