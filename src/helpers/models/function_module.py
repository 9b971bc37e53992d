"""The module of a function model. It needs torch, which takes seconds to import, so it is imported where one is built."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from sentence_transformers.base.modules import InputModule

from helpers.base.errors import StudyError


def function_vectors(
    label: str, function: Callable[[list[str]], Any], texts: list[str], dimension: int | None = None
) -> np.ndarray:
    """What the function gives, as (n, dimension) float32; a `StudyError` where that is no such array."""
    given = function(texts)
    if isinstance(given, torch.Tensor):
        given = given.detach().float().cpu().numpy()
    try:
        found = np.array(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise StudyError(
            f"model {label}: the function returned {type(given).__name__}, which is no array ({error})"
        ) from error
    size = found.shape[1] if found.ndim == 2 else 0
    wanted = dimension or size
    if found.ndim != 2 or len(found) != len(texts) or not size or size != wanted:
        raise StudyError(
            f"model {label}: the function returned an array of shape {found.shape} for {len(texts)} texts; "
            f"({len(texts)}, {wanted or 'dimension'}) is needed, one row per text"
        )
    return found


class FunctionModule(InputModule):
    """The only module of such a model. fingerprint: the function's vectors of the fixed texts, (3, dimension).

    measured: these vectors before they were rounded; None where the fingerprint is known from elsewhere.
    """

    def __init__(
        self,
        label: str,
        function: Callable[[list[str]], Any],
        version: str | None,
        fingerprint: np.ndarray,
        measured: np.ndarray | None = None,
    ) -> None:
        super().__init__()
        self.label = label
        self.function = function
        self.version = version
        self.measured = measured
        self.nonce = None if version is not None else uuid.uuid4().hex  # without a version nothing is reused
        self.register_buffer("fingerprint", torch.from_numpy(fingerprint))

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any
    ) -> dict[str, torch.Tensor | Any]:
        return {"texts": [(prompt or "") + text for text in inputs]}

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        features["sentence_embedding"] = torch.from_numpy(self.vectors(features["texts"]))
        return features

    def vectors(self, texts: list[str]) -> np.ndarray:
        return function_vectors(self.label, self.function, texts, self.get_embedding_dimension())

    def get_embedding_dimension(self) -> int:
        return int(self.fingerprint.shape[1])

    def get_config_dict(self) -> dict[str, Any]:
        return {"version": self.version, "nonce": self.nonce}

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("a function cannot be saved")
