"""What keeps a model from being trained."""

from __future__ import annotations


class TrainingError(ValueError):
    """A training that cannot be done with this model or device; the message says what to change."""
