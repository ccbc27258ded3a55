"""Runs the main job once on the bundled sample session: what a compaction takes, and what keepthread puts back.

Started by install.sh with the new installation's Python. The hooks run as the host runs them, with the embedded engine
and a configuration folder of their own, so nothing of the user's is touched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from keepthread import resources

_SAID = "the user said:"
SESSION = "5a3b1c1e-2f60-4d55-9a57-6f1d6c0b7e42"


def main() -> int:
    """Show the sample before and after; return the exit code."""
    with tempfile.TemporaryDirectory() as config:
        # The temporary folder may lie in somebody's repository, which must not become the project.
        os.mkdir(os.path.join(config, ".git"))
        transcript = os.path.join(resources.folder("templates"), "sample", "session.jsonl")
        event = {"session_id": SESSION, "transcript_path": transcript, "cwd": config}
        _hook("pre_compact", {**event, "hook_event_name": "PreCompact", "trigger": "auto"}, config)
        answer = _hook(
            "session_start",
            {**event, "hook_event_name": "SessionStart", "source": "compact"},
            config,
        )
    if not answer:
        print(
            "keepthread: the sample session gave no handoff; `keepthread doctor` says why",
            file=sys.stderr,
        )
        return 1
    shown = json.loads(answer)
    with open(transcript, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    print(f"\nBefore: a session of {len(records)} records. Its user typed:\n")
    for words in _typed(records):
        print(f"  > {words}")
    print("\nAfter the compaction the model is given this again:\n")
    print(
        "\n".join(
            f"  {line}" for line in shown["hookSpecificOutput"]["additionalContext"].splitlines()
        )
    )
    print(f"\nAnd you are told: {shown['systemMessage']}")
    return 0


def _hook(name: str, event: dict[str, Any], config: str) -> str:
    script = os.path.join(resources.folder("hooks"), f"{name}.py")
    foreign = ("CLAUDE", "KEEPTHREAD_")
    env = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    env |= {"CLAUDE_CONFIG_DIR": config, "CLAUDE_PROJECT_DIR": config, "KEEPTHREAD_ENGINE": "facts"}
    env["GIT_CEILING_DIRECTORIES"] = os.path.dirname(config)
    run = subprocess.run(
        [sys.executable, "-I", script],
        input=json.dumps(event).encode(),
        env=env,
        stdout=subprocess.PIPE,
        check=False,
    )
    return run.stdout.decode("utf-8", "replace")


def _typed(records: list[dict[str, Any]]) -> list[str]:
    """Return what the user typed, also the words with which a tool call was refused."""
    found = []
    for record in records:
        content = record["message"]["content"]
        if record["type"] == "user" and isinstance(content, str):
            found.append(content)
        elif record["type"] == "user":
            results = [str(block.get("content")) for block in content]
            found += [text.partition(_SAID)[2].strip() for text in results if _SAID in text]
    return found


if __name__ == "__main__":
    raise SystemExit(main())
