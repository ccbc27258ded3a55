"""Secrets that only their surroundings give away: the value goes, the name stays.

Every pattern begins at its keyword, not before it, and reads on in bounded parts: no text makes it slow.
"""

from __future__ import annotations

import re

from keepthread.redact.placeholders import (
    classes,
    is_code,
    is_mixed,
    is_number,
    is_path,
    is_placeholder,
    is_plain_url,
    is_wordy,
)
from keepthread.redact.rules import Rule

# Names that hold a secret. A name goes on only after a separator or in camel case: "tokenizer" is no token.
_NAME = (
    r"(?i:pass(?:word|phrase|wd|code)|(?<![a-z])pass|pwd|secret|token|credential|(?<=[_-])auth|"
    r"(?:api|access|account|private|secret|signing|encryption|master|deploy|service|shared|license|"
    r"webhook|storage|client|auth|anon|role)[_-]?key|(?-i:[A-Z0-9]_KEY))"
)
_TAIL = r"[sS]?(?:[_-][A-Za-z0-9]{1,24}|[A-Z][a-z0-9]{1,24}|[0-9]{1,4}){0,4}"
_CLOSE = r"(?:\\{0,3}[\"'`]\]?)?"
_ANNOTATED = r":[ \t]{0,4}[A-Za-z_][\w.\[\]|]{0,40}(?: \| [\w.\[\]]{1,40})?[ \t]{0,4}="
_SEPARATOR = rf"[ \t]{{0,8}}(?:{_ANNOTATED}|={{1,3}}>?|:=|:)[ \t]{{0,8}}"
_LISTED = r"\\{0,3}[\"'][ \t]{0,4},[ \t]{0,4}(?=\\{0,3}[\"'])"  # set("TOKEN", "...")
_ATTRIBUTE = r"\\{0,3}[\"'][ \t]{1,4}value[ \t]?=[ \t]?"  # <add key="..." value="..."/>

# A quoted value may be wrapped: lines of nothing but token characters, up to the closing quote.
_WRAP = r"(?:(?:\\?\r?\n[ \t]{0,32}[\w+/=.~-]{2,4096}){1,8}(?=QUOTE))?"


def _quoted(quote: str) -> str:
    body = rf"(?:[^{quote}\\\r\n]|\\[^\r\n]){{1,4096}}"
    return rf"{quote}({body}{_WRAP.replace('QUOTE', quote)})"


# Text inside a JSON string, where the quotes themselves are escaped.
_ESCAPED = (
    r"\\{1,3}[\"'](" + r"[^\"'\\\r\n]{1,4096}" + _WRAP.replace("QUOTE", r"\\{1,3}[\"']") + ")"
)
_BARE = r"((?:[^\s\"'`<>{};|&\\,]|[;|&,](?!&?[\w.-]{1,40}=|[\s;|&,\"']|$)|\\\r?\n?){3,4096})"
_VALUE = rf"(?:[bfruBFRU@]{{0,2}}(?:{_quoted(chr(34))}|{_quoted(chr(39))}|{_quoted('`')})|{_ESCAPED}|{_BARE})"

_HARMLESS_TAIL = re.compile(
    r"(?i:(?:[_-]?(?:id|url|uri|path|paths|file|files|filename|dir|name|names|type|types|length|len|size|count|"
    r"counts|limit|limits|expiry|expires|expiration|ttl|field|header|prefix|suffix|regex|pattern|env|var|ref|arn|"
    r"version|policy|label|hint|hash|status|usage|used|budget|window|index|endpoint|format|ring|store|text|class))$)"
)
_HARMLESS_HEAD = re.compile(
    r"(?i:(?:cache|primary|foreign|sort|partition|public|unique|composite|registry|idempotency|object|group|"
    r"row|hash|range|shard|routing|dict|map|json|lookup|s3|state|query|storage|translation|i18n)[_-]?)$"
)
_SURE = re.compile(r"(?i:pass|pwd|secret|token|credential)")


def looks_secret(name: str, value: str, *, quoted: bool, assigned: bool) -> bool:
    """Return whether `value` is a secret, given that it stands behind `name`.

    Args:
        name: the last part of the name, from its keyword on.
        value: what was assigned, without quotes.
        quoted: it stood in quotes; unquoted text is more often code.
        assigned: it stood behind "NAME=" in capitals, as in an environment file.
    """
    bare = value.strip().rstrip(";,.)") if not quoted else value.strip()
    if len(bare) < 8 or is_placeholder(bare) or is_number(bare) or is_plain_url(bare):
        return False
    if _HARMLESS_TAIL.search(name) or is_path(bare):
        return False
    if assigned and _SURE.match(name):
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


def gives_away(key: str, value: str) -> bool:
    """Return whether the member `key` of a JSON object holds a secret in `value`."""
    match = re.search(rf"{_NAME}{_TAIL}$", key[-64:])
    return match is not None and looks_secret(match.group(), value, quoted=True, assigned=False)


def _assigned(match: re.Match[str]) -> bool:
    name = match.group("name")
    if _HARMLESS_HEAD.search(match.string, max(0, match.start() - 16), match.start()):
        return False
    if name[1:] == "_KEY" and _HARMLESS_HEAD.search(
        match.string, max(0, match.start() - 16), match.start() + 1
    ):
        return False
    last = match.lastindex or 0
    before = match.string[match.start(last) - 1]
    quoted = before in "\"'`"
    gap = match.string[match.end("name") : match.start(last)]
    return looks_secret(
        name, match.group(last), quoted=quoted, assigned=name.isupper() and gap.strip("\"'") == "="
    )


