"""The command line: whole outputs, exit codes, errors that name the thing, the reason and the remedy."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keepthread import __version__
from keepthread.engines.choose import known
from keepthread.host.entries import ENTRIES
from tests.support.cli import ASK, DOCUMENT, RULE, Person
from tests.support.installation import ROOT
from tests.support.session import SESSION

OTHER = "22222222-2222-4222-8222-222222222222"


def test_help_names_every_command(person: Person) -> None:
    """Exit code 0; the whole list."""
    commands = re.findall(r"^  (\w+) ", person.ok("--help").partition("Commands:")[2], re.MULTILINE)

    assert commands == (
        [
            "completion",
            "diff",
            "doctor",
            "eval",
            "handoff",
            "install",
            "logs",
            "memory",
            "pin",
            "pins",
            "profile",
            "report",
            "show",
            "status",
            "statusline",
            "thresholds",
            "uninstall",
            "unpin",
        ]
    )


def test_version(person: Person) -> None:
    """The version, and nothing else."""
    assert person.ok("--version") == f"keepthread, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hadnoff"], "No such command 'hadnoff'"),
        (["handoff", "--nto"], "--nto"),
        (["show", "--format", "pdf"], "'pdf' is not one of 'md', 'json', 'context', 'index'"),
        (["install", "--scope", "world"], "'world' is not one of 'user', 'project', 'local'"),
        (["status", "extra"], "Got unexpected extra argument (extra)"),
        (["eval"], "Missing argument 'PATH...'"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_is_wrong(
    arguments: list[str], message: str, person: Person
) -> None:
    """Nothing is printed on standard output, nothing is written."""
    before = person.files()
    ran = person.run(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: keepthread")
    assert message in ran.err.replace('"', "'")
    assert person.files() == before


def test_a_command_without_any_words_prints_the_help(person: Person) -> None:
    """As every tool with commands does; it is a wrong usage all the same."""
    ran = person.run()

    assert ran.code == 2
    assert "Commands:" in ran.out + ran.err


def test_a_bug_ends_with_3_and_is_in_the_log(person: Person) -> None:
    """The log names the place, and none of the words, which may come from a transcript."""
    code = "import keepthread.diagnose.status as s\ns.read_status = lambda *_: {}['a secret']"
    out, err = (process := person.start("status", code=code)).communicate()
    line = json.loads((person.state / "log.jsonl").read_text())

    assert (process.returncode, out) == (3, "")
    assert err == (
        f"keepthread: this is a bug of keepthread's (KeyError). Details: {person.state}/log.jsonl\n"
    )
    assert line["reason"].startswith("bug: KeyError at ")
    assert "secret" not in json.dumps(line)


def test_an_interrupt_ends_with_130(person: Person) -> None:
    """Ctrl-C while the log is followed: no traceback."""
    log(person, "handoff", SESSION, "complete")
    # The tests may run in the background of a shell, which has SIGINT ignored there.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    process = person.start("logs", "--follow", code=heard)
    assert process.stdout is not None
    assert "complete" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)

    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_reader_who_has_had_enough_is_no_fault(person: Person) -> None:
    """`keepthread logs | head -1` with more lines than a pipe holds."""
    for _ in range(2_000):
        log(person, "handoff", SESSION, "complete")
    process = person.start("logs")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()

    assert process.wait(timeout=30) == 0
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["profile", "list"], ["--help"]])
def test_output_that_finds_no_room_is_refused_and_told_once(
    person: Person, words: list[str]
) -> None:
    """Python's own exit code for it would be 120, and a complaint of its own behind ours."""
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "keepthread", *words],
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )

    assert ran.returncode == 1
    assert ran.stderr == "keepthread: No space left on device\n"


