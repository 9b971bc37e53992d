"""What keeps a model from being trained: its own shape, the device, or the examples."""

from __future__ import annotations


class TrainingError(ValueError):
    """A training that cannot be done with this model, device or data; the message says what to change."""
