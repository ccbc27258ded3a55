"""Runs every registered hook command as the host would, in a configuration folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from keepthread import resources
from keepthread.host.locations import session_dir
from keepthread.host.manifest import Written

_SESSION = "5a3b1c1e-2f60-4d55-9a57-6f1d6c0b7e42"  # of templates/sample
_PATIENCE = 60.0  # seconds; the longest registered time limit is 75
# What a hook has left in the session's folder when it has done its work. A hook that is gone ends well and in silence.
_LEAVES = {
    "PreCompact": "handoff.json",
    "PostCompact": "host-summary.md",
    "UserPromptSubmit": "note",
    "SessionEnd": "handoff.json",
}


class Trial(NamedTuple):
    """What one hook came to."""

    script: str
    ok: bool
    detail: str


def try_hooks(hooks: Sequence[Written], env: Mapping[str, str]) -> Iterator[Trial]:
    """Run each hook on the bundled sample session; the user's state, settings and projects are not touched."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        clean = {
            key: value
            for key, value in env.items()
            if not key.startswith(("CLAUDE", "KEEPTHREAD_"))
        }
        # The temporary folder may lie in somebody's repository: its exclude file and its state are none of ours.
        os.mkdir(os.path.join(folder, ".git"))
        clean |= {"CLAUDE_CONFIG_DIR": folder, "CLAUDE_PROJECT_DIR": folder}
        clean |= {"GIT_CEILING_DIRECTORIES": os.path.dirname(folder), "KEEPTHREAD_ENGINE": "facts"}
        with open(os.path.join(folder, ".env"), "w", encoding="utf-8", newline="\n") as variables:
            variables.write(
                "KEEPTHREAD_SOURCES=compact,clear\n"
            )  # so that every hook has something to do
        _remember(folder, clean)
        for hook in hooks:
            yield _try(hook, folder, clean)


def _remember(folder: str, env: Mapping[str, str]) -> None:
    """Leave an entry in the sample's memory, for the hook that shows it."""
    from keepthread.memory.entries import Entry
    from keepthread.memory.places import open_memory, place_of

    with open_memory(place_of(env, folder), "private") as memory:
        memory.add("sample.md", Entry(body="A sample.", type="project"))


def _try(hook: Written, folder: str, env: Mapping[str, str]) -> Trial:
    command = ["sh", "-c", hook.command] if hook.args is None else [hook.command, *hook.args]
    try:
        run = subprocess.run(
            command,
            input=_event(hook.event, folder),
            env=dict(env),
            cwd=folder,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        return Trial(hook.script, False, f"could not run: {problem}")
    flaw = _flaw(hook, run.returncode, run.stdout, os.path.join(folder, "keepthread"))
    return Trial(hook.script, not flaw, flaw or "exit 0, valid output")


def _flaw(hook: Written, code: int, output: bytes, state: str) -> str:
    """Return what is wrong with a run, "" when nothing is: the host's contract, and that the work was done."""
    if code != 0:
        return f"exit {code}"
    if hook.event == "SessionStart":
        try:
            context = json.loads(output)["hookSpecificOutput"]["additionalContext"]
        except (ValueError, KeyError, TypeError):
            return "it printed no context for the sample session"
        return "" if context else "the context is empty"
    if output.lstrip()[:1] in (b"{", b"["):
        return "it printed JSON where the host expects plain text"
    left = _LEAVES.get(hook.event, "")
    if os.path.exists(os.path.join(session_dir(state, _SESSION), left)):
        return ""
    return f"it left no {left or 'folder of the session'}"


def _event(name: str, folder: str) -> bytes:
    transcript = os.path.join(resources.folder("templates"), "sample", "session.jsonl")
    event = {
        "session_id": _SESSION,
        "transcript_path": transcript,
        "cwd": folder,
        "hook_event_name": name,
        "trigger": "auto",
        "custom_instructions": None,
        "source": "compact",
        "reason": "clear",
        "compact_summary": "<summary>A summary.</summary>",
        "prompt": "/handoff hello",
    }
    return json.dumps(event).encode()
