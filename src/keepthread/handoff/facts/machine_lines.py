"""Lines that a program wrote or reads: pasted logs, traces, test reports, code. What people type may begin like one."""

from __future__ import annotations

from keepthread.handoff.facts.text import lazy

_LOOK = 300
# Forms that no sentence has.
_CERTAIN = lazy(
    r"^\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:|\d\d:\d\d:\d\d"
    r"|(?i:\[(?:info|warn(?:ing)?|error|debug|trace|fatal|\d+)\])|(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL)\s*[:|\[(]"
    r"|at \S+ ?\(|at \S+:\d+|File \"[^\"]*\", line|Traceback \(|E\s{2,}\S|npm (?:ERR!|(?:WARN|warn|error|notice)\b)"
    r"|[❯│⎿⏺─└├┌┐┘┤┬┴┼═║]|\+\+\+ |--- a/|@@ |//|/\*"
    r"|</?[\w-]*-[\w-]*[\s>]|<[^>]*>.*</|</?[\w-]+(?:\s[^>]*)?/?>\s*$|<[\w-]+\s+[\w-]+=|<!"
    r"|import\s+(?:['\"{*]|.*\sfrom\s+['\"]|[\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+)*\s*;?\s*$|static\s)"
    r"|from \S+ import\b"
    r"|(?:async\s+)?def \w+\s*[(\[]|class \w+\s*[({:]|class \w+ (?:extends|implements)\b|func\s*(?:\(|\w+\s*[(\[])"
    r"|(?:const|let|var)\s+[\w{\[(][^=]*=|return\s*(?:;|$)|return\s+[^\s,]+\s*;?\s*$|return\s+[\w.]+\(.*\)\s*;?\s*$"
    r"|return\s.*;\s*$|(?:if|for|while|switch)\s*\(.*(?:\{|\)|\)\s*(?:return|throw|continue|break)\b.*)\s*;?\s*$"
    r"|[\w./\\-]+:\d+(?::\d+)?(?::|\s+-\s|\s+(?:error|warning)\b)|(?:[\w$]+\.)*\w+(?:Error|Exception):"
    r"|[\w.]+\([^()]*(?:\([^()]*\)[^()]*)*\)(?:[\w.]*\([^()]*\)|\.\w+)*\s*;?(?:\s*(?://|#).*)?$)"
    r"|\(\d+ ?m?s\)\s*$|[│├└┤║]",
)
# Forms that a short sentence of its own may have too, and a listed one.
_LIKELY = lazy(
    r"^\s*(?:(?:[Ee]rror|[Ww]arning)(?:\[\w+\]| \w*\d+)?:|(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL)\b|[✗✓✖✔✘●√×]"
    r"|</?[a-z])|\w+Error: "
)
_PROMPT = lazy(r"^\s*\$ (?=\S)")
_SHELL = lazy(r"\s-{1,2}\w|[|&<>=`'\"]|/\w")
_CODE_END = lazy(r"[{};]\s*$")
_LITERAL = lazy(r"(?<!\w)([\"'`]).*?\1|\s//.*$")
_CODE = lazy(
    r"=|->|::|:\s*never\b|^\s*[{}]|\)\s*[:{]"
    r"|^\s*(?:function|public|private|protected|static|throw|export|type|interface|async|await|fn|pub|struct|enum|else"
    r"|case|default|try|catch|void|new|use|package|namespace|declare|readonly|abstract)\b"
)
_PLAIN = lazy(r"(?<![\w.$(])[^\W\d_]+(?=[\s,.;:!?]|$)")
_LEAST_WORDS = 2


def is_machine(line: str, *, typed: bool = False) -> bool:
    """Return whether a line is a program's.

    Args:
        line: one line; only its beginning is looked at.
        typed: it stands alone or in a list, so that only what no sentence looks like speaks against it.
    """
    head = line[:_LOOK]
    if _CERTAIN.search(head):
        return True
    if not typed and _LIKELY.search(head):
        return True
    if _PROMPT.match(head) and _SHELL.search(head[2:]):
        return True
    return bool(_CODE_END.search(head)) and not _is_prose(head)


def without_literals(line: str) -> str:
    """Return a line of code without its strings and its comment: what is written there binds nobody."""
    return _LITERAL.sub(" ", line)


def _is_prose(line: str) -> bool:
    """Return whether a line that ends like code is a sentence about code: "never use eval();"."""
    bare = without_literals(line)
    return not _CODE.search(bare) and len(_PLAIN.findall(bare)) >= _LEAST_WORDS
