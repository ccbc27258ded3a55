"""Any server that speaks OpenAI's chat completions: the vendor's own, its rivals', and those on this machine."""

from __future__ import annotations

import re
from typing import Any

from keepthread.engines import endpoints, windows
from keepthread.engines.answers import count, document_in, usage_of
from keepthread.engines.endpoints import Endpoint
from keepthread.engines.failures import error_of, failure
from keepthread.engines.http import Line
from keepthread.engines.model import Answer, Deadline, EngineError, Readiness, Request, Setup

# Models of the host have names of their own; such a name means nothing to other vendors.
_HOSTS_NAMES = re.compile(r"(?:opus|sonnet|haiku|fable|best|opusplan|default)(?:\[1m\])?")
_OUTPUT = 8_192  # tokens: an answer takes a quarter of it
_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length")
_FORMS = ("json_schema", "json_object", "plain")
# What servers refuse by name, each dropped or exchanged once.
_EFFORT = re.compile(r"reasoning[_ .]effort|reasoning", re.IGNORECASE)
_LIMIT = re.compile(r"max_(?:completion_)?tokens", re.IGNORECASE)
_UNKNOWN_MODEL = re.compile(
    r"model[_ ](?:not[_ ]found|.{0,60}does not exist)|unknown model", re.IGNORECASE
)


class OpenAIEngine:
    """Asks one endpoint. What the server turned out not to take is remembered for as long as the engine lives."""

    def __init__(self, name: str, setup: Setup) -> None:
        self._endpoint = endpoints.find(name, endpoints.OPENAI_LIKE[name], setup)
        self._line = Line(self._endpoint, setup.env)
        self._model = self._endpoint.model
        self._window: int | None = None
        self._form = 0
        self._effort = self._endpoint.vendor.effort
        # OpenAI's newer models refuse the old name, most other servers do not know the new one.
        self._limit = "max_completion_tokens" if name == "openai" else "max_tokens"

    @property
    def name(self) -> str:
        """The name as in KEEPTHREAD_ENGINE."""
        return self._endpoint.name

    @property
    def local(self) -> bool:
        """Whether the prompt stays on this machine."""
        return self._endpoint.local

    def readiness(self) -> Readiness:
        """Say whether address, key and model are known. Calls nothing."""
        fault = self._endpoint.fault
        if fault:
            return Readiness(False, fault, f"Set it in ~/.claude/.env: {self._wanted()}")
        model = self._model or ("the first it lists" if self.local else "as KEEPTHREAD_MODEL says")
        return Readiness(True, f"{self._endpoint.host}, model {model}")

    def window(self, request: Request, deadline: Deadline) -> int | None:
        """Return the model's context window as its server lists it, else as it is documented; tokens.

        Raises:
            EngineError: the model is not known.
        """
        model = self._model_for(request, deadline)
        if self._window is None:
            said = self._listed(model, deadline) or (self._props(deadline) if self.local else None)
            documented = windows.window_of(model)
            known = documented.tokens if documented.source != windows.ASSUMED else 0
            self._window = said or known
        return self._window or None

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        """Answer before the deadline.

        Raises:
            EngineError: there is no answer that meets the schema.
        """
        endpoints.usable(self._endpoint)
        model = self._model_for(request, deadline)
        value = self._exchange(request, model, deadline)
        usage = usage_of(value)
        tokens = (count(usage, "prompt_tokens"), count(usage, "completion_tokens"))
        cost = cost_of(self._endpoint, tokens, usage)
        text = _content(value, self._endpoint, cost)
        return Answer(document_in(text, request, cost), self.name, *tokens, cost)

    def _wanted(self) -> str:
        parts = ("API_KEY", "MODEL") if self._endpoint.vendor.key else ("BASE_URL", "MODEL")
        return " and ".join(endpoints.variable(self.name, part) for part in parts)

    def _model_for(self, request: Request, deadline: Deadline) -> str:
        if self._model:
            return self._model
        if request.model and not _HOSTS_NAMES.fullmatch(request.model):
            return request.model
        if not self.local:
            detail = f"{endpoints.variable(self.name, 'MODEL')} is not set"
            raise EngineError("no_login", detail, permanent=True)
        listed = self._models(deadline)
        found = listed[0].get("id") if listed else None
        # A server with one model takes any name for it.
        self._model = found if isinstance(found, str) and found else "default"
        return self._model

    def _models(self, deadline: Deadline) -> list[dict[str, Any]]:
        url = endpoints.sibling(endpoints.chat_url(self._endpoint.url), endpoints.CHAT, "/models")
        value = self._line.get(url, self._headers(), deadline).json()
        listed = value.get("data") if isinstance(value, dict) else None
        return [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []

    def _listed(self, model: str, deadline: Deadline) -> int | None:
        """Return the window that the server's list gives a model; vLLM, OpenRouter, Groq and others give it."""
        entry = next((m for m in self._models(deadline) if m.get("id") == model), {})
        sizes = [count(entry, name) for name in _WINDOWS]
        return next((size for size in sizes if size), None)

    def _props(self, deadline: Deadline) -> int | None:
        """Return the window that llama.cpp was started with; its list gives the one the model was trained with."""
        url = endpoints.sibling(endpoints.chat_url(self._endpoint.url), endpoints.CHAT, "")
        value = self._line.get(f"{url.removesuffix('/v1')}/props", self._headers(), deadline).json()
        settings = value.get("default_generation_settings") if isinstance(value, dict) else None
        return count(settings, "n_ctx") if isinstance(settings, dict) else None

    def _exchange(self, request: Request, model: str, deadline: Deadline) -> dict[str, Any]:
        url = endpoints.chat_url(self._endpoint.url)
        while True:  # there is only so much to give way in
            body = self._body(request, model)
            reply = self._line.post(url, self._headers(), body, deadline)
            error = error_of(reply, self._endpoint)
            if error is None:
                return dict(reply.json())
            if reply.status not in (400, 404, 415, 422, 501) or error.reason != "bad_answer":
                raise error
            if not self._give_way(error.vendor_text, body):
                raise error

    def _give_way(self, said: str, body: dict[str, Any]) -> bool:
        """Drop or exchange what the server refuses; return whether anything was left to change."""
        if "reasoning_effort" in body and _EFFORT.search(said):
            self._effort = False
        elif self._limit in body and _LIMIT.search(said):
            other = self._limit == "max_tokens" and "max_completion_tokens" in said
            self._limit = "max_completion_tokens" if other else ""
        elif self._form + 1 < len(_FORMS) and not _UNKNOWN_MODEL.search(said):
            self._form += 1
        else:
            return False
        return True

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._endpoint.key}"} if self._endpoint.key else {}

    def _body(self, request: Request, model: str) -> dict[str, Any]:
        form = _FORMS[self._form]
        prompt = request.prompt if form == "json_schema" else request.spelled_out
        body: dict[str, Any] = {
            "model": model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": prompt},
            ],
            "stream": False,
        }
        if form == "json_schema":
            schema = {"name": "handoff", "strict": True, "schema": request.bare_schema}
            body["response_format"] = {"type": form, "json_schema": schema}
        elif form == "json_object":
            body["response_format"] = {"type": form}
        # A small local window would be refused for the room that an answer might take.
        if self._limit and not self.local:
            body[self._limit] = _OUTPUT
        if self._effort and request.effort:
            body["reasoning_effort"] = {"xhigh": "high", "max": "high"}.get(
                request.effort, request.effort
            )
        return body


