"""Kinds of task, by what the prompt meets."""

from __future__ import annotations

SIDED_TYPES = ("Retrieval", "Reranking", "InstructionRetrieval", "InstructionReranking")
