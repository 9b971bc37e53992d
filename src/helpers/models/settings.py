"""Settings of a study on a loaded model: number type, length, truncation, attention, pooling of the prompt."""

from __future__ import annotations

import contextlib
from typing import Any

from helpers.base.errors import StudyError
from helpers.models.shape import poolings
from helpers.study.spec import ModelSpec


def apply_spec(st: Any, spec: ModelSpec) -> None:
    from sentence_transformers.sentence_transformer.modules import Transformer

    if "text" not in st.modalities and "message" not in st.modalities:
        raise StudyError(f"model {spec.label} reads {', '.join(map(str, st.modalities))} and no texts")
    if spec.max_length is not None:
        _limit(st, spec)
    if spec.truncate_dim is not None:
        if (dimension := st.get_embedding_dimension()) and spec.truncate_dim > dimension:
            raise StudyError(
                f"model {spec.label}: truncate_dim is {spec.truncate_dim}, but its vectors have {dimension} dimensions"
            )
        st.truncate_dim = spec.truncate_dim
    if spec.backend == "torch":
        _cast(st, spec.dtype)
    if (spec.attention or spec.compile) and not isinstance(st[0], Transformer):
        raise StudyError(f"model {spec.label}: it has no transformer, so 'attention' and 'compile' say nothing")
    if spec.compile:
        st[0].model.compile(dynamic=True)
    if not spec.include_prompt:
        if not poolings(st):
            raise StudyError(f"model {spec.label}: include_prompt: false needs a pooling layer, and it has none")
        for pooling in poolings(st):  # a router's routes have one each
            pooling.include_prompt = False
    st.eval()


def _limit(st: Any, spec: ModelSpec) -> None:
    """Set the longest input in tokens; a model that has no such limit (e.g. a static table) is refused."""
    with contextlib.suppress(AttributeError):  # a property without a setter
        st.max_seq_length = spec.max_length
    if st.max_seq_length != spec.max_length:
        raise StudyError(f"model {spec.label}: it has no limit of tokens, so 'max_length' says nothing")
    positions = _positions(st)
    if positions is not None and spec.max_length is not None and spec.max_length > positions:
        raise StudyError(
            f"model {spec.label}: max_length is {spec.max_length}, but it has positions for {positions} tokens"
        )


def _positions(st: Any) -> int | None:
    """Tokens that the smallest table of learned positions is made for; None without one (e.g. rotary positions)."""
    import torch

    tables = [
        module
        for name, module in st.named_modules()
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding)
    ]
    # RoBERTa's positions begin behind the padding's.
    return min((t.num_embeddings - (-1 if t.padding_idx is None else t.padding_idx) - 1 for t in tables), default=None)


def _cast(st: Any, dtype: str) -> None:
    """Cast the modules whose floating-point weights are of another type."""
    import torch

    wanted = getattr(torch, dtype)
    for module in st:
        if any(p.is_floating_point() and p.dtype != wanted for p in module.parameters()):
            module.to(wanted)
