"""One exchange: the deadline holds, keys stay secret, proxies and certificates are those that were asked for."""

from __future__ import annotations

import gc
import json
import socket
import ssl
import subprocess
import threading
import time
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from keepthread.engines import http
from keepthread.engines.http import proxy_for
from keepthread.engines.model import EngineError
from keepthread.engines.openai import OpenAIEngine
from tests.engines.asking import DOCUMENT, KEY, ask, failed, setup
from tests.support.fake_http import FakeHttp, Reply, chat

PATH = "/v1/chat/completions"


@pytest.fixture
def server() -> Iterator[FakeHttp]:
    with FakeHttp() as running:
        running.on(PATH, chat(DOCUMENT))
        yield running


def engine(url: str, env: dict[str, str] | None = None, **user: str) -> OpenAIEngine:
    given = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "m"}
    return OpenAIEngine("openai", setup(given | user, env))


@pytest.mark.parametrize(
    "reply",
    [
        Reply(hang=True),
        Reply({"choices": "x" * 4_000}, drip=0.01),
        Reply({"choices": "x" * 4_000}, drip=0.01, status=500),
        Reply({}, delay=30.0),
    ],
    ids=["silence", "a dribbling body", "a dribbling error", "a late answer"],
)
def test_the_deadline_holds_whatever_the_server_does(server: FakeHttp, reply: Reply) -> None:
    """Each byte may come in time and the whole of them still be late."""
    server.on(PATH, reply)
    started = time.monotonic()
    found = failed(engine(server.url), seconds=0.6)

    assert found.reason == "timeout"
    assert time.monotonic() - started < 15
    assert found.retry_after is None


def test_a_server_that_never_speaks_is_left_at_the_deadline() -> None:
    """It takes the connection, and that is all."""
    with socket.create_server(("127.0.0.1", 0)) as listening, warnings.catch_warnings():
        # httpcore leaves a handshake that was cut short to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        found = failed(engine(f"http://127.0.0.1:{listening.getsockname()[1]}"), seconds=0.5)
        secure = failed(engine(f"https://127.0.0.1:{listening.getsockname()[1]}"), seconds=0.5)
        assert (found.reason, secure.reason) == ("timeout", "timeout")
        del found, secure
        gc.collect()


@pytest.mark.parametrize("cut", [0, 1, 60])
def test_a_connection_that_is_cut_is_an_overload(server: FakeHttp, cut: int) -> None:
    """It passes, so it is worth another try."""
    server.on(PATH, Reply({"choices": "x" * 100}, cut=cut))
    found = failed(engine(server.url))
    assert (found.reason, found.retry_after) == ("overload", 0.0)
    assert "broke" in found.detail


def test_nobody_at_the_address_is_said_at_once() -> None:
    """A local server that is not there will not come within a minute."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    found = failed(engine(f"http://127.0.0.1:{port}"))
    assert (found.reason, found.retry_after) == ("overload", None)
    assert found.detail == f"nothing answers at 127.0.0.1:{port}: is the server running?"


def test_what_does_not_speak_http_is_an_overload() -> None:
    """A wrong port, most likely."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_greet, args=(listening,), daemon=True)
        thread.start()
        found = failed(engine(f"http://127.0.0.1:{listening.getsockname()[1]}"))
        thread.join()
    assert found.reason == "overload"


