"""Archives of pinned commits, fetched from a server on this machine."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from helpers.downloads import download_study
from helpers.published_spec import ResultsSource
from helpers.study import Study, StudyError

COMMIT = "a" * 40


class Archive(BaseHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012 - shared by the handler's instances on purpose
    short = False

    def do_GET(self):
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "9" if self.short else "7")
        self.end_headers()
        self.wfile.write(b"archive")

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("HELPERS_RUNS", str(tmp_path))
    monkeypatch.setattr(Archive, "asked", [])
    with HTTPServer(("127.0.0.1", 0), Archive) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def study(**source):
    return Study(name="x", title="X", steps=["03"], results_from=ResultsSource(**source))


def test_an_archive_is_fetched_once(server):
    pinned = study(repository="some/results", commit=COMMIT)
    for _ in range(2):
        (path,) = download_study(pinned, print, server)
        assert path.read_bytes() == b"archive"
    assert Archive.asked == [f"/some/results/archive/{COMMIT}.tar.gz"]


def test_a_broken_download_leaves_nothing_and_names_the_remedy(server, monkeypatch, tmp_path):
    monkeypatch.setattr(Archive, "short", True)
    with pytest.raises(StudyError, match="PUBLISHED_RESULTS"):
        download_study(study(repository="some/results", commit=COMMIT), print, server)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_a_study_that_pins_nothing_is_an_error():
    with pytest.raises(StudyError, match="nothing to download"):
        download_study(study(path="somewhere"))
