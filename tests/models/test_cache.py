"""The cache of vectors keeps its bound, survives damage and another process that removes files, and says what is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from helpers.base.errors import StudyError
from helpers.models.cache import EmbeddingCache

ROW = np.ones((1, 1000), dtype=np.float32)  # 4,000 bytes and a header


def filled(folder: Path, keys: str, limit: int = 10**6) -> EmbeddingCache:
    """A cache with a matrix per letter, the first one read longest ago."""
    cache = EmbeddingCache(folder, limit)
    for age, key in enumerate(reversed(keys)):
        cache.write(key * 8, ROW)
        os.utime(cache.path(key * 8), (1000 - age, 1000 - age))
    return cache


def test_what_was_not_read_for_the_longest_time_is_removed_first(tmp_path: Path) -> None:
    cache = filled(tmp_path, "abc", limit=9000)
    assert cache.read("a" * 8, 1) is not None  # now the newest
    assert cache.shrink() == 1
    assert [cache.read(key * 8, 1) is not None for key in "abc"] == [True, False, True]


@pytest.mark.parametrize("damage", [lambda p: p.write_bytes(b"no matrix"), lambda p: os.truncate(p, 60)])
def test_a_damaged_matrix_is_moved_aside(tmp_path: Path, damage: object) -> None:
    cache = filled(tmp_path, "a")
    damage(cache.path("a" * 8))  # type: ignore[operator]
    assert cache.read("a" * 8, 1) is None and len(list(tmp_path.rglob("*.broken"))) == 1


def test_a_file_that_another_process_removes_meanwhile_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = filled(tmp_path, "ab", limit=1)
    stat = Path.stat

    def removed_first(path: Path, **given: bool) -> os.stat_result:
        if path.name.startswith("a"):
            path.unlink(missing_ok=True)
        return stat(path, **given)

    monkeypatch.setattr(Path, "stat", removed_first)
    assert cache.shrink() == 1 and cache.read("a" * 8, 1) is None


@pytest.mark.parametrize("value", ["much", "0", "-1", "nan"])
def test_a_senseless_bound_names_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HELPERS_CACHE_GB", value)
    with pytest.raises(StudyError, match=f"HELPERS_CACHE_GB is '{value}'"):
        EmbeddingCache(tmp_path)
