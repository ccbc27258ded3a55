"""A stand-in for the Messages API on loopback: records what the client asks and answers by rules given in Python.

with FakeApi() as api:
    api.rule(is_summariser, Answer("a summary", sleep=2))
    api.rule("make the file", Answer(tool=("Write", {...})), times=1)
    ... run the client with ANTHROPIC_BASE_URL=api.url ...
    assert "a rule" in texts(api.talks[-1].body)
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Match = Callable[[Body], bool]

CHILD_PROMPT = "You write keepthread handoff documents."
STRUCTURED = "StructuredOutput"
SUMMARY = (
    "<analysis>Short.</analysis>\n<summary>\n1. Primary Request and Intent: go on.\n</summary>"
)


@dataclass(frozen=True)
class Answer:
    """What the API says. `tool` is a name and its input; `document` is a structured answer.

    `sleep` in seconds comes before the first byte. `status` other than 200 makes it an error of type `error`.
    `raw` is sent as the whole body of a 200, whatever it is. `hang` sends nothing until the stand-in closes.
    """

    text: str = "OK."
    tool: tuple[str, dict[str, Any]] | None = None
    document: dict[str, Any] | None = None
    input_tokens: int = 1000
    output_tokens: int = 10
    sleep: float = 0.0
    status: int = 200
    error: str = "api_error"
    raw: bytes | None = None
    hang: bool = False


@dataclass(frozen=True)
class Request:
    """One request to the Messages endpoint: parsed body, headers in lower case, and when it came (monotonic)."""

    body: Body
    headers: dict[str, str]
    at: float


@dataclass
class Rule:
    """An answer, and the requests it is for; `left` counts down unless it is None."""

    match: Match
    answer: Answer | Callable[[Body], Answer]
    left: int | None


def texts(body: Body) -> str:
    """Return every text the request holds: system prompt, messages, tool calls and results."""
    return "\n".join([*_system(body), *_messages(body)])


def talk_texts(body: Body) -> str:
    """Return every text of the request's messages, without its system prompt."""
    return "\n".join(_messages(body))


def last_text(body: Body) -> str:
    """Return the text of the request's last message."""
    return "\n".join(_block_texts(body["messages"][-1].get("content", "")))


def is_child(body: Body) -> bool:
    """Whether keepthread's own child asks: its system prompt holds the known first sentence."""
    return any(text.lstrip().startswith(CHILD_PROMPT) for text in _system(body))


def is_summariser(body: Body) -> bool:
    """Whether the host asks for the summary of a compaction."""
    return not is_child(body) and "detailed summary of the conversation" in last_text(body)


def is_talk(body: Body) -> bool:
    """Whether a turn of the session asks: neither the child, nor a summary, nor a side question without tools."""
    return bool(body.get("tools")) and not is_child(body) and not is_summariser(body)


def _system(body: Body) -> list[str]:
    return list(_block_texts(body.get("system", "")))


def _messages(body: Body) -> list[str]:
    return [
        text for message in body.get("messages", []) for text in _block_texts(message["content"])
    ]


def _block_texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, str):
            yield block
        elif block.get("type") == "tool_use":
            yield json.dumps(block.get("input"), ensure_ascii=False)
        else:
            yield from _block_texts(block.get("text") or block.get("content"))