def _greet(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.sendall(b"220 mail.example ESMTP\r\n")


def test_a_redirect_is_not_followed(server: FakeHttp) -> None:
    """Key and prompt would go where nobody sent them."""
    with FakeHttp() as other:
        server.on(PATH, Reply(status=307, headers={"location": f"{other.url}{PATH}"}))
        found = failed(engine(server.url))
        assert other.requests == []
    assert (found.reason, found.permanent) == ("bad_answer", True)


def test_a_reply_beyond_all_measure_is_dropped(server: FakeHttp) -> None:
    """Memory is not the server's to fill."""
    server.on(PATH, Reply(b'{"a": "' + b"x" * (http.LARGEST + 1) + b'"}'))
    assert f"more than {http.LARGEST} bytes" in failed(engine(server.url)).detail


def test_a_damaged_encoding_is_a_bad_answer(server: FakeHttp) -> None:
    """A header that promises gzip is believed."""
    server.on(PATH, Reply("no gzip", headers={"content-encoding": "gzip"}))
    assert failed(engine(server.url)).reason == "bad_answer"


def test_lone_surrogates_in_a_prompt_do_not_break_the_request(server: FakeHttp) -> None:
    """Transcripts hold halves of emoji (tests/cases: B10)."""
    from keepthread.engines.model import Request
    from tests.engines.asking import SCHEMA

    ask(engine(server.url), request=Request("s", "ok \ud83d", SCHEMA, "m", ""))
    assert server.bodies(PATH)[0]["messages"][1]["content"] == "ok ?"


def test_a_long_prompt_grows_by_next_to_nothing_on_its_way(server: FakeHttp) -> None:
    """Also in scripts that JSON could write in escapes of six bytes."""
    from keepthread.engines.model import Request
    from tests.engines.asking import SCHEMA

    prompt = "Прочитай файл и исправь ошибку. " * 1_000
    ask(engine(server.url), request=Request("s", prompt, SCHEMA, "m", ""))
    length = int(server.requests[0].headers["content-length"])
    assert length < 1.2 * len(prompt.encode())


@pytest.mark.parametrize(
    ("url", "env", "proxy"),
    [
        ("https://api.x.example/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.x.example/v1", {"https_proxy": "p:1"}, "http://p:1"),
        ("https://api.x.example/v1", {"ALL_PROXY": "https://p:1"}, "https://p:1"),
        ("https://api.x.example/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("https://api.x.example/v1", {}, None),
        ("http://api.x.example/v1", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://localhost:1/v1", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://127.0.0.1:1/v1", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://[::1]:1/v1", {"ALL_PROXY": "http://p:1"}, None),
        ("https://api.x.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x.example"}, None),
        ("https://api.x.example", {"HTTPS_PROXY": "http://p:1", "no_proxy": "a, .x.example"}, None),
        ("https://api.x.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        (
            "https://api.x.example",
            {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*.x.example:443"},
            None,
        ),
        (
            "https://ax.example",
            {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x.example,"},
            "http://p:1",
        ),
    ],
)
def test_a_proxy_is_for_encrypted_talk_with_other_machines(
    url: str, env: dict[str, str], proxy: str | None
) -> None:
    """Never for loopback, and never where NO_PROXY says so."""
    assert proxy_for(url, env) == proxy


def test_a_proxy_of_another_kind_is_named() -> None:
    """Going round it unasked would be worse."""
    with pytest.raises(EngineError) as caught:
        proxy_for("https://api.x.example", {"ALL_PROXY": "socks5://me:secret@p:1"})
    assert "secret" not in caught.value.detail


def test_the_proxy_is_asked_for_a_tunnel_and_sees_no_key() -> None:
    """What goes through it is encrypted."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        heard: list[bytes] = []
        thread = threading.Thread(target=_refuse_tunnel, args=(listening, heard), daemon=True)
        thread.start()
        proxy = f"http://127.0.0.1:{listening.getsockname()[1]}"
        found = failed(engine("https://api.x.example/v1", {"HTTPS_PROXY": proxy}))
        thread.join()
    assert heard[0].startswith(b"CONNECT api.x.example:443 ")
    assert KEY.encode() not in heard[0]
    assert found.reason == "overload"


def _refuse_tunnel(listening: socket.socket, heard: list[bytes]) -> None:
    connection, _ = listening.accept()
    with connection:
        heard.append(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")


def test_loopback_is_reached_past_every_proxy_of_the_environment(server: FakeHttp) -> None:
    """The process environment of httpx does not count either."""
    dead = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in dead.items():
            patch.setenv(name, value)
        assert ask(engine(server.url, dead)).document == DOCUMENT


class _Secure(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - inherited
        """Print nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        data = chat(DOCUMENT).data
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(data)


class _Quiet(HTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients that do not trust us are what is tested."""


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A server with a certificate that nobody else has signed: its address, and the file to trust."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("openssl makes the certificate, and it is not installed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    running = _Quiet(("127.0.0.1", 0), _Secure)
    running.socket = context.wrap_socket(running.socket, server_side=True)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"https://127.0.0.1:{running.server_address[1]}", str(certificate)
    running.shutdown()
    running.server_close()
    thread.join()


def test_a_certificate_counts_when_its_user_names_it(secure: tuple[str, str]) -> None:
    """Otherwise the request is not made, and the variable that helps is named."""
    url, certificate = secure
    assert ask(engine(url, CA_BUNDLE=certificate)).document == DOCUMENT
    found = failed(engine(url))
    assert (found.reason, found.permanent) == ("no_login", True)
    assert "KEEPTHREAD_CA_BUNDLE" in found.detail


def test_a_certificate_of_the_environment_does_not_count(
    secure: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sets the environment could read along."""
    url, certificate = secure
    env = dict.fromkeys(
        ("SSL_CERT_FILE", "KEEPTHREAD_CA_BUNDLE", "REQUESTS_CA_BUNDLE"), certificate
    )
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert failed(engine(url, env)).reason == "no_login"


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_bundle_that_is_none_is_named(
    server: FakeHttp, tmp_path: Path, content: str | None
) -> None:
    """Missing, or something else."""
    bundle = tmp_path / "bundle.pem"
    if content is not None:
        bundle.write_text(content)
    found = failed(engine(server.url, CA_BUNDLE=str(bundle)))
    assert found.detail == "KEEPTHREAD_CA_BUNDLE is no readable file of certificates"


def test_httpx_is_loaded_only_when_something_is_asked() -> None:
    """0.1 s that a hook need not pay."""
    import sys

    code = "import sys; from keepthread.engines import choose; print('httpx' in sys.modules, 'filelock' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_a_body_of_any_content_is_sent_as_json(server: FakeHttp) -> None:
    """With its length, and no more often than once."""
    ask(engine(server.url))
    [seen] = server.requests
    assert seen.headers["content-type"] == "application/json"
    assert json.dumps(seen.body)
