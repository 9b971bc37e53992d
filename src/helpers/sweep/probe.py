"""Probe: does a prompt reach a model as the study says? Asked before the model is scored with it."""

from __future__ import annotations

import numpy as np

from helpers.base.errors import StudyError
from helpers.models.application import Prefixes
from helpers.models.embed import embed_many, encode_method, joins_prompt
from helpers.models.load import LoadedModel
from helpers.models.role import Role
from helpers.sweep.inputs import token_digest

PROBE_TEXTS = ("A cat sleeps on the warm stove.", "How long does bread rise?", "Trains to the coast leave hourly.")


def probe(model: LoadedModel, first: Prefixes, second: Prefixes, role: Role = "query") -> None:
    """Refuse a prompt that does not do what the study says: a `StudyError` with the reason.

    Checks that the first prefix through the adapter gives the vectors of prefix + text by hand, that the prompts leave
    the documents alone, and, where the prompt is more than the beginning of the text, that two prompts whose tokens
    differ give different vectors. Prompts that the model reads as the same tokens are no fault of the adapter.
    """
    texts = list(PROBE_TEXTS)
    one = embed_many(model, [(texts, first.of(role), role)])[0]
    two = embed_many(model, [(texts, second.of(role), role)])[0]
    joined = joins_prompt(model.st)
    if joined:
        encode_texts = encode_method(model.st, role)
        by_hand = encode_texts([first.of(role) + t for t in texts], prompt="", show_progress_bar=False)
        apart = float(np.abs(np.asarray(by_hand, dtype=np.float32) - one).max())
        if apart > (1e-5 if model.spec.dtype == "float32" else 2e-2):
            raise StudyError(f"model {model.label}: prefix through the adapter and by hand differ by {apart:.1e}")
    if not joined and np.abs(one - two).max() < 1e-7:
        read = [[token_digest(model.st, p.of(role), role, t) for t in texts] for p in (first, second)]
        if read[0] != read[1]:
            raise StudyError(f"model {model.label}: two prompts give the same vectors; the prompt does not arrive")
    if first.document != second.document:
        raise StudyError(f"model {model.label}: the document prefix changes with the prompt")
