"""`claude` of other versions and other systems: asked in the form it takes, or refused with the remedy."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from keepthread.engines.claude import ClaudeEngine, launched, program
from keepthread.engines.model import Answer, Deadline, EngineError, Request
from tests.support.fake_claude import FakeClaude

SCHEMA = {
    "type": "object",
    "properties": {"task": {"type": "string"}},
    "required": ["task"],
    "additionalProperties": False,
}
DOCUMENT = {"task": "Mend the parser"}
REQUEST = Request("You write keepthread handoff documents.", "the prompt", SCHEMA, "sonnet", "low")
OLD = ["--print", "--output-format", "--system-prompt", "--strict-mcp-config", "--model"]
OLD += ["--setting-sources", "--settings", "--disallowedTools"]


@pytest.fixture
def claude(tmp_path: Path) -> FakeClaude:
    return FakeClaude(tmp_path / "bin")


def ask(claude: FakeClaude, home: Path, **env: str) -> Answer:
    engine = ClaudeEngine(claude.env(home, **env), config_dir=str(home / ".claude"))
    return engine.ask(REQUEST, Deadline.after(60))


def test_a_program_without_schemas_gets_the_schema_in_the_prompt(claude, home):
    claude.behave(
        knows=OLD, result={"result": f"Here it is:\n```json\n{json.dumps(DOCUMENT)}\n```"}
    )
    assert ask(claude, home).document == DOCUMENT
    [call] = claude.calls
    assert call["stdin"].startswith("the prompt")
    assert json.dumps(SCHEMA, separators=(",", ":")) in call["stdin"]


def test_a_program_without_safe_mode_and_bare_reads_no_settings_and_has_no_tools(claude, home):
    claude.behave(knows=OLD, result={"result": json.dumps(DOCUMENT)})
    ask(claude, home)
    argv = claude.calls[0]["argv"]
    assert argv[argv.index("--setting-sources") + 1] == ""
    assert {"Bash", "Read", "Write", "WebFetch"} <= set(
        argv[argv.index("--disallowedTools") + 1].split(",")
    )
    assert not {"--bare", "--safe-mode", "--effort", "--tools"} & set(argv)
    assert argv[argv.index("--model") + 1] == "sonnet"


def test_a_key_helper_is_passed_on_in_every_form(claude, home):
    (home / ".claude").mkdir()
    settings = {"apiKeyHelper": "print-key", "hooks": {}}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    claude.behave(knows=OLD, result={"result": json.dumps(DOCUMENT)})
    ask(claude, home, ANTHROPIC_API_KEY="")
    argv = claude.calls[0]["argv"]
    assert json.loads(argv[argv.index("--settings") + 1]) == {"apiKeyHelper": "print-key"}


def test_a_program_with_safe_mode_alone_uses_it_for_a_key_too(claude, home):
    claude.behave(knows=[*OLD, "--safe-mode", "--tools"], result={"result": json.dumps(DOCUMENT)})
    ask(claude, home)
    argv = claude.calls[0]["argv"]
    assert argv[:2] == ["-p", "--safe-mode"]
    assert "--setting-sources" not in argv
    assert argv[argv.index("--tools") + 1] == ""


def test_what_an_older_program_takes_is_asked_once(claude, home):
    claude.behave(knows=OLD, result={"result": json.dumps(DOCUMENT)})
    engine = ClaudeEngine(claude.env(home), config_dir=str(home / ".claude"))
    engine.ask(REQUEST, Deadline.after(60))
    engine.ask(REQUEST, Deadline.after(60))
    assert len(claude.calls) == 2
    assert len(claude.pids) == 4  # the refusal, the help, and the two calls


@pytest.mark.parametrize("lacking", ["--system-prompt", "--strict-mcp-config", "--setting-sources"])
def test_a_program_that_would_load_its_users_set_up_is_too_old(claude, home, lacking):
    claude.behave(knows=[flag for flag in OLD if flag != lacking])
    with pytest.raises(EngineError) as caught:
        ask(claude, home)
    assert caught.value.permanent
    assert "claude update" in caught.value.detail
    assert claude.calls == []


def test_e11_an_older_program_leaves_no_session_behind(claude, home):
    claude.behave(knows=OLD, session=True, result={"result": json.dumps(DOCUMENT)})
    other = home / ".claude" / "projects" / "-home-dev-proj"
    other.mkdir(parents=True)
    ask(claude, home)
    assert list((home / ".claude" / "projects").iterdir()) == [other]


def test_the_schema_goes_without_its_descriptions(claude, home):
    """The prompt says the same. A field may still bear that name."""
    text = {"type": "string", "description": "What the user wants."}
    schema = SCHEMA | {"properties": {"task": text, "description": text}}
    claude.answer(DOCUMENT)
    engine = ClaudeEngine(claude.env(home), config_dir=str(home / ".claude"))
    engine.ask(Request("s", "p", schema, "", ""), Deadline.after(60))
    argv = claude.calls[0]["argv"]
    sent = json.loads(argv[argv.index("--json-schema") + 1])
    plain = {"type": "string"}
    assert sent == SCHEMA | {"properties": {"task": plain, "description": plain}}


def test_an_overflow_is_told_with_its_numbers(claude, home):
    said = "API Error: 400 prompt is too long: 213462 tokens > 200000 maximum"
    claude.behave(result={"is_error": True, "result": said}, exit=1)
    with pytest.raises(EngineError) as caught:
        ask(claude, home)
    error = caught.value
    assert (error.reason, error.permanent) == ("overflow", False)
    assert (error.observed_tokens, error.limit_tokens) == (213_462, 200_000)


def shim(folder: Path, inner: str) -> Path:
    """Make what npm puts on PATH on Windows, and the program behind it."""
    target = folder / "node_modules" / "@anthropic-ai" / "claude-code" / inner
    target.parent.mkdir(parents=True)
    for path in (folder / "claude.cmd", target):
        path.write_text("")
        path.chmod(0o755)
    return target


@pytest.mark.parametrize("inner", ["bin/claude.exe", "cli.js"])
def test_windows_starts_what_npms_shim_stands_for(tmp_path, inner):
    """A shell would read the quotes of the schema."""
    target = shim(tmp_path / "npm", inner)
    assert program({"PATH": str(tmp_path / "npm")}, "", "win32") == str(target)


def test_a_shim_with_nothing_known_behind_it_is_no_program(tmp_path):
    folder = tmp_path / "npm"
    folder.mkdir()
    (folder / "claude.cmd").write_text("@echo off")
    (folder / "claude.cmd").chmod(0o755)
    assert program({"PATH": str(folder)}, "", "win32") == ""


def test_a_script_is_started_with_node(tmp_path):
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\n")
    node.chmod(0o755)
    script = os.path.join("x", "cli.js")
    assert launched(script, {"PATH": str(tmp_path)}) == [str(node), script]
    assert launched("/usr/bin/claude", {}) == ["/usr/bin/claude"]
