"""Secrets go, everything else stays."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepthread import redact
from keepthread.redact import finder
from tests.redact.samples import BODY, FORMED, HARMLESS, JWT, TOLD, letters, pem

MARK = re.compile(r"\[REDACTED:[a-z0-9-]+\]")
FORMED_IDS = [f"{rule}-{number}" for number, (rule, _) in enumerate(FORMED)]
TOLD_IDS = [f"{row[0]}-{number}" for number, row in enumerate(TOLD)]


@pytest.mark.parametrize("rule, secret", FORMED, ids=FORMED_IDS)
@pytest.mark.parametrize("around", ["{}", "token {} here", '"{}"', "a\n{}\nb", "x={};", "({})."])
def test_a_token_of_a_known_form_goes_and_its_surroundings_stay(rule, secret, around):
    marked = redact.text(around.format(secret))

    assert secret[-12:] not in marked
    assert MARK.sub("", marked).replace("Bearer ", "") == around.format("")


@pytest.mark.parametrize("rule, secret", FORMED, ids=FORMED_IDS)
def test_a_token_is_named_after_its_rule(rule, secret):
    assert [finding.rule for finding in redact.scan(f"see {secret} there")] == [rule]


@pytest.mark.parametrize("rule, before, secret, after", TOLD, ids=TOLD_IDS)
def test_a_value_goes_and_the_name_in_front_of_it_stays(rule, before, secret, after):
    assert redact.text(before + secret + after) == f"{before}[REDACTED:{rule}]{after}"


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_is_not_touched(text):
    assert redact.text(text) == text


@pytest.mark.parametrize(
    "text", [s for _, s in FORMED] + [b + s + a for _, b, s, a in TOLD] + HARMLESS
)
def test_redacting_twice_is_redacting_once(text):
    once = redact.text(text)

    assert redact.text(once) == once


_FRAGMENTS = st.sampled_from(
    ["password", "TOKEN", "api_key", "=", ": ", '"', "'", "\n", "\\n", "\\", "[REDACTED:jwt]", "://", "u:", "@h",
     "Bearer ", "Authorization: ", "Cookie: ", "session=", ";", "--", "curl -u a:", "login x password ", "sk-", "<",
     ">", "docker login -p ", "{", "}", "abc123def456", "ghp_" + letters(36), "-----BEGIN PRIVATE " + "KEY-----",
     "-----END PRIVATE KEY-----", BODY[0], JWT, "İ", " ", "hunter22x"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(_FRAGMENTS | st.text(max_size=8), max_size=14).map("".join))
def test_whatever_the_text_findings_are_in_order_and_nothing_is_left_to_find(text):
    findings = redact.scan(text)
    marked = redact.text(text, ("abc123def456",))

    assert all(0 <= f.start < f.end <= len(text) for f in findings)
    assert all(a.end <= b.start for a, b in pairwise(findings))
    assert redact.text(marked, ("abc123def456",)) == marked
    assert "abc123def456" not in marked


KEY_SHAPES = {
    "plain": "\n".join(pem()),
    "crlf": "\r\n".join(pem()),
    "pkcs8": "\n".join(pem("")),
    "openssh": "\n".join(pem("OPENSSH ")),
    "pgp": "\n".join(pem("PGP ", " BLOCK")),
    "encrypted": "\n".join([*pem()[:1], "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,00", "", *pem()[1:]]),
    "escaped": "\\n".join(pem()) + "\\n",
    "escaped twice": "\\\\n".join(pem()),
    "one line": " ".join(pem()),
    "indented": "\n".join("    " + line for line in pem()),
    "diff": "\n".join("+" + line for line in pem()),
    "quoted mail": "\n".join("> " + line for line in pem()),
    "numbered": "\n".join(f"{n:6}\t{line}" for n, line in enumerate(pem(), 1)),
    "numbered arrow": "\n".join(f"{n:5}→{line}" for n, line in enumerate(pem(), 1)),
    "grep": "\n".join(f"{n}:{line}" for n, line in enumerate(pem(), 1)),
    "python list": "\n".join(f'"{line}\\n"' for line in pem()),
    "no end": "\n".join(pem()[:-1]),
    "no end, escaped": "\\n".join(pem()[:-1]),
    "no end, numbered": "\n".join(f"{n:6}\t{line}" for n, line in enumerate(pem()[:-1], 1)),
    "no end, diff": "\n".join("+" + line for line in pem()[:-1]),
    "no begin": "\n".join(pem()[1:]),
    "no begin, numbered": "\n".join(f"{n:6}\t{line}" for n, line in enumerate(pem()[1:], 2)),
    "cut in the middle": "\n".join([*pem()[:3], "[... 4000 characters omitted ...]", *pem()[-2:]]),
    "twice": "\n".join([*pem(), *pem("")]),
    "ssh2": "\n".join(pem("SSH2 ENCRYPTED ")).replace("-----BEGIN", "---- BEGIN").replace("-----END", "---- END")
    .replace("KEY-----", "KEY ----"),
    "url-encoded": "\n".join(pem()).replace(" ", "%20").replace("\n", "%0A"),
    "form-encoded": "\n".join(pem()).replace(" ", "+").replace("\n", "%0D%0A"),
    "escaped by code": "\\u000a".join(pem()),
}  # fmt: skip


@pytest.mark.parametrize("shape", KEY_SHAPES)
def test_a_private_key_goes_whole_in_every_shape(shape):
    marked = redact.text(f"before it\n{KEY_SHAPES[shape]}\n\nafter it")

    assert "[REDACTED:private-key]" in marked
    assert not any(line[:20] in marked or line[-12:] in marked for line in BODY)
    assert marked.startswith("before it\n")
    assert marked.endswith("after it")


def test_a_service_accounts_key_goes_out_of_its_file():
    account = {
        "type": "service_account",
        "private_key": "\n".join(pem("")),
        "client_email": "a@b.iam",
    }

    for text in (json.dumps(account), json.dumps(account, indent=2)):
        marked = json.loads(redact.text(text))
        assert marked["private_key"] == "[REDACTED:private-key]"
        assert marked["client_email"] == "a@b.iam"


def test_the_aws_secret_beside_its_key_goes_and_a_hash_there_stays():
    key, secret = "AKI" + "A" + letters(16, "A1B2C3D4"), letters(40, "aB3/c+D5")
    digest = "da39a3ee5e6b4b0d3255bfef95601890afd80709"

    assert redact.text(f"{key} {secret}") == "[REDACTED:aws-access-key] [REDACTED:aws-secret-key]"
    assert redact.text(f"{key} {digest}") == f"[REDACTED:aws-access-key] {digest}"


@pytest.mark.parametrize("rule, secret", FORMED, ids=FORMED_IDS)
@pytest.mark.parametrize("seam", ["\n", "\r\n", "\\\n", "\n    "])
def test_a_token_wrapped_over_two_lines_goes_with_both_halves(rule, secret, seam):
    middle = max(len(secret) // 2, 16)
    while not (secret[middle - 1].isalnum() and secret[middle].isalnum()):
        middle += 1
    marked = redact.text(f"key: {secret[:middle]}{seam}{secret[middle:]} end")

    assert secret[middle - 8 : middle] not in marked
    assert secret[middle:][-8:] not in marked
    assert marked.endswith(" end")


def test_the_line_behind_a_whole_token_stays():
    marked = redact.text("ghp_" + letters(36) + "\nNext line1 with words")

    assert marked == "[REDACTED:github-token]\nNext line1 with words"


def test_a_secret_across_two_windows_is_found(monkeypatch):
    monkeypatch.setattr(finder, "WINDOW", 1_000)
    monkeypatch.setattr(finder, "OVERLAP", 200)
    secret = "ghp_" + letters(36)
    for place in (900, 960, 990, 999, 1_000, 1_790):
        marked = redact.text(" " * place + secret + " " * 3_000)

        assert marked == " " * place + "[REDACTED:github-token]" + " " * 3_000


def test_given_secrets_go_wherever_they_stand_and_an_empty_one_does_nothing():
    secret = "no known form!"

    assert redact.text(f"a{secret}b{secret}", (secret, "")) == (
        "a[REDACTED:environment]b[REDACTED:environment]"
    )


def test_a_document_loses_its_secrets_in_strings_keys_and_telling_members():
    token = "ghp_" + letters(36)
    document = {
        "text": f"use {token}",
        token: 1,
        "list": [token, 2, None, True, 1.5, {"deep": (token,)}],
        "password": "hunter22x",
        "headers": {"X-Api-Key": letters(20)},
        "tokens": 31_000,
        "token_count": "123456789",
        "path": "/home/dev/token1",
    }
    before = json.dumps(document)

    clean = redact.document(document)

    assert clean == {
        "text": "use [REDACTED:github-token]",
        "[REDACTED:github-token]": 1,
        "list": [
            "[REDACTED:github-token]",
            2,
            None,
            True,
            1.5,
            {"deep": ["[REDACTED:github-token]"]},
        ],
        "password": "[REDACTED:secret-value]",
        "headers": {"X-Api-Key": "[REDACTED:secret-value]"},
        "tokens": 31_000,
        "token_count": "123456789",
        "path": "/home/dev/token1",
    }
    assert json.dumps(document) == before
    assert redact.document(clean) == clean


def test_only_secret_looking_variables_give_secrets_and_the_longest_comes_first():
    env = {
        "DEPLOY_TOKEN": "opaque-value-1234",
        "MY_API_KEY": "another opaque value 5",
        "DB_PASSWORD_2": "third!opaque#value",
        "githubToken": "fourth?opaque?value1",
        "AUTH_URL": "https://auth.example.org/x1",
        "DATABASE_SECRET_URL": "postgres://u:pw123@h/db",
        "SSH_AUTH_SOCK": "/run/user/1000/keyring/ssh",
        "SHORT_TOKEN": "abc123",
        "TOKEN_BUDGET": "1234567890123",
        "SECRET_WORD": "supercalifragilistic",
        "PLACEHOLDER_TOKEN": "your-token-goes-here-1",
        "KEYBOARD_LAYOUT": "de-latin1-nodeadkeys",
        "MONKEY": "banana-banana-77",
        "PATH": "/usr/bin:/bin",
        "PWD": "/home/dev/project-one",
    }

    assert redact.environment_secrets(env) == (
        "postgres://u:pw123@h/db",
        "another opaque value 5",
        "fourth?opaque?value1",
        "third!opaque#value",
        "opaque-value-1234",
    )


SEEDS = sorted(
    {keyword for rule in finder.RULES for keyword in rule.keywords}
    | {
        "AKIA" + "A1" * 8 + " ",
        "kind: Secret\ndata:\n  a: bbbbb\n",
        "azure " + "A" * 80,
        "sql://a:b/",
        "a:5432:a:a:",
        "password: |\n    a",
        "password='",
        'password=\\"',
        "password='a\n aa",
        "token :str|",
        "://a:",
        "curl -u ",
        "; token=",
        "eyJaaaaaaaaa.",
        "eyJaaaaaaaa-",
        "-----BEGIN PRIVATE " + "KEY-----",
        "-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE " + "KEY-----\n+aaaaaaaaaaaaaaaaaaaa",
        "api_key_A_A_",
        "--a-b-c-password ",
        "twilio SK",
        "\\\\\\",
        "[REDACTED:jwt]",
    }
)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_hostile_text_makes_a_pattern_hang(seed):
    """A pattern whose work grows with the square of the text takes minutes where others take a tenth of a second."""
    began = time.thread_time()
    for filling in ("", "a1", "=", "\n", "\\", "_"):
        unit = seed.upper() + filling if filling == "_" else seed + filling

        redact.text((unit * (20_000 // len(unit) + 1))[:20_000])
        assert time.thread_time() - began < 10


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "hostile",
    [
        (letters(64) + "\n") * 450 + "!\n-----END PRIVATE " + "KEY-----\n",
        ("kind: Secret\n" + "  data:\n  a: bcdefgh\n" * 900) * 4,
        ('{"kind": "Secret", ' + '"data": {"abc": "bcdefg", ' * 800) * 4,
    ],
    ids=["key without a beginning", "manifest of data", "manifest in JSON"],
)
def test_what_is_read_back_and_forth_makes_nothing_hang(hostile):
    began = time.thread_time()

    redact.text(hostile)

    assert time.thread_time() - began < 10


def test_redaction_is_light_to_import():
    code = "import sys, re; old = set(sys.modules); import keepthread.redact; print(*set(sys.modules) - old)"
    path = os.pathsep.join(part for part in sys.path if part)
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    assert {m for m in run.stdout.split() if not m.startswith("keepthread")} <= {
        "__future__",
        "collections.abc",
    }
