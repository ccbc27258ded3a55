"""The Messages API over HTTP, with its user's own key."""

from __future__ import annotations

import re
from typing import Any

from keepthread.engines import endpoints, parse
from keepthread.engines.answers import checked, count, document_in, tokens_read, usage_of
from keepthread.engines.failures import error_of
from keepthread.engines.http import Line
from keepthread.engines.model import Answer, Deadline, EngineError, Readiness, Request, Setup
from keepthread.host.windows import window_of

NAME = "anthropic"
_TOOL = "handoff"
_OUTPUT = 16_000  # tokens, thoughts of the model included
_WINDOW = 200_000
# USD per million tokens of input and output, by the family in a model's name. The list price when this was written:
# for the spending cap, not for accounting; KEEPTHREAD_ANTHROPIC_PRICE overrides it.
_PRICES = {"haiku": (1.0, 5.0), "sonnet": (3.0, 15.0), "opus": (5.0, 25.0)}
# Servers that lack the structured output take a tool that must be called, and the last ones take words.
_FORMS = ("format", "tool", "plain")
_EFFORT = re.compile(r"effort", re.IGNORECASE)


class AnthropicEngine:
    """Asks the Messages API. What the server turned out not to take is remembered for as long as the engine lives."""

    def __init__(self, setup: Setup) -> None:
        self._endpoint = endpoints.find(NAME, endpoints.ANTHROPIC, setup)
        self._line = Line(self._endpoint, setup.env)
        self._url = endpoints.messages_url(self._endpoint.url) if not self._endpoint.fault else ""
        self._window = setup.window
        self._form = 0
        self._effort = True
        self._known: dict[str, dict[str, Any]] = {}

    @property
    def name(self) -> str:
        """The name as in KEEPTHREAD_ENGINE."""
        return NAME

    @property
    def local(self) -> bool:
        """Whether the prompt stays on this machine."""
        return self._endpoint.local

    def readiness(self) -> Readiness:
        """Say whether address and key are known. Calls nothing."""
        fault = self._endpoint.fault
        if fault:
            wanted = endpoints.variable(NAME, "API_KEY")
            return Readiness(False, fault, f"Set it in ~/.claude/.env: {wanted}")
        model = self._endpoint.model or "the newest of the family in KEEPTHREAD_MODEL"
        return Readiness(True, f"{self._endpoint.host}, model {model}")

    def window(self, request: Request, deadline: Deadline) -> int | None:
        """Return the model's context window, None when neither server nor table knows it; tokens.

        Raises:
            EngineError: the server was asked for its models and did not answer.
        """
        model = self._model(request.model, deadline)
        return count(self._known.get(model, {}), "max_input_tokens") or window_of(model)

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        """Answer before the deadline.

        Raises:
            EngineError: there is no answer that meets the schema.
        """
        endpoints.usable(self._endpoint)
        model = self._model(request.model, deadline)
        self._measure(request, model, deadline)
        value = self._exchange(request, model, deadline)
        usage = usage_of(value)
        tokens = (tokens_read(usage), count(usage, "output_tokens"))
        cost = self._cost(model, tokens)
        return Answer(_document(value, request, cost), NAME, *tokens, cost)

    def _headers(self) -> dict[str, str]:
        return {"x-api-key": self._endpoint.key, "anthropic-version": "2023-06-01"}

    def _model(self, wanted: str, deadline: Deadline) -> str:
        """Return a model's id; the name of a family stands for its newest model."""
        wanted = self._endpoint.model or wanted.removesuffix("[1m]")
        if "-" in wanted:
            return wanted
        if wanted not in self._known:
            url = endpoints.sibling(self._url, "/messages", "/models")
            reply = self._line.get(f"{url}?limit=1000", self._headers(), deadline)
            error = error_of(reply, self._endpoint)
            if error is not None:
                raise error
            self._known[wanted] = _newest(reply.json().get("data"), wanted)
        found = self._known[wanted].get("id")
        if not isinstance(found, str):
            detail = (
                f"{self._endpoint.host} lists no model {wanted!r}; set KEEPTHREAD_ANTHROPIC_MODEL"
            )
            raise EngineError("bad_answer", detail, permanent=True)
        self._known[found] = self._known[wanted]
        return found

    def _measure(self, request: Request, model: str, deadline: Deadline) -> None:
        """Let the server count a prompt that may not fit: counting is free, and no answer is lost on the way.

        Raises:
            EngineError: it does not fit.
        """
        window = self._window or count(self._known.get(model, {}), "max_input_tokens")
        limit = (window or window_of(model) or _WINDOW) - self._output(model)
        if request.size // 3 <= limit:
            return
        body = {key: self._body(request, model)[key] for key in ("model", "system", "messages")}
        reply = self._line.post(f"{self._url}/count_tokens", self._headers(), body, deadline)
        value = reply.json()
        counted = count(value, "input_tokens") if isinstance(value, dict) else None
        if counted is not None and counted > limit:
            detail = f"the prompt has {counted} tokens, the window takes {limit}"
            raise EngineError("overflow", detail, observed_tokens=counted, limit_tokens=limit)

    def _exchange(self, request: Request, model: str, deadline: Deadline) -> dict[str, Any]:
        while True:  # there is only so much to give way in
            body = self._body(request, model)
            reply = self._line.post(self._url, self._headers(), body, deadline)
            error = error_of(reply, self._endpoint)
            if error is None:
                return dict(reply.json())
            if reply.status not in (400, 422) or error.reason != "bad_answer":
                raise error
            if self._effort and request.effort and _EFFORT.search(error.vendor_text):
                self._effort = False
            elif self._form + 1 < len(_FORMS):
                self._form += 1
            else:
                raise error

    def _output(self, model: str) -> int:
        return min(_OUTPUT, count(self._known.get(model, {}), "max_tokens") or _OUTPUT)

    def _body(self, request: Request, model: str) -> dict[str, Any]:
        form = _FORMS[self._form]
        prompt = request.spelled_out if form == "plain" else request.prompt
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": self._output(model),
            "system": request.system,
            "messages": [{"role": "user", "content": prompt}],
        }
        config: dict[str, Any] = {}
        if form == "format":
            config["format"] = {"type": "json_schema", "schema": request.bare_schema}
        if self._effort and request.effort:
            config["effort"] = request.effort
        if config:
            body["output_config"] = config
        if form == "tool":
            tool = {"name": _TOOL, "description": "Takes the handoff."}
            body["tools"] = [{**tool, "input_schema": request.bare_schema}]
            body["tool_choice"] = {"type": "tool", "name": _TOOL}
        return body

    def _cost(self, model: str, tokens: tuple[int | None, int | None]) -> float | None:
        family = next((price for name, price in _PRICES.items() if name in model), None)
        price = self._endpoint.price or ((0.0, 0.0) if self.local else family)
        return endpoints.cost(price, tokens)


