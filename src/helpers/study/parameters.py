"""Parameters of a notebook: which it declares, and whether the values given to it exist there and fit.

Papermill accepts any parameter: an unknown one only warns and changes nothing. Here it is an error, both before a
notebook is run by `helpers` (`check`) and inside a notebook that plain papermill runs (`check_injected`).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from helpers.base.errors import StudyError
from helpers.base.names import unknown

INJECTED = "# Parameters"  # the first line of the cell that papermill injects

TAG = "parameters"


class ParameterError(StudyError):
    """A parameter that a notebook does not declare, or a value of the wrong type."""


def declared(notebook: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Names and default values in the cell tagged `parameters` of a notebook (as nbformat reads it).

    `name` is used in messages. Raises `ParameterError` where there is no such cell or a default is not a plain literal.
    """
    cells = [c for c in notebook["cells"] if TAG in c.get("metadata", {}).get("tags", [])]
    if not cells:
        raise ParameterError(
            f"notebook {name} has no cell tagged '{TAG}', so papermill's values would be overwritten; "
            "add the tag to the cell that assigns the defaults"
        )
    source = "".join(cells[0]["source"])
    found = assigned(source)
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.Assign) or not _plain(statement, found):
            raise ParameterError(
                f"notebook {name}: '{ast.unparse(statement)}' in its parameters cell is not of the form "
                "name = literal (papermill understands nothing else there)"
            )
    return found


def assigned(source: str) -> dict[str, Any]:
    """The `name = literal` assignments at the top level of a piece of Python; {} where it is not Python."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a cell with a magic
        return {}
    found = {}
    for statement in body:
        if isinstance(statement, ast.Assign):
            try:
                value = ast.literal_eval(statement.value)
            except ValueError:
                continue
            found.update(dict.fromkeys(_names(statement), value))
    return found


def check(known: Mapping[str, Any], given: Mapping[str, Any], name: str) -> None:
    """Raise `ParameterError` for a parameter that is not among `known` or whose value does not fit its default."""
    for key, value in given.items():
        if key not in known:
            raise ParameterError(f"notebook {name}: {unknown('parameter', key, sorted(known))}")
        problem = misfit(known[key], value)
        if problem:
            raise ParameterError(f"notebook {name}: parameter {key} = {value!r} {problem}")


def misfit(default: Any, value: Any) -> str | None:
    """Why a value cannot stand in for a default, or None where it can; a default of None takes anything.

    >>> misfit(0.1, "1e-3")
    'is text; a number is expected, such as 0.1 (YAML reads 1e-3 as text: write 0.001)'
    """
    if default is None or (type(value) is type(default) and not isinstance(value, list)):
        return None
    if isinstance(default, float) and type(value) is int:
        return None
    if isinstance(default, list) and isinstance(value, list):
        kinds = {type(item) for item in default}
        for item in value:
            if len(kinds) == 1 and misfit(default[0], item):
                hint = (
                    " (YAML reads no and yes as false and true: put them in quotes)" if isinstance(item, bool) else ""
                )
                return f"holds {item!r}, which {misfit(default[0], item)}{hint}"
        return None
    hint = ""
    if isinstance(value, str) and isinstance(default, (int, float)) and _number(value):
        hint = " (YAML reads 1e-3 as text: write 0.001)"
    return f"is {_kind(value)}; {_kind(default)} is expected, such as {default!r}{hint}"


def parse(text: str) -> Any:
    """The value that a command line means: a Python literal, true/false/null in any case, or else text."""
    words = {"true": True, "false": False, "none": None, "null": None}
    if text.strip().lower() in words:
        return words[text.strip().lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def check_injected(history: Sequence[str] | None = None) -> None:
    """Inside a running notebook: refuse what papermill injected where the parameters cell does not declare it.

    Papermill leaves nothing in the kernel but the cell that it injects, so this reads the cells executed so far
    (`history`, by default IPython's `In`): the last one that starts with `# Parameters` against the assignments of the
    cells before it. Does nothing outside IPython. Raises `ParameterError`.
    """
    executed = [source for source in (_history() if history is None else history) if source.strip()]
    places = [number for number, source in enumerate(executed) if source.lstrip().startswith(INJECTED)]
    if not places:
        return
    place = places[-1]
    given = assigned(executed[place])
    if place == 0:  # papermill puts it first where it finds no parameters cell: what follows would overwrite it
        for source in executed[1:]:
            lost = sorted(given.keys() & assigned(source).keys())
            if lost:
                raise ParameterError(
                    f"the given value of '{lost[0]}' was overwritten: this notebook has no cell tagged '{TAG}'"
                )
        return
    known: dict[str, Any] = {}
    for source in executed[:place]:
        if not source.lstrip().startswith(INJECTED):
            known.update(assigned(source))
    paths = {key for key in given if key.startswith("PAPERMILL_")}  # papermill's own --inject-paths
    check(known, {key: value for key, value in given.items() if key not in paths}, "(this one)")


def _history() -> Sequence[str]:
    try:
        from IPython import get_ipython
    except ImportError:
        return []
    shell = get_ipython()
    return list(shell.user_ns.get("In", [])) if shell is not None else []


def _names(statement: ast.Assign) -> list[str]:
    return [target.id for target in statement.targets if isinstance(target, ast.Name)]


def _plain(statement: ast.Assign, found: Mapping[str, Any]) -> bool:
    names = _names(statement)
    return len(names) == len(statement.targets) and set(names) <= set(found)


def _kind(value: Any) -> str:
    if value is None:
        return "empty (None)"
    words = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "a mapping",
    }
    return words.get(type(value), type(value).__name__)


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