@pytest.mark.skipif(os.name == "nt", reason="closes streams as a POSIX shell does")
@pytest.mark.parametrize("words", ["uninstall", "eval .", "memory add x.md", "memory trust"])
def test_streams_that_are_closed_are_as_good_as_nobody_there(person: Person, words: str) -> None:
    """As a service manager or a careless script starts it: no bug, whatever is asked or shown elsewhere."""
    person.session()
    person.ok("memory", "init")
    command = f"'{sys.executable}' -m keepthread {words}"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    there = subprocess.run(["sh", "-c", f"{command} </dev/null"], env=env, capture_output=True)
    closed = subprocess.run(["sh", "-c", f"{command} <&- >&- 2>&-"], env=env)

    assert closed.returncode == there.returncode < 2


def test_a_terminal_that_cannot_show_a_character_gets_a_question_mark(person: Person) -> None:
    """A name in another script is no bug of ours."""
    person.session().user("Call the file 潮位.py, the rest stays.")
    person.set(PYTHONIOENCODING="latin-1", KEEPTHREAD_ENGINE="facts")
    process = person.start("handoff")
    out, err = process.communicate(timeout=60)

    assert (process.returncode, err) == (0, "")
    assert "Call the file ??.py, the rest stays." in out


def test_python_m_keepthread_is_the_same_program(person: Person) -> None:
    """For those whose PATH does not hold the program."""
    out, err = (process := person.start("status")).communicate()

    assert (process.returncode, out, err) == (0, "No session of this project was found.\n", "")


def test_handoff_stores_and_prints_the_newest_session_of_the_project(person: Person) -> None:
    """A choice of the facts engine is no failure: exit 0 and nothing on standard error."""
    person.set(KEEPTHREAD_ENGINE="facts")
    older = person.session(session=OTHER)
    person.session()
    os.utime(older.path, (1, 1))
    shown = person.ok("handoff")

    assert person.stored()["meta"]["reason"] == "engine_facts"
    assert not (person.state / "sessions" / OTHER).exists()
    assert shown.startswith("HANDOFF_AUTO_PARTIAL\n\n<!-- keepthread handoff")
    assert all(words in shown for words in (RULE, ASK, "src/tides.py"))
    assert (person.project / "docs" / "handoff-context.md").read_text() == shown


def test_handoff_in_a_session_takes_that_session(person: Person) -> None:
    """The host sets CLAUDE_CODE_SESSION_ID for the commands it runs."""
    person.set(KEEPTHREAD_ENGINE="facts", CLAUDE_CODE_SESSION_ID=OTHER)
    os.utime(person.session(session=OTHER).path, (1, 1))
    person.session()
    person.ok("handoff")

    assert person.stored(OTHER)["meta"]["session_id"] == OTHER
    assert not (person.state / "sessions" / SESSION).exists()


def test_handoff_of_another_project_s_session_goes_into_that_project(person: Person) -> None:
    """Never another project's handoff in this one's docs."""
    person.set(KEEPTHREAD_ENGINE="facts")
    elsewhere = person.home / "elsewhere"
    elsewhere.mkdir()
    person.session(elsewhere, session=OTHER)
    person.ok("handoff", "--session", OTHER)

    assert person.stored(OTHER)["meta"]["project"] == str(elsewhere)
    assert (elsewhere / "docs" / "handoff-context.md").is_file()
    assert list(person.project.iterdir()) == []


def test_handoff_of_a_transcript_prints_and_stores_nothing(person: Person) -> None:
    """Not in the state folder, not in the project, not in the log."""
    file = person.session()
    person.set(KEEPTHREAD_ENGINE="facts")
    before = person.files()
    shown = person.ok("handoff", "--transcript", str(file.path))

    assert RULE in shown
    assert person.files() == before


def test_handoff_of_a_transcript_stores_nothing_when_a_model_answers_either(person: Person) -> None:
    """The ladder, the audit and a second try leave no trace but the call in the account of what was spent."""
    file = person.session()
    person.has_claude().answer(DOCUMENT)
    before = person.files()
    made = person.json("handoff", "--transcript", str(file.path), "--format", "json")

    assert made["meta"]["status"] == "complete"
    after = person.files()
    assert {path for path in after if path not in before} == {
        ".claude/keepthread/spend.json",
        ".claude/keepthread/spend.lock",
    }
    assert {path: after[path] for path in before} == before


