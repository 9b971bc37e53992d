"""The shape of a sentence-transformers model: what its modules are, and how a prompt enters them."""

from __future__ import annotations

from typing import Any


def prompt_is_text(st: Any) -> bool:
    """Whether a prompt is nothing but the beginning of the text: no pooling without it, no chat message of its own."""
    return pools_prompt(st) and not uses_chat_template(st)


def pools_prompt(st: Any) -> bool:
    """Whether the prompt's tokens enter the pooling, as the study or the model's own loader set it."""
    from sentence_transformers.sentence_transformer.modules import Pooling

    return all(module.include_prompt for module in st if isinstance(module, Pooling))


def uses_chat_template(st: Any) -> bool:
    """Whether sentence-transformers turns the prompt into a system message of this backbone (ENGINE, trap T18)."""
    return "message" in (getattr(st[0], "modality_config", None) or {})


def is_pooled_transformer(st: Any) -> bool:
    """Whether the modules are a transformer, a pooling layer and layers on the pooled vector, the same for each role.

    Prompts are text there, and no role has a maximum length of its own: such a model can be run module by module.
    """
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

    modules = list(st)
    if len(modules) < 2 or not isinstance(modules[0], Transformer) or not isinstance(modules[1], Pooling):
        return False
    if modules[0].query_length is not None or modules[0].document_length is not None:
        return False
    return all(isinstance(m, (Dense, Normalize)) for m in modules[2:]) and not uses_chat_template(st)
