"""Secrets that only their surroundings give away: the value goes, the name stays.

Every pattern begins at its keyword, not before it, and reads on in bounded parts: no text makes it slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keepthread.redact.assigned import ASSIGNED, says_harmless
from keepthread.redact.placeholders import (
    classes,
    is_code,
    is_mixed,
    is_number,
    is_path,
    is_placeholder,
    is_random,
    is_wordy,
)
from keepthread.redact.rules import Rule, Span


def _given(match: re.Match[str]) -> bool:
    value = match.group(match.lastindex or 0)
    return not is_placeholder(value)


def _option(match: re.Match[str]) -> bool:
    value = match.group(match.lastindex or 0)
    if is_placeholder(value) or is_number(value) or is_path(value) or says_harmless(match.group(1)):
        return False
    spaced = match.string[match.start(match.lastindex or 0) - 1] == " "
    return len(value) >= 4 and (not spaced or (len(value) >= 6 and not is_wordy(value)))


def _said(match: re.Match[str]) -> bool:
    # Without a verb, as in "invalid token X", only what looks like chance is one.
    name, value = match.group().removesuffix(match.group(2)), match.group(2)
    chance = ":" not in name and is_random(value) and not re.fullmatch("[0-9a-f]+", value)
    return _told(match) and (match.group(1) is not None or chance)


def _told(match: re.Match[str]) -> bool:
    value = match.group(match.lastindex or 0).rstrip(".:!?")
    harmless = is_placeholder(value) or is_number(value) or is_path(value) or is_code(value)
    return is_mixed(value) and len(value) >= 8 and not harmless


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

_TOLD = r"[ \t]{0,4}:?[ \t]{1,4}[\"'`“„«]?([^\s\"'`“”„«»<>(){}\[\]\\,;]{8,256})"


class _Bare(Rule):
    """A password in what would be an address had it a scheme: user:password@tcp(host), user:password@host:port/name."""

    def spans(self, value: str, start: int, end: int) -> Iterator[Span]:
        """Yield what stands between the colon and the sign."""
        for host in self.compiled.finditer(value, start, end):
            before = value[max(start, host.start() - 200) : host.start()]
            user = re.search(
                r"(?<![\w:/.@%+-])[A-Za-z_][\w.-]{0,64}:([^\s/:@\"'`<>(){},\\]{3,128})$", before
            )
            if user and not is_placeholder(user[1]) and (is_mixed(user[1]) or "(" in host.group()):
                yield host.start() - len(user[1]), host.start()


RULES: tuple[Rule, ...] = (
    Rule(
        "authorization",
        ("authorization", "bearer", "auth plain", "auth login"),
        r"(?i:authorization\\{0,7}[\"']?(?:[ \t]{0,4}[:=,][ \t]{0,4}|[ \t]{1,4}(?=[\"']))\\{0,7}[\"'`]?"
        r"(?:(?:bearer|basic|token|digest|apikey|negotiate|ssws)[ \t]{1,4})?"
        r"|\bbearer[ \t]{1,4}|\bauth[ \t](?:plain|login)[ \t])([A-Za-z0-9._~+/=:-]{8,8192})",
        _credentials,
    ),
    Rule(
        "url-password",
        "://",
        r"://(?:([^\s/:@\"'<>\[]{0,128}):([^\s/\"'<>]{1,512})|([^\s/:@\"'<>]{20,512}))@",
        _userinfo,
    ),
    Rule(  # https://token:@host, https://token:x-oauth-basic@host
        "url-password",
        "://",
        r"://([A-Za-z0-9_]{20,512}):[\w-]{0,64}@",
        lambda match: is_mixed(match.group(1)),
    ),
    Rule(  # a password with a slash in it, which should have been encoded
        "url-password",
        "sql:// mongodb:// postgres:// redis:// amqp://",
        r"(?:sql|mongodb|postgres|redis|amqp)://[^\s/:@\"'<>]{1,128}:([^\s\"'<>@/]{1,128}/[^\s\"'<>@]{1,128})@[\w.-]",
        lambda match: not match.group(1).partition("/")[0].isdigit() and _given(match),
    ),
    Rule(  # in JSON whose writer escapes slashes, and within another address
        "url-password",
        ":\\/ 3a%2f%2f",
        r":\\{1,7}/\\{1,7}/[^\s/:@\"'<>\\]{0,128}:([^\s/\"'<>\\@]{1,512})@"
        r"|(?i:%3A%2F%2F[^\s&%\"']{0,128}%3A)((?:[^\s&%\"']|%(?!40|2F|3A)[0-9A-F]{2}){1,512})(?i:%40)",
        _given,
    ),
    _Bare("url-password", "@", r"@(?:(?:tcp|udp|unix)\(|[A-Za-z][\w.-]{0,253}:[0-9]{2,5}/)"),
    Rule(
        "curl-user",
        "curl wget http xh",
        r"\b(?:(?:curl|wget)\b(?:[^\n\\]|\\[\s\S]){0,400}?[ \t](?:-[A-Za-z]{0,10}u|--user|-U|--proxy-user)|"
        r"(?:https?|xh)\b[^\n]{0,400}?[ \t](?:-a|--auth))"
        + _SPOT
        + r"[^\s:\"']{0,128}:(?!//)([^\s\"'\\]{1,256})",
        lambda match: not is_number(match.group(1)) and _given(match),
    ),
    Rule(
        "netrc",
        "password",
        r"\b(?:login|account|user)\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(\w\S{0,255}|\S{2,256})",
        _given,
    ),
    # In prose: the password is ...
    Rule(
        "told-secret",
        "pass pwd secret token",
        r"(?i:\b(?:passwor[dt]|passphrase|passcode|passwd|pwd|pass|secret|token)"
        r"([ \t]{1,4}(?:is|was|are|ist|lautet|be|to|\u00e8|\u00e9))?(?:[ \t]{1,4}(?:now|still|jetzt))?)" + _TOLD,
        _said,
    ),
    Rule(  # use the password ..., Passwort: ...
        "told-secret",
        "passwor",
        r"[Pp]asswor[dt](?:(?<=(?i:use the ).{8})|(?<=(?i:use this ).{8})|(?<=t)[ \t]?:)" + _TOLD,
        _told,
    ),
    Rule(
        "told-secret",
        "contrase passe senha wachtwoord has\u0142o l\u00f6senord \u015fifre parola "
        "\u043f\u0430\u0440\u043e\u043b\u044c "
        "\u5bc6\u7801 \u5bc6\u78bc \u53e3\u4ee4 \u30d1\u30b9\u30ef\u30fc\u30c9 \ube44\ubc00\ubc88\ud638",
        r"(?i:contrase\u00f1a|mot de passe|senha|wachtwoord|has\u0142o|l\u00f6senord|\u015fifre|parola|"
        r"\u043f\u0430\u0440\u043e\u043b\u044c|"
        r"\u5bc6\u7801|\u5bc6\u78bc|\u53e3\u4ee4|\u30d1\u30b9\u30ef\u30fc\u30c9|\ube44\ubc00\ubc88\ud638)"
        r"[ \t]{0,4}(?:[:=\uff1a\uff1d]|\u662f|\u4e3a|\u306f|(?<=[ \t])(?:es|est|is|\u00e9|\u00e8|jest|"
        r"\u00e4r)[ \t])[ \t]{0,4}"
        r"[\"'`\u201c\u201e\u00ab]?([^\s\"'`\u201c\u201d\u201e\u00ab\u00bb<>(){}\[\]\\,;\u3002\uff0c]{8,256})",
        _told,
    ),
    Rule(  # pw: ..., and what is said to be the password
        "told-secret",
        ("pw:", "pw =", "pw=", "pw is", "s the password", "s the token", "s the api key", "s my password"),
        r"(?<![A-Za-z])[Pp][Ww](?:[ \t]is|[ \t]?[:=])[ \t]{0,2}[\"'`]?([^\s\"'`<>(){}\[\]\\,;]{8,256})"
        r"|(?<![^\s\"'`(:])([^\s\"'`<>(){}\[\]\\,;]{8,256})[\"'`]?[ \t](?:as|is)(?:[ \t](?:the|my|your|"
        r"our))?(?:[ \t](?:new|root|admin))?"
        r"[ \t](?:password|passphrase|token|(?i:api)[ \t]key)\b",
        _told,
    ),
    Rule(  # of a purse
        "told-secret",
        "mnemonic phrase",
        r"(?i:mnemonic|(?:seed|recovery|secret|backup)[ \t_-]phrase)[\"']?(?:[ \t]is)?[ \t]{0,4}[:=]?[ \t]{0,4}[\"'`]?"
        r"((?:[a-z]{3,8}[ ]){11,23}[a-z]{3,8})\b",
    ),
    Rule(  # setPassword("..."), bearer_auth("...")
        "secret-value",
        ("password(", "secret(", "token(", "apikey(", "api_key(", "_auth(", "rauth("),
        r"(?i:(?:set|with)_?(?:bearer_?)?(?:password|secret|token|api_?key)|bearer_?auth)\([ \t]{0,2}\\{0,"
        r"3}[\"']([^\s\"'\\]{8,4096})[\"'\\]",
        _told,
    ),
    Rule(  # the API key is ..., secret key: ...
        "told-secret",
        "key",
        r"[Kk][Ee][Yy](?:(?<=(?i:api).{4})|(?<=(?i:access).{4})|(?<=(?i:secret).{4})|(?<=(?i:private).{4}))"
        r"(?:[ \t]{1,4}(?:is|was|to|ist|lautet)|(?<=[ ].{3})(?:[ \t]provided)?[ \t]?(?:\*\*)?:(?:\*\*)?)" + _TOLD,
        _told,
    ),
    Rule(
        "login-password",
        "login sshpass",
        r"\b(?:(?:docker|podman|nerdctl|helm|oras|crane|skopeo|buildah|az|oc|npm)[ \t][^\n]{0,"
        r"80}?login\b[^\n]{0,200}?[ \t]-p|"
        r"sshpass[ \t]{1,4}-p)"
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
    Rule(  # of programs whose long options have one dash
        "option",
        (" -pass", " -secret", " -token", " -credential"),
        r" -((?i:password|passwd|passphrase|secret|token|credential))[ =]\\?[\"']?([^\s\"'\\=-][^\s\"'\\]{2,4096})",
        lambda match: is_mixed(match.group(2)) and _option(match),
    ),
    Rule(
        "cookie",
        "cookie",
        r"(?i:cookie)\\?[\"']?[ \t]{0,4}[:=,][ \t]{0,4}(?:\[\s{0,40})?\\?[\"']?[ \t]{0,4}"
        r"[^\s=;,\"']{1,128}=([^\s;,\"'\\]{8,4096})",
        _credentials,
    ),
    Rule(
        "cookie",
        "cookie curl sessid sessionid",
        rf"(?:(?<=; )|(?<=;)|(?<=-b )|(?<=-b [\"'])|(?<=cookie )|(?<=cookie [\"'])|"
        rf"\b(?=PHPSESSID|JSESSIONID)){_SESSION}=([^\s;,\"'\\]{{8,4096}})",
        _credentials,
    ),
    Rule(  # CREATE USER ada WITH PASSWORD '...', ALTER USER ada IDENTIFIED BY '...'
        "sql-password",
        "password identified",
        r"(?i:\bset[ \t]password\b[^\n;]{0,120}?=|\bidentified[ \t]{1,4}(?:with[ \t]{1,4}\S{1,40}[ \t]{1,"
        r"4})?by(?:[ \t]{1,4}password)?"
        r"|\b(?:user|role|login)\b[^\n;]{0,200}?[ \t]password)[ \t]{1,4}\\{0,7}['\"]([^'\"\\\n]{4,256})",
        _given,
    ),
    Rule(  # HTTPBasicAuth("ada", "..."), auth=("ada", "..."), db.auth("ada", "...")
        "basic-auth",
        "basicauth auth( auth=( auth=[",
        r"[Aa]uth(?<![A-Za-z]auth)=?[(\[][ \t]{0,4}\\{0,7}['\"][^'\"\\\n]{1,128}\\{0,7}['\"],"
        r"[ \t]{0,4}\\{0,7}['\"]([^'\"\\\n]{4,256})",
        _given,
    ),
    Rule(  # {"auths": {"host": {"auth": "..."}}} of a registry's login
        "stored-key",
        "\"auth\" 'auth' auth\\ identitytoken",
        r"['\"](?:auth|identitytoken)\\{0,7}['\"][ \t]{0,4}:[ \t]{0,4}\\{0,7}['\"]([A-Za-z0-9+/_-]{16,4096}={0,2})",
        _credentials,
    ),
    Rule(  # a private JSON Web Key
        "stored-key",
        "kty",
        r"['\"](?:d|p|q|dp|dq|qi|k)\\{0,7}['\"][ \t]{0,4}:[ \t]{0,4}\\{0,7}['\"]([A-Za-z0-9_-]{40,2048})",
        lambda match: is_mixed(match.group(1)),
    ),
    Rule(  # the private lines of a PuTTY key
        "private-key",
        "private-lines",
        r"Private-Lines:[ \t]{0,4}[0-9]{1,4}((?:(?:\r?\n|\\{1,4}n)[ \t+]{0,8}[A-Za-z0-9+/=]{16,128}){1,200})",
    ),
    ASSIGNED,
    Rule(  # <password>value</password>
        "secret-value",
        "password> token> secret> key> password\"> token\"> secret\"> key\"> </key>",
        r"(?i:password|token|secret|api[_-]?key)(?:[\"']?>\s{0,40}(?:<!\[CDATA\[)?|</key>\s{0,40}<string>)"
        r"([^<>\s\]]{8,4096})(?=\s{0,40}(?:\]\]>)?</)",
        _credentials,
    ),
)  # fmt: skip
