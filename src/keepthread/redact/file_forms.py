"""Secrets in files that hold nothing else: only the form of the line or of the whole file tells what they are.

Every pattern begins at its keyword or at a line's beginning, and reads on in bounded parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from keepthread.redact.placeholders import is_mixed, is_number, is_path, is_placeholder
from keepthread.redact.rules import Rule, Span

_EDGE = r"(?:[ \t]|[\"'`]|\\?\r?\n|\\[nr]|$)"
_MANIFEST = 20_000  # characters around "kind: Secret" that belong to the same manifest
_MOST_DATA = 20  # in one manifest; it has three of its own
_LEAD = (
    r"(?:[ \t]{0,8}[0-9]{1,6}[ \t]{0,2}[\t→:|-])?[+]?"  # of a reader that numbers lines, of a diff
)
_BOUND = rf"\n{_LEAD}---|(?:(?:^|(?<=\n)){_LEAD}[ \t-]{{0,16}}|[\"'])kind\\{{0,3}}[\"']?:"
_DATA = r"(?<![A-Za-z])(?:string|binary)?[dD]ata\\{0,3}[\"']?:[ \t]{0,4}(?=\{|\\?\r?\n)"
_ENTRY = (
    rf"^{_LEAD}([ \t]{{0,32}})(?:[\"']?[\w.-]{{1,80}}[\"']?:[ \t]{{1,4}}[\"']?"
    r"([^\s\"'|>{\[][^\s\"']{3,20000})|\S)"
)
_MEMBER = r"[\"'][\w.-]{1,80}\\{0,3}[\"'][ \t]{0,4}:[ \t]{0,4}\\{0,3}[\"']([^\s\"'\\]{4,20000})"


def _given(match: re.Match[str]) -> bool:
    value = match.group(match.lastindex or 0)
    return not (is_placeholder(value) or is_number(value))


def _is_login(match: re.Match[str]) -> bool:
    """Return whether this is base64 of a user and a password, or of a file of them."""
    import base64

    value = match.group(match.lastindex or 0).rstrip("=")[:64]
    try:
        plain = base64.b64decode(value[: len(value) // 4 * 4]).decode("ascii")
    except ValueError:
        return False
    return (plain.isprintable() and ":" in plain.strip(":")) or '"auth' in plain


class _Manifest(Rule):
    """The members of `data` and `stringData` in a Kubernetes manifest of the kind Secret."""

    def spans(self, value: str, start: int, end: int) -> Iterator[Span]:
        """Yield the values, wherever in its manifest the kind stands."""
        bounds = [match.span() for match in re.compile(_BOUND).finditer(value, start, end)]
        before = [start, *(last for _, last in bounds)]
        after = [*(first for first, _ in bounds), end]
        for at, (first, last) in enumerate(bounds):
            if not self.compiled.match(value, first):
                continue
            head, tail = max(before[at], first - _MANIFEST), min(after[at + 1], last + _MANIFEST)
            for data in islice(re.compile(_DATA).finditer(value, head, tail), _MOST_DATA):
                yield from _members(value, data.end(), tail)


def _members(value: str, start: int, end: int) -> Iterator[Span]:
    if value.startswith("{", start):
        closed = value.find("}", start, end)
        found = list(re.compile(_MEMBER).finditer(value, start, end if closed < 0 else closed))
    else:
        found = _lines(value, start, end)
    yield from (match.span(match.lastindex or 0) for match in found if _given(match))


def _lines(value: str, start: int, end: int) -> list[re.Match[str]]:
    """Return the lines `name: value` directly below the place: those that are indented as the first one."""
    found: list[re.Match[str]] = []
    least: int | None = None
    for line in re.compile(_ENTRY, re.MULTILINE).finditer(value, start, end):
        indent = len(line.group(1))
        least = indent if least is None else least
        if indent < max(least, 1):
            break
        if indent == least and line.group(2):
            found.append(line)
    return found


class _Cookies(Rule):
    """What a header of cookies holds beyond its first pair: values that look like chance, whatever their names."""

    def spans(self, value: str, start: int, end: int) -> Iterator[Span]:
        """Yield the values up to the end of the header."""
        for head in self.compiled.finditer(value, start, end):
            for pair in re.compile(
                r";[ \t]{0,4}[^\s=;,\"']{1,128}=([^\s;,\"'\\]{16,4096})"
            ).finditer(value, head.start(1), head.end(1)):
                if is_mixed(pair.group(1)) and _given(pair):
                    yield pair.span(1)


RULES: tuple[Rule, ...] = (
    Rule(  # host:port:database:user:password
        "pgpass",
        ":5432: :5433: :6432: :6543: :*:",
        r"(?<![\w.:/@*-])(?:[A-Za-z0-9*][\w.*-]{0,252}):(?:\*|543[23]|6432|6543):(?:\*|[A-Za-z_][\w-]{0,63}):"
        r"(?:\*|[A-Za-z_][\w.-]{0,63}):((?:\\[:\\]|[^\s:\\\"'`]){3,256})(?=" + _EDGE + ")",
        _given,
    ),
    Rule(
        "netrc",
        ("machine ", "default login"),
        r"(?:machine[ \t]{1,8}\S{1,253}|default)\s{1,8}(?:(?:login|account|user)\s{1,8}\S{1,128}\s{1,8}){0,2}"
        r"password\s{1,8}[\"']?([^\s\"']{1,256})",
        _given,
    ),
    _Manifest(
        "kubernetes-secret",
        ("kind: secret", '"secret"', "'secret'", 'secret\\'),
        rf"(?:{_LEAD}[ \t-]{{0,16}}|[\"'])kind\\{{0,3}}[\"']?:[ \t]{{0,4}}\\{{0,3}}[\"']?Secret\b",
    ),
    Rule(
        "password-hash",
        "$1$ $5$ $6$ $7$ $y$ $gy$ $apr1$ $sha1$ $md5$ $2a$ $2b$ $2x$ $2y$ $2$ $argon2 $scrypt$ $pbkdf2",
        r"\$(?<![\w$]\$)(?:(?:1|5|6|7|y|gy|apr1|sha1|md5)\$(?:[\w=,./+-]{1,64}\$){1,3}[./A-Za-z0-9+]{16,128}"
        r"|2[abxy]?\$[0-9]{2}\$[./A-Za-z0-9]{53}"
        r"|(?:argon2(?:id?|d)|scrypt|pbkdf2(?:-\w{1,8})?)\$(?:[\w=,.-]{1,64}\$){1,3}[./A-Za-z0-9+-]{8,128}"
        r"\$[./A-Za-z0-9+-]{16,256})={0,2}",
        lambda match: is_mixed(match.group()[4:]),
    ),
    Rule(
        "password-hash",
        "pbkdf2_ pbkdf2: scrypt: {sha} {ssha",
        r"(?:\bpbkdf2_\w{4,8}\$[0-9]{3,8}\$[\w./+=-]{4,64}\$|\b(?:pbkdf2:\w{3,8}:[0-9]{3,8}|scrypt:[0-9:]{5,16})\$\w{4,64}\$"
        r"|\{S?SHA(?:256|512)?\})([A-Za-z0-9+/]{24,256}={0,2})",
    ),
    Rule(  # a jar of cookies as Netscape wrote it, and curl and wget still do
        "cookie",
        ("\ttrue\t", "\tfalse\t"),
        r"\t(?:TRUE|FALSE)\t[^\t\n]{0,512}\t(?:TRUE|FALSE)\t[0-9.]{1,20}\t[^\t\n]{1,256}\t([^\s]{8,4096})",
        lambda match: is_mixed(match.group(1)) and not is_placeholder(match.group(1)),
    ),
    _Cookies("cookie", "cookie", r"(?i:\bcookie\\?[\"']?[ \t]{0,4}[:=])([^\n\"']{16,8192})"),
    Rule(  # requests.get(u, cookies={"sessionid": "..."})
        "cookie",
        "cookies",
        r"(?i:cookies?)\\?[\"']?[ \t]{0,4}[=:][ \t]{0,4}\{[ \t]{0,4}\\{0,3}[\"'][\w.-]{1,64}\\{0,3}[\"'][ "
        r"\t]{0,4}:[ \t]{0,4}"
        r"\\{0,3}[\"']([^\s\"'\\]{16,4096})",
        lambda match: is_mixed(match.group(1)) and not is_path(match.group(1)) and _given(match),
    ),
    Rule(  # the login of a registry in YAML and in .npmrc: base64 of user:password
        "stored-key",
        ("auth:", "auth =", "auth=", 'auth"', "auth'"),
        r"[Aa][Uu][Tt][Hh](?<![A-Za-z].{4})[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?([A-Za-z0-9+/]{12,4096}={0,"
        r"2})(?=[\s\"'\\,}]|$)",
        _is_login,
    ),
    Rule(
        "stored-key",
        "npmauthident",
        r"npmAuthIdent[\"']?:[ \t]{0,4}[\"']?[^\s:\"']{1,128}:([^\s\"']{1,512})",
        _given,
    ),
    Rule(  # .dockerconfigjson, base64 of {"auths": ...}
        "stored-key",
        "eyjhdxrocy ewogicjhdxrocy ewojimf1dghzij",
        r"(?:eyJhdXRocyI6|eyAiYXV0aHMi|ewogICJhdXRocyI6|ewoJImF1dGhzIjo)[A-Za-z0-9+/]{20,20000}={0,2}",
        _is_login,
    ),
)  # fmt: skip
