"""The examples in docstrings say what the functions do."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import helpers

MODULES = sorted(m.name for m in pkgutil.walk_packages(helpers.__path__, "helpers.") if "__main__" not in m.name)


@pytest.mark.parametrize("room", sorted({name.split(".")[1] for name in MODULES}))
def test_docstring_examples_of(room):
    of_room = [name for name in MODULES if name.split(".")[1] == room]
    results = [doctest.testmod(importlib.import_module(name)) for name in of_room]
    assert not sum(r.failed for r in results)


def test_there_are_examples():
    marks = importlib.import_module("helpers.display.marks")
    assert doctest.testmod(marks).attempted >= 3
