"""Open the back end that a study names."""

from __future__ import annotations

from pathlib import Path

from helpers.prompts.llm.chat import Backend
from helpers.prompts.llm.openai import OpenAIBackend
from helpers.study.prompts import GeneratorSpec


def open_backend(spec: GeneratorSpec, folder: Path) -> Backend:
    """The back end of a study. folder: where a batch job leaves its files, so that it can be picked up again.

    Raises `StudyError` that names the environment variable or the extra that is missing.
    """
    if spec.backend == "vllm":
        from helpers.prompts.llm.vllm import VllmBackend

        return VllmBackend(spec)
    if spec.backend == "batch":
        from helpers.prompts.llm.batch import BatchBackend

        return BatchBackend(spec, folder / "batch")
    return OpenAIBackend(spec)
