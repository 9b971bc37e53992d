"""Downloads: the archive of a pinned commit that holds the results of a published study."""

from __future__ import annotations

import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from helpers.published_study import download_path
from helpers.run import replacing
from helpers.study import Study, StudyError

ARCHIVES = "https://github.com"


def download_study(
    study: Study, report: Callable[[str], None] = print, archives: str = ARCHIVES, timeout: float = 60.0
) -> list[Path]:
    """Fetch every archive that `results_from` of a study pins; those that are there already are kept.

    An archive is whole or absent. Its content is checked against the study's `sha256` when it is read. Raises
    `StudyError` where the study pins nothing or an archive cannot be fetched.
    """
    source = study.results_from
    wanted = [
        part
        for part in (source, source.reported if source else None)
        if part and part.repository and part.commit
    ]
    if not wanted:
        raise StudyError(
            f"study {study.name} names no repository and commit under results_from; nothing to download"
        )
    paths = []
    for part in wanted:
        path = download_path(str(part.repository), str(part.commit))
        if not path.is_file():
            address = f"{archives}/{part.repository}/archive/{part.commit}.tar.gz"
            report(f"fetching {address}")
            _fetch(address, path, timeout)
        report(f"{part.repository} at {str(part.commit)[:12]}: {path.stat().st_size / 1e6:.1f} MB")
        paths.append(path)
    return paths


def _fetch(address: str, path: Path, timeout: float) -> None:
    try:
        with (
            urllib.request.urlopen(address, timeout=timeout) as answer,
            replacing(path) as temporary,
            open(temporary, "wb") as out,
        ):
            shutil.copyfileobj(answer, out)
            expected = answer.headers.get("Content-Length")
            if expected and out.tell() != int(expected):
                raise OSError(f"{out.tell()} of {expected} bytes arrived")
    except (urllib.error.URLError, OSError) as error:
        raise StudyError(
            f"{address} could not be fetched ({getattr(error, 'reason', error)}); get it on a machine with network "
            "and name it in PUBLISHED_RESULTS"
        ) from error
