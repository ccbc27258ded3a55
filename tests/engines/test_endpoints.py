"""Addresses: every way to write a base URL leads to the same place, and only the user's file counts."""

from __future__ import annotations

import pytest

from keepthread.engines import endpoints
from keepthread.engines.endpoints import ANTHROPIC, OLLAMA, OPENAI_LIKE, Vendor, find
from tests.engines.asking import KEY, setup


@pytest.mark.parametrize(
    ("written", "reached"),
    [
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/chat/completions/", "http://h:1/v1/chat/completions"),
        ("https://h/openai", "https://h/openai/v1/chat/completions"),
        ("https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions"),
        ("https://h/v1beta/openai", "https://h/v1beta/openai/chat/completions"),
        ("https://h/v1beta/openai/", "https://h/v1beta/openai/chat/completions"),
        (
            "https://h/openai/deployments/d/chat/completions?api-version=1",
            "https://h/openai/deployments/d/chat/completions?api-version=1",
        ),
    ],
)
def test_every_way_to_write_a_base_url_reaches_the_chat(written: str, reached: str) -> None:
    """With and without a version, with a slash, as the full address."""
    assert endpoints.chat_url(written) == reached


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/messages", "/v1/messages/"])
def test_every_way_to_write_anthropics_base_url_reaches_the_messages(tail: str) -> None:
    """As its vendor writes it, and as users do."""
    assert endpoints.messages_url(f"https://h{tail}") == "https://h/v1/messages"


@pytest.mark.parametrize(
    "tail", ["", "/", "/api", "/api/", "/api/chat", "/v1", "/v1/chat/completions"]
)
def test_every_way_to_write_ollamas_base_url_reaches_its_native_api(tail: str) -> None:
    """Its OpenAI-compatible address too, since that one cannot be told the size of the context."""
    assert endpoints.ollama_url(f"http://h:1{tail}", "chat") == "http://h:1/api/chat"
    assert endpoints.ollama_url(f"http://h:1/proxy{tail}", "show") == "http://h:1/proxy/api/show"


@pytest.mark.parametrize("name", sorted(OPENAI_LIKE))
def test_a_named_endpoint_has_its_vendors_address_and_variables_of_its_own(name: str) -> None:
    """One word in KEEPTHREAD_ENGINE and a key are enough."""
    vendor = OPENAI_LIKE[name]
    upper = name.upper().replace(".", "_")
    found = find(name, vendor, setup({f"{upper}_API_KEY": KEY, f"{upper}_MODEL": "m"}))

    assert (found.url, found.key, found.model, found.fault) == (vendor.base_url, KEY, "m", "")
    assert found.local == vendor.base_url.startswith("http://localhost")
    moved = find(name, vendor, setup({f"{upper}_BASE_URL": "https://own.example/v1"}))
    assert moved.host == "own.example"


def test_nothing_of_the_process_environment_counts() -> None:
    """A repository's settings can set it."""
    names = ("BASE_URL", "API_KEY", "MODEL", "PRICE", "NUM_CTX")
    env = {f"KEEPTHREAD_OPENAI_{name}": "http://evil.example" for name in names}
    env |= {
        "OPENAI_API_KEY": "x",
        "OPENAI_BASE_URL": "http://evil.example",
        "KEEPTHREAD_CA_BUNDLE": "x",
    }
    found = find("openai", OPENAI_LIKE["openai"], setup({}, env))

    assert (found.url, found.key, found.model) == ("https://api.openai.com/v1", "", "")
    assert (found.ca_bundle, found.price, found.num_ctx) == ("", None, 0)


@pytest.mark.parametrize(
    ("user", "fault"),
    [
        ({}, "KEEPTHREAD_OPENAI_API_KEY is not set"),
        ({"OPENAI_API_KEY": "sk a"}, "KEEPTHREAD_OPENAI_API_KEY holds characters"),
        ({"OPENAI_API_KEY": "ключ"}, "KEEPTHREAD_OPENAI_API_KEY holds characters"),
        ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "api.openai.com"}, "BASE_URL is no http"),
        ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "file:///etc/passwd"}, "BASE_URL is no http"),
        ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://"}, "BASE_URL is no http"),
        ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://h:port"}, "BASE_URL is no http"),
        ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://[::1"}, "BASE_URL is no http"),
        ({"OPENAI_BASE_URL": f"https://me:{KEY}@h"}, "BASE_URL holds a login"),
        ({"OPENAI_BASE_URL": "http://localhost:1"}, ""),
    ],
)
def test_what_cannot_be_used_is_named_by_its_variable(user: dict[str, str], fault: str) -> None:
    """Without the key in the words."""
    found = find("openai", OPENAI_LIKE["openai"], setup(user))

    assert fault in found.fault
    assert bool(found.fault) == bool(fault)
    assert KEY not in found.fault + repr(found) + found.host


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1", True),
        ("http://LOCALHOST", True),
        ("http://127.0.0.1", True),
        ("http://127.8.9.1/v1", True),
        ("http://[::1]:8080", True),
        ("http://app.localhost", True),
        ("http://192.168.1.2", False),
        ("https://localhost.example.com", False),
        ("https://127.0.0.1.nip.example", False),
        ("nonsense", False),
    ],
)
def test_only_what_can_only_be_this_machine_is_local(url: str, local: bool) -> None:
    """What is kept on this machine rests on it."""
    assert find("x", Vendor(url), setup({})).local is local


@pytest.mark.parametrize(
    ("written", "price"),
    [("3,15", (3.0, 15.0)), (" 0.5 , 2 ", (0.5, 2.0)), ("3", None), ("a,b", None), ("", None)],
)
def test_a_price_is_two_numbers(written: str, price: tuple[float, float] | None) -> None:
    """Anything else is no price."""
    assert find("anthropic", ANTHROPIC, setup({"ANTHROPIC_PRICE": written})).price == price


@pytest.mark.parametrize(("written", "size"), [("8192", 8192), ("", 0), ("8k", 0), ("-1", 0)])
def test_a_context_size_is_a_number(written: str, size: int) -> None:
    """Anything else is none."""
    assert find("ollama", OLLAMA, setup({"OLLAMA_NUM_CTX": written})).num_ctx == size
