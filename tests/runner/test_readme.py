"""What the README shows runs as it stands there, in a new folder, on the packaged models."""

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


def test_the_ten_lines_of_python(project):
    (project / "ten_lines.py").write_text(block("import helpers"), encoding="utf-8")
    said = run([sys.executable, "ten_lines.py"], project)
    assert "honest_gain" in said and "percentile" in said
    pages = project / "runs" / "faq" / "site"
    assert "faq" in (pages / "index.html").read_text(encoding="utf-8")
    assert (pages / "report" / "faq" / "03_inflation_deflation.html").is_file()
