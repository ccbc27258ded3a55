"""A loopback server that speaks the vendors' shapes, and misbehaves as it is told.

with FakeHttp() as server:
    server.on("/v1/chat/completions", Reply(status=503), chat({"task": "x"}))
    ... an engine with base URL server.url ...
    assert server.bodies("/v1/chat/completions")[0]["model"] == "m"
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What the server says.

    `body` is sent as it is, objects as JSON. `delay` in seconds comes before the first byte; `drip` between single
    bytes of the body; `cut` is how many bytes are sent before the connection is cut; `hang` sends nothing at all.
    """

    body: Any = ""
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    cut: int | None = None
    hang: bool = False

    @property
    def data(self) -> bytes:
        """The body's bytes."""
        if isinstance(self.body, bytes):
            return self.body
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode()


@dataclass(frozen=True)
class Seen:
    """One request: its headers in lower case, its body parsed ({} when it had none)."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def chat(document: Any, finish: str = "stop", **more: Any) -> Reply:
    """Return an answer of the chat completions API; a document that is no text goes as JSON."""
    text = document if isinstance(document, str) else json.dumps(document)
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return Reply({"object": "chat.completion", "choices": [choice], "usage": usage, **more})


def messages(document: Any, stop: str = "end_turn", tool: bool = False) -> Reply:
    """Return an answer of the Messages API, as text or as the call of a tool."""
    text = document if isinstance(document, str) else json.dumps(document)
    block: dict[str, Any] = {"type": "text", "text": text}
    if tool:
        block = {"type": "tool_use", "id": "t", "name": "handoff", "input": document}
    usage = {"input_tokens": 700, "cache_read_input_tokens": 300, "output_tokens": 50}
    return Reply({"type": "message", "content": [block], "stop_reason": stop, "usage": usage})


def ollama(document: Any, count: int | None = None, done: str = "stop") -> Reply:
    """Return an answer of Ollama's chat API; `count` is what it says it read."""
    text = document if isinstance(document, str) else json.dumps(document)
    message = {"role": "assistant", "content": text}
    reply = {"message": message, "done": True, "done_reason": done, "eval_count": 50}
    return Reply(reply if count is None else {**reply, "prompt_eval_count": count})


class FakeHttp:
    """The server; a context manager that listens on a free port of the loopback address."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.closing = threading.Event()
        self._replies: dict[str, list[Reply]] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def __enter__(self) -> FakeHttp:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def on(self, path: str, *replies: Reply) -> None:
        """Answer this path with one reply after the other; the last one stays."""
        self._replies[path] = list(replies)

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """Return the bodies of the requests for this path."""
        return [seen.body for seen in self.requests if seen.path == path]

    def take(self, seen: Seen) -> Reply:
        """Note a request and return what to say to it: 404 when nothing was said of its path."""
        with self._lock:
            self.requests.append(seen)
            replies = self._replies.get(seen.path, [])
            if not replies:
                return Reply("404 page not found", status=404, kind="text/plain")
            return replies.pop(0) if len(replies) > 1 else replies[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are what is tested."""


def _handler(server: FakeHttp) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.fake = server
    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeHttp

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - inherited
        """Print nothing."""

    def do_GET(self) -> None:
        self._answer("GET", {})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer("POST", json.loads(raw or b"{}"))

    def _answer(self, method: str, body: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.fake.take(Seen(method, self.path.partition("?")[0], headers, body))
        self.close_connection = True
        if self.fake.closing.wait(None if reply.hang else reply.delay):
            return
        self.send_response(reply.status)
        if reply.kind:
            self.send_header("content-type", reply.kind)
        for name, value in {"content-length": str(len(reply.data)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        data = reply.data if reply.cut is None else reply.data[: reply.cut]
        if not reply.drip:
            self.wfile.write(data)
            return
        for byte in data:
            if self.fake.closing.is_set():
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(reply.drip)
