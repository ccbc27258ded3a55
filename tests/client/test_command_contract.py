"""What /handoff relies on in the host's commands, pinned on the real client."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.api import last_text, texts
from tests.support.client import Client, python

pytestmark = pytest.mark.client


def command(client: Client, name: str, shell: str, allowed: str = "") -> None:
    """Write one of the user's commands; its text is the output of a shell command."""
    folder = client.config / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    front = f"description: about {name}\ndisable-model-invocation: true"
    (folder / f"{name}.md").write_text(
        f"---\n{front}\nallowed-tools: Bash({allowed or shell})\n---\n\nIt says:\n\n!`{shell}`\n"
    )


def test_the_shell_part_of_a_command_knows_its_session_and_no_project(client, api):
    command(client, "environment", "/usr/bin/env")
    session = client.prompt("first words").session
    client.prompt("/environment", session)
    lines = last_text(api.talks[-1].body).splitlines()
    assert f"CLAUDE_CODE_SESSION_ID={session}" in lines
    assert "CLAUDE_PROJECT_DIR=" in lines or not [x for x in lines if "CLAUDE_PROJECT_DIR" in x]
    assert f"PWD={client.project}" in lines


def test_the_hook_on_the_prompt_is_done_before_the_shell_part_of_its_command_runs(
    client, api, recorder, tmp_path: Path
):
    note = tmp_path / "note"
    script = tmp_path / "leave.py"
    script.write_text(
        "import json, sys, time\n"
        "prompt = json.load(sys.stdin)['prompt']\n"
        "time.sleep(1)\n"
        f"open({str(note)!r}, 'w').write(prompt)\n"
    )
    recorder.command("UserPromptSubmit", python(script))
    recorder.install(client)
    command(client, "reader", f"/bin/cat {note}")
    words = "/reader mind; the `comma` and $(this)"
    run = client.prompt(words)
    assert run.code == 0
    assert f"It says:\n\n{words}" in last_text(api.talks[-1].body)


def test_words_that_become_part_of_a_shell_command_can_break_it(client, api):
    command(client, "breaks", '/bin/echo "$ARGUMENTS"', "/bin/echo:*")
    client.prompt("/breaks mind; the `comma` and more")
    assert not api.talks


def test_a_command_closed_to_the_model_stands_in_no_request(client, api):
    command(client, "zebra", "/bin/echo hello")
    client.prompt("first words")
    assert "about zebra" not in texts(api.talks[0].body)
    client.prompt("/zebra")
    assert "It says:\n\nhello" in last_text(api.talks[-1].body)
