"""What a reader sets in a notebook reaches every function on its page that knows it, and so does the study's seed."""

import ast
import importlib
import inspect
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def code_cells(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(c["metadata"].get("tags", []), "".join(c["source"])) for c in cells if c["cell_type"] == "code"]


def imported(tree):
    """Name in the notebook -> the module, class or function of this package that it stands for."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "helpers":
            module = importlib.import_module(node.module)
            for alias in node.names:
                own = getattr(module, alias.name, None)
                own = own or importlib.import_module(f"{node.module}.{alias.name}")
                found[alias.asname or alias.name] = own
    return found


def ignored(path):
    """(function, parameter) of every call that leaves a parameter of the page, or the seed, to its default."""
    cells = code_cells(path)
    tree = ast.parse("\n".join(text for _, text in cells))
    given = ast.parse("".join(text for tags, text in cells if "parameters" in tags))
    names = {target.id for node in given.body for target in node.targets} | {"seed"}
    known = imported(tree)
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        what = call.func
        if isinstance(what, ast.Attribute) and isinstance(what.value, ast.Name) and what.value.id in known:
            function = getattr(known[what.value.id], what.attr, None)
        else:
            function = known.get(what.id) if isinstance(what, ast.Name) else None
        if not callable(function) or "'default'" in map(ast.unparse, call.args):  # the board of the defaults alone
            continue
        wanted = list(inspect.signature(function).parameters)
        passed = {*wanted[: len(call.args)], *(k.arg for k in call.keywords)}
        yield from ((function.__qualname__, name) for name in names & set(wanted) - passed)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem[:2])
def test_no_function_of_a_page_is_left_to_its_default(path):
    assert list(ignored(path)) == []
