"""The hook after a tool call, as a process: what it puts aside, what it leaves alone, and how it fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keepthread.economy import spill_shapes
from keepthread.host.entries import entries_for
from tests.support import counts
from tests.support.hook_runs import ROOT
from tests.support.session import SESSION

LOG = "\n".join(f"step {number} done" for number in range(2_000)) + "\n3 failed, 97 passed in 4.1s"
SHELL = {"stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
AWS = "AKIA" + "QX7RTLP4ZN2WVB6K"


class Hook:
    """The hook in a home of its own, turned on as its user does it."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.state = home / ".claude" / "keepthread"
        self.state.mkdir(parents=True)
        self.settings(spill=True)

    def settings(self, **values: Any) -> None:
        """Store resolved settings."""
        (self.state / "settings.json").write_text(json.dumps(values))

    @property
    def outputs(self) -> Path:
        """The folder of the session's results."""
        return self.state / "sessions" / SESSION / "outputs"

    def stored(self) -> list[Path]:
        """Return the results that were put aside."""
        return sorted(self.outputs.glob("*.txt"))

    def start(
        self, event: dict[str, Any], before: str = "", /, **env: str
    ) -> subprocess.Popen[bytes]:
        """Start the hook with its event, `before` it a piece of shell."""
        script = f"'{sys.executable}' -I '{ROOT}/hooks/post_tool_use.py' || exit 0"
        command = ["sh", "-c", before + script]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"HOME": str(self.home), "PATH": os.defpath, **env},
            cwd=self.folder,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(event).encode())
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, event: dict[str, Any], **env: str) -> Any:
        """Run the hook and return the changed output, None when it leaves the host's own."""
        return answer(self.start(event, **env))


def answer(process: subprocess.Popen[bytes]) -> Any:
    """Return what a hook's process put in the place of the result, None for nothing."""
    out, err = process.communicate(timeout=60)
    counts.count(counts.HOOK_RUNS)
    assert (process.returncode, err) == (0, b"")
    if not out:
        return None
    given = json.loads(out)["hookSpecificOutput"]
    assert set(given) == {"hookEventName", "updatedToolOutput"}
    assert given["hookEventName"] == "PostToolUse"
    return given["updatedToolOutput"]


def event(tool: str, response: object, call: str = "toolu_01", **more: Any) -> dict[str, Any]:
    """Return the event as the host sends it."""
    given: dict[str, Any] = {
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": "/",
        "hook_event_name": "PostToolUse",
        "prompt_id": "5b8e6f0a-0000-4000-8000-000000000001",
        "tool_name": tool,
        "tool_input": {"command": "make check"} if tool == "Bash" else {},
        "tool_use_id": call,
        "tool_response": response,
    }
    return given | more


def bash(text: str, call: str = "toolu_01", **more: Any) -> dict[str, Any]:
    """Return the event of a shell command that printed `text`."""
    return event("Bash", {"stdout": text, **SHELL}, call, **more)


@pytest.fixture
def hook(home: Path, tmp_path: Path) -> Hook:
    """Return the hook, turned on."""
    return Hook(home, tmp_path)


def test_a_long_result_goes_to_a_file_whole_and_the_model_gets_a_short_form_with_its_path(
    hook: Hook,
) -> None:
    """In the tool's own shape, which the host insists on; the file is the result, byte for byte, and private."""
    output = hook.run(bash(LOG))
    [path] = hook.stored()

    assert path.read_bytes() == LOG.encode()
    assert (path.stat().st_mode & 0o777, hook.outputs.stat().st_mode & 0o777) == (0o600, 0o700)
    assert {name: output[name] for name in SHELL} == SHELL
    assert str(path) in output["stdout"].splitlines()[0]
    assert len(output["stdout"]) < 5_000
    assert output["stdout"].endswith("step 1999 done\n3 failed, 97 passed in 4.1s")


def test_what_is_not_long_stays_as_it_is(hook: Hook) -> None:
    """To the character."""
    assert hook.run(bash("x" * 8_000)) is None
    assert hook.stored() == []
    assert hook.run(bash("x" * 8_001)) is not None


