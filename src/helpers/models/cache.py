"""Embedding cache: matrices on disk, read as memory maps, atomic, bounded, shared by processes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap

from helpers.base.errors import StudyError
from helpers.base.files import replacing
from helpers.models.role import Role

Request = tuple[Sequence[str], str, Role]
WRITTEN_ROWS = 16_384  # rows that are gathered at a time while a file is written


def texts_digest(texts: Sequence[str]) -> str:
    """SHA-256 over an ordered list of texts: their lengths and then their characters."""
    result = hashlib.sha256(",".join(map(str, map(len, texts))).encode())
    result.update(b"\0" + "".join(texts).encode("utf-8", "surrogatepass"))
    return result.hexdigest()


def _limit_of_the_environment() -> int:
    """`HELPERS_CACHE_GB` in bytes; 20 GB where it is not set."""
    given = os.environ.get("HELPERS_CACHE_GB") or "20"
    try:
        size = float(given)
    except ValueError:
        size = 0.0
    if not 0 < size < 1e6:
        raise StudyError(f"HELPERS_CACHE_GB is '{given}'; it must be a number of gigabytes above 0, such as 20")
    return int(size * 2**30)


class EmbeddingCache:
    """Matrices on disk, one `.npy` per (model, role, prefix, ordered texts); atomic, bounded, shared by processes.

    A file appears whole or not at all, so two processes may write the same one. When the folder grows past
    `limit_bytes` the files that were not read for the longest time are removed.
    """

    def __init__(self, folder: Path, limit_bytes: int | None = None) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes or _limit_of_the_environment()

    def key(self, model_key: str, request: Request) -> str:
        texts, prefix, role = request
        what = json.dumps([model_key, role, prefix, texts_digest(texts)])
        return hashlib.sha256(what.encode()).hexdigest()[:32]

    def path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.npy"

    def read(self, key: str, rows: int) -> np.ndarray | None:
        """The matrix of a key, memory-mapped; None where it is absent. An unreadable file is moved aside."""
        path = self.path(key)
        try:
            matrix = np.load(path, mmap_mode="r")
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            matrix = None
        whole = matrix is not None and matrix.ndim == 2 and len(matrix) == rows
        # Removed meanwhile? What is mapped can be read all the same.
        with contextlib.suppress(FileNotFoundError):
            if whole:
                os.utime(path)
            else:
                os.replace(path, path.with_suffix(".broken"))
        return matrix if whole else None

    def write(self, key: str, matrix: np.ndarray, rows: np.ndarray | None = None) -> None:
        """Keep a matrix, or the given rows of it, without a second copy of it in memory."""
        rows = np.arange(len(matrix)) if rows is None else rows
        shape = (len(rows), *matrix.shape[1:])
        with replacing(self.path(key)) as temporary:
            kept = open_memmap(temporary, mode="w+", dtype=matrix.dtype, shape=shape)
            for start in range(0, len(rows), WRITTEN_ROWS):
                kept[start : start + WRITTEN_ROWS] = matrix[rows[start : start + WRITTEN_ROWS]]
            kept.flush()

    def shrink(self) -> int:
        """Remove the longest unread matrices until the folder fits its bound; the number of removed files."""
        files: list[tuple[float, int, Path]] = []
        for path in self.folder.glob("*/*.npy"):
            with contextlib.suppress(FileNotFoundError):  # another process removes files too
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
        total, removed = 0, 0
        for _, size, path in sorted(files, reverse=True):
            total += size
            if total > self.limit_bytes:
                path.unlink(missing_ok=True)
                removed += 1
        return removed
