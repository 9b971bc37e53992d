"""Bounded reading: of a server's answer or an archive no more is taken than it may hold, and no longer than it may take."""

from __future__ import annotations

import bz2
import gzip
import lzma
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Value = TypeVar("Value")

ANSWER = 8 * 2**20  # bytes of one answer after decompression; a chat completion has some kilobytes

RATIO, LEAST, MOST = 100, 64 * 2**20, 4 * 2**30  # of an archive's content; JSON packs 10 to 50 times smaller


class TooLarge(ValueError):
    """Something is larger than it may be; the message says what and how much is read."""


def read_answer(response: Any, most: int = ANSWER, seconds: float | None = None) -> Any:
    """The whole answer of an open stream, decompressed, as a response that needs no connection any more.

    response: of httpx, or of the fork of it that a client brings along; the result is of the same class.

    Raises `TooLarge` beyond `most` bytes and `TimeoutError` after `seconds`, however steadily bytes arrive.
    """
    began, parts, size = time.monotonic(), [], 0
    try:
        for part in response.iter_bytes(2**16):
            size += len(part)
            if size > most:
                raise TooLarge(f"the server's answer has more than {most / 2**20:g} MiB")
            if seconds is not None and time.monotonic() - began > seconds:
                raise TimeoutError(f"no whole answer within {seconds:g} s")
            parts.append(part)
    finally:
        response.close()
    told = [(k, v) for k, v in response.headers.multi_items() if k.lower() not in PACKING]
    return type(response)(response.status_code, headers=told, content=b"".join(parts), request=response.request)


PACKING = ("content-encoding", "content-length", "transfer-encoding")


def within(seconds: float, call: Callable[[], Value]) -> Value:
    """What a call returns; `TimeoutError` where it is not over in time, even if it hangs in a slow header.

    The call goes on in a thread that does not keep the process alive.
    """
    ends: list[tuple[Value | None, BaseException | None]] = []

    def run() -> None:
        try:
            ends.append((call(), None))
        except BaseException as error:
            ends.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not ends:
        raise TimeoutError(f"no whole answer within {seconds:g} s")
    value, error = ends[0]
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


def unpacked_size(archive: Path) -> int:
    """Bytes of a plain or compressed (gzip, bzip2, xz) file's content, read to its end and thereby checked.

    Raises `TooLarge` beyond `largest_content`, and the decompressor's error where the file is damaged.
    """
    most, size = largest_content(archive), 0
    with _opened(archive) as content:
        while part := content.read(2**20):
            size += len(part)
            if size > most:
                raise TooLarge(
                    f"its content has more than {most / 2**20:,.0f} MiB, too much for {archive.stat().st_size:,} bytes"
                )
    return size


def largest_content(archive: Path) -> int:
    """The most bytes that an archive's content may have: a hundred times its size, at least 64 MiB, at most 4 GiB."""
    return min(MOST, max(LEAST, RATIO * archive.stat().st_size))


def _opened(archive: Path) -> Any:
    with open(archive, "rb") as handle:
        start = handle.read(6)
    if start.startswith(b"\x1f\x8b"):
        return gzip.open(archive)
    if start.startswith(b"BZh"):
        return bz2.open(archive)
    return lzma.open(archive) if start == b"\xfd7zXZ\0" else open(archive, "rb")