def cost_of(
    endpoint: Endpoint, tokens: tuple[int | None, int | None], usage: dict[str, Any]
) -> float | None:
    """Return the cost of a call in USD: as its server says, else by the user's price; None when neither is known."""
    said = usage.get("cost")
    if isinstance(said, (int, float)) and not isinstance(said, bool):
        return float(said)
    priced = endpoints.cost(endpoint.price, tokens)
    return 0.0 if priced is None and endpoint.local else priced


def _content(value: dict[str, Any], endpoint: Endpoint, cost: float | None) -> str:
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise EngineError("bad_answer", f"{endpoint.host} answered without a choice", cost_usd=cost)
    if isinstance(choice.get("error"), dict):
        raise _inner(choice["error"], endpoint, cost)
    if message.get("refusal") or choice.get("finish_reason") == "content_filter":
        raise EngineError("bad_answer", "the answer is a refusal", cost_usd=cost)
    text = _text(message.get("content"))
    if choice.get("finish_reason") in ("length", "max_tokens", "model_length"):
        raise EngineError("bad_answer", "the answer is cut off at the output limit", cost_usd=cost)
    return text


def _inner(error: dict[str, Any], endpoint: Endpoint, cost: float | None) -> EngineError:
    code = error.get("code")
    said = str(error.get("message", ""))
    found = failure(code if isinstance(code, int) else 0, said, endpoint)
    found.cost_usd = cost
    return found


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