@pytest.mark.parametrize(
    ("tool", "response", "whole"),
    [
        ("Bash", {**SHELL, "stdout": LOG, "stderr": "warned"}, LOG + "\nwarned"),
        ("Grep", {"mode": "content", "filenames": [], "content": LOG, "numLines": 2001}, LOG),
        ("Grep", {"mode": "files_with_matches", "filenames": LOG.split("\n"), "numFiles": 1}, LOG),
        ("Glob", {"filenames": LOG.split("\n"), "numFiles": 1, "truncated": False}, LOG),
        ("WebFetch", {"url": "https://x.example", "code": 200, "result": LOG, "bytes": 1}, LOG),
        ("mcp__tracker__list", LOG, LOG),
        ("mcp__tracker__list", [{"type": "text", "text": LOG}], LOG),
        ("mcp__tracker__list", [{"type": "text", "text": t} for t in (LOG, "b")], LOG + "\nb"),
    ],
)
def test_each_tool_keeps_its_own_shape(hook: Hook, tool: str, response: Any, whole: str) -> None:
    """Whatever stands beside the text stays."""
    output = hook.run(event(tool, response))
    [path] = hook.stored()

    assert path.read_text() == whole
    assert type(output) is type(response)
    assert len(json.dumps(output)) < 6_000
    if isinstance(response, dict):
        assert set(output) == set(response)
        same = {"url", "code", "mode", "numLines", "numFiles", "interrupted", "truncated"}
        assert {k: output[k] for k in same & set(output)} == {
            k: response[k] for k in same & set(response)
        }


def test_the_links_of_a_web_search_stay_whole(hook: Hook) -> None:
    """The host asks the model to name them."""
    links = {"tool_use_id": "s", "content": [{"title": "A", "url": "https://a.example"}]}
    output = hook.run(event("WebSearch", {"query": "q", "results": [links, LOG]}))

    assert output["results"][0] == links
    assert output["results"][1].startswith("[keepthread:")


@pytest.mark.parametrize(
    ("tool", "response", "given"),
    [
        ("Read", {"type": "text", "file": {"filePath": "/a.py", "content": LOG}}, {}),
        ("NotebookRead", LOG, {}),
        ("Edit", {"filePath": "/a.py", "oldString": LOG, "newString": LOG}, {}),
        ("Write", {"type": "create", "filePath": "/a.py", "content": LOG}, {}),
        ("Agent", {"status": "completed", "content": [{"type": "text", "text": LOG}]}, {}),
        ("Bash", {**SHELL, "stdout": LOG}, {"command": "cd src && cat parser.py"}),
        ("Bash", {**SHELL, "stdout": LOG}, {"command": "sed -n '1,400p' src/parser.py"}),
        ("Bash", {**SHELL, "stdout": LOG}, {"command": "git show HEAD~1:src/parser.py"}),
        ("mcp__filesystem__read_text_file", [{"type": "text", "text": LOG}], {}),
        ("mcp__editor__find_symbol", LOG, {}),
        ("Bash", {**SHELL, "stdout": LOG, "isImage": True}, {}),
        ("Bash", {**SHELL, "stdout": LOG, "persistedOutputPath": "/x/tool-results/b.txt"}, {}),
        ("Bash", {**SHELL, "stdout": LOG, "interrupted": True}, {}),
        ("Bash", {"stdout": [LOG], "stderr": ""}, {}),
        ("Bash", LOG, {}),
        ("WebFetch", {"result": {"text": LOG}}, {}),
        ("mcp__shots__take", [{"type": "text", "text": LOG}, {"type": "image", "source": {}}], {}),
        ("mcp__x__y", [{"type": "resource", "resource": {"text": LOG}}], {}),
        ("mcp__x__y", [{"type": "text", "text": LOG, "unheard_of": 1}], {}),
        ("mcp__x__y", {"rows": [LOG]}, {}),
        ("TodayUnknown", LOG, {}),
    ],
)
def test_what_the_next_edit_needs_or_nobody_knows_is_never_touched(
    hook: Hook, tool: str, response: Any, given: dict[str, Any]
) -> None:
    """Files however they were read, images, shapes of tomorrow, and what the host shortened itself."""
    assert hook.run(event(tool, response, tool_input=given)) is None
    assert hook.stored() == []


@pytest.mark.parametrize(
    "command", ["cat build.log", "tail -n 500 /var/log/x", "cat a.py | wc -l; make"]
)
def test_logs_and_other_commands_are_no_files_to_be_edited(hook: Hook, command: str) -> None:
    """So they are shortened."""
    assert hook.run(bash(LOG, tool_input={"command": command})) is not None


