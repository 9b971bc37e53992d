"""Function model: any function from texts to vectors as a sentence-transformers model.

A prompt reaches the function as the beginning of the text. What it computes cannot be looked into, so it is known by
its version and by its vectors of a few fixed texts, which are part of the model's weights here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import InputModule

from helpers.base.errors import StudyError

Embedding = Callable[[list[str]], Any]  # texts -> an (n, dimension) array

# Fixed for ever: with other texts every function would be another model.
FINGERPRINT_TEXTS = (
    "The train to the coast leaves every hour.", "query: how long does bread keep", "Der Himmel über der Stadt ist grau.",
)  # fmt: skip


class FunctionModule(InputModule):
    """The only module of such a model. fingerprint: its vectors of `FINGERPRINT_TEXTS`, (3, dimension); None asks for them."""

    def __init__(
        self, label: str, function: Embedding, version: str | None, fingerprint: np.ndarray | None = None
    ) -> None:
        super().__init__()
        self.label = label
        self.function = function
        self.version = version
        self.nonce = None if version is not None else uuid.uuid4().hex  # without a version nothing is reused
        # Rounded: a vector may move in its last digits with the batch that it is computed in.
        if fingerprint is None:
            fingerprint = np.round(self.vectors(list(FINGERPRINT_TEXTS)), 3) + 0.0
        self.register_buffer("fingerprint", torch.from_numpy(fingerprint))

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any
    ) -> dict[str, torch.Tensor | Any]:
        return {"texts": [(prompt or "") + text for text in inputs]}

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        features["sentence_embedding"] = torch.from_numpy(self.vectors(features["texts"]))
        return features

    def vectors(self, texts: list[str]) -> np.ndarray:
        """What the function gives, as (n, dimension) float32; a `StudyError` where that is no such array."""
        given = self.function(texts)
        if isinstance(given, torch.Tensor):
            given = given.detach().float().cpu().numpy()
        try:
            found = np.array(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise StudyError(
                f"model {self.label}: the function returned {type(given).__name__}, which is no array ({error})"
            ) from error
        size = found.shape[1] if found.ndim == 2 else 0
        wanted = self.fingerprint.shape[1] if hasattr(self, "fingerprint") else size
        if found.ndim != 2 or len(found) != len(texts) or not size or size != wanted:
            raise StudyError(
                f"model {self.label}: the function returned an array of shape {found.shape} for {len(texts)} texts; "
                f"({len(texts)}, {wanted or 'dimension'}) is needed, one row per text"
            )
        return found

    def get_embedding_dimension(self) -> int:
        return int(self.fingerprint.shape[1])

    def get_config_dict(self) -> dict[str, Any]:
        return {"version": self.version, "nonce": self.nonce}

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("a function cannot be saved")


def function_model(
    label: str, function: Embedding, version: str | None = None, fingerprint: np.ndarray | None = None
) -> SentenceTransformer:
    """A function `list[str] -> (n, dimension) array` as a model that can be swept.

    version: names what the function computes; without one nothing of it is cached or computed only once. fingerprint:
    its vectors of `FINGERPRINT_TEXTS` where they are known. Raises `StudyError` where the function does not give one row
    of numbers per text.
    """
    try:
        module = FunctionModule(label, function, version, fingerprint)
    except StudyError:
        raise
    except Exception as error:
        raise StudyError(
            f"model {label}: the function fails on three short texts ({type(error).__name__}: {error})"
        ) from error
    return SentenceTransformer(modules=[module], device="cpu")


class Embedder:
    """A function of texts and the version of what it computes, as `run_sweep` takes it among its models."""

    def __init__(self, function: Embedding, version: str) -> None:
        if not isinstance(version, str) or not version:
            raise StudyError("embedder: version must be a text that changes when what the function computes does")
        self.function, self.version = function, version


def embedder(function: Embedding, version: str) -> Embedder:
    """Give a function a version, so that what it computed is kept: `run_sweep(models={"mine": embedder(f, "1")}, …)`."""
    return Embedder(function, version)
