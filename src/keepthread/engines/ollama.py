"""A local Ollama through its native API, the only one that lets a caller say how large the context is."""

from __future__ import annotations

from typing import Any

from keepthread.engines import endpoints
from keepthread.engines.answers import count, document_in
from keepthread.engines.failures import error_of
from keepthread.engines.http import Line, Reply
from keepthread.engines.model import Answer, Deadline, EngineError, Readiness, Request, Setup

NAME = "ollama"
_ANSWER = 4_096  # tokens kept free for the answer
_STEP = 1_024  # a new size means that the model is loaded anew, so sizes are round
# Bytes to a token: text takes three to five. Below a quarter of the bytes nothing that fits is refused, and a count
# under a sixth means that a part was not read.
_DENSE, _USUAL, _THIN = 3, 4, 6
_SMALL = 6_000  # bytes: too little text to judge a count by


class OllamaEngine:
    """Asks one model of an Ollama server, with a context that holds the whole prompt, or not at all."""

    def __init__(self, setup: Setup) -> None:
        self._endpoint = endpoints.find(NAME, endpoints.OLLAMA, setup)
        self._line = Line(self._endpoint, setup.env)
        self._cap = self._endpoint.num_ctx or setup.window
        self._shown: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """The name as in KEEPTHREAD_ENGINE."""
        return NAME

    @property
    def local(self) -> bool:
        """Whether the prompt stays on this machine: a local server passes models named "cloud" on to its vendor."""
        return self._endpoint.local and not self._endpoint.model.endswith("cloud")

    def readiness(self) -> Readiness:
        """Say whether the model is named. Calls nothing, so whether the server runs is not known."""
        named = endpoints.variable(NAME, "MODEL")
        fault = self._endpoint.fault or ("" if self._endpoint.model else f"{named} is not set")
        if fault:
            return Readiness(False, fault, f"Set {named} in ~/.claude/.env to a pulled model.")
        return Readiness(True, f"{self._endpoint.host}, model {self._endpoint.model}")

    def window(self, request: Request, deadline: Deadline) -> int | None:  # noqa: ARG002  # the form of all engines
        """Return the largest context the model and its user's memory allow, None when nobody says; tokens.

        Raises:
            EngineError: the server does not answer, or lacks the model.
        """
        return _limit(self._show(deadline), self._cap)

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        """Answer before the deadline.

        Raises:
            EngineError: there is no answer that meets the schema; reason "overflow" when the prompt cannot fit, and
                "bad_answer" when the server's count says that it read only a part of it.
        """
        state = self.readiness()
        if not state.ready:
            raise EngineError("no_login", state.why, permanent=True)
        shown = self._show(deadline)
        num_ctx = context_for(request.size, _limit(shown, self._cap))
        reply = self._post("chat", self._body(request, num_ctx, shown), deadline)
        value = dict(reply.json())
        tokens = (count(value, "prompt_eval_count"), count(value, "eval_count"))
        cost = 0.0 if self.local else None
        self._doubt(request.size, num_ctx, tokens[0], cost)
        if value.get("done_reason") == "length":
            detail = "the answer is cut off at the output limit"
            raise EngineError("bad_answer", detail, cost_usd=cost)
        message = value.get("message")
        text = message.get("content") if isinstance(message, dict) else None
        document = document_in(text if isinstance(text, str) else "", request, cost)
        return Answer(document, NAME, *tokens, cost)

    def _post(self, call: str, body: dict[str, Any], deadline: Deadline) -> Reply:
        url = endpoints.ollama_url(self._endpoint.url, call)
        key = self._endpoint.key
        headers = {"authorization": f"Bearer {key}"} if key else {}
        reply = self._line.post(url, headers, body, deadline)
        error = error_of(reply, self._endpoint)
        if error is not None:
            raise error
        return reply

    def _show(self, deadline: Deadline) -> dict[str, Any]:
        if self._shown is None:
            reply = self._post("show", {"model": self._endpoint.model}, deadline)
            self._shown = dict(reply.json())
        return self._shown

    def _body(self, request: Request, num_ctx: int, shown: dict[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.prompt},
            ],
            "format": request.bare_schema,
            "stream": False,
            # Newer servers say so when a prompt does not fit; older ones ignore these two.
            "truncate": False,
            "shift": False,
            "options": {"num_ctx": num_ctx, "num_predict": _ANSWER},
        }
        capabilities = shown.get("capabilities")
        if isinstance(capabilities, list) and "thinking" in capabilities:
            body["think"] = False  # thoughts would take the room of the answer
        return body

    def _doubt(self, size: int, num_ctx: int, count: int | None, cost: float | None) -> None:
        """Refuse an answer to a prompt of which the server read only a part; it says nothing but the count."""
        if count is None or size < _SMALL:
            return
        if count < size // _THIN or count >= num_ctx:
            detail = f"ollama read {count} tokens of a prompt of {size} bytes: it was cut"
            raise EngineError("bad_answer", detail, cost_usd=cost)


def context_for(size: int, limit: int | None) -> int:
    """Return `num_ctx` for a prompt of `size` bytes: enough for it and the answer, at most `limit`; tokens.

    Raises:
        EngineError: not even a sparing estimate fits; with both numbers.
    """
    least = size // _USUAL + _STEP
    if limit is not None and least > limit:
        detail = f"the prompt has about {least} tokens, the model takes {limit}"
        raise EngineError("overflow", detail, observed_tokens=least, limit_tokens=limit)
    wanted = size // _DENSE + _ANSWER
    rounded = -(-wanted // _STEP) * _STEP
    return rounded if limit is None else min(rounded, limit)


def _limit(shown: dict[str, Any], cap: int) -> int | None:
    info = shown.get("model_info")
    sizes = [
        value
        for name, value in (info.items() if isinstance(info, dict) else ())
        if name.endswith(".context_length") and isinstance(value, int) and value > 0
    ]
    bounds = [*sizes, *([cap] if cap else [])]
    return min(bounds) if bounds else None