FILES = """cat x.py; git status
cat x.py && make
for f in a.py b.py; do echo $f; cat $f; done
if [ -f x.py ]; then cat x.py; fi
(cd src && cat x.py)
/bin/cat x.py
sudo cat /etc/x.conf 2>/dev/null
sed '1,20!d' x.py
awk 'NR>=1 && NR<=400' x.py
find . -name '*.py' | xargs cat
find . -name '*.py' -exec cat {} +
grep -n '' x.py
grep -A200 'class X' x.py
python3 -c "print(open('x.py').read())"
jq . package.json
cat -n x.py | sed -n 1,400p"""
OTHERS = """cat a.py > b.py && make
make 2>&1 | tail -500
git log | cat
npm test 2>&1 | sed 's/x/y/'
grep -rn name src
awk '{print $1}' x.py | sort
git commit -m "Mend it; cat x.py is now whole"
"""
WRITING = "cat > x.py <<'EOF'\nhead x\ncat y.py\nEOF\npython x.py"


@pytest.mark.parametrize("command", FILES.split("\n"))
def test_a_command_shows_files_however_it_is_written_and_whatever_else_it_does(
    command: str,
) -> None:
    """The next edit may need what it showed."""
    assert spill_shapes.shows_a_file(command)


@pytest.mark.parametrize("command", [*OTHERS.splitlines(), WRITING, "<<A\n" * 50_000, None])
def test_a_command_that_shows_no_file_is_told_from_one_that_does(command: object) -> None:
    """Though the same words stand in it."""
    assert not spill_shapes.shows_a_file(command)


def test_what_is_past_all_measure_is_left_to_the_host(hook: Hook) -> None:
    """To look through it would take longer than a hook has."""
    assert hook.run(event("mcp__tracker__list", "line\n" * 400_001)) is None
    assert hook.stored() == []


@pytest.mark.parametrize(
    "case",
    [
        "not turned on",
        "turned off here",
        "disabled",
        "off in this project",
        "a subagent",
        "a child",
    ],
)
def test_turned_off_it_does_nothing(hook: Hook, case: str) -> None:
    """Whoever runs it."""
    env, more = {}, {}
    if case == "not turned on":
        hook.settings(spill=False)
    elif case == "turned off here":
        env = {"KEEPTHREAD_SPILL": "off"}
    elif case == "disabled":
        env = {"KEEPTHREAD_DISABLE": "1"}
    elif case == "off in this project":
        hook.settings(spill=True, off_projects=[str(hook.folder)])
        more = {"cwd": str(hook.folder)}
    elif case == "a subagent":
        more = {"agent_id": "a1"}
    else:
        env = {"KEEPTHREAD_CHILD": "1"}

    assert hook.run(bash(LOG, **more), **env) is None
    assert not hook.outputs.exists()


def test_the_environment_of_a_project_cannot_turn_it_on(hook: Hook) -> None:
    """A repository's own settings can set it."""
    hook.settings(spill=False)

    assert hook.run(bash(LOG), KEEPTHREAD_SPILL="on", KEEPTHREAD_SPILL_CHARS="1") is None


def test_secrets_reach_neither_the_file_nor_the_short_form(hook: Hook) -> None:
    """And nothing else of the result changes."""
    text = LOG.replace("step 1000 done", f"aws_access_key_id = {AWS}")
    output = hook.run(bash(f"{text}\nlast {AWS}"))
    whole = hook.stored()[0].read_text()

    assert AWS not in whole + json.dumps(output)
    assert whole.count("[REDACTED:") == 2
    assert len(whole.split("\n")) == len(text.split("\n")) + 1
    changed = [a for a, b in zip(whole.split("\n"), text.split("\n"), strict=False) if a != b]
    assert len(changed) == 1


@pytest.mark.parametrize("fault", ["a file in its place", "a read-only folder", "a full disk"])
def test_when_nothing_can_be_written_the_host_s_own_result_stands(hook: Hook, fault: str) -> None:
    """The model sees everything, and the log says why."""
    before = ""
    if fault == "a file in its place":
        hook.outputs.parent.mkdir(parents=True)
        hook.outputs.write_text("")
    elif fault == "a read-only folder":
        if os.geteuid() == 0:
            pytest.skip("root writes everywhere")
        hook.outputs.mkdir(parents=True)
        hook.outputs.chmod(0o500)
    else:
        before = "ulimit -f 1; "  # a log line fits, the result does not

    assert answer(hook.start(bash(LOG), before)) is None
    assert "not put aside" in (hook.state / "log.jsonl").read_text()
    if hook.outputs.is_dir():
        assert hook.stored() == []
        assert [path.name for path in hook.outputs.iterdir() if path.name.startswith(".tmp")] == []