class FakeApi:
    """The stand-in; a context manager that listens on a free port of the loopback address."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._rules: list[Rule] = []
        self._changed = threading.Condition()
        self._count = 0
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    def __enter__(self) -> FakeApi:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base URL for ANTHROPIC_BASE_URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def rule(
        self,
        match: Match | str,
        answer: Answer | Callable[[Body], Answer],
        *,
        times: int | None = None,
    ) -> None:
        """Answer the requests that match, at most `times` of them.

        A later rule is asked first; a text matches the talk whose last message holds it.
        """
        with self._changed:
            self._rules.insert(0, Rule(_matcher(match), answer, times))

    def clear(self) -> None:
        """Forget the rules and the requests."""
        with self._changed:
            self._rules.clear()
            self.requests.clear()

    def wait(self, match: Match, seconds: float = 180.0, *, count: int = 1) -> list[Request]:
        """Return the requests that match as soon as there are `count` of them.

        Raises:
            TimeoutError: there are fewer after `seconds`.
        """
        end = time.monotonic() + seconds
        with self._changed:
            while len(found := [r for r in self.requests if match(r.body)]) < count:
                if not self._changed.wait(end - time.monotonic()) and time.monotonic() >= end:
                    raise TimeoutError(f"{len(found)} of {count} requests after {seconds} s")
        return found

    @property
    def talks(self) -> list[Request]:
        """The requests of the session's own turns."""
        return [r for r in list(self.requests) if is_talk(r.body)]

    @property
    def summaries(self) -> list[Request]:
        """The requests for the host's own summary."""
        return [r for r in list(self.requests) if is_summariser(r.body)]

    @property
    def children(self) -> list[Request]:
        """The requests of keepthread's own child."""
        return [r for r in list(self.requests) if is_child(r.body)]

    def choose(self, body: Body, headers: dict[str, str]) -> tuple[int, Answer]:
        """Record a request; return its number and the answer to it."""
        with self._changed:
            self.requests.append(Request(body, headers, time.monotonic()))
            self._changed.notify_all()
            self._count += 1
            number = self._count
            rule = next((r for r in self._rules if r.left != 0 and r.match(body)), None)
            if rule is not None and rule.left is not None:
                rule.left -= 1
        if rule is None:
            return number, Answer(SUMMARY if is_summariser(body) else "OK.")
        return number, rule.answer(body) if callable(rule.answer) else rule.answer


def _matcher(match: Match | str) -> Match:
    if isinstance(match, str):
        return lambda body: is_talk(body) and match in last_text(body)
    return match


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients are killed in mid-request on purpose."""


@dataclass
class _Message:
    """One message of the API, in both of its forms."""

    number: int
    model: str
    blocks: list[dict[str, Any]] = field(default_factory=list)
    stop: str = "end_turn"
    usage: dict[str, int] = field(default_factory=dict)

    def whole(self) -> dict[str, Any]:
        """Return the message as one object."""
        return {
            "id": f"msg_{self.number:06d}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": self.blocks,
            "stop_reason": self.stop,
            "stop_sequence": None,
            "usage": self.usage,
        }

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the message as the events of a stream."""
        yield {
            "type": "message_start",
            "message": {**self.whole(), "content": [], "stop_reason": None},
        }
        for index, block in enumerate(self.blocks):
            yield from _block_events(index, block)
        delta = {"stop_reason": self.stop, "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": self.usage}
        yield {"type": "message_stop"}


def _block_events(index: int, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": index, "content_block": start}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _message(number: int, body: Body, answer: Answer) -> _Message:
    usage = {
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    message = _Message(number, str(body.get("model")), usage=usage)
    tool = answer.tool
    if answer.document is not None and not _has_result(body):
        tool = (STRUCTURED, answer.document)
    if tool is None:
        message.blocks = [{"type": "text", "text": answer.text}]
    else:
        identifier = f"toolu_{number:06d}"
        message.blocks = [{"type": "tool_use", "id": identifier, "name": tool[0], "input": tool[1]}]
        message.stop = "tool_use"
    return message


def _has_result(body: Body) -> bool:
    """Whether the last message carries a tool's result: the structured answer has been given already."""
    content = body["messages"][-1].get("content")
    return isinstance(content, list) and any(b.get("type") == "tool_result" for b in content)


def _handler(api: FakeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.api = api
    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: FakeApi

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - inherited
        """Print nothing."""

    def do_HEAD(self) -> None:
        self._send(b"")

    def do_GET(self) -> None:
        self._object({"data": [], "has_more": False, "first_id": None, "last_id": None})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._object({"input_tokens": len(raw) // 4})
        elif path != "/v1/messages":
            self._object({})
        else:
            body = json.loads(raw)
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._answer(body, *self.api.choose(body, headers))

    def _answer(self, body: Body, number: int, answer: Answer) -> None:
        if self.api.closing.wait(None if answer.hang else answer.sleep):
            self.close_connection = True
        elif answer.raw is not None:
            self._send(answer.raw)
        elif answer.status != 200:
            error = {"type": answer.error, "message": answer.text}
            self._object({"type": "error", "error": error}, answer.status)
        elif body.get("stream"):
            self._stream(_message(number, body, answer))
        else:
            self._object(_message(number, body, answer).whole())

    def _object(self, value: dict[str, Any], status: int = 200) -> None:
        self._send(json.dumps(value).encode(), status)

    def _send(self, data: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, message: _Message) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in message.events():
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()
