"""Function model: any function from texts to vectors as a sentence-transformers model.

A prompt reaches the function as the beginning of the text. What it computes cannot be looked into, so it is known by
its version and by its vectors of a few fixed texts, which are part of the model's weights here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock

from helpers.base.errors import StudyError
from helpers.base.files import read_json, write_json
from helpers.base.hashes import digest

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Embedding = Callable[[list[str]], Any]  # texts -> an (n, dimension) array

TOLERANCE = 1e-4  # of a vector's length, within which a function's vectors are the same as before

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
        measured = None
        if fingerprint is None:
            measured = function_vectors(label, function, list(FINGERPRINT_TEXTS))
            fingerprint = _rounded(measured)
    except StudyError:
        raise
    except Exception as error:
        raise StudyError(
            f"model {label}: the function fails on three short texts ({type(error).__name__}: {error})"
        ) from error
    return SentenceTransformer(modules=[FunctionModule(label, function, version, fingerprint, measured)], device="cpu")


def recognise(model: Any, cache: Path | None) -> None:
    """Give a function model the fingerprint that it had in this run before, where its vectors are the same within 1e-4.

    A vector may move in its last digits with the batch or the machine, and rounding alone would make a number at a
    rounding edge another model. The vectors of each version that were seen are kept in the folder `cache`; of any other
    model, or without a version or a folder, nothing is done.
    """
    module = model[0]
    measured = getattr(module, "measured", None)
    if cache is None or getattr(module, "version", None) is None or measured is None or not np.isfinite(measured).all():
        return
    folder = cache / "functions"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{digest([module.label, module.version])}.json"
    with FileLock(folder / ".lock"):
        seen = [np.array(vectors, dtype=np.float32) for vectors in (read_json(path) or {}).get("seen", [])]
        same = next((vectors for vectors in seen if _is_same(measured, vectors)), None)
        if same is None:
            same = measured
            write_json(path, {"seen": [vectors.astype(float).tolist() for vectors in [*seen, same]]})
    module.fingerprint.copy_(module.fingerprint.new_tensor(_rounded(same)))


def _is_same(vectors: np.ndarray, before: np.ndarray) -> bool:
    if vectors.shape != before.shape:
        return False
    apart = np.linalg.norm(vectors - before, axis=1)
    return bool((apart <= TOLERANCE * np.linalg.norm(before, axis=1)).all())


def _rounded(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(np.round(vectors, 3) + 0.0)


class Embedder:
    """A function of texts and the version of what it computes, as `run_sweep` takes it among its models."""

    def __init__(self, function: Embedding, version: str) -> None:
        if not isinstance(version, str) or not version:
            raise StudyError("embedder: version must be a text that changes when what the function computes does")
        self.function, self.version = function, version


def embedder(function: Embedding, version: str) -> Embedder:
    """Give a function a version, so that what it computed is kept: `run_sweep(models={"mine": embedder(f, "1")}, …)`."""
    return Embedder(function, version)
