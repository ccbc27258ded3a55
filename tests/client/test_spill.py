"""Long results of tools, on the real client: what form it takes a changed result in, and what the model then sees."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import ROOT, install
from tests.client.story import folder, log, variables
from tests.support.api import Answer, Body, FakeApi
from tests.support.client import Client, hook, python

pytestmark = pytest.mark.client

SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    method = asked["method"]
    if "id" not in asked:
        continue
    answer = {}
    if method == "initialize":
        version = asked["params"]["protocolVersion"]
        server = {"name": "tide", "version": "1"}
        answer = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        tool = {"name": "list", "description": "lists", "inputSchema": {"type": "object", "properties": {}}}
        answer = {"tools": [tool]}
    elif method == "tools/call":
        answer = {"content": [{"type": "text", "text": "reading\\n" * 2000 + "the last reading"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""
ANSWERING = """
import json, sys
event = json.load(sys.stdin)
response = event["tool_response"]
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PostToolUse", **eval(sys.argv[1])}}))
"""
LONG = ("Bash", {"command": "seq 1 4000; echo 4000 passed", "description": "count"})
SHORT = ("Bash", {"command": "echo a few words", "description": "say"})
SERVED: tuple[str, dict[str, Any]] = ("mcp__tide__list", {})
WHOLE = "\n".join([*map(str, range(1, 4_001)), "4000 passed"])


def given(body: Body) -> list[Any]:
    """Return what the model was given as results, in order, without what the host appends."""
    found = []
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                content = block["content"]
                texts = [content] if isinstance(content, str) else [b["text"] for b in content]
                found.append("\n".join(texts).partition("\n\n<system-reminder>")[0])
    return found


def call(client: Client, api: FakeApi, *tools: tuple[str, dict[str, Any]]) -> tuple[str, list[str]]:
    """Let the model call the tools, one after the other; return the session and what it was given."""
    waiting = iter([Answer(tool=tool) for tool in tools])
    server = client.home / "server.py"
    server.write_text(SERVER)
    servers = {"mcpServers": {"tide": {"command": sys.executable, "args": ["-I", str(server)]}}}
    (client.home / "servers.json").write_text(json.dumps(servers))
    api.rule(lambda body: bool(body.get("tools")), lambda _: next(waiting, Answer()))
    run = client.prompt("go", None, "--mcp-config", str(client.home / "servers.json"))
    assert run.code == 0, run
    return run.session, given(api.talks[-1].body)


def answering(client: Client, tmp_path: Path, expression: str) -> None:
    """Install a hook that answers every tool call with the value of an expression."""
    script = tmp_path / "answering.py"
    script.write_text(ANSWERING)
    client.settings({"hooks": {"PostToolUse": [hook(python(script, expression))]}})


@pytest.mark.parametrize(
    ("expression", "taken"),
    [
        ("{'updatedToolOutput': {**response, 'stdout': 'changed'}}", True),
        ("{'updatedToolOutput': 'changed'}", False),
        ("{'updatedToolOutput': {'stdout': 'changed'}}", False),
        ("{'updatedMCPToolOutput': 'changed'}", False),
    ],
)
def test_a_built_in_tool_s_result_is_changed_in_its_own_whole_shape_only(
    client, api, tmp_path, expression, taken
):
    """Otherwise the client keeps the original; the transcript holds what the model saw."""
    answering(client, tmp_path, expression)
    session, [seen] = call(client, api, LONG)
    [record] = [r for r in client.records(session) if isinstance(r.get("toolUseResult"), dict)]

    assert seen == ("changed" if taken else WHOLE)
    assert record["toolUseResult"]["stdout"] == seen
    assert record["message"]["content"][0]["content"] == seen


@pytest.mark.parametrize(
    "expression",
    [
        "{'updatedToolOutput': 'changed'}",
        "{'updatedToolOutput': [{'type': 'text', 'text': 'changed'}]}",
        "{'updatedMCPToolOutput': 'changed'}",
    ],
)
def test_a_server_s_result_is_changed_by_a_text_or_by_blocks(client, api, tmp_path, expression):
    """`updatedToolOutput` serves both kinds of tool, so it is the only one we use."""
    answering(client, tmp_path, expression)
    _, [seen] = call(client, api, SERVED)

    assert seen.strip().partition("\n")[0] == "changed"


def test_the_next_request_holds_the_short_form_and_the_file_the_whole(client, api):
    variables(client, SPILL="on", ENGINE="facts")
    install(client, ROOT)
    session, [long, short, served] = call(client, api, LONG, SHORT, SERVED)
    files = sorted((folder(client, session) / "outputs").glob("*.txt"))

    assert [path.read_text() for path in files] == [WHOLE, "reading\n" * 2000 + "the last reading"]
    assert short == "a few words"
    for seen, path, end in (
        (long, files[0], "4000 passed"),
        (served, files[1], "the last reading"),
    ):
        assert seen.startswith("[keepthread: shortened. The whole result")
        assert str(path) in seen.partition("\n")[0]
        assert seen.partition("\n<system-reminder>")[0].strip().endswith(end)
        assert len(seen) < 5_000
    assert [e["outcome"] for e in log(client) if e["event"] == "post_tool_use"] == ["shortened"] * 2


def test_without_the_variable_nothing_is_registered(client, api, hooks):
    session, [seen] = call(client, api, LONG)

    assert "PostToolUse" not in (client.config / "settings.json").read_text()
    assert seen == WHOLE
    assert not (folder(client, session) / "outputs").exists()


def test_outside_the_project_the_file_is_read_with_a_rule_that_allows_it(client, api):
    """Without one the client asks; the documents name this rule."""
    path = client.config / "keepthread" / "sessions" / "x" / "outputs" / "a.txt"
    path.parent.mkdir(parents=True)
    path.write_text("the whole result")
    seen = []
    for allowed in ([], ["Read(~/.claude/keepthread/sessions/**)"]):
        client.settings({"permissions": {"allow": allowed}})
        waiting = iter([Answer(tool=("Read", {"file_path": str(path)}))])
        api.clear()
        api.rule(lambda body: bool(body.get("tools")), lambda _, w=waiting: next(w, Answer()))
        client.run("-p", "go", "--output-format", "json")
        seen += given(api.talks[-1].body)

    assert "requested permissions" in seen[0]
    assert "the whole result" in seen[1]
