"""`keepthread memory session`: on, off and status."""

from __future__ import annotations

import json
import re

from click.testing import CliRunner

from keepthread.cli import cli
from tests.memory.session.conftest import MEMORY, SESSION, Kept
from tests.support.api import Answer

VARIABLE = "KEEPTHREAD_SESSION_MEMORY"


def run(kept: Kept, *arguments: str) -> str:
    """Run the command where the session is; return what it prints."""
    env = {"HOME": str(kept.home), "CLAUDE_CODE_SESSION_ID": SESSION}
    result = CliRunner().invoke(cli, ["memory", "session", *arguments], env=env)
    assert result.exit_code == 0, result.output
    return result.output


def test_on_writes_one_line_says_what_it_costs_and_holds_for_the_hooks_at_once(kept: Kept) -> None:
    """Nothing else of the user's file changes."""
    kept.choose("off")
    before = (kept.config / ".env").read_text()
    kept.api.rule(lambda body: True, Answer(json.dumps(MEMORY)))
    said = run(kept, "on")

    assert (kept.config / ".env").read_text() == before.replace(
        f"{VARIABLE}=off", f"{VARIABLE}=model"
    )
    assert re.search(r"10,000 tokens .* 5,000 more, of at most 30,000 tokens", said)
    kept.stop()
    assert kept.document()["form"] == "model"


def test_off_and_on_without_a_model(kept: Kept) -> None:
    """The hooks go by it at once."""
    run(kept, "off")
    kept.stop()
    assert kept.log("stop") == []
    assert "without a model" in run(kept, "on", "--facts")
    assert f"{VARIABLE}=facts" in (kept.config / ".env").read_text()


def test_a_model_that_another_setting_forbids_is_not_said_to_keep_it(kept: Kept) -> None:
    """KEEPTHREAD_ENGINE=facts goes before."""
    assert "KEEPTHREAD_ENGINE" not in run(kept, "status")
    kept.choose("model", ENGINE="facts")

    assert "KEEPTHREAD_ENGINE is facts" in run(kept, "status")
    assert json.loads(run(kept, "status", "--json"))["asks"] is False


def test_status_tells_the_setting_and_the_sessions_memory(kept: Kept) -> None:
    """In words and as JSON."""
    assert "has none yet" in run(kept, "status")
    kept.api.rule(lambda body: True, Answer(json.dumps(MEMORY)))
    kept.stop()
    found = json.loads(run(kept, "status", "--json"))

    assert (found["setting"], found["form"], found["tokens"]) == ("model", "model", 12_003)
    assert found["engine"] == "anthropic"
    assert not found["running"]
    assert found["file"] == str(kept.folder_of() / "session-memory.md")
    assert found["file"] in run(kept, "status")
