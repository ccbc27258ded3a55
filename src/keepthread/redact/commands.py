"""Secrets on command lines: only the command, or the option's place in it, tells what they are.

Every pattern begins at its command and reads on in bounded parts of one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keepthread.redact.assigned import says_harmless
from keepthread.redact.placeholders import (
    is_mixed,
    is_number,
    is_path,
    is_placeholder,
    is_plain_url,
    is_random,
    is_wordy,
)
from keepthread.redact.rules import Rule, Span

_GAP = r"[ \t]{1,4}"
_SPOT = r"[ \t]{0,4}\\?[\"']?"
_VALUE = r"([^\s\"'\\|<>=-][^\s\"'\\|<>]{2,4096})"
_TELLING = r"(?i:passw|pwd|passphrase|secret|token|credential|auth|api[_-]?key|access[_-]?key|private[_-]?key)"
_PAIR = r"[ \t][\"']?(?:--from-literal[= ])?([\w.@/:-]{1,80})=\\?[\"']?([^\s\"'\\]{4,4096})"
_ORACLE = (
    r"[\"']?(?<![\w/.-])[A-Za-z][\w$#]{0,60}(?:\[\w{1,60}\])?/\\?[\"']?([^\s\"'/@\\]{2,128})\\?[\"']?"
    r"@(?!v?[0-9]+(?:\.|\s|$))(?=[\w/(])"
)
_ARGUMENTS = r"\b[^\n]{0,200}?[ \t]"
_NAME = rf"[\"']?([\w.:]{{0,40}}?(?:{_TELLING}|PASS\b|_KEY\b)[\w.:]{{0,40}})[\"']?"
_LINE = 2_000  # characters of one command that are looked through


def _given(match: re.Match[str]) -> bool:
    value = match.group(match.lastindex or 0)
    return not (is_placeholder(value) or is_path(value) or value.isdigit())


def _connected(match: re.Match[str]) -> bool:
    # Prose connects too; SQL does so at the beginning of a line, and `sql user/password@host:port` names a port.
    before = (
        match.string[max(0, match.start() - 40) : match.start()]
        .rpartition("\n")[2]
        .strip(" \t\"'`$")
    )
    after = match.string[match.end() : match.end() + 100]
    plain = (
        before in ("", "SQL>", "+")
        or match.group().startswith("CONN")
        or re.match(r"[\w.-]{0,80}:[0-9]{2,5}[/:]", after) is not None
    )
    return plain and _given(match)


def _configured(match: re.Match[str]) -> bool:
    name, value = match.group(1), match.group(2)
    harmless = is_placeholder(value) or is_number(value) or is_path(value) or is_plain_url(value)
    sure = len(value) >= 16 or not is_wordy(value) or re.search(r"(?i:_auth|passw\w*)$", name)
    return bool(sure) and not harmless and not says_harmless(name)


def _stored(name: str, value: str) -> bool:
    random = len(value) >= 16 and is_mixed(value)
    return _plainly(name, value) and (random or not says_harmless(name))


def _variable(name: str, value: str) -> bool:
    return _plainly(name, value) and len(value) >= 8 and is_mixed(value)


def _plainly(name: str, value: str) -> bool:
    harmless = is_placeholder(value) or is_number(value) or is_path(value) or is_plain_url(value)
    return not harmless and not re.fullmatch(r"(?i)ttl|user(?:name)?|host|port|region", name)


class _Pairs(Rule):
    """A rule whose command is followed by any number of NAME=value."""

    def spans(self, value: str, start: int, end: int) -> Iterator[Span]:
        """Yield the values of the pairs up to the end of the line."""
        accepts = _stored if self.name == "stored-secret" else _variable
        for match in self.compiled.finditer(value, start, end):
            stop = value.find("\n", match.end(), match.end() + _LINE)
            stop = min(end, match.end() + _LINE) if stop < 0 else stop
            for pair in re.compile(_PAIR).finditer(value, match.end(), stop):
                if accepts(pair.group(1), pair.group(2)):
                    yield pair.span(2)


RULES: tuple[Rule, ...] = (
    Rule(
        "configured-secret",
        "config env:set",
        r"\b(?:configure" + _GAP + r"set|(?:config|env)(?::set)?(?:" + _GAP + r"set)?)\b"
        r"(?:[ \t]{1,4}--?[\w.-]{1,40}(?:[= ][^\s-]\S{0,80})?){0,4}" + _GAP + r"[\"']?"
        r"([\w./:@*-]{0,80}?" + _TELLING + r"[\w./:-]{0,80})[\"']?[ \t=]{1,4}\\?[\"']?" + _VALUE,
        _configured,
    ),
    Rule(  # composer config http-basic.host user X, poetry config http-basic.name user X
        "configured-secret",
        "http-basic",
        r"\bconfig\b[^\n]{0,40}?[ \t]http-basic\.[\w.-]{1,80}" + _GAP + r"\S{1,80}" + _GAP + r"[\"']?" + _VALUE,
        _given,
    ),
    Rule(  # ENV NAME value of a Dockerfile, jq --arg NAME value
        "configured-secret",
        ("env ", "--arg"),
        r"(?:ENV|--arg(?:str)?)" + _GAP + _NAME + r"[ \t]{1,4}\\?[\"']?" + _VALUE,
        _configured,
    ),
    Rule(
        "configured-secret",
        "requirepass masterauth rootpw ::add-mask::",
        r"\b(?:requirepass|masterauth|rootpw(?:[ \t]{1,4}--\w{1,16})?)[ \t]{1,4}[\"']?" + _VALUE
        + r"|::add-mask::([^\s\"'$]{4,4096})",
        _given,
    ),
    Rule(  # setx NAME value, setenv NAME value, set -gx NAME value
        "configured-secret",
        ("setx ", "setenv ", "set -"),
        r"\b(?i:setx|setenv|set(?:" + _GAP + r"-[gxUul]{1,4}){1,3})" + _GAP + _NAME + r"[ \t]{1,4}\\?[\"']?"
        + _VALUE.replace("<>", "<>;&"),
        _configured,
    ),
    _Pairs(
        "stored-secret",
        "vault secret",
        r"\bvault" + _GAP + r"(?:kv" + _GAP + r")?(?:put|patch|write)\b"
        r"|\bkubectl\b[^\n]{0,80}?[ \t]create" + _GAP + r"secret\b|\bsecrets" + _GAP + r"set\b",
    ),
    _Pairs("variable", "config:set env:set vars", r"\b(?:config|env|variables):set\b|\bset-env-vars\b"),
    Rule(
        "stored-secret",
        "secret",
        r"\bsecrets?[ \t](?:set|create|put|add)\b[^\n]{0,120}?[ \t](?:-b|--body|--value|--data|-v)[ =]?"
        + _SPOT + _VALUE,
        _given,
    ),
    Rule(  # echo X | docker login --password-stdin, and whatever else reads a secret from its input
        "piped-secret",
        "stdin with-token secret sudo passwd login fd cryptsetup",
        r"\b(?:echo|printf)(?:[ \t]{1,4}-[neE]{1,3})?(?:[ \t]{1,4}[\"']?%s(?:\\n)?[\"']?)?" + _GAP + r"\\?[\"']?"
        r"([^\s\"'|<>\\-][^\n\"'|<>\\]{3,512}?)\\?[\"']?[ \t]{0,4}\|[^\n|]{0,200}?"
        r"(?:--pass(?:word|phrase)-stdin|--stdin|--with-token|passphrase-fd|\bsudo[ \t]{1,4}-\w{0,4}S|\bchpasswd|"
        r"\bsecrets?[ \t]{1,4}(?:set|create|put|add)|\bvault[ \t]{1,4}login|\bhtpasswd[ \t]|\bcryptsetup[ \t]|"
        r"-pass(?:in|out)?[ \t]{1,4}stdin)",
        _given,
    ),
    Rule(
        "piped-secret",
        "<<<",
        r"(?:--password-stdin|--with-token|--stdin|\bsecrets?[ \t]{1,4}(?:set|create|put|add)|\bsecret-tool[ "
        r"\t]{1,4}store|"
        r"\bchpasswd|\bsudo[ \t]{1,4}-\w{0,4}S|\bkinit|\bcryptsetup|\benv[ \t]{1,4}add)\b[^\n]{0,120}?<<<"
        + _SPOT + _VALUE,
        _given,
    ),
    Rule(  # where a file is asked for, and the shell makes one
        "piped-secret",
        "<(",
        r"(?i:pass(?:word|phrase)?|secret|token|-p)[\w-]{0,16}[ =]<\((?:echo|printf)(?:[ \t]{1,4}-[neE]{1,3})?" + _GAP
        + r"\\?[\"']?" + _VALUE.replace("<>", "<>)"),
        _given,
    ),
    Rule(  # aws ssm put-parameter --name N --value X --type SecureString
        "stored-secret",
        "securestring",
        r"\bput-parameter\b(?=[^\n]{0,600}?SecureString)[^\n]{0,300}?[ \t]--value[ =]" + _SPOT + _VALUE,
        _given,
    ),
    Rule(
        "login-password",
        "convertto-securestring",
        r"(?i:ConvertTo-SecureString)(?:[ \t]{1,4}-String)?[ \t]{1,4}\\?[\"']([^\"'\\\n]{3,512})",
        _given,
    ),
    Rule(  # sqlplus user/password@name, CONNECT user/password@name
        "oracle-login",
        ("sqlplus ", "sqlcl ", "impdp ", "expdp ", "sqlldr ", "rman ", "userid=", ":thin:"),
        r"(?:sqlplus|sqlcl|impdp|expdp|sqlldr|rman|(?i:userid=|oracle:thin:))(?:[ \t]{1,4}(?:-\w{1,8}|target|"
        r"userid=)){0,4}[ \t]{0,4}"
        + _ORACLE,
        _given,
    ),
    Rule(
        "oracle-login",
        ("connect ", "conn ", "sql "),
        r"(?:[Cc][Oo][Nn][Nn](?:[Ee][Cc][Tt])?|sql)[ \t]{1,4}" + _ORACLE,
        _connected,
    ),
    Rule(
        "login-password",
        "openssl",
        r"\bopenssl\b[^\n]{0,200}?[ \t](?:-k[ \t]{1,4}|-(?:pass|passin|passout)[ \t]{1,4}\\?[\"']?pass:)"
        + _SPOT + _VALUE,
        _given,
    ),
    Rule(
        "login-password",
        "htpasswd",
        r"\bhtpasswd\b(?:[ \t]{1,4}-[A-Za-z]{1,8}){0,4}[ \t]{1,4}-[A-Za-z]{0,4}b[A-Za-z]{0,4}"
        r"(?:[ \t]{1,4}-\w{1,4}){0,3}[ \t]{1,4}\S{1,200}[ \t]{1,4}(?:[^\s-]\S{0,80}[ \t]{1,4})?" + _SPOT + _VALUE,
        _given,
    ),
    Rule(
        "login-password",
        ("ldap", "sqlcmd", "bcp", "cqlsh", "smbclient", "keytool", "jarsigner", "zip", "7z", "rar x ", "rar a ",
         "rar e ", "clickhouse", "mosquitto", "isql"),
        r"\b(?:(?:ldap(?:search|modify|add|delete|passwd|whoami))\b[^\n]{0,200}?[ \t]-w|"
        r"(?:sqlcmd|bcp|isql|mosquitto_(?:pub|sub)|zip|unzip)\b[^\n]{0,200}?[ \t]-P|cqlsh\b[^\n]{0,200}?[ \t]-p|"
        r"(?:keytool|jarsigner)\b[^\n]{0,200}?[ \t]-(?:store|key|deststore|srcstore)pass|"
        r"(?:7z[ar]?|(?:un)?rar)[ \t][^\n]{0,80}?[ \t]-h?p(?=\S)|"
        r"smbclient\b[^\n]{0,200}?[ \t]-U[ \t]{0,4}[^\s%]{1,80}%)" + _SPOT + _VALUE,
        _given,
    ),
    Rule(
        "login-password",
        "mysql mariadb psql mongo redis",
        r"\b(?:(?:mysql|mariadb)(?:dump|admin|import|check|show|slap|pump|sh)?\b[^\n]{0,200}?[ \t]-p(?=\S)|"
        r"mongo\w{0,12}\b[^\n]{0,200}?[ \t]-p[ \t]{0,4}|"
        r"redis-(?:cli|benchmark)\b[^\n]{0,200}?[ \t]-a[ \t]{0,4})\\?[\"']?"
        + _VALUE,
        _given,
    ),
    Rule(
        "login-password",
        "twine psexec rdesktop useradd usermod keychain",
        r"\b(?:twine|psexec(?:64)?|rdesktop|useradd|usermod|"
        r"security[ \t]{1,4}(?:unlock|create|set)-keychain\w{0,10})" + _ARGUMENTS + r"-p[ \t]{1,4}\\?[\"']?" + _VALUE,
        _given,
    ),
    Rule(
        "login-password",
        ("ssh-keygen", "security add-", "security import"),
        r"\bssh-keygen" + _ARGUMENTS + r"-[NP][ \t]{1,4}\\?[\"']?" + _VALUE
        + r"|\bsecurity[ \t]{1,4}(?:add-(?:generic|internet)-password" + _ARGUMENTS + r"-w|import" + _ARGUMENTS
        + r"-P)[ \t]{1,4}\\?[\"']?" + _VALUE,
        _given,
    ),
    Rule(  # vault login X, bw unlock X: nothing but the place tells
        "login-password",
        ("vault login", "cargo login", "bw unlock", "bw login", "wpa_pass", "nmcli ", "rclone ", "openssl passwd"),
        r"\b(?:(?:vault|cargo)[ \t]{1,4}login|bw[ \t]{1,4}(?:unlock|login[ \t]{1,4}\S{1,80})|wpa_passphrase[ "
        r"\t]{1,4}\S{1,80}|"
        r"nmcli" + _ARGUMENTS + r"password|rclone" + _ARGUMENTS + r"pass|"
        r"openssl[ \t]{1,4}passwd(?:[ \t]{1,4}-\w{1,8}){0,3})[ \t]{1,4}\\?[\"']?" + _VALUE,
        lambda match: is_mixed(match.group(1)) and _given(match),
    ),
    Rule(
        "login-password",
        ("lftp ", "mc alias", "mc config"),
        r"\blftp\b[^\n]{0,200}?[ \t]-u[ \t]{0,4}[\"']?[^\s,\"']{1,80}," + _VALUE
        + r"|\bmc[ \t]{1,4}(?:alias|config[ \t]host)[ \t]{1,4}(?:set|add)(?:[ \t]{1,4}\S{1,200}){3}[ \t]{1,"
        r"4}[\"']?" + _VALUE,
        _given,
    ),
    Rule(  # net user NAME X /add, net use Z: \\\\host /user:NAME X, xfreerdp /p:X, schtasks /rp X
        "login-password",
        ("net user ", "net use ", "freerdp", "schtasks"),
        r"(?i:\bnet[ \t]{1,4}user[ \t]{1,4}\S{1,80}[ \t]{1,4}([^\s/\"']\S{2,128})(?=[ \t]{1,4}/[a-z])"
        r"|\bnet[ \t]{1,4}use\b[^\n]{0,200}?[ \t]/u(?:ser)?:\S{1,80}[ \t]{1,4}" + _VALUE
        + r"|freerdp\b[^\n]{0,200}?[ \t]/p:" + _VALUE + r"|\bschtasks\b[^\n]{0,200}?[ \t]/rp[ \t]{1,4}" + _VALUE + ")",
        _given,
    ),
    Rule(
        "login-password",
        "doctl storepassword keypassword",
        r"(?:\bdoctl\b[^\n]{0,80}?[ \t](?:-t|--access-token)|\b(?:store|key)Password)" + _SPOT + _VALUE,
        _given,
    ),
    Rule(  # what a signed address grants to whoever has it
        "signed-url",
        "signature= sig=",
        r"(?i:\bX-(?:Amz|Goog|Oss|Cos|Tos)-Signature|(?<=[?&;])(?:sig|signature)|(?<=\\u0026)sig)=([A-Za-z0-9%+/_=~-]{16,2048})",
        lambda match: is_mixed(match.group(1)) and _given(match),
    ),
    Rule(  # ?key=..., the code of a sign-in
        "signed-url",
        "key= appid= code=",
        r"(?<=[?&])(?:api_?key|key|appid|code)=([A-Za-z0-9%._/+~-]{24,512}={0,2})",
        lambda match: is_random(match.group(1)) or re.fullmatch("[0-9a-f]{32,}", match.group(1)) is not None,
    ),
)  # fmt: skip