def test_a_partial_is_exit_0_with_a_warning(person: Person) -> None:
    """Without a login the facts are what there is, and the reason is named."""
    person.session()
    ran = person.run("handoff")

    assert ran.code == 0
    assert ran.err.splitlines() == [
        "keepthread: only partial (no_login): computed from the transcript",
        "  `keepthread doctor` says which engine would answer and why.",
    ]
    assert RULE in ran.out


def test_a_complete_handoff_and_its_note(person: Person) -> None:
    """--note reaches the model; the answer is stored and printed."""
    person.session()
    fake = person.has_claude()
    fake.answer(DOCUMENT)
    shown = person.ok("handoff", "--note", "mind the harbour office")

    assert person.stored()["meta"]["status"] == "complete"
    assert DOCUMENT["next_steps"][0] in shown
    assert "mind the harbour office" in fake.calls[0]["stdin"]


def test_the_note_of_the_slash_command_is_used_once(person: Person) -> None:
    """UserPromptSubmit leaves it, the `keepthread handoff` of the command takes it up."""
    from keepthread.handoff.note import leave_note

    person.session()
    fake = person.has_claude()
    fake.answer(DOCUMENT)
    leave_note(str(person.state), SESSION, "mind the gauges")
    person.ok("handoff")
    person.ok("handoff")

    assert ["mind the gauges" in call["stdin"] for call in fake.calls] == [True, False]


def test_the_engine_can_be_named(person: Person) -> None:
    """--engine goes before KEEPTHREAD_ENGINE; `facts` asks nobody."""
    person.session()
    fake = person.has_claude()
    fake.answer(DOCUMENT)

    assert (
        person.json("handoff", "--engine", "facts", "--format", "json")["meta"]["engine"] == "facts"
    )
    assert fake.calls == []


def test_an_unknown_engine_is_refused_before_anything_is_stored(person: Person) -> None:
    """The message names it, the hint those that are known."""
    person.session()
    before = person.files()
    ran = person.run("handoff", "--engine", "gpt")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == [
        "keepthread: KEEPTHREAD_ENGINE names an unknown engine: 'gpt'",
        f"  Known are: {', '.join(known())}.",
    ]
    assert person.files() == before


def test_a_success_on_demand_closes_the_circuit(person: Person) -> None:
    """What failed three times works again: the next compaction may ask."""
    person.session()
    open_circuit(person)
    assert person.json("status", "--json")["circuit"] == "open"
    person.has_claude().answer(DOCUMENT)
    person.ok("handoff")

    assert person.json("status", "--json")["circuit"] == "closed"


@pytest.mark.parametrize("form", ["md", "json", "context", "index"])
def test_every_format_is_shown_as_it_is_stored(form: str, person: Person) -> None:
    """`show` prints what `handoff` printed; context and index are what SessionStart puts back."""
    person.session()
    person.set(KEEPTHREAD_ENGINE="facts")
    person.ok("handoff")
    shown = person.ok("show", "--format", form)
    folder = person.state / "sessions" / SESSION

    assert shown == person.ok("show", "--session", SESSION, "--format", form)
    if form == "json":
        assert json.loads(shown) == person.stored()
    elif form == "md":
        assert shown == (folder / "handoff.md").read_text()
    elif form == "context":
        assert shown.strip().startswith(json.loads((folder / "context.json").read_text())["text"])
        assert shown.rstrip().endswith("</keepthread-handoff>")
    else:
        assert shown.rstrip() == json.loads((folder / "index.json").read_text())["text"].rstrip()


