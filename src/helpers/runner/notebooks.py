"""Notebooks: which there are, and the rules that keep them readable; `make lint` checks them."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import nbformat

from helpers.base import terminal
from helpers.base.errors import StudyError
from helpers.base.files import project_root
from helpers.base.names import unknown
from helpers.study.parameters import TAG, ParameterError, declared

MAX_CELLS = 15

MAX_LINES = 15


def notebook_paths(root: Path | None = None) -> dict[str, Path]:
    """The six notebooks by their number, "01" to "06", as far as they exist."""
    folder = (root or project_root()) / "notebooks"
    return {path.name[:2]: path for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")) if path.name[:2] != "00"}


def read_notebook(path: Path) -> Any:
    """A notebook in format 4; a `StudyError` names the file where it is not one."""
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.reader.NotJSONError) as error:
        raise StudyError(f"notebooks/{path.name} is not a readable notebook: {error}") from error


def find_step(given: str, known: list[str]) -> str:
    """The two-digit step that `3`, `03` or `03_x.ipynb` means."""
    step = Path(given).name[:2] if not given.isdigit() else given.zfill(2)
    if step not in known:
        raise StudyError(unknown("step", given, known))
    return step


def problems(path: Path) -> list[str]:
    """What breaks the rules in one notebook: outputs, long or too many cells, parameters, kernel, cell ids."""
    try:
        notebook = read_notebook(path)
    except StudyError as error:
        return [str(error)]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    found = []
    if any(cell.outputs or cell.execution_count is not None for cell in code):
        found.append("holds outputs; remove them with: nbstripout notebooks/*.ipynb")
    if len(code) > MAX_CELLS:
        found.append(f"has {len(code)} code cells; at most {MAX_CELLS} keep it readable")
    for number, cell in enumerate(code, 1):
        lines = len(cell.source.splitlines())
        if lines > MAX_LINES:
            found.append(
                f"code cell {number} has {lines} lines; at most {MAX_LINES}, the rest belongs into the package"
            )
        found += [
            f"code cell {number} gives figure {name} a fixed title; compute it, see words.py of its room"
            for name in _fixed_titles(cell.source)
        ]
    if sum(TAG in cell.metadata.get("tags", []) for cell in notebook.cells) > 1:
        found.append(f"has more than one cell tagged '{TAG}'")
    kernel = notebook.metadata.get("kernelspec", {})
    if kernel.get("name") != "python3":
        found.append("its kernel is not python3")
    if "python" not in (kernel.get("language"), notebook.metadata.get("language_info", {}).get("name")):
        found.append("does not say that its language is python, which papermill needs (metadata.kernelspec.language)")
    if any("id" not in cell for cell in notebook.cells):
        found.append("has cells without an id (nbformat 4.5)")
    try:
        if "study" not in declared(notebook, path.name):
            found.append("its parameters cell does not declare study")
    except (ParameterError, SyntaxError) as error:
        found.append(str(error))
    return [f"notebooks/{path.name} {line}" for line in found]


def _fixed_titles(source: str) -> list[str]:
    """Names of the figures in a cell whose title is a literal: a finding changes with its data."""
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    except SyntaxError:  # a magic command
        return []
    found = []
    for call in calls:
        if ast.unparse(call.func) != "charts.show":
            continue
        given = dict(zip(("chart", "name", "alt", "title"), call.args, strict=False))
        given |= {word.arg: word.value for word in call.keywords if word.arg}
        if isinstance(given.get("title"), ast.Constant):
            found.append(ast.unparse(given["name"]))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Check the given notebooks, or all in `notebooks/`; print what is wrong and return 1 if anything is."""
    terminal.prepare()
    given = sys.argv[1:] if arguments is None else arguments
    paths = [Path(name) for name in given] or sorted((project_root() / "notebooks").glob("*.ipynb"))
    found = [line for path in paths if not path.name.startswith("00_") for line in problems(path)]
    print("\n".join(found) if found else f"{len(paths)} notebooks are in order")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
