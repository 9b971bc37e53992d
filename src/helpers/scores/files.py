"""Files of a result cache, read where they lie: a folder, a git clone, or an archive that is never unpacked."""

from __future__ import annotations

import functools
import hashlib
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from helpers.base.bounded import TooLarge, largest_content, unpacked_size
from helpers.base.errors import StudyError

MAX_FILES = 500_000

MAX_BYTES = 64 * 2**20  # a result of one task is some kilobytes; more is a foreign file


def json_files(source: Path) -> Iterator[tuple[PurePosixPath, bytes | str]]:
    """Every `*.json` below a folder or inside a tar archive as (path, content), in the order of the paths.

    The content is a string, the reason, where a file cannot be read: a link, larger than `MAX_BYTES`, or cut off.
    Raises `StudyError` where the source is absent or neither a folder nor a readable archive.
    """
    if source.is_dir():
        yield from _folder_files(source)
    elif source.is_file():
        yield from _archive_files(source)
    else:
        raise StudyError(f"there is no folder or archive '{source.name}' with results; give one with --from")


def content_digest(source: Path) -> str:
    """SHA-256 over the names and contents of the result and prompt files, however they are packed.

    The hexadecimal digest of the lines `<sha256 of content>  <path>` sorted by path, paths beginning with `results/`
    or `prompts/`: the same for a clone, a folder and an archive of one commit, whatever packed it.
    """
    if source.is_file():  # an archive is read once per process
        about = source.stat()
        return _archive_digest(source, about.st_size, about.st_mtime_ns)
    return _digest(source)


@functools.lru_cache(maxsize=16)
def _archive_digest(source: Path, size: int, changed: int) -> str:
    return _digest(source)


def _digest(source: Path) -> str:
    lines = []
    for path, content in json_files(source):
        inner = inner_path(path)
        if inner is not None:
            data = content if isinstance(content, bytes) else content.encode()
            lines.append(f"{hashlib.sha256(data).hexdigest()}  {inner}\n")
    return hashlib.sha256("".join(sorted(lines, key=lambda line: line[66:])).encode()).hexdigest()


def inner_path(path: PurePosixPath) -> PurePosixPath | None:
    """The part of a path from `results/` or `prompts/` on; a path without either is None.

    A model's folder (`<org>__<model>`) directly at the top counts as lying in `results/`.
    """
    parts = path.parts
    for k, part in enumerate(parts):
        if "__" in part and (k == 0 or parts[k - 1] == "results") and len(parts) - k >= 3:
            return PurePosixPath("results", *parts[k:])
    if len(parts) >= 2 and parts[-2] == "prompts":
        return PurePosixPath("prompts", parts[-1])
    return None


def _folder_files(folder: Path) -> Iterator[tuple[PurePosixPath, bytes | str]]:
    # A folder below `results/` keeps its meaning: the path shown begins at the given folder's own name.
    for path in sorted(folder.rglob("*.json")):
        relative = PurePosixPath(path.relative_to(folder).as_posix())
        if ".git" in relative.parts:
            continue
        if path.is_symlink():
            yield relative, "is a link; links are not followed"
        elif not path.is_file():
            continue
        elif path.stat().st_size > MAX_BYTES:
            yield relative, f"has more than {MAX_BYTES // 2**20} MiB"
        else:
            try:
                yield relative, path.read_bytes()
            except OSError as error:
                yield relative, f"cannot be read: {error.strerror}"


def _archive_files(archive: Path) -> Iterator[tuple[PurePosixPath, bytes | str]]:
    try:
        unpacked_size(archive)  # to the end, where the packer's checksum stands
        if tarfile.is_tarfile(archive) and _plain_and_cut(archive):
            raise tarfile.ReadError("its end is missing")
        # Not the stream mode "r|*": that takes a cut archive for a whole one. One pass: a member is read in its turn.
        with tarfile.open(archive, "r:*") as tar:
            found: dict[PurePosixPath, bytes | str] = {}
            left = largest_content(archive)
            for number, member in enumerate(tar):
                left -= member.size
                if number >= MAX_FILES or left < 0:
                    raise TooLarge(f"it holds more than {MAX_FILES:,} files or more bytes than its size allows")
                path = PurePosixPath(member.name.lstrip("./"))
                if path.suffix != ".json" or member.isdir():
                    continue
                if member.issparse():  # gaps that no byte of the archive stands for
                    found[path] = "is a sparse file; pack it again without"
                elif not member.isfile():
                    found[path] = "is a link; links are not followed"
                elif member.size > MAX_BYTES:
                    found[path] = f"has more than {MAX_BYTES // 2**20} MiB"
                else:
                    handle = tar.extractfile(member)
                    found[path] = handle.read() if handle else "cannot be read"
    except TooLarge as error:
        raise StudyError(f"{archive.name} is not read: {error}") from None
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise StudyError(
            f"{archive.name} is not a whole tar archive ({type(error).__name__}: {error}); download it again"
        ) from error
    yield from ((path, found[path]) for path in sorted(found))


def _plain_and_cut(archive: Path) -> bool:
    """An uncompressed archive whose closing block of zeros is missing: its reader would stop without a word."""
    with open(archive, "rb") as handle:
        start = handle.read(262)
        handle.seek(0, 2)
        if start[257:262] != b"ustar":
            return False
        handle.seek(-min(512, handle.tell()), 2)
        return any(handle.read())
