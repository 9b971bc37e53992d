"""A step depends on the modules that its notebook reaches, and on no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.runner.reach import reached

FILES = {
    "helpers/__init__.py": "",
    "helpers/low/__init__.py": "from helpers.low.sums import add\n",
    "helpers/low/sums.py": "def add(): ...\n",
    "helpers/low/other.py": "",
    "helpers/high/__init__.py": "",
    "helpers/high/words.py": "def say():\n    from helpers.low import other\n",
    "helpers/high/charts.py": "import helpers.high.words\n",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("code", "files"),
    [
        ("import pandas", ""),
        ("from helpers import low", "__init__ low/__init__ low/sums"),
        ("from helpers.low.other import x", "__init__ low/__init__ low/other low/sums"),
        (
            "import helpers.high.charts",
            "__init__ high/__init__ high/charts high/words low/__init__ low/other low/sums",
        ),
    ],
)
def test_faces_and_imports_inside_functions_count(source: Path, code: str, files: str) -> None:
    found = {str(path.relative_to(source / "helpers"))[:-3] for path in reached([code], source)}
    assert found == set(files.split())


def test_code_that_does_not_parse_reaches_everything(source: Path) -> None:
    assert len(reached(["%matplotlib inline"], source)) == len(FILES)


def test_a_title_of_chapter_03_does_not_run_the_fine_tuning_again() -> None:
    root = Path(__file__).resolve().parents[2]
    rooms = {path.parent.name for path in reached(["from helpers.geometry import words"], root / "src")}
    assert "geometry" in rooms and not rooms & {"tuning", "report", "runner", "leaderboard"}
