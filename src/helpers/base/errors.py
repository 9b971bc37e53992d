"""Errors: what a person can mend, said in one line."""

from __future__ import annotations


class StudyError(ValueError):
    """A study file, or something that it names, that cannot be used; the message names file, key and remedy."""
