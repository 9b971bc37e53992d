"""Helpers for asking how much an embedding benchmark depends on its prompts.

One noun a module; `helpers.study` and `helpers.run` are where the notebooks begin.
"""

__version__ = "0.1.0"
