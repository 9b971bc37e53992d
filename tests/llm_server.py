"""A real HTTP server on this machine that speaks the OpenAI chat and batch protocol, as good or bad as a test wants."""

from __future__ import annotations

import gzip
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-0123456789abcdef"
Reply = tuple[int, dict[str, str], Any]


def chat(content: str | None, finish: str = "stop", **message: Any) -> Reply:
    """A chat completion with this text."""
    return 200, {}, {
        "id": "c", "object": "chat.completion", "created": 1, "model": "toy-model-2026", "system_fingerprint": "fp_1",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }  # fmt: skip


def error(status: int, message: str, **headers: str) -> Reply:
    return status, headers, {"error": {"message": message, "type": "x", "code": None}}


class LLMServer:
    """What arrived (`requests`: bodies of chat completions), and how the next ones are answered (`script`)."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.script: list[Callable[[dict[str, Any]], Reply | str]] = []
        self.answer: Callable[[dict[str, Any]], Reply | str] = self.good
        self.files: dict[str, str] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.polls_until_done = 1
        self.batch_ends = "completed"
        self.written = 0
        self.lock = threading.Lock()

    def prompts(self, body: dict[str, Any]) -> list[str]:
        """As many new prompts as the request asks for."""
        wanted = int(re.findall(r"exactly (\d+) instructions", body["messages"][1]["content"])[0])
        names = []
        for _ in range(wanted):
            self.written += 1
            names.append(f"{NUMBERS[self.written % 10]} {NUMBERS[self.written // 10 % 10]} {self.written}:")
        return names

    def good(self, body: dict[str, Any]) -> Reply:
        last = body["messages"][0]["content"]
        if last.startswith("Paraphrase"):
            return chat("Said differently: " + last.rsplit(": ", 1)[1])
        return chat(json.dumps({"prompts": self.prompts(body)}))

    def reply(self, body: dict[str, Any]) -> Reply | str:
        with self.lock:
            self.requests.append(body)
            answer = self.script.pop(0) if self.script else self.answer
            return answer(body)


NUMBERS = ["zero", "apple", "river", "cloud", "stone", "violin", "harbour", "meadow", "lantern", "thunder"]


def handler(server: LLMServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            server.headers.append({k.lower(): v for k, v in self.headers.items()})
            if self.path == "/v1/chat/completions":
                self._send(server.reply(json.loads(raw)))
            elif self.path == "/v1/files":
                name = f"file-{len(server.files)}"
                parts = raw.split(b"\r\n\r\n")
                content = next(p for p in parts if p.startswith(b'{"custom_id"'))
                server.files[name] = content.split(b"\r\n--")[0].decode()
                said = {
                    "id": name,
                    "object": "file",
                    "bytes": 1,
                    "created_at": 1,
                    "filename": "x",
                    "purpose": "batch",
                }
                self._send((200, {}, said | {"status": "processed"}))
            elif self.path == "/v1/batches":
                body = json.loads(raw)
                name = f"batch_{len(server.batches)}"
                server.batches[name] = {
                    "polls": 0,
                    "input": body["input_file_id"],
                    "metadata": body.get("metadata"),
                }
                self._send((200, {}, self._batch(name, "validating")))
            else:
                self._send(error(404, f"no route {self.path}"))

        def do_GET(self) -> None:
            parts = self.path.split("?")[0].split("/")
            if parts[:3] == ["", "v1", "files"]:
                self._send((200, {"Content-Type": "application/jsonl"}, server.files[parts[3]]))
            elif len(parts) == 3:
                listed = [self._batch(name, "in_progress") for name in server.batches]
                self._send((200, {}, {"object": "list", "data": listed, "has_more": False}))
            else:
                name = parts[3]
                batch = server.batches[name]
                batch["polls"] += 1
                done = batch["polls"] >= server.polls_until_done
                self._send((200, {}, self._batch(name, server.batch_ends if done else "in_progress")))

        def _batch(self, name: str, status: str) -> dict[str, Any]:
            batch = server.batches[name]
            if status in ("completed", "expired") and "output" not in batch:
                lines = []
                for line in server.files[batch["input"]].splitlines():
                    request = json.loads(line)
                    answered = server.reply(request["body"])
                    if answered == "nothing":
                        continue
                    code, _, body = answered
                    response = {"status_code": code, "body": body}
                    lines.append(json.dumps({"custom_id": request["custom_id"], "response": response}))
                batch["output"] = f"{name}-output"
                server.files[batch["output"]] = "\n".join(reversed(lines))  # the order is not promised
            return {
                "id": name, "object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h",
                "created_at": 1, "input_file_id": batch["input"], "status": status, "metadata": batch["metadata"],
                "output_file_id": batch.get("output"), "error_file_id": None,
            }  # fmt: skip

        def _send(self, reply: Reply | str) -> None:
            if reply == "drop":
                self.close_connection = True
                self.connection.close()
                return
            status, headers, body = reply  # type: ignore[misc]
            if isinstance(body, dict) and "drip" in body:
                return self._drip(body["drip"])
            text = body if isinstance(body, (str, bytes)) else json.dumps(body)
            content = text.encode() if isinstance(text, str) else text
            try:
                self.send_response(status)
                for name, value in ({"Content-Type": "application/json"} | headers).items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:  # the client gave up
                self.close_connection = True

        def _drip(self, headers_too: bool) -> None:
            start = b"X-Slow: " if headers_too else b"Content-Length: 99999\r\n\r\n"
            self.close_connection = True
            try:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n" + start)
                for _ in range(100):
                    self.wfile.write(b" ")
                    time.sleep(0.05)
            except OSError:
                pass

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


def slow(seconds: float) -> Callable[[dict[str, Any]], Reply]:
    def answer(body: dict[str, Any]) -> Reply:
        time.sleep(seconds)
        return chat("late")

    return answer


@contextmanager
def running() -> Iterator[tuple[LLMServer, str]]:
    """A server and its address; it is stopped in the end."""
    state = LLMServer()
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler(state))
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state, f"http://127.0.0.1:{http.server_address[1]}/v1"
    finally:
        http.shutdown()
        http.server_close()


def packed(content: bytes) -> Reply:
    """An answer that is sent compressed."""
    return 200, {"Content_Encoding": "gzip"}, gzip.compress(content)


def dripping(headers_too: bool) -> Callable[[dict[str, Any]], Reply]:
    """An answer of which a byte arrives now and then, for ever."""
    return lambda body: (200, {}, {"drip": headers_too})
