"""The shape of a sentence-transformers model: what its modules are, how a prompt enters them, and how a pass ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from helpers.models.role import Role
from helpers.study.spec import ModelSpec


class Model(Protocol):
    """What the embedding paths need of a loaded model (`helpers.models.load.LoadedModel`)."""

    spec: ModelSpec
    label: str
    wrapper: Any
    st: Any
    template: str | None
    cache: Any
    batch_tokens: int | None
    has_twin: bool
    only_cached: bool

    @property
    def dimension(self) -> int: ...

    @property
    def key(self) -> str: ...

    @property
    def twin_key(self) -> str: ...

    @property
    def reuses_prefix(self) -> bool: ...

    @property
    def gives_both_poolings(self) -> bool: ...

    def needs_stock_batches(self, role: Role) -> bool: ...


def prompt_is_text(st: Any) -> bool:
    """Whether a prompt is nothing but the beginning of the text: no pooling without it, no chat message of its own."""
    return pools_prompt(st) and not uses_chat_template(st)


def pools_prompt(st: Any) -> bool:
    """Whether the prompt's tokens enter the pooling, as the study or the model's own loader set it."""
    return all(module.include_prompt for module in poolings(st))


def poolings(st: Any) -> list[Any]:
    """All pooling layers, those inside a router's routes included."""
    from sentence_transformers.sentence_transformer.modules import Pooling

    return [module for module in st.modules() if isinstance(module, Pooling)]


def uses_chat_template(st: Any) -> bool:
    """Whether sentence-transformers turns the prompt into a system message, not a prefix, for this backbone."""
    return any("message" in (getattr(body, "modality_config", None) or {}) for body in _input_modules(st))


def input_module(st: Any, role: Role = None) -> Any:
    """The module that reads the texts of this role: a router's routes have one each."""
    from sentence_transformers.sentence_transformer.modules import Router

    router = st[0]
    if not isinstance(router, Router):
        return router
    routes: dict[str | None, Any] = dict(router.sub_modules.items())
    try:
        route = router._resolve_route(task=role, modality="text")
    except ValueError:  # no route for this role: `encode` will say so
        route = None
    return routes[route][0] if route in routes else _input_modules(st)[0]


def longest_input(st: Any, role: Role = None) -> int | None:
    """Tokens after which texts of this role are cut; None where there is no limit."""
    body = input_module(st, role)
    limits = [getattr(body, "max_seq_length", None)]
    if role is not None:
        limits.append(getattr(body, f"{role}_length", None))
    known = [int(limit) for limit in limits if limit and np.isfinite(limit)]
    return min(known) if known else None


def is_stock(st: Any) -> bool:
    """Whether the model and its modules are sentence-transformers' own classes, whose `encode` we know."""
    from sentence_transformers import SentenceTransformer

    inner = [module for route in _routes(st) for module in route]
    return type(st) is SentenceTransformer and all(
        type(module).__module__.startswith("sentence_transformers.") for module in [*st, *inner]
    )


def finish(st: Any, features: Mapping[str, Any], after: int) -> Any:
    """What `encode` does from module number `after` on: those modules, then the truncation of the vectors."""
    from sentence_transformers.util import truncate_embeddings

    features = dict(features)
    for module in list(st)[after:]:
        features = module(features)
    vectors = features["sentence_embedding"]
    return vectors if st.truncate_dim is None else truncate_embeddings(vectors, st.truncate_dim)


def rounding(st: Any) -> float:
    """How far the vectors of one text may be apart between two ways of batching it: more in 16-bit arithmetic."""
    return 1e-5 if st.dtype is None or st.dtype.itemsize >= 4 else 2e-2


def _routes(st: Any) -> list[Any]:
    from sentence_transformers.sentence_transformer.modules import Router

    return list(st[0].sub_modules.values()) if isinstance(st[0], Router) else []


def _input_modules(st: Any) -> list[Any]:
    return [route[0] for route in _routes(st)] or [st[0]]


def is_pooled_transformer(st: Any) -> bool:
    """Whether the modules are exactly a transformer, a pooling layer and layers on the pooled vector, for all roles.

    Prompts are text there, and no role has a maximum length of its own: such a model can be run module by module.
    """
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

    modules = list(st)
    if len(modules) < 2 or type(modules[0]) is not Transformer or type(modules[1]) is not Pooling:
        return False
    body = modules[0]
    if body.query_length is not None or body.document_length is not None or body.query_expansion is not None:
        return False
    return (
        is_stock(st)
        and all(type(m) in (Dense, Normalize) for m in modules[2:])
        and not uses_chat_template(st)
        and not st._can_flatten_inputs()
    )
