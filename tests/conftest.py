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
