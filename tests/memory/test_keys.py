"""The grammar of keys: the families of attacks, each with the rule that refuses it."""

from __future__ import annotations

import os
import pickle
import unicodedata
from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepthread.memory import keys
from keepthread.memory.errors import PathRejected
from tests.support.fuzzed import examples

ACCEPTED = (
    "notes.md",
    "arch/decisions/0001-use-uv.md",
    "MEMORY.md",
    "Übersicht.md",
    "日本語メモ（１）.md",  # full-width brackets and digit: only what is dangerous after NFKC is refused
    "100% done.md",
    "v1..v2 diff.md",
    "notes\u2026 draft.md",
    "a..md",
    "a%20b.md",
    "50%ZZ.md",
    "a%2eb.md",
    "%41.md",
    "a\u2044b.md",
    "$HOME.md",
    "%HOME%.md",
    "%43ONsole.md",
    "${x}.md",
    "console.md",
    "com10.md",
    "lpt.md",
    "nullable.md",
    "auxiliary/conrad.md",
    "a~b.md",
    "a~.md",
    "x" * 200,
    "你" * 66,
    "/".join("d" * 8),
    "/".join(["x" * 200] * 4),
    "a/b c/d.md",
    "(draft) [1] {2} #3 & 'four'.md",
    "a;b,c=d+e@f!g^h.md",
)
REJECTED = {
    "empty": ("",),
    "surrogate": ("\udcff.md", "a\ud800.md", "../\udc80"),
    "too long": ("a/" * 2100 + "x", "x" * 1001, "/".join(["你" * 60] * 8)),
    "nul": ("a\x00.md", "../../etc/passwd\x00.md", "\x00", "/\x00"),
    "backslash": (
        "..\\x.md",
        "a\\b.md",
        "C:\\x.md",
        "\\\\srv\\share\\x",
        "\\\\?\\C:\\x",
        "\\\\.\\pipe\\x",
        "a/..\\..\\x",
        "\\",
        "a\\",
    ),
    "absolute": ("/", "//", "/etc/passwd", "/memories/a.md", "//srv/share/x", "/..", "///a"),
    "not NFC": ("cafe\u0301.md", "a/A\u030a.md", "\u212b.md"),
    "too deep": ("/".join("d" * 9), "/".join("d" * 400)),
    "empty segment": ("a/", "a/b/", "a//b.md", "a/b//"),
    "dot segment": (
        "..",
        ".",
        "../x.md",
        "../../etc/passwd",
        "a/../../x.md",
        "a/..",
        "a/../b.md",
        "./a.md",
        "a/./b.md",
        "a/.",
        "./",
    ),
    "segment too long": ("x" * 201, "你" * 67, "a/" + "x" * 201 + "/b"),
    "bad first char": (
        "..../x.md",
        ".../x.md",
        ".. /x.md",
        "..;/x.md",
        "..%2fx.md",
        ".git/hooks/post-checkout",
        "a/.git/config",
        ".lock",
        ".tmp-abc",
        ".gitattributes",
        ". /x.md",
        "~/x.md",
        "~root/x.md",
        "-rf.md",
        "a/-rf.md",
        " a.md",
        " ",
        "..md",
    ),
    "control/invisible char": (
        "a\n.md",
        "a.md\n",
        "a\r.md",
        "\t.md",
        "a\x1b[2J.md",
        "a\x7f.md",
        "a\x85.md",
        "a\u2028.md",
        "a\u2029.md",
        "\u200b.git",
        "g\u200cit.md",
        ".g\u200cit",
        "a\u200d.md",
        "a\u202egnp.md",
        "a\u2066b.md",
        "a\ufeff.md",
        "a\u00ad.md",
        "\ue000.md",
        "a\uffff.md",
        "a\U000e0041.md",
        "a\u3164.md",
        "a\ufe0f.md",
    ),
    "reserved char": (
        "C:x.md",
        "a.md:stream",
        "a.md::$DATA",
        "a.md::$INDEX_ALLOCATION",
        "what?.md",
        "a*b.md",
        "a|b.md",
        "a<b.md",
        "a>b.md",
        'a"b.md',
        "file:x",
        "http://x",
    ),
    "bad last char": ("a.md.", "a.md ", "a.md. .", "dir./a.md", "dir /a.md", "a.md .", "a/b."),
    "device name": (
        "CON",
        "con.md",
        "NUL.tar.gz",
        "CON .md",
        "a/AUX/b.md",
        "COM1.md",
        "COM¹.md",
        "LPT³",
        "lpt0",
        "CONIN$",
        "conout$.md",
        "CLOCK$",
        "prn",
        "b/NUL",
        "nul.md.html",
    ),
    "8.3 alias": ("GIT~1/config", "MEMORY~1.MD", "team-e~1/x.md", "a/GI7EBA~1", "PROGRA~12.md"),
    "percent-encoded traversal": (
        "%2e%2e%2fx.md",
        "%252e%252e%252fx.md",
        "%25252e%25252e%25252fx.md",
        "%" + "25" * 60 + "2e%2e",
        "a%2fb.md",
        "a%5c..%5cb.md",
        "%2E%2E%2Fetc%2Fpasswd",
        "%2e%2e",
        "%2e",
        "%2egit",
        "a%00.md",
        "a%0a.md",
        "%ef%bc%8fx",
        "C%3ax",
        "a%E2%80%AEb.md",
    ),
    "percent-encoded device name": (
        "%43ON.md",
        "CON%20.md",
        "CON%2emd",
        "a/%254c%2550T1.md",
        "%EF%BC%A3ON.md",
        "com%c2%b9.md",
    ),
    "percent-encoded 8.3 alias": ("GIT%7e1/config", "x%257E1.md"),
    "percent: bad utf-8": ("%c0%ae%c0%ae%c0%afx", "%e0%80%ae.md", "a%ff.md", "%25c0%25ae"),
    "NFKC form unsafe": (
        "．．／x.md",
        "．．/x.md",
        "\u2025/x.md",
        "\u2026/x.md",
        "\u2024\u2024/x.md",
        "a＼b.md",
        "a﹨b.md",
        "℀.md",
        "℅.md",
        "a：b.md",
        "a︓b.md",
        "⩴x",
        "ＣＯＮ.md",
        "ｎｕｌ",
        "ＧＩＴ～１",
        "％2e％2e％2fx.md",
        "a．",
        "～/x.md",
        "a\u00a0",
        "－rf",
    ),
}
CASES = [(rule, key) for rule, group in REJECTED.items() for key in group]


