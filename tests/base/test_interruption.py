"""An interrupted cell says that nothing finished is lost, and still counts as interrupted."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers.base.interruption import MESSAGE, explain_interrupts
from helpers.study.run import Run


@pytest.fixture
def shell(monkeypatch):
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    yield shell
    shell.history_manager.end_session()


def test_opening_a_run_makes_an_interrupted_cell_say_what_is_kept(shell, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("HELPERS_RUNS", str(tmp_path))
    Run.open("demo", step="02")
    result = shell.run_cell("kept = [1]\nraise KeyboardInterrupt")
    assert isinstance(result.error_in_exec, KeyboardInterrupt) and shell.user_ns["kept"] == [1]
    assert MESSAGE in capsys.readouterr().err
    assert shell.run_cell("kept.append(2)").success and shell.user_ns["kept"] == [1, 2]


def test_other_errors_are_not_explained_so(shell, capsys):
    explain_interrupts()
    shell.run_cell("1 / 0")
    assert MESSAGE not in capsys.readouterr().err
