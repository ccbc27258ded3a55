"""NAME = value, in all the ways files, shells and languages write it: the value goes, the name stays."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keepthread.redact.placeholders import (
    classes,
    is_code,
    is_mixed,
    is_number,
    is_path,
    is_placeholder,
    is_plain_url,
    is_random,
    is_wordy,
)
from keepthread.redact.rules import Rule, Span

# Names that hold a secret. A name goes on only after a separator or in camel case: "tokenizer" is no token.
_KEYS = (
    "api|access|account|private|secret|signing|encryption|master|deploy|service|shared|license|webhook|storage|"
    "client|auth|anon|role"
)
_OWNERS = "|".join(
    f"(?<={owner})"
    for owner in (
        "db", "user", "admin", "root", "smtp", "mail", "ssh", "sql", "redis", "ftp", "proxy", "login",
    )
)  # fmt: skip
_NAME = (
    rf"(?i:pass(?:word|phrase|wd|code)|(?<![a-z])pass|(?:{_OWNERS})pass(?![a-z])|"
    r"pwd|secret|token|credential|(?<=[_-])auth|(?<![a-z])psk|"
    rf"(?:{_KEYS})[_-]?key|(?-i:[A-Z0-9]_KEY))"
)
_KEY_HEAD = rf"(?:{_KEYS})[_-]?$"
_TAIL = r"[sS]?(?:[_-][A-Za-z0-9]{1,24}|[A-Z][a-z0-9]{1,24}|[0-9]{1,4}){0,4}"
_CLOSE = r"(?:\\{0,31}[\"'`]\]?|\*\*|&quot;|\]|</[a-z]{1,6}>)?(?:[ \t]\([a-z][^()\n]{1,40}\))?"
_ANNOTATED = r":[ \t]{0,4}&?[A-Za-z_][\w.\[\]|]{0,40}(?: \| [\w.\[\]]{1,40})?[ \t]{0,4}="
_SEPARATOR = (
    rf"[ \t\u00a0]{{0,8}}(?:{_ANNOTATED}|={{1,3}}>?|[:?]=|:(?:\*\*)?|[\uff1a\uff1d\u2192]|->)"
    r"[ \t\u00a0]{0,8}"
)
_BLOCK = r":[ \t]{0,8}[|>][0-9+-]{0,2}[ \t]{0,8}\r?\n[ \t]{1,32}(?=\S)"  # of YAML, on the next line
_ENCODED = r"(?:%22)?(?:%3[AaDd])(?:%20|\+)?(?:%22)?((?:[^\s%&\"'<>]|%(?!2[2Cc]|7[Dd]|26)[0-9A-Fa-f]{2}){3,4096})"
_LISTED = r"\\{0,31}[\"'][ \t]{0,4},[ \t]{0,4}(?=\\{0,31}[\"'])"  # set("TOKEN", "...")
_ATTRIBUTE = (  # <add key="..." value="..."/>, <input type="password" name="x" value="...">
    r"\\{0,31}[\"'](?:[ \t]{1,4}[\w-]{1,20}=[\"'][^\"'\n]{0,60}[\"']){0,3}[ \t]{1,4}value[ \t]?=[ \t]?"
)
_PAIRED = (  # {"name": "...", "value": "..."}, and a part of a form that was sent
    r"\\{0,31}[\"'](?:[ \t]{0,4},\s{0,40}\\{0,31}[\"']value\\{0,31}[\"'][ \t]{0,4}:[ \t]{0,4}"
    r"|(?:\r?\n|\\{1,3}r\\{1,3}n){2})"
)

# A quoted value may be wrapped: lines of nothing but token characters, up to the closing quote.
_WRAP = r"(?:(?:\\?\r?\n[ \t]{0,32}[\w+/=.~-]{2,4096}){1,8}(?=QUOTE))?"


def _quoted(quote: str) -> str:
    body = rf"(?:[^{quote}\\\r\n]|\\[^\r\n]){{1,4096}}"
    return rf"{quote}({body}{_WRAP.replace('QUOTE', quote)})"


# Text inside a JSON string, where the quotes themselves are escaped.
_ESCAPED = (
    r"\\{1,31}[\"'](" + r"[^\"'\\\r\n]{1,4096}" + _WRAP.replace("QUOTE", r"\\{1,31}[\"']") + ")"
)
_TRIPLED = r"(?:\"{3}|'{3})([^\"'\r\n]{3,4096})"
_BARE = r"((?:[^\s\"'`<>{};|&\\,\x1b]|[;|&,](?!&?[\w.-]{1,40}=|[\s;|&,\"']|$)|\\\r?\n?){3,4096})"
_STRINGS = "|".join(_quoted(quote) for quote in "\"'`")
_VALUE = rf"(?:[bfruBFRU@]{{0,2}}(?:{_STRINGS})|{_ESCAPED}|{_TRIPLED}|&quot;([^&\s]{{3,4096}})&quot;|{_BARE})"

_HARMLESS_TAIL = (
    r"(?i:(?:[_-]?(?:id|url|uri|path|paths|file|files|filename|dir|name|names|type|types|length|len|size|count|"
    r"counts|limit|limits|expiry|expires|expiration|ttl|field|header|prefix|suffix|regex|pattern|env|var|ref|arn|"
    r"version|policy|label|hint|hash|status|usage|used|budget|window|index|endpoint|format|(?<!st)ring|store|text|class))$)"
)
_HARMLESS_HEAD = (
    r"(?i:(?:cache|primary|foreign|sort|partition|public|unique|composite|registry|idempotency|object|group|"
    r"row|hash|range|shard|routing|dict|map|json|lookup|s3|state|query|storage|translation|i18n)[_-]?)$"
)
_REREAD = 256  # characters; longer ones are not looked at twice, so that no text makes this slow
_SURE = r"(?i:pass|pwd|secret|token|credential)"


def looks_secret(name: str, value: str, *, quoted: bool, assigned: bool) -> bool:
    """Return whether `value` is a secret, given that it stands behind `name`.

    Args:
        name: the last part of the name, from its keyword on.
        value: what was assigned, without quotes.
        quoted: it stood in quotes; unquoted text is more often code.
        assigned: it stood behind "NAME=" in capitals, as in an environment file.
    """
    bare = value if quoted else value.rstrip(";,.)")
    if not quoted and not assigned and bare.startswith("["):  # a list
        return False
    if quoted and value != value.strip():  # the quote closes a text, and what follows is no value
        return False
    least = 4 if re.compile(_SURE).match(name) else 8
    if len(bare) < least or is_placeholder(bare) or is_number(bare) or is_plain_url(bare):
        return False
    # Short, code is what most often stands there: token1 == token2, print("token:", d["token"])
    if len(bare) < 8 and (re.search(r"[\s,;(){}\[\]<>|]", bare) or re.compile(_NAME).search(bare)):
        return False
    if re.compile(_HARMLESS_TAIL).search(name):
        return False
    sure = assigned and bool(re.compile(_SURE).match(name))
    if is_path(bare) and not is_random(bare) and not (sure and _is_no_file(bare)):
        return False
    if sure:
        return not bare.startswith("-")
    if is_wordy(bare):
        return (
            quoted
            and bool(re.match(r"(?i:pass|pwd)", name))
            and " " not in bare
            and classes(bare) > 1
        )
    if quoted:
        return bare.count(" ") < 3 and classes(bare) > 1
    return is_mixed(bare) and not is_code(bare)


def _is_no_file(value: str) -> bool:
    # A variable for a token holds a file's name only when the file is one of tokens: TOKEN=token.json
    return re.search(r"[/\\]", value) is None and re.compile(_NAME).search(value) is None


def gives_away(key: str, value: str) -> bool:
    """Return whether the member `key` of a JSON object holds a secret in `value`."""
    match = re.search(rf"{_NAME}{_TAIL}$", key[-64:])
    return bool(match and value and looks_secret(match.group(), value, quoted=True, assigned=False))


def says_harmless(name: str) -> bool:
    """Return whether a name that has a secret's word in it ends as names of other things do: TOKEN_URL, secret_name."""
    return re.compile(_HARMLESS_TAIL).search(name) is not None