@pytest.mark.parametrize("key", ACCEPTED)
def test_an_honest_key_is_accepted_as_it_stands(key):
    """Its segments come back unchanged."""
    assert "/".join(keys.check(key)) == key


@pytest.mark.parametrize(("rule", "key"), CASES, ids=[ascii(key)[:40] for _, key in CASES])
def test_a_hostile_key_is_refused_with_the_name_of_the_rule(rule, key):
    """And what is offered instead, if anything, is acceptable."""
    with pytest.raises(PathRejected) as caught:
        keys.check(key)

    assert (caught.value.key, caught.value.rule) == (key, rule)
    assert caught.value.repaired == "" or keys.check(caught.value.repaired)


@pytest.mark.parametrize(
    "key", [b"a.md", None, 1, ["a"], True, PurePosixPath("a/../b"), ("a",), type("S", (str,), {})()]
)
def test_only_a_str_can_be_a_key(key):
    """A Path object has silently lost its "//" and "." already; a subclass of str can lie about itself."""
    with pytest.raises(TypeError):
        keys.check(key)


@pytest.mark.parametrize(
    ("key", "offer"),
    [
        ("cafe\u0301.md", "caf\u00e9.md"),
        ("../../notes.md", "notes.md"),
        ("a\\b.md", "a/b.md"),
        ("C:x.md", "C-x.md"),
        ("con.md", "con_.md"),
        ("./a.md ", "a.md"),
        ("GIT~1/x", "GIT-1/x"),
        ("%2e%2e%2fx.md", "x.md"),
        ("．．／x.md", "x.md"),
        ("x" * 300, "x" * 200),
        ("..", ""),
        ("", ""),
        ("/", ""),
    ],
)
def test_the_repaired_form_is_offered(key, offer):
    """In the message's hint, for a person to choose."""
    with pytest.raises(PathRejected) as caught:
        keys.check(key)

    assert caught.value.repaired == offer
    assert offer in caught.value.hint


