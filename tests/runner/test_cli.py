"""The command line: help, exit status, messages."""

import errno
import os
from unittest.mock import Mock

import pytest

from helpers.runner.cli import main


def test_help_shows_examples_and_exit_status(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "helpers run small --from 03 --to 05" in text and "exit status" in text


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["run", "dmo"], "unknown study 'dmo'; did you mean demo?"),
        (["plan", "no/such.yml"], "there is no study file 'no/such.yml'"),
        (["run", "demo", "-p", "study", "small"], "leave this parameter out"),
        (["scaling", "small", "--tflops", "0"], "--tflops 0: give a number above 0"),
    ],
)
def test_a_wrong_word_gives_status_2_and_a_suggestion(arguments, words, capsys):
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("EMBEDDING_TASK_DATA", "no/such/folder", "EMBEDDING_TASK_DATA names 'no/such/folder'"),
        ("HELPERS_ROOT", "no/such/folder", "no folder data/studies"),
    ],
)
def test_a_variable_that_names_no_folder_gives_status_2(variable, value, words, capsys, monkeypatch):
    monkeypatch.setenv(variable, value)
    assert main(["plan", "small"]) == 2
    assert words in capsys.readouterr().err


def test_a_full_disk_is_one_line_and_status_1(monkeypatch, capsys):
    full = OSError(errno.ENOSPC, "No space left on device", "data/runs/demo/status.json")
    monkeypatch.setattr("helpers.study.load.load_study", Mock(side_effect=full))
    assert main(["scaling", "demo"]) == 1
    assert "'data/runs/demo/status.json': No space left on device" in capsys.readouterr().err


def test_a_relative_run_folder_is_the_same_for_the_command_and_its_notebooks(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELPERS_RUNS", "mine")
    main(["studies"])
    assert os.environ["HELPERS_RUNS"] == str(tmp_path / "mine")


def test_an_unknown_option_gives_status_2(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["run", "demo", "--form", "03"])
    assert stop.value.code == 2


def test_studies_are_listed(capsys):
    assert main(["studies"]) == 0
    assert capsys.readouterr().out.startswith("demo ")


def test_the_site_is_built_after_a_failed_notebook_too(monkeypatch, tmp_path, capsys):
    import helpers.report.site as report
    import helpers.runner.pipeline as pipeline

    monkeypatch.setattr(pipeline, "run_chain", lambda chain: 1)
    monkeypatch.setattr(report, "render_site", lambda root, folder: tmp_path / "index.html")
    assert main(["report", "demo"]) == 1
    assert capsys.readouterr().out.rstrip().endswith("index.html")
