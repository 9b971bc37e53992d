"""A small model on disk that a test may change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tiny_models import random_sentence_transformer


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_sentence_transformer(tmp_path_factory.mktemp("original"), "bert", layers=1)


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "copy"))
