"""Every place of a session in which text can stand, and every form in which a secret can: for planting things."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping

from tests.support.session import SessionFile

Plant = Callable[[SessionFile, str], object]


def _question(file: SessionFile, text: str) -> None:
    asked = [{"question": f"Which way? {text}", "header": "Way", "options": []}]
    answers = {f"Which way? {text}": "the short one"}
    data = {"questions": asked, "answers": answers}
    file.tool("AskUserQuestion", {"questions": asked}, f"User has answered: {answers}", data=data)


def _branch(file: SessionFile, text: str) -> None:
    file.branch, before = f"fix/{text}", file.branch
    file.bash("git switch -c fix", f"Switched to a new branch 'fix/{text}'")
    file.branch = before


def _subagent(file: SessionFile, text: str) -> None:
    arguments = {"description": "look", "prompt": "Find out who calls it"}
    file.tool("Task", arguments, f"I saw {text}")
    file.sidechain("Find out who calls it", f"I saw {text}")


def _notebook(file: SessionFile, text: str) -> None:
    arguments = {"notebook_path": f"{file.cwd}/a.ipynb", "new_source": text}
    file.tool("NotebookEdit", arguments, f"Updated cell with {text}")


# What tools bring in, and what the host and other programs write: nobody typed it.
FOREIGN: Mapping[str, Plant] = {
    "output": lambda file, text: file.bash("cat notes.txt", f"first\n{text}\nlast"),
    "failure": lambda file, text: file.bash("make", f"make: error 2: {text}", is_error=True),
    "check": lambda file, text: file.bash("pytest -q", f"FAILED {text}\n1 failed", is_error=True),
    "file read": lambda file, text: file.read(f"{file.cwd}/README.md", f"1\t# Tides\n2\t{text}"),
    "web page": lambda file, text: file.tool("WebFetch", {"url": "https://docs.example"}, text),
    "search": lambda file, text: file.tool("Grep", {"pattern": "TODO"}, f"src/a.py:3: {text}"),
    "branch": _branch,
    "commit": lambda file, text: file.bash("git log -1", f"commit 4be1f07\n\n    {text}"),
    "MCP result": lambda file, text: file.tool(
        "mcp__db__query", {"sql": "select 1"}, [{"type": "text", "text": json.dumps({"row": text})}]
    ),
    "subagent": _subagent,
    "changed file": lambda file, text: file.attachment(
        "edited_text_file", filename=f"{file.cwd}/src/d.py", snippet=f"3\t{text}"
    ),
    "instructions": lambda file, text: file.attachment(
        "nested_memory", path=f"{file.cwd}/src/CLAUDE.md", content={"content": text}
    ),
    "diagnostics": lambda file, text: file.attachment(
        "diagnostics", files=[{"uri": "file:///a.py", "diagnostics": [{"message": text}]}]
    ),
    "hook": lambda file, text: file.attachment(
        "hook_additional_context", content=[text], hookEvent="SessionStart"
    ),
    "host": lambda file, text: file.user(
        f"<system-reminder>\n{text}\n</system-reminder>", isMeta=True
    ),
    "output of the user's shell": lambda file, text: file.user(
        f"<bash-stdout>{text}</bash-stdout><bash-stderr></bash-stderr>"
    ),
    "end of a background command": lambda file, text: file.user(
        f"<task-notification>\n<task-id>b1</task-id>\n<summary>{text}</summary>\n</task-notification>"
    ),
}

# What the agent itself writes.
AGENT: Mapping[str, Plant] = {
    "file written": lambda file, text: file.write(f"{file.cwd}/src/b.py", f'NOTE = "{text}"\n'),
    "file edited": lambda file, text: file.edit(f"{file.cwd}/src/c.py", f"a {text}", f"b {text}"),
    "file name": lambda file, text: file.write(f"{file.cwd}/src/{text}.py"),
    "name of a file read": lambda file, text: file.read(f"{file.cwd}/data/{text}.csv"),
    "notebook": _notebook,
    "answer": lambda file, text: file.assistant(f"I have seen this: {text}"),
    "command line": lambda file, text: file.bash(f"deploy --to berth {text}", "done"),
    "background command": lambda file, text: file.tool(
        "Bash", {"command": f"serve {text}", "run_in_background": True}, f"running: {text}"
    ),
    "todo": lambda file, text: file.tool(
        "TodoWrite", {"todos": [{"content": f"Mend {text}", "status": "pending"}]}
    ),
    "task": lambda file, text: file.tool(
        "TaskCreate", {"subject": f"Mend {text}", "description": text}, "Task #1 created"
    ),
    "URL": lambda file, text: file.tool("WebFetch", {"url": f"https://x.example/?q={text}"}, "ok"),
    "pattern": lambda file, text: file.tool("Grep", {"pattern": text}, "no matches"),
    "MCP call": lambda file, text: file.tool("mcp__db__query", {"sql": f"select '{text}'"}, "1"),
    "name of an argument": lambda file, text: file.tool("mcp__db__set", {text: 1}, "ok"),
    "question": _question,
}

# What the user types.
USER: Mapping[str, Plant] = {
    "prompt": lambda file, text: file.user(f"Take berth {text} from now on"),
    "prompt that waits": lambda file, text: file.attachment("queued_command", prompt=f"And {text}"),
    "rejection": lambda file, text: file.reject("Bash", {"command": "rm x"}, f"no, take {text}"),
    "command": lambda file, text: file.command("/deploy", f"berth {text}"),
    "plan": lambda file, text: file.tool(
        "ExitPlanMode", {"plan": f"# Plan\n\n1. Mend {text}"}, "User has approved your plan."
    ),
    "shell": lambda file, text: file.user(f"<bash-input>serve {text}</bash-input>"),
    "title": lambda file, text: file.record({"type": "custom-title", "customTitle": text}),
}


def letters(seed: str, number: int) -> str:
    """Return letters and digits that look like chance and are the same in every run."""
    digest = b"".join(hashlib.sha256(f"{seed}{part}".encode()).digest() for part in range(9))
    text = base64.b64encode(digest).decode()
    return "".join(c for c in text if c.isalnum())[:number]


def token(seed: str) -> str:
    """Return a token that its own form gives away; put together here, so that no scanner takes it for a leak."""
    return "ghp" + "_" + letters(seed, 36)


def password(seed: str) -> str:
    """Return a secret that only its surroundings give away."""
    return f"{letters(seed, 9)}7x{letters(seed + 'more', 6)}"


def key_lines(seed: str) -> list[str]:
    """Return a private key, line by line."""
    body = base64.b64encode(hashlib.sha512(seed.encode()).digest() * 8).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return ["-----BEGIN RSA PRIVATE " + "KEY-----", *lines, "-----END RSA PRIVATE " + "KEY-----"]


def _basic(seed: str) -> str:
    return base64.b64encode(f"ada:{password(seed)}".encode()).decode()


def _numbered(seed: str) -> str:
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(key_lines(seed), 1))


# A text that holds a secret, and what must not be seen of it.
Form = Callable[[str], tuple[str, str]]
FORMS: Mapping[str, Form] = {
    "token": lambda seed: (f"use {token(seed)} here", token(seed)),
    "token over two lines": lambda seed: (
        f"use {token(seed)[:20]}\n{token(seed)[20:]} here",
        token(seed)[20:],
    ),
    "token in JSON in JSON": lambda seed: (
        json.dumps({"body": json.dumps({"to": [json.dumps({"is": token(seed)})]})}),
        token(seed),
    ),
    "password in JSON": lambda seed: (json.dumps({"password": password(seed)}), password(seed)),
    "password in JSON in JSON": lambda seed: (
        json.dumps({"body": json.dumps({"client_secret": password(seed)})}),
        password(seed),
    ),
    "password in JSON in JSON in JSON": lambda seed: (
        json.dumps({"a": json.dumps({"b": json.dumps({"api_key": password(seed)})})}),
        password(seed),
    ),
    "basic header": lambda seed: (
        f"curl -H 'Authorization: Basic {_basic(seed)}' https://x.example",
        _basic(seed),
    ),
    "basic header in JSON in JSON": lambda seed: (
        json.dumps({"req": json.dumps({"Authorization": f"Basic {_basic(seed)}"})}),
        _basic(seed),
    ),
    "URL": lambda seed: (f"psql postgres://ada:{password(seed)}@db.example/tides", password(seed)),
    "query": lambda seed: (f"https://x.example/?access_token={password(seed)}&x=1", password(seed)),
    "variable": lambda seed: (f"export TIDE_TOKEN={password(seed)}", password(seed)),
    "option": lambda seed: (f"deploy --password {password(seed)} now", password(seed)),
    "container": lambda seed: (f"docker run -e DB_PASSWORD={password(seed)} x", password(seed)),
    "netrc": lambda seed: (
        f"machine x.example login ada password {password(seed)}",
        password(seed),
    ),
    "cookie": lambda seed: (f"Set-Cookie: session={password(seed)}; Path=/", password(seed)),
    "YAML": lambda seed: (f"database:\n  password: {password(seed)}\n", password(seed)),
    "key": lambda seed: ("\n".join(key_lines(seed)), key_lines(seed)[3]),
    "key in one line": lambda seed: ("\\n".join(key_lines(seed)), key_lines(seed)[3]),
    "key in a diff": lambda seed: (
        "@@ -0,0 +1,9 @@\n" + "\n".join(f"+{line}" for line in key_lines(seed)),
        key_lines(seed)[3],
    ),
    "key taken out in a diff": lambda seed: (
        "\n".join(f"-{line}" for line in key_lines(seed)),
        key_lines(seed)[3],
    ),
    "key with line numbers": lambda seed: (_numbered(seed), key_lines(seed)[3]),
    "key in JSON": lambda seed: (
        json.dumps({"private_key": "\n".join(key_lines(seed))}),
        key_lines(seed)[3],
    ),
}
