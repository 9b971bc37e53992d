"""Vector log: every vector that a server sent, kept at once in a file that only grows, so that none is asked for twice.

A record is the digest of a text, its vector and a checksum, all of one size. A record that a kill or a full disk cut
short is found by its checksum or at the end of the file, and passed over.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
from filelock import FileLock

DIGEST, CHECK = 16, 4  # bytes


def text_key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:DIGEST]


class VectorLog:
    """Vectors of texts by one server. path: of the file; None keeps them in memory. Processes may share a file."""

    def __init__(self, path: Path | None, dimension: int) -> None:
        self.path, self.dimension = path, dimension
        self.size = DIGEST + 4 * dimension + CHECK
        self._vectors: dict[bytes, np.ndarray] = {}
        self._places: dict[bytes, int] = {}
        self._read = 0  # bytes of the file that are in `_places`

    def known(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """The vectors that are there, each (dimension,) float32."""
        keys = {text: text_key(text) for text in texts}
        if self.path is None:
            return {t: self._vectors[k] for t, k in keys.items() if k in self._vectors}
        self._catch_up()
        wanted = {text: self._places[key] for text, key in keys.items() if key in self._places}
        if not wanted:
            return {}
        found = {}
        with self.path.open("rb") as file:
            for text, place in sorted(wanted.items(), key=lambda item: item[1]):
                file.seek(place + DIGEST)
                found[text] = np.frombuffer(file.read(4 * self.dimension), dtype="<f4").astype(np.float32)
        return found

    def add(self, vectors: Mapping[str, np.ndarray]) -> None:
        """Keep vectors, on the disk before this returns."""
        if self.path is None:
            self._vectors.update({text_key(text): vector for text, vector in vectors.items()})
            return
        parts = []
        for text, vector in vectors.items():
            body = text_key(text) + np.asarray(vector, dtype="<f4").tobytes()
            parts.append(body + zlib.crc32(body).to_bytes(CHECK, "little"))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked(), self.path.open("ab") as file:
            end = file.tell()
            if end % self.size:  # what a process that was killed left of a record
                end -= end % self.size
                file.truncate(end)
            file.write(b"".join(parts))

    def _locked(self) -> AbstractContextManager[object]:
        return nullcontext() if self.path is None else FileLock(self.path.with_suffix(".lock"))

    def _catch_up(self) -> None:
        """Take over the records that were added since the last look, by this process or another one."""
        assert self.path is not None
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                while len(record := file.read(self.size)) == self.size:
                    if zlib.crc32(record[:-CHECK]) == int.from_bytes(record[-CHECK:], "little"):
                        self._places[record[:DIGEST]] = self._read
                    self._read += self.size
        except FileNotFoundError:
            return
