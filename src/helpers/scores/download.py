"""Fetch published results: a pinned commit of a public repository, checked, and continued where it broke off."""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import quote

import httpx

from helpers.base.bounded import read_answer
from helpers.base.errors import StudyError
from helpers.base.files import replacing
from helpers.base.paths import below, is_plain
from helpers.scores.files import MAX_BYTES, content_digest, inner_path, json_files
from helpers.study.load import load_study, study_names
from helpers.study.published import ResultsSource

GITHUB = "https://github.com"


RAW = "https://raw.githubusercontent.com"


LARGEST = 8 * 2**30  # bytes of one download


Say = Callable[[str], None]


def download(url: str, target: Path, attempts: int = 5, wait: float = 1.0, say: Say = print) -> Path:
    """Download a file to `target`, which appears only when it is whole; a half-finished one is continued.

    The half lies beside it as `<name>.part`, with the server's tag of the content. The rest is asked for with a range
    bound to that tag: a server that cannot give ranges (GitHub packs archives on the fly), or whose content is another
    one meanwhile, sends everything and the file is begun anew. Passing failures are tried again, waiting longer each time.
    Raises `StudyError` when all attempts failed or the server refuses (4xx).
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part, tag = target.with_name(target.name + ".part"), target.with_name(target.name + ".tag")
    error: Exception | None = None
    for attempt in range(attempts):
        if attempt:
            time.sleep(wait * 2 ** (attempt - 1))
        try:
            _transfer(url, part, tag, say)
        except httpx.HTTPStatusError as refused:
            code = refused.response.status_code
            if code == 416:  # the half is no prefix of what the server has
                part.unlink(missing_ok=True)
            elif code < 500 and code not in (408, 429):
                raise StudyError(
                    f"{url}: the server answers {code}; check repository and commit"
                ) from refused
            error = refused
        except httpx.HTTPError as broken:
            error = broken
        else:
            part.replace(target)
            tag.unlink(missing_ok=True)
            return target
        say(
            f"  interrupted ({type(error).__name__}); attempt {attempt + 2} of {attempts}"
            if attempt + 1 < attempts
            else ""
        )
    raise StudyError(
        f"{url} could not be downloaded ({error}); run the command again, it continues where it can"
    ) from error


def fetch_results(study: str, source: ResultsSource, base: str = GITHUB, say: Say = print) -> Path:
    """Download the pinned archive of a study's results and check its content digest; an archive at hand is kept.

    Raises `StudyError` where the study names no repository or the content is not the pinned one (it is then removed).
    """
    from helpers.scores.source import download_path

    if not source.repository or not source.commit:
        raise StudyError(f"study {study}: results_from names no repository and commit to download")
    target = download_path(source.repository, source.commit)
    if target.is_file():
        say(f"{study}: results are here already")
        return target
    url = f"{base}/{source.repository}/archive/{source.commit}.tar.gz"
    say(f"{study}: downloading {url}")
    loose = target.with_name(target.name.replace(".tar.gz", ".unchecked.tar.gz"))
    download(url, loose, say=say)
    try:
        _check(loose, source, study)
    except StudyError:
        loose.unlink()
        raise
    loose.replace(target)
    say(f"{study}: downloaded and checked")
    return target


def adopt(study: str, source: ResultsSource, given: Path, say: Say = print) -> Path:
    """Take results that lie here already, a folder or an archive: checked, then packed where the study looks for them."""
    from helpers.scores.source import download_path

    if not source.repository or not source.commit:
        raise StudyError(
            f"study {study}: results_from names no repository and commit; set results_from.path instead"
        )
    _check(given, source, study)
    target = download_path(source.repository, source.commit)
    with replacing(target) as temporary, tarfile.open(temporary, "w:gz", compresslevel=6) as tar:
        for path, content in json_files(given):
            inner = inner_path(path)
            if inner is not None and isinstance(content, bytes):
                member = tarfile.TarInfo(str(inner))
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    say(f"{study}: results of {given.name} taken over")
    return target


def fetch_reported(
    source: ResultsSource, wanted: Iterable[tuple[str, str, str]], raw: str = RAW, say: Say = print
) -> tuple[int, list[str]]:
    """Download the reported default results of (model name, revision, task), one small file each.

    Files that are there are kept, so a broken run continues. A result that is not under the model's own revision is
    looked for under `external` (results that model authors reported). Returns how many there are and the names of those
    that the repository does not have.
    """
    from helpers.scores.source import reported_folder

    spec = source.reported
    if spec is None or not spec.repository or not spec.commit:
        return 0, []
    folder = reported_folder(spec.repository, spec.commit)
    there, absent = 0, []
    with httpx.Client(follow_redirects=True, timeout=60) as client:
        for name, revision, task in sorted(set(wanted)):
            organisation = name.replace("/", "__")
            if not all(map(is_plain, (organisation, revision, f"{task}.json"))):
                absent.append(f"{name} {task}")  # names of a foreign file that are no names of files
                continue
            places = [f"results/{organisation}/{r}/{task}.json" for r in (revision, "external")]
            if any((folder / place).is_file() for place in places):
                there += 1
                continue
            for place in places:
                answer = _patient_get(client, f"{raw}/{spec.repository}/{spec.commit}/{quote(place)}")
                if answer.status_code == 404:
                    continue
                answer.raise_for_status()
                _require_json(answer, place)
                with replacing(below(folder, place)) as temporary:
                    temporary.write_bytes(answer.content)
                there += 1
                break
            else:
                absent.append(f"{name} {task}")
    say(f"reported defaults: {there} here, {len(absent)} not in {spec.repository}")
    return there, absent


def main(arguments: list[str] | None = None) -> int:
    """`helpers fetch-published STUDY [--from PATH] [--without-reported]`."""
    parser = argparse.ArgumentParser(prog="helpers fetch-published", description=__doc__)
    parser.add_argument("study", help="a study with results_from, e.g. published")
    parser.add_argument(
        "--from", dest="given", type=Path, help="a folder or archive that holds the results already"
    )
    parser.add_argument("--without-reported", action="store_true", help="leave the reported defaults out")
    options = parser.parse_args(arguments)
    study = load_study(options.study)
    source = study.results_from
    if source is None:
        others = [n for n in study_names() if load_study(n).results_from is not None]
        raise StudyError(
            f"study {study.name} has no results_from; studies that have: {', '.join(others) or 'none'}"
        )
    if options.given is not None:
        path = adopt(study.name, source, options.given.expanduser())
    else:
        path = fetch_results(study.name, source)
    if source.reported is not None and source.reported.repository and not options.without_reported:
        from helpers.scores.published import read_results
        from helpers.scores.source import select

        kept = select(read_results(path).scores, source)
        keys = kept[["model_name", "revision", "task"]].drop_duplicates().itertuples(index=False, name=None)
        try:
            fetch_reported(source, keys)
        except (httpx.HTTPError, ValueError) as error:
            print(f"reported defaults: not complete ({error}); run the command again to continue")
            return 1
    return 0


def _transfer(url: str, part: Path, tag: Path, say: Say) -> None:
    have = part.stat().st_size if part.is_file() else 0
    known = tag.read_text(encoding="utf-8") if tag.is_file() else ""
    # Without a strong tag nothing tells that the rest belongs to the half: begin anew.
    headers = {"Range": f"bytes={have}-", "If-Range": known} if have and known else {}
    headers["Accept-Encoding"] = "identity"
    with httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=60) as answer:
        answer.raise_for_status()
        continued = answer.status_code == 206
        etag = answer.headers.get("ETag", "")
        tag.write_text("" if etag.startswith("W/") else etag, encoding="utf-8")
        length = answer.headers.get("Content-Length")
        total = int(length) + (have if continued else 0) if length else None
        done, shown = (have if continued else 0), 0.0
        if continued:
            say(f"  continued at {have / 1e6:.1f} MB")
        with open(part, "ab" if continued else "wb") as out:
            for chunk in answer.iter_raw():
                out.write(chunk)
                done += len(chunk)
                if done > LARGEST:
                    raise StudyError(
                        f"{url}: the server sends more than {LARGEST / 2**30:g} GiB; nothing is kept"
                    )
                if time.monotonic() - shown > 2:
                    shown = time.monotonic()
                    say(f"  {done / 1e6:.1f} MB" + (f" of {total / 1e6:.1f} MB" if total else ""))
        if total is not None and done != total:
            raise httpx.RemoteProtocolError(f"{done} of {total} bytes")


def _require_json(answer: httpx.Response, place: str) -> None:
    try:
        json.loads(answer.text)
    except (ValueError, RecursionError):
        raise StudyError(
            f"{place}: what the server sent is no JSON (the page of a proxy?); try again"
        ) from None


def _patient_get(client: httpx.Client, url: str, attempts: int = 4, wait: float = 1.0) -> httpx.Response:
    """GET, again after a passing failure or when the server asks to slow down."""
    for attempt in range(attempts):
        last = attempt == attempts - 1
        try:
            with client.stream("GET", url) as stream:
                answer = read_answer(stream, MAX_BYTES, seconds=300)
        except (httpx.TransportError, TimeoutError):
            if last:
                raise
        else:
            if last or (answer.status_code < 500 and answer.status_code != 429):
                return answer
        time.sleep(wait * 2**attempt)
    raise AssertionError("unreachable")


def _check(path: Path, source: ResultsSource, study: str) -> None:
    if source.sha256 is None:
        return
    digest = content_digest(path)
    if digest != source.sha256:
        raise StudyError(
            f"study {study}: the content of {path.name} is not the pinned one (sha256 {digest[:16]}…, expected "
            f"{source.sha256[:16]}…); commit {str(source.commit)[:12]} is wanted"
        )
