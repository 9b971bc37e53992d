"""A real HTTP server on this machine that embeds texts in OpenAI's and TEI's protocol, as good or bad as a test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

Embed = Callable[[list[str]], np.ndarray]
Answer = tuple[int, dict[str, str], Any]
DROP = "drop"  # the connection is closed without an answer


class EmbeddingServer:
    """What arrived, and how it is answered.

    Attributes: bodies and headers (of all requests), texts (that were embedded, in order), script (answers of the next
    requests, in place of good ones; each a function of the body), spoil (changes every good answer), most_texts (of one
    request), prompt (that the server puts before a text), key (that it wants).
    """

    def __init__(self, embed: Embed) -> None:
        self.embed = embed
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.texts: list[str] = []
        self.script: list[Callable[[dict[str, Any]], Answer | str | None]] = []
        self.spoil: Callable[[Any], Any] = lambda answer: answer
        self.most_texts, self.longest, self.prompt, self.key = 10_000, 10**9, "", ""
        self.lock = threading.Lock()

    def reply(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Answer | str:
        with self.lock:
            if path.endswith("/tokenize"):
                return 200, {}, [[{"text": self.prompt + body["inputs"], "special": False}]]
            self.bodies.append(body)
            self.headers.append(headers)
            if self.key and headers.get("authorization") != f"Bearer {self.key}":
                given = headers.get("authorization", "nothing")
                return 401, {}, {"error": {"message": f"Incorrect API key provided: {given}"}}
            if self.script and (scripted := self.script.pop(0)(body)) is not None:
                return scripted
            if path not in ("/v1/embeddings", "/embed"):
                return 404, {}, {"error": {"message": f"no route {path}"}}
            texts = body["input"] if path == "/v1/embeddings" else body["inputs"]
            if len(texts) > self.most_texts:
                return (
                    413,
                    {},
                    {"error": f"batch size {len(texts)} > maximum allowed batch size {self.most_texts}"},
                )
            if any(len(text) > self.longest for text in texts):
                return 413, {}, {"error": "`inputs` must have less than 512 tokens"}
            self.texts += texts
            rows = self.embed([self.prompt + text for text in texts]).astype(float).tolist()
        if path == "/embed":
            return 200, {}, self.spoil(rows)
        data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]
        tokens = sum(len(text) // 4 for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return 200, {}, self.spoil({"object": "list", "model": body["model"], "data": data, "usage": usage})


def failing(status: int, message: str = "busy", **headers: str) -> Callable[[dict[str, Any]], Answer]:
    return lambda body: (status, headers, {"error": {"message": message}})


def dropping(body: dict[str, Any]) -> str:
    return DROP


def _handler(state: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = state.reply(self.path, body, {k.lower(): v for k, v in self.headers.items()})
            if isinstance(answer, str):
                self.close_connection = True
                self.connection.close()
                return
            status, headers, content = answer
            sent = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def serving(embed: Embed) -> Iterator[tuple[EmbeddingServer, str]]:
    """A server of this function and its address without a path; it is stopped in the end."""
    state = EmbeddingServer(embed)
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    http.daemon_threads = True
    threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield state, f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        http.server_close()
