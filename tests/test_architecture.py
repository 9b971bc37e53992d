"""The package is a street of rooms: no room uses one above it, every room has a face."""

import importlib
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

import helpers

ROOT = Path(__file__).resolve().parents[1]
ROOMS = sorted(m.name for m in pkgutil.iter_modules(helpers.__path__) if m.ispkg)
MODULES = sorted((ROOT / "src" / "helpers").rglob("*.py"))


def test_the_rooms_are_a_one_way_street_without_circles():
    command = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("room", ROOMS)
def test_a_face_names_what_the_room_is_for_and_hides_no_module(room):
    face = importlib.import_module(f"helpers.{room}")
    modules = {m.name for m in pkgutil.iter_modules(face.__path__)}
    assert len((face.__doc__ or "").strip().splitlines()) == 3
    assert 4 <= len(face.__all__) <= 15 and not set(face.__all__) & modules
    assert all(hasattr(face, name) for name in face.__all__)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT / "src")))
def test_no_module_is_longer_than_300_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_tests_lie_in_the_room_that_they_test():
    rooms = {p.name for p in (ROOT / "tests").iterdir() if p.is_dir() and any(p.rglob("test_*.py"))}
    assert rooms - {"site"} <= set(ROOMS)


def test_the_drawing_of_the_rooms_is_that_of_the_imports():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = {line.split()[0]: line.split()[1:] for line in page.split("```text\n")[1].split("```")[0].splitlines()}
    graph = grimp.build_graph("helpers", cache_dir=None)

    def used(room: str) -> set[str]:
        inside = graph.find_descendants(f"helpers.{room}") | {f"helpers.{room}"}
        names = {i for m in inside for i in graph.find_modules_directly_imported_by(m)} - {"helpers"}
        return {name.split(".")[1] for name in names} - {room}

    assert {room: set(names) for room, names in drawn.items()} == {room: used(room) for room in ROOMS}


def test_only_the_room_that_trains_imports_torch_before_it_is_needed():
    """Torch and mteb take ten seconds; a notebook that reads scores, and a command that prints a plan, need neither."""
    rooms = ", ".join(f"helpers.{room}" for room in ROOMS if room != "tuning")
    code = f"import sys, {rooms}, helpers.runner.cli; print({{'torch', 'sentence_transformers', 'mteb'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stdout + done.stderr


@pytest.mark.parametrize("name", helpers.__all__)
def test_what_a_script_needs_comes_from_the_package_itself(name):
    assert callable(getattr(helpers, name))


def test_the_figures_of_the_docs_are_born_where_the_docs_say():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    row = re.compile(r"^\| `(fig-[\w-]+)` \| (\d\d) \| `(\S+)\.py` `(\w+)` \| `(\S+)\.py` `(\w+)` \|$", re.M)
    rows = row.findall(page)
    assert len(rows) == 6
    for anchor, step, figures, name, module, computation in rows:
        (notebook,) = (ROOT / "notebooks").glob(f"{step}_*.ipynb")
        cells = [c["source"] for c in json.loads(notebook.read_text(encoding="utf-8"))["cells"]]
        code = "".join(line for cell in cells for line in cell)
        assert f"figures.{name}(" in code and f"{computation}(" in code, anchor
        for place, function in ((figures, name), (module, computation)):
            assert callable(getattr(importlib.import_module(f"helpers.{place.replace('/', '.')}"), function))
        assert f'"{anchor}"' in (ROOT / "src" / "helpers" / f"{figures}.py").read_text(encoding="utf-8")


def test_every_module_that_the_quick_start_names_exists():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+/\w+\.py)`", page))
    assert (
        len(named) > 20
        and {n for n in named if not any((ROOT / base / n).is_file() for base in (".", "src/helpers"))} == set()
    )