def test_out_writes_a_private_file_and_says_so(person: Person) -> None:
    """A file of that name is replaced; nobody else may read it."""
    person.session()
    person.set(KEEPTHREAD_ENGINE="facts")
    (person.project / "note.md").write_text("old")

    assert person.ok("handoff", "--out", "note.md") == "Written to note.md\n"
    assert RULE in (person.project / "note.md").read_text()
    assert stat.S_IMODE((person.project / "note.md").stat().st_mode) == 0o600


def test_out_follows_a_link_and_writes_into_a_pipe(person: Person) -> None:
    """A device or a pipe is written to; replacing /dev/null would break the machine."""
    person.session()
    person.set(KEEPTHREAD_ENGINE="facts")
    (person.project / "link.md").symlink_to("real.md")
    os.mkfifo(person.project / "pipe")
    reader = os.open(person.project / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    person.ok("handoff", "--out", "link.md")
    person.ok("handoff", "--out", "pipe", "--format", "index")

    assert RULE in (person.project / "real.md").read_text()
    assert (person.project / "link.md").is_symlink()
    assert b"<keepthread-index>" in os.read(reader, 100_000)
    assert stat.S_ISFIFO((person.project / "pipe").stat().st_mode)
    os.close(reader)


def test_out_into_a_folder_that_is_not_there_is_refused(person: Person) -> None:
    """The thing, the reason, the remedy."""
    person.session()
    person.set(KEEPTHREAD_ENGINE="facts")
    ran = person.run("handoff", "--out", "gone/note.md")

    assert ran.code == 1
    assert ran.err.splitlines() == [
        "keepthread: 'gone/note.md' cannot be written: No such file or directory",
        "  Name a file in a folder that exists.",
    ]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["handoff"], "There is no transcript of the project '{project}'", "with --session ID"),
        (["show"], "There is no transcript of the project '{project}'", "with --session ID"),
        (
            ["handoff", "--session", OTHER],
            f"There is no transcript of session '{OTHER}'",
            "--session",
        ),
        (["handoff", "--session", "../x"], "There is no transcript of session '../x'", "--session"),
        (["handoff", "--transcript", "no.jsonl"], "There is no transcript 'no.jsonl'", ".jsonl"),
        (["show", "--session", OTHER], f"No handoff is stored for session {OTHER}", "handoff"),
        (["logs", "--since", "soon"], "--since 'soon' is no time", "90s, 15m, 2h, 3d"),
        (["logs", "--since", "9" * 30 + "d"], "--since '999", "90s"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_remedy(
    arguments: list[str], message: str, hint: str, person: Person
) -> None:
    """Exit code 1, two lines on standard error, nothing written."""
    before = person.files()
    ran = person.run(*arguments)
    first, second = ran.err.splitlines()

    assert (ran.code, ran.out) == (1, "")
    assert first.startswith("keepthread: " + message.format(project=person.project))
    assert hint in second
    assert person.files() == before


def test_a_relative_configuration_folder_is_refused_by_every_command(person: Person) -> None:
    """It would mean another folder wherever a hook happens to run."""
    person.set(CLAUDE_CONFIG_DIR="somewhere")
    for command in ("status", "doctor", "logs", "show", "handoff", "install", "uninstall"):
        ran = person.run(command)

        assert ran.code == 1, command
        assert ran.err.splitlines()[0] == (
            "keepthread: CLAUDE_CONFIG_DIR is a relative path: 'somewhere'"
        )


def test_show_list_names_every_session_newest_first(person: Person) -> None:
    """One line each, and one line when there is none."""
    assert person.ok("show", "--list") == "No handoff is stored yet.\n"
    person.set(KEEPTHREAD_ENGINE="facts")
    person.session(session=OTHER)
    person.ok("handoff")
    person.session()
    person.ok("handoff", "--session", SESSION)
    lines = [
        re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME", line)
        for line in person.ok("show", "--list").splitlines()
    ]

    assert sorted(lines) == [
        f"{SESSION}  TIME  partial   {person.project}  {ASK}",
        f"{OTHER}  TIME  partial   {person.project}  {ASK}",
    ]


def test_status_without_a_session(person: Person) -> None:
    """It is no error to have none yet."""
    assert person.ok("status") == "No session of this project was found.\n"
    found = person.json("status", "--json")
    shape = {
        "session": None,
        "handoff": None,
        "circuit": "closed",
        "context": None,
        "compactions": None,
        "calls_last_hour": 0,
        "spent_today_usd": 0,
    }

    assert {name: found[name] for name in shape} == shape


def test_status_of_a_session_without_a_handoff(person: Person) -> None:
    """The whole text."""
    person.session().boundary()

    assert person.ok("status") == (
        f"Session      {SESSION}\n"
        "Handoff      none yet; the next compaction or `keepthread handoff` writes one\n"
        "Context      unknown until the next answer: it was compacted\n"
        "Compaction   at 167,000\n"
        "Compactions  1\n"
        "Memory       none of this session yet; it is kept without a model\n"
        "Spent        0 of 20 calls in the last hour, 0.00 of 5.00 USD today\n"
        "Circuit      closed\n"
    )


def context(person: Person) -> dict[str, Any]:
    value: dict[str, Any] = person.json("status", "--json")["context"]
    return value


def test_status_of_a_partial(person: Person) -> None:
    """Reason, rungs, context and its share of the window."""
    person.session().assistant("Which stations are known?", tokens=50_000)
    person.run("handoff")
    text = re.sub(r"\d+\.\d+ s", "N s", re.sub(r"\d+ s old", "N s old", person.ok("status")))
    text = re.sub(r"[\d,]+ units, index [\d,]+", "N units, index N", text)
    text = re.sub(r"Write \d+, Edit \d+; files: (\S+) \d+, (\S+) \d+", r"Write, Edit; \1, \2", text)

    assert text == (
        f"Session      {SESSION}\n"
        "Handoff      partial (no_login), by facts, N s old\n"
        "             2 files, 1 rule; context N units, index N\n"
        "Tried        claude: no_login in N s\n"
        "Tried        facts: ok in N s\n"
        "Context      50,023 tokens, 25% of 200,000\n"
        "Compaction   in 116,977 tokens, at 167,000; ~ est 4 turns, 25,500 tokens each\n"
        "Largest      ~ est Write, Edit; src/stations.py, src/tides.py\n"
        "Compactions  0\n"
        "Memory       none of this session yet; it is kept without a model\n"
        "Spent        0 of 20 calls in the last hour, 0.00 of 5.00 USD today\n"
        "Circuit      closed\n"
        "Document     docs/handoff-context.md\n"
    )


def test_status_as_json_has_exactly_the_documented_shape(person: Person) -> None:
    """Scripts rely on it."""
    person.session().assistant("Which stations are known?", tokens=50_000)
    person.has_claude().answer(DOCUMENT)
    person.ok("handoff")
    found = person.json("status", "--json")

    assert 0 <= found["handoff"].pop("age_s") < 300
    shape = ("tokens", "estimated", "window", "share")
    found["context"] = {name: found["context"][name] for name in shape}
    named = ("status", "reason", "engine")
    found["handoff"] = {name: found["handoff"][name] for name in named}
    expected = {
        "session": SESSION,
        "handoff": {"status": "complete", "reason": None, "engine": "claude"},
        "circuit": "closed",
        "context": {"tokens": 50_023, "estimated": False, "window": 200_000, "share": 0.25},
        "compactions": 0,
        "calls_last_hour": 1,
        "spent_today_usd": 0.25,
    }

    assert {name: found[name] for name in expected} == expected


def open_circuit(person: Person) -> None:
    """Let three model calls of the session fail."""
    import time

    from keepthread.handoff.store import write_worker

    write_worker(str(person.state), SESSION, {"failures": 3, "failed_at": time.time()})


def test_status_tells_of_an_open_circuit_a_failure_and_a_bad_variable(person: Person) -> None:
    """Failure is visible, never silent."""
    person.session()
    open_circuit(person)
    log(person, "pre_compact", SESSION, "failed", reason="bug: KeyError at x.py:1")
    person.write_env("KEEPTHREAD_TIMEOUT=soon\n")
    lines = person.ok("status").splitlines()

    assert "Circuit      open" in lines
    assert re.fullmatch(r"Last failure \S+Z pre_compact: bug: KeyError at x\.py:1", lines[-2])
    assert lines[-1].startswith("Setting      KEEPTHREAD_TIMEOUT in ")


def test_status_names_a_document_that_is_left_alone(person: Person) -> None:
    """A file without our marker is its user's."""
    person.session()
    person.set(KEEPTHREAD_ENGINE="facts")
    (person.project / "docs").mkdir()
    (person.project / "docs" / "handoff-context.md").write_text("my own notes\n")
    person.ok("handoff")
    line = next(line for line in person.ok("status").splitlines() if line.startswith("Document"))

    assert line.startswith("Document     left alone: ")
    assert (person.project / "docs" / "handoff-context.md").read_text() == "my own notes\n"


def test_a_damaged_handoff_is_none(person: Person) -> None:
    """Half a file, or one of another version: `handoff` writes a new one."""
    person.session()
    person.set(KEEPTHREAD_ENGINE="facts")
    person.ok("handoff")
    (person.state / "sessions" / SESSION / "handoff.json").write_text('{"meta": {"status"')

    assert person.json("status", "--json")["handoff"] is None
    assert person.run("show").code == 1
    assert RULE in person.ok("handoff")


def log(person: Person, event: str, session: str, outcome: str, **more: Any) -> None:
    """Leave a line in the log."""
    from keepthread import log as logbook

    logbook.record(str(person.state), event=event, session=session, outcome=outcome, **more)


def test_logs_are_one_line_per_run(person: Person) -> None:
    """All of it, or one session's."""
    assert person.ok("logs") == ""
    log(person, "pre_compact", SESSION, "partial", reason="timeout", engine="facts", seconds=0.25)
    log(person, "handoff", OTHER, "complete", engine="claude", seconds=9)
    lines = [line.partition("Z  ")[2] for line in person.ok("logs").splitlines()]

    assert lines == [
        f"pre_compact  {SESSION}  partial  timeout  facts  0.25s",
        f"handoff  {OTHER}  complete  claude  9.00s",
    ]
    assert person.ok("logs", "--session", OTHER).count("\n") == 1


def test_logs_since_a_span_or_a_time(person: Person) -> None:
    """Seconds, minutes, hours, days; ISO 8601 in UTC, with an offset, or of the local clock."""
    person.state.mkdir(parents=True)
    times = ("2026-01-01T00:00:00Z", "2026-01-02T12:00:00Z", "2999-01-01T00:00:00Z")
    entries = [{"time": time, "event": "e", "session": "s", "outcome": "o"} for time in times]
    (person.state / "log.jsonl").write_text(
        "".join(json.dumps(e, separators=(",", ":")) + "\n" for e in entries)
    )
    wanted = {
        "90s": 1,
        "15m": 1,
        "2h": 1,
        "3d": 1,
        "99999d": 3,
        "2026-01-02T12:00:00Z": 2,
        "2026-01-02T13:00:00+01:00": 2,
        "2026-01-02T12:00:01Z": 1,
        "2025-12-01": 3,
    }

    assert {since: person.ok("logs", "--since", since).count("\n") for since in wanted} == wanted


def test_logs_follow_prints_what_comes_also_after_a_rotation(person: Person) -> None:
    """No line twice, none left out."""
    log(person, "first", SESSION, "done")
    process = person.start("logs", "--follow", "--session", SESSION)
    assert process.stdout is not None
    seen = [process.stdout.readline()]
    log(person, "other", OTHER, "done")
    log(person, "second", SESSION, "done")
    seen.append(process.stdout.readline())
    os.replace(person.state / "log.jsonl", person.state / "log.jsonl.1")
    log(person, "third", SESSION, "done")
    seen.append(process.stdout.readline())
    os.replace(person.state / "log.jsonl", person.state / "log.jsonl.1")
    log(person, "fourth", SESSION, "done")
    seen.append(process.stdout.readline())
    process.terminate()
    rest, err = process.communicate(timeout=30)

    assert [line.split("  ")[1] for line in seen] == ["first", "second", "third", "fourth"]
    assert (rest, err) == ("", "")


def test_install_and_uninstall_print_a_diff_first_when_asked(person: Person) -> None:
    """--dry-run writes nothing; --json says the same."""
    before = person.files()
    diff = person.ok("install", "--dry-run")
    report = person.json("install", "--dry-run", "--json")

    assert diff.startswith("--- /dev/null\n+++ ")
    assert '+            "timeout": 75' in diff
    assert set(report) == {"changed", "diff", "notes", "settings_path"}
    assert (report["changed"], report["diff"]) == (True, diff)
    assert person.files() == before


def test_install_says_what_it_did_and_uninstall_takes_it_out(person: Person) -> None:
    """The whole texts."""
    settings = person.config / "settings.json"
    bundled = sorted((ROOT / "commands").glob("*.md"))

    assert person.ok("install") == (
        f"Hooks ({', '.join(dict.fromkeys(entry.event for entry in ENTRIES))}) are in {settings}\n"
        f"Commands: {', '.join(f'/{path.stem}' for path in bundled)}\n"
    )
    assert person.ok("install") == "Nothing to do\n"
    assert person.ok("uninstall", "--purge") == (
        f"Hooks and commands of keepthread are out of {person.config}\n"
        f"{person.config}/keepthread, with all handoffs, pins, private memories, the log and the virtual "
        "environment, removed\n"
    )
    assert not settings.exists()


def test_a_settings_file_that_is_no_json_is_refused_with_line_and_column(person: Person) -> None:
    """And is left as it is."""
    person.config.mkdir()
    (person.config / "settings.json").write_text('{"model": "opus",\n "hooks": }\n')
    ran = person.run("install")

    assert ran.code == 1
    assert f"{person.config}/settings.json:2:11: expecting value" in ran.err
    assert (person.config / "settings.json").read_text() == '{"model": "opus",\n "hooks": }\n'


def test_a_home_that_cannot_be_written_is_named(person: Person) -> None:
    """An error of the system is told in one line, not as a bug."""
    person.session()
    person.set(KEEPTHREAD_ENGINE="facts")
    person.state.write_text("a file where the folder should be")
    ran = person.run("handoff")

    assert ran.code == 1
    assert ran.err.startswith(f"keepthread: {person.state}")
    assert ran.err.count("\n") == 1


def test_a_folder_that_is_gone_is_named(person: Person, tmp_path: Path) -> None:
    """A shell may stand in a folder that somebody has removed."""
    code = "import os, sys; os.mkdir(sys.argv[1]); os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); "
    code += "from keepthread.__main__ import main; sys.argv[1:] = ['doctor']; main()"

    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "gone")], capture_output=True, text=True
    )

    assert (ran.returncode, ran.stdout) == (1, "")
    assert (
        ran.stderr
        == "keepthread: The current folder no longer exists\n  Go to another one first.\n"
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_asks_the_program_itself(person: Person, shell: str) -> None:
    """By the variable that click answers to."""
    script = person.ok("completion", shell)

    assert f"_KEEPTHREAD_COMPLETE={shell}_complete" in script


@pytest.mark.parametrize(
    ("words", "offered"), [("keepthread pi", {"pin", "pins"}), ("keepthread show --li", {"--list"})]
)
def test_commands_and_options_are_completed(person: Person, words: str, offered: set[str]) -> None:
    """As bash asks for it."""
    person.set(
        _KEEPTHREAD_COMPLETE="bash_complete",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
    )
    ran = person.run()

    assert {line.partition(",")[2] for line in ran.out.splitlines()} == offered