def _accepts(match: re.Match[str]) -> bool:
    text, name, value = match.string, match.group("name"), match.group(match.lastindex or 0)
    first = match.start(match.lastindex or 0)
    head = match.start() + (name[1:] == "_KEY")  # the letter before _KEY belongs to the word before
    if re.compile(_HARMLESS_HEAD).search(text, max(0, head - 16), head):
        return False
    gap = text[match.end("name") : first]
    if name == "PASS" and gap.startswith(":"):  # a test's verdict
        return False
    if gap == ":" and re.search(r"://[^\s/@]*$", text[max(0, head - 64) : head]):
        return False  # https://x-access-token:...@host: a URL's own rule knows where the value ends
    assigned = name.isupper() and gap.strip("\"'") == "="
    return looks_secret(name, value, quoted=text[first - 1] in "\"'`", assigned=assigned)


class _Assigned(Rule):
    """A rule that goes from keyword to keyword: an alternation tried at every character takes ten times as long."""

    def spans(self, value: str, start: int, end: int) -> Iterator[Span]:
        done = start
        for at in sorted(_names(value, start, end)):
            match = self.compiled.match(value, at, end) if at >= done else None
            if match is None:
                continue
            first, done = match.span(match.lastindex or 0)
            if _accepts(match):
                yield first, done
            elif done - first < _REREAD:
                done = first  # what was no value may hold a name of its own


def _names(value: str, start: int, end: int) -> Iterator[int]:
    """Yield where the name of a secret may begin."""
    lower = value[start:end].lower()
    if len(lower) != end - start:  # a few letters become two
        lower = "".join(c.lower() if c.isascii() else c for c in value[start:end])
    for word in ASSIGNED.keywords:
        at = lower.find(word)
        while at >= 0:
            begin = _begin(value, start + at, word, lower[max(0, at - 12) : at])
            if begin >= start:
                yield begin
            at = lower.find(word, at + len(word))


def _begin(value: str, at: int, word: str, before: str) -> int:
    if word != "key":
        return at
    if head := re.compile(_KEY_HEAD).search(before):
        return at - len(head.group())
    return at - 2 if value[max(0, at - 1) : at + 3] == "_KEY" else -1


ASSIGNED = _Assigned(
    "secret-value",
    "pass pwd psk secret token credential auth key",
    rf"(?P<name>{_NAME}{_TAIL})(?:(?:{_CLOSE}(?:{_BLOCK}|{_SEPARATOR})|{_PAIRED}|{_LISTED}|{_ATTRIBUTE}){_VALUE}|{_ENCODED})",
)
