"""The addresses engines talk to: what each vendor documents, and what the user's own file says instead."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

from keepthread.engines.model import EngineError, Setup

CHAT = "/chat/completions"
_VERSION = re.compile(r"/v\d+\w*(?:/|$)")
# A header takes printable ASCII without spaces; a key with anything else was pasted wrongly.
_KEY = re.compile(r"[\x21-\x7e]+")
_PRICE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*,\s*(\d+(?:\.\d+)?)\s*")


class Vendor(NamedTuple):
    """A named endpoint: its documented base URL, whether it wants a key, whether it knows `reasoning_effort`."""

    base_url: str
    key: bool = True
    effort: bool = False


ANTHROPIC = Vendor("https://api.anthropic.com")
OLLAMA = Vendor("http://localhost:11434", key=False)
OPENAI_LIKE: Mapping[str, Vendor] = {
    "openai": Vendor("https://api.openai.com/v1", effort=True),
    "gemini": Vendor("https://generativelanguage.googleapis.com/v1beta/openai", effort=True),
    "groq": Vendor("https://api.groq.com/openai/v1"),
    "openrouter": Vendor("https://openrouter.ai/api/v1", effort=True),
    "mistral": Vendor("https://api.mistral.ai/v1"),
    "deepseek": Vendor("https://api.deepseek.com/v1"),
    "xai": Vendor("https://api.x.ai/v1"),
    "lmstudio": Vendor("http://localhost:1234/v1", key=False),
    "vllm": Vendor("http://localhost:8000/v1", key=False),
    "llama.cpp": Vendor("http://localhost:8080/v1", key=False),
}


@dataclass(frozen=True, slots=True, repr=False)
class Endpoint:
    """One address with what is needed to use it. Not shown by repr, since it holds the key.

    Attributes:
        name: the engine's name.
        url: the base URL as written.
        key: the API key, or "".
        model: the model the user chose, or "".
        ca_bundle: a file of certificates to trust, or "".
        price: USD per million input and output tokens, when the user gave them.
        num_ctx: the largest context to ask Ollama for, 0 for the model's own limit; tokens.
        vendor: what its vendor documents.
    """

    name: str
    url: str
    key: str
    model: str
    ca_bundle: str
    price: tuple[float, float] | None
    num_ctx: int
    vendor: Vendor

    @property
    def host(self) -> str:
        """The host with its port, as far as it can be told: what may stand in a log."""
        parts = _split(self.url)
        return parts.netloc.rpartition("@")[2] if parts else ""

    @property
    def local(self) -> bool:
        """Whether what is sent there stays on this machine."""
        parts = _split(self.url)
        return bool(parts and loopback(parts.hostname or ""))

    @property
    def fault(self) -> str:
        """Why it cannot be used, naming the variable, or ""."""
        parts = _split(self.url)
        where = variable(self.name, "BASE_URL")
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            return f"{where} is no http or https address"
        if "@" in parts.netloc:
            return f"{where} holds a login; a key goes into {variable(self.name, 'API_KEY')}"
        if self.key and not _KEY.fullmatch(self.key):
            return f"{variable(self.name, 'API_KEY')} holds characters that no key has"
        if self.vendor.key and not self.key and not self.local:
            return f"{variable(self.name, 'API_KEY')} is not set"
        return ""


def variable(name: str, part: str) -> str:
    """Return the variable of an endpoint: `variable("llama.cpp", "MODEL")` is KEEPTHREAD_LLAMA_CPP_MODEL."""
    return f"KEEPTHREAD_{re.sub(r'[^A-Z0-9]', '_', name.upper())}_{part}"


def find(name: str, vendor: Vendor, setup: Setup) -> Endpoint:
    """Return the endpoint that the user's file describes; the vendor's address stands where it says nothing."""

    def said(part: str) -> str:
        return setup.user.get(variable(name, part), "").strip()

    price = _PRICE.fullmatch(said("PRICE"))
    num_ctx = said("NUM_CTX")
    return Endpoint(
        name=name,
        url=said("BASE_URL") or vendor.base_url,
        key=said("API_KEY"),
        model=said("MODEL"),
        ca_bundle=setup.user.get("KEEPTHREAD_CA_BUNDLE", "").strip(),
        price=(float(price[1]), float(price[2])) if price else None,
        num_ctx=int(num_ctx) if num_ctx.isdecimal() and len(num_ctx) < 10 else 0,
        vendor=vendor,
    )


def usable(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint if it can be asked.

    Raises:
        EngineError: it cannot be used as it is described.
    """
    if endpoint.fault:
        raise EngineError("no_login", endpoint.fault, permanent=True)
    return endpoint


def cost(price: tuple[float, float] | None, tokens: tuple[int | None, int | None]) -> float | None:
    """Return the cost in USD of tokens read and written, None when price or tokens are not known."""
    if price is None or None in tokens:
        return None
    return sum((number or 0) * each for number, each in zip(tokens, price, strict=True)) / 1e6


def chat_url(url: str) -> str:
    """Return where a base URL takes chats, be it with a version or without, with a slash at its end, or the whole."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if not path.endswith(CHAT):
        path += CHAT if _VERSION.search(path) else f"/v1{CHAT}"
    return urlunsplit(parts._replace(path=path))


def sibling(url: str, tail: str, other: str) -> str:
    """Return the address that ends in `other` where `url` ends in `tail`; queries and fragments stay."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.removesuffix(tail) + other))


def messages_url(url: str) -> str:
    """Return where a base URL of the Messages API takes messages."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if not path.endswith("/messages"):
        path += "/messages" if path.endswith("/v1") else "/v1/messages"
    return urlunsplit(parts._replace(path=path))


def ollama_url(url: str, call: str) -> str:
    """Return the address of a call of Ollama's native API, whichever of its addresses the base URL is."""
    parts = urlsplit(url)
    path = re.sub(r"/(?:api|v1)(?:/[\w/]*)?$", "", parts.path.rstrip("/"))
    return urlunsplit(parts._replace(path=f"{path}/api/{call}"))


def loopback(host: str) -> bool:
    """Return whether a host name can only be this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # reading it is what checks it
    except ValueError:
        return None
    return parts
