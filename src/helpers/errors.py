"""The error that ends a step with a sentence instead of a traceback."""

from __future__ import annotations


class StudyError(ValueError):
    """A study file, or something that it names, that cannot be used; the message names file, key and remedy."""
