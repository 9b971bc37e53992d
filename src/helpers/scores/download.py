"""Fetch published results: a pinned commit of a public repository, whole or not at all, and checked."""

from __future__ import annotations

import argparse
import io
import json
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import quote

import httpx
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from helpers.base.bounded import read_answer
from helpers.base.errors import StudyError
from helpers.base.files import replacing
from helpers.base.paths import below, is_plain
from helpers.scores.files import MAX_BYTES, content_digest, inner_path, json_files
from helpers.scores.published import read_results
from helpers.scores.source import download_path, reported_folder, select
from helpers.study.load import load_study, study_names
from helpers.study.published import ResultsSource

GITHUB = "https://github.com"

RAW = "https://raw.githubusercontent.com"

LARGEST = 8 * 2**30  # bytes of one download

Say = Callable[[str], None]


def download(url: str, target: Path, attempts: int = 5, wait: float = 1.0) -> Path:
    """Download a file to `target`, which appears only when it is whole.

    A broken transfer begins anew, waiting longer each time: GitHub packs archives on the fly and gives no part of one.
    Raises `StudyError` when all attempts failed or the server refuses (4xx).
    """

    def transfer() -> None:
        with replacing(target) as temporary, httpx.stream("GET", url, follow_redirects=True, timeout=60) as answer:
            answer.raise_for_status()
            with open(temporary, "wb") as out:
                for chunk in answer.iter_raw():
                    out.write(chunk)
                    if out.tell() > LARGEST:
                        raise StudyError(f"{url}: the server sends more than {LARGEST / 2**30:g} GiB; nothing is kept")

    try:
        _patiently(attempts, wait)(transfer)
    except httpx.HTTPStatusError as refused:
        text = f"{url}: the server answers {refused.response.status_code}; check repository and commit"
        raise StudyError(text) from refused
    except httpx.TransportError as broken:
        raise StudyError(f"{url} could not be downloaded ({broken}); run the command again") from broken
    return target


def fetch_results(study: str, source: ResultsSource, base: str = GITHUB, say: Say = print) -> Path:
    """Download the pinned archive of a study's results and check its content digest; an archive at hand is kept.

    Raises `StudyError` where the study names no repository or the content is not the pinned one (it is then removed).
    """
    if not source.repository or not source.commit:
        raise StudyError(f"study {study}: results_from names no repository and commit to download")
    target = download_path(source.repository, source.commit)
    if target.is_file():
        say(f"{study}: results are here already")
        return target
    url = f"{base}/{source.repository}/archive/{source.commit}.tar.gz"
    say(f"{study}: downloading {url}")
    loose = target.with_name(target.name.replace(".tar.gz", ".unchecked.tar.gz"))
    download(url, loose)
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
    if not source.repository or not source.commit:
        raise StudyError(f"study {study}: results_from names no repository and commit; set results_from.path instead")
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
                content = _json_text(client, f"{raw}/{spec.repository}/{spec.commit}/{quote(place)}")
                if content is not None:
                    with replacing(below(folder, place)) as temporary:
                        temporary.write_bytes(content)
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
    parser.add_argument("--from", dest="given", type=Path, help="a folder or archive that holds the results already")
    parser.add_argument("--without-reported", action="store_true", help="leave the reported defaults out")
    options = parser.parse_args(arguments)
    study = load_study(options.study)
    source = study.results_from
    if source is None:
        others = [n for n in study_names() if load_study(n).results_from is not None]
        raise StudyError(f"study {study.name} has no results_from; studies that have: {', '.join(others) or 'none'}")
    if options.given is not None:
        path = adopt(study.name, source, options.given.expanduser())
    else:
        path = fetch_results(study.name, source)
    if source.reported is not None and source.reported.repository and not options.without_reported:
        kept = select(read_results(path).scores, source)
        keys = kept[["model_name", "revision", "task"]].drop_duplicates().itertuples(index=False, name=None)
        try:
            fetch_reported(source, keys)
        except (httpx.HTTPError, TimeoutError, ValueError) as error:
            print(f"reported defaults: not complete ({error}); run the command again to continue")
            return 1
    return 0


def _patiently(attempts: int = 5, wait: float = 1.0) -> Retrying:
    """Call again after a failure that may pass: a broken connection, a busy server, one that asks to slow down."""

    def passes(error: BaseException) -> bool:
        if isinstance(error, httpx.HTTPStatusError):
            return error.response.status_code >= 500 or error.response.status_code in (408, 429)
        return isinstance(error, httpx.TransportError | TimeoutError)

    return Retrying(
        stop=stop_after_attempt(attempts), wait=wait_exponential(wait), retry=retry_if_exception(passes), reraise=True
    )


def _json_text(client: httpx.Client, url: str) -> bytes | None:
    """The JSON file at an address; None where the server has none."""

    def ask() -> httpx.Response:
        with client.stream("GET", url) as stream:
            answer: httpx.Response = read_answer(stream, MAX_BYTES, seconds=300)
        return answer if answer.status_code == 404 else answer.raise_for_status()

    answer = _patiently()(ask)
    if answer.status_code == 404:
        return None
    try:
        json.loads(answer.text)
    except (ValueError, RecursionError):
        raise StudyError(f"{url}: what the server sent is no JSON (the page of a proxy?); try again") from None
    return answer.content


def _check(path: Path, source: ResultsSource, study: str) -> None:
    if source.sha256 is None:
        return
    digest = content_digest(path)
    if digest != source.sha256:
        raise StudyError(
            f"study {study}: the content of {path.name} is not the pinned one (sha256 {digest[:16]}…, expected "
            f"{source.sha256[:16]}…); commit {str(source.commit)[:12]} is wanted"
        )
