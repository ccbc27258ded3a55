"""A profile put in force in the real client: compaction begins where it says, and again where it did afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from keepthread.host.profiles import names, reading
from keepthread.host.profiles.catalogue import CATALOGUE, RETIRED
from keepthread.host.profiles.client import version_of
from keepthread.host.profiles.table import compaction_points
from tests.support.api import Answer, FakeApi
from tests.support.client import MODEL, Client
from tests.support.fetch_client import PINNED
from tests.support.profiles import names_in
from tests.support.recorder import Recorder

pytestmark = pytest.mark.client

ROOT = Path(__file__).resolve().parents[2]
MARGIN = 1_000  # tokens


def keepthread(client: Client, *arguments: str) -> str:
    """Run keepthread of this checkout as the client's user, and return what it printed."""
    ran = subprocess.run(
        [sys.executable, "-m", "keepthread", *arguments],
        cwd=client.project,
        env=client.environment() | {"PYTHONPATH": str(ROOT / "src")},
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout


def compacts(client: Client, api: FakeApi, recorder: Recorder, tokens: int) -> bool:
    """Hold two turns that leave a context of this size, say one thing more, and return whether PreCompact came."""
    api.rule(f"fill to {tokens}", Answer(input_tokens=tokens))
    before = recorder.labels.count("PreCompact(auto)")
    session = client.converse("first words", f"fill to {tokens}").session
    assert client.prompt("third words", session).code == 0
    return recorder.labels.count("PreCompact(auto)") > before


def test_an_applied_profile_lowers_the_point_and_clear_puts_it_back(
    client: Client, api: FakeApi, recorder: Recorder
) -> None:
    """Through the settings' env block, just below and just above the point that `profile show` names."""
    recorder.add("PreCompact")
    recorder.install(client)
    settings = client.config / "settings.json"
    before = settings.read_bytes()
    point = compaction_points(reading.load("aggressive", "").values)[MODEL]
    assert point is not None

    keepthread(client, "profile", "apply", "aggressive")
    assert not compacts(client, api, recorder, point - MARGIN)
    assert compacts(client, api, recorder, point + MARGIN)
    keepthread(client, "profile", "clear")

    assert settings.read_bytes() == before
    assert not compacts(client, api, recorder, point + 2 * MARGIN)


def test_the_client_s_own_folder_env_file_is_not_read(
    client: Client, api: FakeApi, recorder: Recorder
) -> None:
    """Which is what `--env-file` warns of."""
    recorder.add("PreCompact")
    recorder.install(client)
    said = keepthread(
        client, "profile", "apply", "aggressive", "--env-file", str(client.config / ".env")
    )

    assert "does not read" in said
    assert not compacts(client, api, recorder, 120_000)


def test_every_name_of_the_list_and_the_catalogue_stands_in_the_client_s_program(
    executable: Path,
) -> None:
    """And no retired one; the list is what python -m tests.support.profiles names writes."""
    found = names_in(executable)

    assert found == names.listed()
    assert set(CATALOGUE) <= found
    assert not set(RETIRED) & found


def test_its_version_is_found(client: Client) -> None:
    """By asking the program."""
    assert version_of([str(client.executable)], client.environment()) == PINNED


def result_of(client: Client, api: FakeApi, tool: str, **arguments: str) -> str:
    """Have the model use a tool once, and return what it is given back."""
    api.clear()
    api.rule("use it", Answer(tool=(tool, arguments)))
    client.prompt("use it")
    contents = [message["content"] for message in api.talks[-1].body["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    [found] = [block["content"] for block in blocks if block["type"] == "tool_result"]
    return found if isinstance(found, str) else "".join(part["text"] for part in found)


def test_the_limit_of_a_command_s_output_can_be_lowered_and_not_raised(
    client: Client, api: FakeApi
) -> None:
    """What is longer goes to a file."""

    def kept(characters: int, **env: str) -> bool:
        client.settings({"env": env})
        command = f"yes abcdefghi | head -c {characters}"
        return "<persisted-output>" not in result_of(
            client, api, "Bash", command=command, description="Print"
        )

    assert kept(29_000)
    assert not kept(15_000, BASH_MAX_OUTPUT_LENGTH="12000")
    assert not kept(40_000, BASH_MAX_OUTPUT_LENGTH="60000")


def test_the_limit_of_a_read_can_be_lowered_and_raised(client: Client, api: FakeApi) -> None:
    """In tokens, of which the client takes one for about four characters."""
    file = client.project / "notes.txt"
    file.write_text("".join(f"line {n} of the notes, with some words\n" for n in range(4_000)))

    def read(**env: str) -> int:
        client.settings({"env": env})
        return len(result_of(client, api, "Read", file_path=str(file)))

    usual = read()
    assert read(CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS="10000") < usual / 2
    assert read(CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS="60000") > usual * 1.5


_SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    method, number = asked.get("method"), asked.get("id")
    if method == "initialize":
        given = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        given["serverInfo"] = {"name": "words", "version": "1"}
    elif method == "tools/list":
        given = {"tools": [{"name": "say", "description": "Say", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        given = {"content": [{"type": "text", "text": "words " * int(sys.argv[1])}]}
    else:
        given = {}
    if number is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": number, "result": given}), flush=True)
"""


def test_the_limit_of_an_mcp_result_can_be_lowered_and_not_raised(
    client: Client, api: FakeApi, tmp_path: Path
) -> None:
    """Text over 50,000 characters goes to a file whatever the limit says."""
    script = tmp_path / "server.py"
    script.write_text(_SERVER)

    def kept(characters: int, **env: str) -> bool:
        server = {"command": sys.executable, "args": [str(script), str(characters // 6)]}
        (client.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"words": server}}))
        options = {"enableAllProjectMcpServers": True}
        client.settings({"env": env | {"ENABLE_TOOL_SEARCH": "false"}} | options)
        return len(result_of(client, api, "mcp__words__say")) > characters / 2

    assert kept(45_000)
    assert not kept(45_000, MAX_MCP_OUTPUT_TOKENS="8000")
    assert not kept(90_000, MAX_MCP_OUTPUT_TOKENS="60000")