def test_a_rejection_survives_being_sent_to_another_process():
    """With its fields."""
    problem = pickle.loads(pickle.dumps(PathRejected("a//b", "empty segment", "a/b")))

    assert (problem.key, problem.rule, problem.repaired) == ("a//b", "empty segment", "a/b")
    assert problem.message == "The key 'a//b' is refused: empty segment"


def test_a_message_shows_no_control_characters():
    """A key may be chosen to write on the terminal."""
    assert "\x1b" not in PathRejected("a\x1b[2J", "control/invisible char").message


NASTY = st.sampled_from(
    (
        *(
            "..",
            ".",
            "/",
            "\\",
            "%2e",
            "%252f",
            "%",
            "．",
            "／",
            "\u2025",
            "\0",
            "\n",
            "~",
            "~1",
            ":",
        ),
        *(
            " ",
            "CON",
            "nul",
            "a",
            "b",
            "md",
            "é",
            "e\u0301",
            "\u200b",
            "\ud800",
            "-",
            "%c0%ae",
            "℀",
            "³",
        ),
    )
)
TEXTS = st.text(max_size=40) | st.lists(NASTY, max_size=12).map("".join)


def holds(key: str) -> None:
    """Assert what an accepted key promises."""
    parts = key.split("/")
    windows = PureWindowsPath(key)
    assert os.path.normpath(key) == key
    assert not os.path.isabs(key)
    assert windows.drive == windows.root == ""
    assert list(windows.parts) == parts
    decoded = key
    for _ in range(4):
        for form in (decoded, unicodedata.normalize("NFKC", decoded)):
            segments = form.split("/")
            assert len(segments) == len(parts)
            assert not {"", ".", ".."} & set(segments)
            assert "\\" not in form
        decoded = unquote(decoded)


@given(TEXTS)
@examples(1000)
def test_whatever_is_accepted_stays_inside_on_every_system(key):
    """And nothing but the two documented errors is ever raised."""
    try:
        keys.check(key)
    except PathRejected as problem:
        assert problem.repaired == "" or keys.check(problem.repaired)
    else:
        holds(key)


PIECES = st.sampled_from(("a", "b.md", "%_", "41", "é", "日", " x", "..z", "\u2044", "$", "_"))
HONEST = st.lists(PIECES, max_size=8).map(lambda parts: "k" + "".join(parts))


@given(st.lists(HONEST, min_size=1, max_size=10))
@examples(300)
def test_accepted_keys_joined_are_accepted_or_too_long(parts):
    """No rule depends on what stands before."""
    key = "/".join(parts)

    assert keys.broken_rule(key) == ("too deep" if len(parts) > 8 else "")
    if len(parts) <= 8:
        holds(key)


SIMPLE = st.sampled_from((*"aZ0_-. /", "con", "NUL", "com1", "lpt", "//", ".md", "x" * 60))


@given(st.lists(SIMPLE, max_size=14).map("".join))
@examples(1000)
def test_the_shortcut_for_simple_keys_agrees_with_the_rules(key):
    """It only saves time."""
    assert keys.broken_rule(key) == keys.by_every_rule(key)
