"""The rules for notebooks are checked one by one."""

import nbformat
import pytest

from helpers.base.errors import StudyError
from helpers.runner.notebooks import find_step, main, problems


def write(path, cells=(), parameters="study = 'demo'", kernel="python3", language="python"):
    first = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    notebook = nbformat.v4.new_notebook(
        cells=[first, *cells],
        metadata={"kernelspec": {"name": kernel, "display_name": "Python", "language": language}},
    )
    nbformat.write(notebook, path)
    return path


def code(source, **rest):
    return nbformat.v4.new_code_cell(source, **rest)


def test_a_short_notebook_without_outputs_is_in_order(tmp_path, capsys):
    path = write(tmp_path / "01_x.ipynb", [code("print(1)")])
    assert problems(path) == [] and main([str(path)]) == 0


@pytest.mark.parametrize(
    "change, words",
    [
        ({"cells": [code("1", execution_count=1)]}, "holds outputs"),
        ({"cells": [code("1") for _ in range(15)]}, "16 code cells"),
        ({"cells": [code("\n".join("x" * 16))]}, "code cell 2 has 16 lines"),
        ({"cells": [code("charts.show(c, name='fig-a', title='Scores', alt='x')")]}, "'fig-a' a fixed title"),
        ({"parameters": "studi = 'demo'"}, "does not declare study"),
        ({"parameters": "study = 'demo'\nk: int = 1"}, "name = literal"),
        ({"kernel": "conda"}, "not python3"),
        ({"language": ""}, "its language is python"),
    ],
)
def test_each_rule_is_named_when_broken(change, words, tmp_path, capsys):
    path = write(tmp_path / "01_x.ipynb", **change)
    assert any(words in line for line in problems(path))
    assert main([str(path)]) == 1


def test_an_unreadable_notebook_is_named(tmp_path):
    path = tmp_path / "02_x.ipynb"
    path.write_text("{")
    assert "02_x.ipynb is not a readable notebook" in problems(path)[0]


def test_steps_are_found_by_number_or_file():
    assert [find_step(s, ["03", "04"]) for s in ("3", "03", "04_leaderboard.ipynb")] == ["03", "03", "04"]
    with pytest.raises(StudyError, match="unknown step '9'"):
        find_step("9", ["03", "04"])