def _newest(listed: Any, wanted: str) -> dict[str, Any]:
    """Return the first model of a family: the list is ordered by age, newest first."""
    for model in listed if isinstance(listed, list) else ():
        if isinstance(model, dict) and wanted and wanted in str(model.get("id", "")):
            return model
    return {}


def _document(value: dict[str, Any], request: Request, cost: float | None) -> dict[str, Any]:
    stop = value.get("stop_reason")
    if stop == "refusal":
        raise EngineError("bad_answer", "the answer is a refusal", cost_usd=cost)
    if stop == "max_tokens":
        raise EngineError("bad_answer", "the answer is cut off at the output limit", cost_usd=cost)
    if stop == "model_context_window_exceeded":
        raise EngineError("overflow", "the answer did not fit into the window", cost_usd=cost)
    content = value.get("content")
    blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
    called = [b.get("input") for b in blocks if b.get("type") == "tool_use"]
    if called and isinstance(called[-1], dict):
        fault = parse.misfit(called[-1], request.schema)
        if fault:
            raise EngineError("bad_answer", fault, cost_usd=cost)
        return checked(parse.mend(called[-1]), request, cost)
    texts = [b.get("text") for b in blocks if b.get("type") == "text"]
    return document_in("".join(t for t in texts if isinstance(t, str)), request, cost)
