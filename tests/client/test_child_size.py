"""What the child's request weighs: little more than the prompt it carries, measured on the real client."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from keepthread.engines.claude import ClaudeEngine
from keepthread.engines.model import Deadline, Request
from keepthread.handoff.material import Material
from keepthread.handoff.schema import answer_schema
from keepthread.transcript.read import read_transcript
from tests.support.api import Answer, is_child
from tests.support.handoffs import make_partial
from tests.support.session import SessionFile

pytestmark = pytest.mark.client

MOST = 1.2  # times the prompt


@pytest.mark.parametrize("login", ["key", "stored"])
@pytest.mark.parametrize("budget", [40_000, 8_000])
def test_the_body_is_within_a_fifth_of_its_prompt(
    executable: Path, home: Path, tmp_path: Path, api, login: str, budget: int
) -> None:
    """The client adds a tool for the schema and a few fields, and no tools, memory or reminders of its own."""
    session = SessionFile(tmp_path / "session.jsonl")
    session.user("Port the parser and keep every test green.")
    for number in range(400):
        session.bash(f"pytest tests/test_{number}.py", f"tests/test_{number}.py ..... ok\n" * 12)
        session.assistant(f"Part {number} is done; its tests pass, so the next one follows.")
    material = Material(make_partial(), read_transcript(str(session.path)))
    config = home / ".claude"
    config.mkdir()
    env = {"HOME": str(home), "ANTHROPIC_BASE_URL": api.url}
    env["PATH"] = f"{executable.parent}{os.pathsep}{os.defpath}"
    if login == "key":
        env["ANTHROPIC_API_KEY"] = "fake-key"
    else:
        stored = {
            "accessToken": "sk-ant-oat01-x",
            "refreshToken": "r",
            "scopes": ["user:inference"],
        }
        oauth = {"claudeAiOauth": stored | {"expiresAt": 9_999_999_999_999}}
        (config / ".credentials.json").write_text(json.dumps(oauth))
    schema = answer_schema()
    fields = schema["properties"].items()
    api.rule(
        is_child,
        Answer(document={key: "x" if of["type"] == "string" else [] for key, of in fields}),
    )
    prompt = material.prompt(budget)
    request = Request(material.system(), prompt, schema, "sonnet", "low")
    ClaudeEngine(env, config_dir=str(config)).ask(request, Deadline.after(120))
    body = json.dumps(api.children[0].body, ensure_ascii=False, separators=(",", ":"))
    assert len(body.encode()) <= MOST * request.size
