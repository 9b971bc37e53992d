"""No setting of the terminal and no closed pipe costs a result, and the libraries' bars are off."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from helpers.base.files import replacing
from helpers.study.run import follow_umask

SAY = "from helpers.base import terminal; terminal.prepare();"
BARS = "import sys, tqdm; list(tqdm.tqdm(range(3))); list(tqdm.tqdm(range(3), desc='own', disable=False))"


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", env=os.environ | environment
    )


@pytest.mark.parametrize("setting", [{"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "ascii"}])
def test_a_character_that_the_terminal_lacks_is_shown_as_its_code(setting) -> None:
    done = python(f"{SAY} print('rendering …')", **setting)
    assert (done.returncode, done.stdout) == (0, "rendering \\u2026\n"), done.stderr


def test_what_a_command_starts_writes_utf8_whatever_the_terminal_is() -> None:
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(chr(0x2026))'])"
    assert python(f"{SAY} {child}", PYTHONIOENCODING="ascii", LC_ALL="C").stdout == "…\n"


@pytest.mark.parametrize("closing", ["| head -n 1", ">&-"])
def test_a_command_whose_reader_is_gone_goes_on_to_its_end(closing, tmp_path) -> None:
    work = (
        f"{SAY} [print('a line', flush=True) for _ in range(20_000)]; open({str(tmp_path / 'end')!r}, 'w').write('x')"
    )
    command = f'"$0" -c "$1" {closing}; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command, sys.executable, work], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "0" and done.stderr == ""
    assert (tmp_path / "end").is_file()


@pytest.mark.parametrize("before", ["", "import tqdm;"])
def test_only_a_bar_that_asks_for_it_is_shown(before) -> None:
    said = python(f"{before}{SAY} {BARS}").stderr
    assert "own: 100%" in said and said.count("100%") == 1


def test_a_written_file_follows_the_umask(tmp_path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "table") as temporary:
            temporary.write_text("x")
    finally:
        os.umask(before)
    assert (tmp_path / "table").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_so_do_the_files_of_a_folder_that_a_library_wrote(tmp_path) -> None:
    (tmp_path / "0").mkdir()
    weights = tmp_path / "0" / "model.safetensors"
    weights.touch(0o600)
    before = os.umask(0o022)
    try:
        follow_umask(tmp_path)
    finally:
        os.umask(before)
    assert weights.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["0"]