def _given(match: re.Match[str]) -> bool:
    value = match.group(match.lastindex or 0)
    return not is_placeholder(value)


def _option(match: re.Match[str]) -> bool:
    value = match.group(match.lastindex or 0)
    if (
        is_placeholder(value)
        or is_number(value)
        or is_path(value)
        or _HARMLESS_TAIL.search(match.group(1))
    ):
        return False
    spaced = match.string[match.start(match.lastindex or 0) - 1] == " "
    return len(value) >= 4 and (not spaced or (len(value) >= 6 and not is_wordy(value)))


def _credentials(match: re.Match[str]) -> bool:
    value = match.group(match.lastindex or 0)
    return not is_placeholder(value) and (
        is_mixed(value) or value.endswith("=") or classes(value) > 2
    )


def _userinfo(match: re.Match[str]) -> bool:
    value = match.group(match.lastindex or 0)
    return _given(match) and (match.group(1) is not None or is_mixed(value))


_SESSION = r"(?i:[\w.-]{0,24}(?:sess|sid|token|auth|jwt|csrf|xsrf|login|remember)[\w.-]{0,24})"
_SPOT = r"[ =]{0,2}\\?[\"']?"

RULES: tuple[Rule, ...] = (
    # https://www.rfc-editor.org/rfc/rfc9110#name-authorization
    Rule(
        "authorization",
        "authorization bearer",
        r"(?i:authorization\\{0,3}[\"']?[ \t]{0,4}[:=,][ \t]{0,4}\\{0,3}[\"'`]?"
        r"(?:(?:bearer|basic|token|digest|apikey|negotiate)[ \t]{1,4})?"
        r"|\bbearer[ \t]{1,4})([A-Za-z0-9._~+/=:-]{8,8192})",
        _credentials,
    ),
    # https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1
    Rule(
        "url-password",
        "://",
        r"://(?:([^\s/:@\"'<>]{0,128}):([^\s/\"'<>]{1,512})|([^\s/:@\"'<>]{20,512}))@",
        _userinfo,
    ),
    # https://curl.se/docs/manpage.html#-u
    Rule(
        "curl-user",
        "curl wget http xh",
        r"\b(?:curl|https?|xh|wget)\b[^\n]{0,400}?[ \t](?:-u|--user|-U|--proxy-user|-a|--auth)"
        + _SPOT
        + r"[^\s:\"']{0,128}:([^\s\"'\\]{1,256})",
        _given,
    ),
    # https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html
    Rule("netrc", "password", r"\b(?:login|account|user)\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(\S{1,256})", _given),
    # https://docs.docker.com/reference/cli/docker/login/
    Rule(
        "login-password",
        "login sshpass mysql mariadb mongo psql redis",
        r"\b(?:(?:docker|podman|helm|oras|skopeo|buildah|az|npm)[ \t][^\n]{0,80}?login\b[^\n]{0,200}?[ \t]-p|"
        r"sshpass[ \t]{1,4}-p|"
        r"(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,200}?[ \t]-p|mongo(?:sh|dump|restore)?\b[^\n]{0,200}?[ \t]-p|"
        r"redis-cli\b[^\n]{0,200}?[ \t]-a)"
        + _SPOT
        + r"([^\s\"'=-][^\s\"'\\]{2,256})",
        _given,
    ),
    Rule(
        "option",
        "--",
        r"--(?:[A-Za-z0-9]{1,24}-){0,3}((?i:password|passwd|passphrase|pass|token|secret|credential|api-?key|access-?key|auth-?key|private-?key)"
        r"(?:-[a-z0-9]{1,16}){0,2})[ =]\\?[\"']?([^\s\"'\\=-][^\s\"'\\]{2,4096})",
        _option,
    ),
    # https://www.rfc-editor.org/rfc/rfc6265: the first pair of Set-Cookie, any pair of Cookie
    Rule(
        "cookie",
        "cookie",
        r"(?i:cookie)\\?[\"']?[ \t]{0,4}[:=,][ \t]{0,4}\\?[\"']?[ \t]{0,4}[^\s=;,\"']{1,128}=([^\s;,\"'\\]{8,4096})",
        _credentials,
    ),
    Rule(
        "cookie",
        "cookie curl sessid sessionid",
        rf"(?:(?<=; )|(?<=;)|(?<=-b )|(?<=-b [\"'])|(?<=cookie )|(?<=cookie [\"'])|"
        rf"\b(?=PHPSESSID|JSESSIONID)){_SESSION}=([^\s;,\"'\\]{{8,4096}})",
        _credentials,
    ),
    Rule(
        "secret-value",
        "pass pwd secret token credential auth key",
        rf"(?P<name>{_NAME}{_TAIL})(?:{_CLOSE}{_SEPARATOR}|{_LISTED}|{_ATTRIBUTE}){_VALUE}",
        _assigned,
    ),
    Rule(  # <password>value</password>
        "secret-value",
        "password> token> secret> key>",
        r"<[^\s<>]{0,40}?(?i:password|token|secret|apikey|api[_-]key)>([^<>\s]{8,4096})</",
        _credentials,
    ),
)  # fmt: skip
