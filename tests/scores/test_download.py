"""Downloads: whole or not at all, checked against the pinned content."""

import http.server
import json
import threading
from typing import ClassVar

import pytest
from test_published import BASE, GOOD, cache, pack, result

from helpers.base.errors import StudyError
from helpers.scores import download as dl
from helpers.scores.files import content_digest
from helpers.scores.source import download_path, load_published, reported_defaults, results_path
from helpers.study.published import ReportedDefaults, ResultsSource

DATA = bytes(range(256)) * 2000


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `files`; `plan` says what to do with the next requests: "cut", "503" or nothing."""

    protocol_version = "HTTP/1.1"
    files: ClassVar[dict] = {}
    plan: ClassVar[list] = []
    seen: ClassVar[list] = []

    def do_GET(self):
        todo = self.plan.pop(0) if self.plan else ""
        self.seen.append(self.path)
        status = 503 if todo == "503" else 200 if self.path in self.files else 404
        data = self.files[self.path] if status == 200 else b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if todo == "cut" else data)
        if todo == "cut":
            self.close_connection = True

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    Server.files, Server.plan, Server.seen = {"/x": DATA}, [], []
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    monkeypatch.setenv("HELPERS_RUNS", str(tmp_path / "runs"))
    for name in ("PUBLISHED_RESULTS", "PUBLISHED_DEFAULTS"):
        monkeypatch.delenv(name, raising=False)


def get(server, target, **rest):
    return dl.download(f"{server}/x", target, wait=0, **rest)


def test_a_download_is_whole_and_leaves_nothing_beside_it(server, tmp_path):
    assert get(server, tmp_path / "d" / "x").read_bytes() == DATA
    assert [p.name for p in (tmp_path / "d").iterdir()] == ["x"]


def test_a_broken_transfer_begins_anew_and_leaves_no_half(server, tmp_path):
    Server.plan = ["cut", "cut"]
    with pytest.raises(StudyError, match="run the command again"):
        get(server, tmp_path / "d" / "x", attempts=1)
    assert not list((tmp_path / "d").iterdir())
    assert get(server, tmp_path / "d" / "x").read_bytes() == DATA and len(Server.seen) == 3


def test_more_than_a_download_may_hold_is_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr(dl, "LARGEST", len(DATA) - 1)
    with pytest.raises(StudyError, match="nothing is kept"):
        get(server, tmp_path / "d" / "x")
    assert not list((tmp_path / "d").iterdir())


def test_passing_failures_are_tried_again_and_refusals_are_not(server, tmp_path):
    Server.plan = ["503", "503"]
    assert get(server, tmp_path / "x").read_bytes() == DATA and len(Server.seen) == 3
    with pytest.raises(StudyError, match="answers 404; check repository and commit"):
        dl.download(f"{server}/nothing", tmp_path / "y", wait=0)
    assert len(Server.seen) == 4


def source_for(digest, **rest):
    return ResultsSource(repository="o/r", commit="a" * 40, sha256=digest, **rest)


def test_a_pinned_archive_is_fetched_checked_and_then_kept(server, tmp_path):
    archive = pack(cache(tmp_path, GOOD), tmp_path / "a.tar.gz")
    Server.files[f"/o/r/archive/{'a' * 40}.tar.gz"] = archive.read_bytes()
    source = source_for(content_digest(archive))
    path = dl.fetch_results("s", source, server, say=lambda text: None)
    assert path == download_path("o/r", "a" * 40) == results_path(source, "s")
    assert len(load_published(source, "s").scores) == 2
    Server.files.clear()
    assert dl.fetch_results("s", source, server, say=lambda text: None) == path


def test_other_content_than_the_pinned_one_is_refused_and_removed(server, tmp_path):
    archive = pack(cache(tmp_path, GOOD), tmp_path / "a.tar.gz")
    Server.files[f"/o/r/archive/{'a' * 40}.tar.gz"] = archive.read_bytes()
    with pytest.raises(StudyError, match="is not the pinned one"):
        dl.fetch_results("s", source_for("0" * 64), server, say=lambda text: None)
    assert not list((tmp_path / "runs").rglob("*.gz"))


@pytest.mark.parametrize("form", ["folder", "archive"])
def test_results_that_lie_here_are_taken_over(tmp_path, form):
    folder = cache(tmp_path, GOOD)
    given = folder if form == "folder" else pack(folder, tmp_path / "a.tar.gz")
    source = source_for(content_digest(folder))
    taken = dl.adopt("s", source, given, say=lambda text: None)
    assert content_digest(taken) == content_digest(folder) and len(load_published(source, "s").scores) == 2
    with pytest.raises(StudyError, match="not the pinned one"):
        dl.adopt("s", source_for("0" * 64), given)


def test_reported_defaults_come_file_by_file_and_a_broken_run_continues(server, tmp_path):
    spec = ReportedDefaults(repository="e/results", commit="b" * 40)
    source = source_for("0" * 64, reported=spec)
    place = f"/e/results/{'b' * 40}/results/org__m"
    Server.files |= {
        f"{place}/rev/MyTask.json": json.dumps(result()).encode(),
        f"{place}/external/T2.json": json.dumps(result("T2")).encode(),
    }
    wanted = [("org/m", "rev", t) for t in ("MyTask", "T2", "T3")]
    there, absent = dl.fetch_reported(source, wanted, server, say=lambda text: None)
    assert (there, absent) == (2, ["org/m T3"])
    assert sorted(reported_defaults(source)["task"]) == ["MyTask", "T2"]
    asked = len(Server.seen)
    dl.fetch_reported(source, wanted, server, say=lambda text: None)
    assert len(Server.seen) == asked + 2  # only the two places of the absent one


def test_nothing_here_says_how_to_get_it(monkeypatch, tmp_path):
    with pytest.raises(StudyError, match="helpers fetch-published s"):
        results_path(source_for("0" * 64), "s")
    monkeypatch.setenv("PUBLISHED_RESULTS", str(tmp_path / "no"))
    with pytest.raises(StudyError, match="PUBLISHED_RESULTS names 'no', which does not exist"):
        results_path(source_for("0" * 64), "s")


def test_the_archive_of_the_pinned_version_is_found_among_others(monkeypatch, tmp_path):
    folder = cache(tmp_path, GOOD)
    other = pack(folder, tmp_path / "a.tar.gz")
    (folder / BASE / "MyTask.json").write_text(json.dumps(result(evaluation_time=2.0)))
    right = pack(folder, tmp_path / "b.tar.gz")
    monkeypatch.setenv("PUBLISHED_RESULTS", str(tmp_path))
    assert results_path(source_for(content_digest(right))) == right
    assert results_path(source_for(content_digest(other))) == other


def test_a_study_of_one_s_own_has_nothing_to_fetch(monkeypatch):
    with pytest.raises(StudyError, match=r"study demo has no results_from; studies that have: published"):
        dl.main(["demo"])
