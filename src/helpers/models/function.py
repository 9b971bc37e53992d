"""Function model: any function from texts to vectors as a sentence-transformers model.

A prompt reaches the function as the beginning of the text. What it computes cannot be looked into, so it is known by
its version and by its vectors of a few fixed texts, which are part of the model's weights here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers.base.errors import StudyError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Embedding = Callable[[list[str]], Any]  # texts -> an (n, dimension) array

# Fixed for ever: with other texts every function would be another model.
FINGERPRINT_TEXTS = (
    "The train to the coast leaves every hour.", "query: how long does bread keep", "Der Himmel über der Stadt ist grau.",
)  # fmt: skip


def function_model(
    label: str, function: Embedding, version: str | None = None, fingerprint: np.ndarray | None = None
) -> SentenceTransformer:
    """A function `list[str] -> (n, dimension) array` as a model that can be swept.

    version: names what the function computes; without one nothing of it is cached or computed only once. fingerprint:
    its vectors of `FINGERPRINT_TEXTS` where they are known. Raises `StudyError` where the function does not give one row
    of numbers per text.
    """
    from sentence_transformers import SentenceTransformer

    from helpers.models.function_module import FunctionModule, function_vectors

    try:
        if fingerprint is None:  # rounded: a vector may move in its last digits with the batch that it is computed in
            fingerprint = np.round(function_vectors(label, function, list(FINGERPRINT_TEXTS)), 3) + 0.0
    except StudyError:
        raise
    except Exception as error:
        raise StudyError(
            f"model {label}: the function fails on three short texts ({type(error).__name__}: {error})"
        ) from error
    return SentenceTransformer(modules=[FunctionModule(label, function, version, fingerprint)], device="cpu")


class Embedder:
    """A function of texts and the version of what it computes, as `run_sweep` takes it among its models."""

    def __init__(self, function: Embedding, version: str) -> None:
        if not isinstance(version, str) or not version:
            raise StudyError("embedder: version must be a text that changes when what the function computes does")
        self.function, self.version = function, version


def embedder(function: Embedding, version: str) -> Embedder:
    """Give a function a version, so that what it computed is kept: `run_sweep(models={"mine": embedder(f, "1")}, …)`."""
    return Embedder(function, version)
