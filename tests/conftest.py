"""Shared fixtures: no network, no user caches, real task data where they lie beside the project."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("MTEB_CACHE", tempfile.mkdtemp(prefix="mteb-cache-"))
os.environ.setdefault("HF_DATASETS_CACHE", tempfile.mkdtemp(prefix="datasets-cache-"))

ROOT = Path(__file__).resolve().parents[1]
# The files that take a minute or more, longest first: a whole file goes to one process, and the last to start bounds the
# whole. pytest-xdist by itself begins with the files of many tests, and these have few.
LONG = (
    "site/test_lab.py", "tuning/test_demo.py", "runner/test_notebook_chain.py", "sweep/test_group.py",
    "runner/test_readme.py", "runner/test_readme_file.py", "sweep/test_ray.py", "runner/test_pipeline.py",
    "sweep/test_failures.py", "sweep/test_quick.py", "base/test_lifetime.py", "sweep/test_run.py",
    "site/test_site_browser.py", "prompts/test_load.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first; `make test` keeps this order (`--no-loadscope-reorder`)."""
    place = {ROOT / "tests" / name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path, len(LONG)))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real published scores and task data; it is never part of this repository."""
    folder = Path(os.environ.get("EMBEDDING_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "README.md").is_file():
        pytest.skip("real data (../shared/data or EMBEDDING_SHARED_DATA) are not on this machine")
    return folder


@pytest.fixture(scope="session")
def task_data(shared_data: Path) -> Path:
    """The folder of real task data, one sub-folder per mteb task."""
    return shared_data / "tasks"
