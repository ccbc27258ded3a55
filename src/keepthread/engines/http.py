"""One HTTP exchange under a deadline that nothing stretches: no slow name, no slow handshake, no dribbling body."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from keepthread.engines.endpoints import Endpoint, loopback
from keepthread.engines.model import Deadline, EngineError

if TYPE_CHECKING:
    import ssl

    import httpx

LARGEST = 8 * 1024 * 1024  # bytes of a reply; a handoff has a few thousand


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered: its status, headers in lower case, and the body as text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def kind(self) -> str:
        """The content type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> Any:
        """Return the body as JSON, None when it is none."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None


class Line:
    """The way to one endpoint: its certificates, its proxy, and its key in every request."""

    def __init__(self, endpoint: Endpoint, env: Mapping[str, str]) -> None:
        self._endpoint = endpoint
        self._env = env

    def get(self, url: str, headers: Mapping[str, str], deadline: Deadline) -> Reply:
        """Ask for `url`; raises as `post` does."""
        return self._call("GET", url, headers, b"", deadline)

    def post(
        self, url: str, headers: Mapping[str, str], body: dict[str, Any], deadline: Deadline
    ) -> Reply:
        """Send `body` as JSON and return the reply, whatever its status.

        Raises:
            EngineError: there was no whole reply before the deadline. The detail names the host and no more.
        """
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        headers = {"content-type": "application/json", **headers}
        return self._call("POST", url, headers, data.encode("utf-8", "replace"), deadline)

    def _call(
        self, method: str, url: str, headers: Mapping[str, str], data: bytes, deadline: Deadline
    ) -> Reply:
        import httpx  # 0.1 s that only a process which asks over the network should pay

        host = self._endpoint.host
        try:
            return _before(deadline, self._exchange(method, url, headers, data, deadline))
        # What httpx says may quote a header with the key in it, so none of it is passed on, not even as a cause.
        except (TimeoutError, httpx.TimeoutException):
            raise EngineError("timeout", f"{host} did not answer in time") from None
        except httpx.ConnectError as error:
            raise _no_connection(error, self._endpoint) from None
        except httpx.TransportError as error:
            detail = f"the connection to {host} broke ({type(error).__name__})"
            raise EngineError("overload", detail, retry_after=0.0) from None
        except (httpx.DecodingError, httpx.InvalidURL) as error:
            detail = f"{host} cannot be talked to ({type(error).__name__})"
            raise EngineError("bad_answer", detail) from None

    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], data: bytes, deadline: Deadline
    ) -> Reply:
        import httpx

        options: dict[str, Any] = {"headers": headers, "content": data}
        async with (
            httpx.AsyncClient(
                # Nothing of the environment counts unless it is named here: it could bring other certificates in.
                trust_env=False,
                proxy=proxy_for(url, self._env),
                verify=_certificates(self._endpoint.ca_bundle),
                # A little earlier than all is ended from outside, which leaves a half-made connection open.
                timeout=httpx.Timeout(max(deadline.left() * 0.95, 0.001)),
                # A server that sends us elsewhere would get the key and the prompt sent there.
                follow_redirects=False,
            ) as client,
            client.stream(method, url, **options) as response,
        ):
            body = await _body(response, self._endpoint.host)
        found = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status_code, found, body.decode("utf-8", "replace"))


def proxy_for(url: str, env: Mapping[str, str]) -> str | None:
    """Return the proxy for an address, None for none: only encrypted talk with other machines goes through one.

    Raises:
        EngineError: the environment names a proxy of a kind that is not supported.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or loopback(parts.hostname or ""):
        return None
    names = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    proxy = next((env[name] for name in names if env.get(name)), "")
    exempt = env.get("NO_PROXY") or env.get("no_proxy") or ""
    if not proxy or _exempt(parts.hostname or "", exempt):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if urlsplit(proxy).scheme not in ("http", "https"):
        detail = "the environment's proxy is none of HTTP; set HTTPS_PROXY or NO_PROXY"
        raise EngineError("no_login", detail)
    return proxy


def _exempt(host: str, listed: str) -> bool:
    for entry in (part.strip().lower().partition(":")[0] for part in listed.split(",")):
        domain = entry.removeprefix("*").removeprefix(".")
        if entry == "*" or (domain and (host == domain or host.endswith(f".{domain}"))):
            return True
    return False


async def _body(response: httpx.Response, host: str) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST:
            raise EngineError("bad_answer", f"{host} sends more than {LARGEST} bytes")
    return bytes(body)


def _before(deadline: Deadline, work: Coroutine[Any, Any, Reply]) -> Reply:
    """Run `work` until it is done or the time is up, and take its connections down with it."""
    import asyncio

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(asyncio.wait_for(work, deadline.left()))
    except asyncio.TimeoutError:  # before Python 3.11 a class of its own
        raise TimeoutError from None
    finally:
        loop.run_until_complete(_settle())
        loop.run_until_complete(loop.shutdown_asyncgens())
        # The thread that looks a name up cannot be ended, so nobody waits for it.
        loop.close()


async def _settle() -> None:
    """End what an interrupt left running, and let closed connections be done with."""
    import asyncio

    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def _certificates(bundle: str) -> ssl.SSLContext | bool:
    if not bundle:
        return True
    import ssl

    try:
        return ssl.create_default_context(cafile=bundle)
    except (OSError, ValueError):
        detail = "KEEPTHREAD_CA_BUNDLE is no readable file of certificates"
        raise EngineError("no_login", detail, permanent=True) from None


def _no_connection(error: httpx.ConnectError, endpoint: Endpoint) -> EngineError:
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        detail = f"the certificate of {endpoint.host} is not trusted; KEEPTHREAD_CA_BUNDLE may help"
        return EngineError("no_login", detail, permanent=True)
    if endpoint.local:
        # A local server that is not there will not come within a minute.
        return EngineError(
            "overload", f"nothing answers at {endpoint.host}: is the server running?"
        )
    return EngineError("overload", f"there is no connection to {endpoint.host}", retry_after=0.0)
