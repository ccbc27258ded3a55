"""Test, build, lint and type-check runs: which commands are such, and what they came to in one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from keepthread.handoff.facts.shell import Piece, simple
from keepthread.handoff.facts.text import lazy, one_line, word_set

_TOOLS = word_set(
    """pytest py.test tox nox jest vitest mocha ava tap tsc vue-tsc eslint ruff mypy pyright basedpyright flake8 pylint
    phpunit pest phpstan psalm rspec rubocop ctest ninja golangci-lint staticcheck biome oxlint stylelint shellcheck
    hadolint ktlint detekt swiftlint credo dialyzer clippy-driver xcodebuild gradle gradlew mvn mvnw make just
    pre-commit unittest turbo nx"""
)
_SUBCOMMANDS: dict[str, frozenset[str]] = {
    "cargo": frozenset(("test", "nextest", "check", "clippy", "build", "bench", "fmt")),
    "go": frozenset(("test", "vet", "build")),
    "dotnet": frozenset(("test", "build", "publish")),
    "swift": frozenset(("test", "build")),
    "mix": frozenset(("test", "compile", "credo", "dialyzer")),
    "rake": frozenset(("test", "spec")),
    "flutter": frozenset(("test", "analyze", "build")),
    "dart": frozenset(("test", "analyze")),
    "deno": frozenset(("test", "check", "lint")),
    "bun": frozenset(("test", "build")),
    "bazel": frozenset(("test", "build")),
    "zig": frozenset(("build", "test")),
    "sbt": frozenset(("test", "compile")),
    "lein": frozenset(("test",)),
    "playwright": frozenset(("test",)),
    "cypress": frozenset(("run",)),
    "ng": frozenset(("test", "build", "lint")),
    "next": frozenset(("build", "lint")),
    "vite": frozenset(("build",)),
    "docker": frozenset(("build",)),
    "rails": frozenset(("test",)),
    "cmake": frozenset(("--build",)),
    "prettier": frozenset(("--check", "-c")),
    "black": frozenset(("--check",)),
}  # fmt: skip
_SCRIPT = lazy(
    r"(?:test|tests|spec|build|lint|check|typecheck|type-check|tsc|e2e|ci|verify|validate|compile|coverage|format:check)(?:[:\-_.].*)?|.*[:\-_](?:test|tests|build|lint|check|typecheck|e2e)"
)
_NODE_MANAGERS = frozenset(("npm", "pnpm", "yarn", "bun"))
_NODE_BUILTINS = frozenset(
    (
        "install",
        "i",
        "add",
        "ci",
        "exec",
        "dlx",
        "create",
        "publish",
        "remove",
        "init",
        "link",
        "why",
        "x",
    )
)
_NODE_RUN = frozenset(("run", "run-script", "workspace", "exec"))
_NODE_PLACE = frozenset(
    ("--filter", "-F", "--prefix", "-C", "--cwd", "-w", "--workspace", "workspace")
)
_RUNNERS = frozenset(("npx", "bunx", "uvx", "pipx", "xvfb-run", "dotenv"))
_RUN_WITH = frozenset(
    ("uv", "poetry", "pdm", "hatch", "rye", "pipenv", "conda", "mise", "direnv", "bundle")
)
_SCRIPT_FILE = lazy(
    r"(?:^|/)(?:run[-_]?)?(?:tests?|checks?|build|lint|ci)(?:[-_]\w+)?\.(?:sh|py|js|mjs|ts|ps1|cmd|bat)$|^(?:\./)?(?:\.ci/run|configure)$"
)

Pattern = tuple[re.Pattern[str], Callable[[list[re.Match[str]]], str]]


def _last(matches: list[re.Match[str]]) -> str:
    return matches[-1][0].strip(" =\t")


def _joined(matches: list[re.Match[str]]) -> str:
    return "; ".join(dict.fromkeys(match[0].strip() for match in matches[-3:]))


def _cargo(matches: list[re.Match[str]]) -> str:
    failing = [match for match in matches if "FAILED" in match[0]]
    if failing or len(matches) == 1:
        return (failing or matches)[-1][0].strip()
    passed = sum(int(match[1]) for match in matches)
    return f"test result: ok. {passed} passed in {len(matches)} suites"


def _counted(matches: list[re.Match[str]]) -> str:
    return f"{len(matches)} error{'' if len(matches) == 1 else 's'}: {matches[0][0].strip()}"


def _go_failed(matches: list[re.Match[str]]) -> str:
    return "FAIL: " + ", ".join(dict.fromkeys(match[1] for match in matches[:6]))


def _go_ok(matches: list[re.Match[str]]) -> str:
    return f"ok: {len(matches)} package{'' if len(matches) == 1 else 's'}"


_ERROR_READERS = frozenset((_counted, _go_failed))


def _pattern(text: str, read: Callable[[list[re.Match[str]]], str] = _last) -> Pattern:
    return lazy(text, re.MULTILINE), read


# The first that matches tells the result; within one tool's output the most telling stands first.
_RESULTS: tuple[Pattern, ...] = (
    _pattern(r"^=*[ \t]*(?:\d+ \w+, )*\d+ (?:passed|failed|errors?)\b[^\n]{0,120}"),
    _pattern(r"^[ \t]*Tests:?[ \t]+\d[^\n]{0,120}|^[ \t]*Tests:?[ \t]+[^\n]{0,60}\d+ (?:passed|failed)[^\n]{0,60}"),
    _pattern(r"^test result: \w+\. (\d+) passed[^\n]{0,100}", _cargo),
    _pattern(r"^[ \t]*--- FAIL: (\S+)", _go_failed),
    _pattern(r"^[ \t]*\d+ (?:pass|fail)$", _joined),
    _pattern(r"^error(?:\[E\d+\])?: [^\n]{0,160}", _counted),
    _pattern(r"^[^\n]{0,200}error TS\d+: [^\n]{0,160}", _counted),
    _pattern(r"^Found \d+ errors?[^\n]{0,80}|^Success: no issues found[^\n]{0,60}|^All checks passed!"),
    _pattern(r"^\W*\d+ problems? \([^\n]{0,80}"),
    _pattern(r"^[ \t]*\d+ (?:passing|failing)\b[^\n]{0,40}", _joined),
    _pattern(r"^Ran \d+ tests? in [^\n]{0,20}|^(?:OK|FAILED)(?: \([^\n]{0,60}\))?$", _joined),
    _pattern(r"^(?:\[[A-Z]+\][ \t]*)?Tests run: \d+[^\n]{0,100}"),
    _pattern(
        r"^(?:\[[A-Z]+\][ \t]*)?BUILD (?:SUCCESS(?:FUL)?|FAIL(?:URE|ED))[^\n]{0,40}|^Build (?:succeeded|FAILED)\.?"
    ),
    _pattern(r"^(?:Passed|Failed)![ \t]+-[^\n]{0,120}"),
    _pattern(r"^\d+ examples?, \d+ failures?[^\n]{0,40}|^OK \(\d+ tests?[^\n]{0,60}"),
    _pattern(r"^ok[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))", _go_ok),
    _pattern(r"^FAIL[ \t]+\S[^\n]{0,100}"),
    _pattern(r"^(?:make|ninja)(?:\[\d+\])?: \*\*\* [^\n]{0,140}"),
    _pattern(r"^[^\n]{0,20}(?:Compiled successfully|built in [\d.]+m?s|Failed to compile)[^\n]{0,60}"),
    _pattern(r"^[^\n]{0,160}: error: [^\n]{0,160}", _counted),
    _pattern(r"^(?:vet(?:\.exe)?: )?[\w./\\-]+\.\w{1,5}:\d+(?::\d+)?: [^\n]{0,160}", _counted),
    _pattern(r"^[^\n]{0,40}\bfound (?:no |\d+ )[^\n]{0,80}"),
)  # fmt: skip
_FAILED = lazy(
    r"\b[1-9]\d* (?:fail|failed|failing|failures?|errors?)\b|\bFAILED\b|\bFAIL\b|^\d+ errors?: |BUILD FAIL"
    r"|Build FAILED|Failed!|Failures: [1-9]|Errors: [1-9]|\*\*\*|error TS|: error|^error|Failed to compile"
)
_TELLS = lazy(r"\d|error|warn|ok\b|pass|success|built|done|clean|fail", re.IGNORECASE)
_EXIT = lazy(r"^Exit code (\d+)")
_ERRORS_LISTED = lazy(r"(?:^|\s)[1-9]\d* problems? \([1-9]")


def tool_of(piece: Piece) -> str:
    """Return the check a simple command runs ("pytest", "cargo test", "npm run build"), "" when it is none."""
    words = _unwrapped(piece.words)
    if not words:
        return ""
    program = (
        re.split(r"[\\/]", words[0])[-1]
        .lower()
        .removesuffix(".exe")
        .removesuffix(".cmd")
        .removesuffix(".bat")
    )
    rest = words[1:]
    if program in _NODE_MANAGERS:
        return _node_script(program, rest)
    if program in _TOOLS:
        return "" if "--version" in rest or "--help" in rest else program
    if program in _SUBCOMMANDS:
        name = next((word for word in rest if word in _SUBCOMMANDS[program]), "")
        return f"{program} {name}" if name and rest.index(name) <= 3 else ""
    if program in ("bash", "sh", "node", "python", "python3") and rest:
        return rest[0] if _SCRIPT_FILE.search(rest[0]) else ""
    return words[0] if _SCRIPT_FILE.search(words[0]) else ""


def result_line(output: str, *, failed: bool, certain: bool = True) -> str:
    """Return what a run came to, in one line taken from its output.

    `failed` is what the exit code says, `certain` that it is the check's own: errors that a run prints which is known
    to have succeeded are part of its tests.
    """
    # What matters stands at the end; a bound keeps hostile output cheap.
    tail = output[-12_000:]
    for pattern, read in _RESULTS:
        if certain and not failed and read in _ERROR_READERS:
            continue
        matches = list(pattern.finditer(tail))
        if matches:
            return one_line(read(matches), 200)
    lines = [line.strip() for line in tail.splitlines() if line.strip() and not _EXIT.match(line)]
    code = _EXIT.match(output)
    told = [line for line in lines if _TELLS.search(line)]
    last = one_line((told or lines)[-1], 160) if lines else ""
    if code:
        return f"exit code {code[1]}" + (f": {last}" if last else "")
    return last or ("failed" if failed else "no output")


def says_failed(line: str) -> bool:
    """Return whether a result line reports failures, whatever the exit code of the pipeline was."""
    if re.search(r"\b0 (?:fail|failed|failures|errors)\b", line) and not re.search(
        r"\b[1-9]\d* (?:fail|failed|failures?|errors?)\b", line
    ):
        return False
    return bool(_FAILED.search(line) or _ERRORS_LISTED.search(line))


def _node_script(program: str, rest: Sequence[str]) -> str:
    words: list[str] = []
    skip = False
    for word in rest:
        # `--filter pkg`, `-C dir`, `workspace pkg`: the value is no script.
        if not skip and not word.startswith("-") and word not in _NODE_RUN:
            words.append(word)
        skip = word in _NODE_PLACE
    if not words:
        return ""
    if words[0] in ("t", "tst") and program == "npm":
        return "npm test"
    if words[0] in _NODE_BUILTINS:
        return ""
    inner = tool_of(simple(words)) if words[0] in _TOOLS else ""
    return inner or (f"{program} {words[0]}" if _SCRIPT.fullmatch(words[0]) else "")


def _unwrapped(words: Sequence[str]) -> list[str]:
    """Return the words without the programs that only start another one."""
    rest = list(words)
    for _ in range(4):
        if not rest:
            break
        program = re.split(r"[\\/]", rest[0])[-1]
        if program in _RUNNERS:
            rest = _after_options(rest[1:])
        elif program in _RUN_WITH and len(rest) > 2 and rest[1] in ("run", "exec", "x"):
            rest = _after_options(rest[2:])
        elif re.fullmatch(r"(?:python|py)[\d.]*", program) and "-m" in rest[:4]:
            rest = rest[rest.index("-m") + 1 :]
        elif program in ("docker", "docker-compose", "podman") and "exec" in rest[:4]:
            rest = _after_options(rest[rest.index("exec") + 1 :])[1:]
        else:
            break
    return rest


def _after_options(words: Sequence[str]) -> list[str]:
    index = 0
    while index < len(words) and words[index].startswith("-"):
        index += 1
    return list(words[index:])