def test_the_same_call_again_is_the_same_file_and_the_same_words(hook: Hook) -> None:
    """An event may come twice."""
    first, second = hook.run(bash(LOG)), hook.run(bash(LOG))

    assert first == second
    assert len(hook.stored()) == 1


def test_another_result_under_the_same_id_takes_nothing_away(hook: Hook) -> None:
    """The first one's path is in the context already."""
    hook.run(bash(LOG))
    output = hook.run(bash(LOG + "!"))

    assert [path.read_text() for path in hook.stored()] != [LOG + "!"]
    assert sorted(path.read_text() for path in hook.stored()) == sorted([LOG, LOG + "!"])
    assert any(str(path) in output["stdout"] for path in hook.stored())


@pytest.mark.parametrize(
    "call", ["../../../etc/x", "a/b", "", "x" * 300, "\x00", "\ud800", "..", "a\nb"]
)
def test_no_id_of_a_call_leads_out_of_the_folder(hook: Hook, call: str) -> None:
    """A call without an id stays as it is."""
    output = hook.run(bash(LOG, call))

    assert (output is None) == (call == "")
    made = [*hook.state.parent.rglob("*.txt"), *hook.folder.glob("*.txt")]
    assert all(path.parent == hook.outputs for path in made)


def test_past_the_total_of_a_turn_smaller_results_are_long_as_well(hook: Hook) -> None:
    """The next turn begins anew, and forgets the last one's count."""
    hook.settings(spill=True, spill_chars=8_000, spill_turn_chars=20_000)
    text = LOG[:5_000]
    shortened = [hook.run(bash(text, f"toolu_{n}")) is not None for n in range(6)]
    other = hook.run(bash(text, "toolu_9", prompt_id="5b8e6f0a-0000-4000-8000-000000000002"))

    assert shortened == [False] * 4 + [True] * 2
    assert other is None
    assert len(list(hook.outputs.glob("turn-*"))) == 1


def test_calls_side_by_side_are_counted_together(hook: Hook) -> None:
    """Each in a process of its own: of twelve that bring 5,000 characters, four fit into 20,000."""
    hook.settings(spill=True, spill_chars=8_000, spill_turn_chars=20_000)
    running = [hook.start(bash(LOG[:5_000], f"toolu_{n}")) for n in range(12)]
    left = [answer(process) for process in running].count(None)

    assert left <= 4
    assert len(hook.stored()) == 12 - left
    assert {path.read_text() for path in hook.stored()} == {LOG[:5_000]}


def test_a_call_is_counted_once_however_often_it_comes(hook: Hook) -> None:
    """And a host that names no turn has no total."""
    hook.settings(spill=True, spill_chars=8_000, spill_turn_chars=20_000)

    assert [hook.run(bash(LOG[:5_000])) for _ in range(8)] == [None] * 8
    assert [hook.run(bash(LOG[:5_000], f"toolu_{n}", prompt_id=None)) for n in range(8)] == [
        None
    ] * 8


@pytest.mark.parametrize("response", [None, [], {}, 7, "x" * 9_000, [[]], [None], {"stdout": None}])
@pytest.mark.parametrize("tool", ["Bash", "Grep", "WebSearch", "WebFetch", "mcp__a__b", None, 7])
def test_no_event_breaks_it(hook: Hook, tool: Any, response: Any) -> None:
    """Whatever the fields are."""
    from keepthread.economy import spill

    found = spill.candidate({"tool_name": tool, "tool_response": response, "tool_input": response})

    assert found is None or found[0] == "x" * 9_000


def test_the_entry_names_exactly_the_tools_that_may_be_shortened() -> None:
    """For the host, which searches with it; and only where its user has turned it on."""
    [entry] = [one for one in entries_for((), {"spill"}) if one.event == "PostToolUse"]
    printing = ("Bash", "PowerShell", "Grep", "Glob", "WebFetch", "WebSearch", "mcp__a__b")
    others = ("BashOutput", "Read", "NotebookRead", "Edit", "Write", "Agent", "KillBash", "xmcp__a")

    assert [tool for tool in (*printing, *others) if re.search(entry.matcher, tool)] == [*printing]
    assert not any(one.event == "PostToolUse" for one in entries_for((), ()))
