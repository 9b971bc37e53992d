"""Parameters that a notebook does not declare, or of the wrong type, are errors."""

import nbformat
import pytest

from helpers.study.parameters import ParameterError, assigned, check, check_injected, declared, misfit, parse


def notebook(source, tags=("parameters",)):
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)})
    return nbformat.v4.new_notebook(cells=[cell])


def test_declared_parameters_are_names_with_literals():
    assert declared(notebook("study = 'demo'  # its name\nk = None\nlr = -1e-3"), "x") == {
        "study": "demo",
        "k": None,
        "lr": -0.001,
    }


@pytest.mark.parametrize("source", ["k: int = 1", "k = len('x')", "import os", "a.b = 1"])
def test_anything_but_a_literal_in_the_parameters_cell_is_an_error(source):
    with pytest.raises(ParameterError, match="name = literal"):
        declared(notebook(source), "x")


def test_a_notebook_without_the_tag_is_an_error():
    with pytest.raises(ParameterError, match="no cell tagged 'parameters'"):
        declared(notebook("k = 1", tags=()), "x")


def test_an_unknown_parameter_brings_a_suggestion():
    with pytest.raises(ParameterError, match="unknown parameter 'modle'; did you mean model"):
        check({"model": None, "study": "demo"}, {"modle": "x"}, "03")


@pytest.mark.parametrize(
    "default, value, words",
    [
        (0.1, "1e-3", "write 0.001"),
        (["no", "en"], [False, "en"], "put them in quotes"),
        (1, True, "a whole number is expected"),
        (1, 1.5, "a whole number is expected"),
        ("demo", None, "text is expected"),
        (True, "no", "true or false is expected"),
    ],
)
def test_a_value_that_does_not_fit_is_named(default, value, words):
    assert words in misfit(default, value)


@pytest.mark.parametrize("default, value", [(None, "x"), (0.1, 1), ([], [1, "a"]), (["a"], []), ("", "x"), (2, 3)])
def test_values_that_fit(default, value):
    assert misfit(default, value) is None


def test_command_line_values_keep_their_type():
    assert [parse(t) for t in ("3", "1e-3", "True", "null", "STS15", "['a']")] == [
        3,
        0.001,
        True,
        None,
        "STS15",
        ["a"],
    ]


def test_injected_values_are_compared_with_the_cells_before():
    check_injected(["", "study = 'demo'\nk = None", "# Parameters\nstudy = 'x'\nk = 3\n", "run()"])
    with pytest.raises(ParameterError, match="did you mean study"):
        check_injected(["", "study = 'demo'", "# Parameters\nstudi = 'x'", "run()"])
    with pytest.raises(ParameterError, match="is expected"):
        check_injected(["", "k = 2", "# Parameters\nk = 'x'"])


def test_injection_on_top_that_is_overwritten_is_an_error():
    with pytest.raises(ParameterError, match="was overwritten"):
        check_injected(["", "# Parameters\nstudy = 'x'", "study = 'demo'"])


def test_a_notebook_run_by_hand_is_not_disturbed():
    check_injected([])
    check_injected(["", "study = 'demo'", "%matplotlib inline", "study = 'other'"])
    check_injected(["", "# Parameters\nstudy = 'x'", "print(study)"])  # only the injected cell was run again


def test_a_cell_with_a_magic_assigns_nothing():
    assert assigned("%time x = 1") == {}


def test_plain_papermill_stops_at_an_unknown_parameter(tmp_path):
    import papermill

    cells = [
        nbformat.v4.new_code_cell("study = 'demo'", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("from helpers.study.parameters import check_injected\ncheck_injected()"),
    ]
    source = tmp_path / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}}), source)

    def run(**parameters):
        papermill.execute_notebook(
            str(source), str(tmp_path / "out.ipynb"), parameters, kernel_name="python3", progress_bar=False
        )

    run(study="x")
    with pytest.raises(papermill.PapermillExecutionError, match="did you mean study"):
        run(study="x", stduy="y")
