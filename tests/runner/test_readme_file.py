"""The README's five minutes with a CSV file run as they stand there; a file of its own, so that it runs beside the other."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(start: str) -> str:
    """The code block of the README that begins with these words."""
    return next(b for b in re.findall(r"```(?:\w*)\n(.*?)```", README, re.S) if b.startswith(start))


@pytest.fixture
def project(tmp_path):
    """A checkout as a stranger has it: what the commands read, nothing of what they write."""
    for name in ("data", "notebooks", "site", "docs"):
        ignored = shutil.ignore_patterns("runs")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in ("_quarto.yml", "index.qmd", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(command: list[str], project: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "HELPERS_RUNS"}
    environment |= {"HELPERS_ROOT": str(project), "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_the_five_minutes_with_a_csv_file(project):
    lines = [line.split("#")[0].split() for line in block("make setup").splitlines() if line.startswith("helpers")]
    assert [line[1] for line in lines] == ["init", "report"]
    for line in lines:
        run([sys.executable, "-m", "helpers.runner.cli", *line[1:]], project)
    assert (project / "data" / "runs" / "my-faq" / "tables" / "sensitivity.parquet").is_file()
    assert (project / "_site" / "report" / "my-faq" / "index.html").is_file()
