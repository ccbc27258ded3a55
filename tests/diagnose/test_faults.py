"""Faults planted one by one in an installation of its own: doctor names each, and what it says mends it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepthread.host.entries import posix_command
from tests.support.fake_claude import FakeClaude
from tests.support.patient import Patient
from tests.support.session import SESSION

posix = pytest.mark.skipif(os.name == "nt", reason="modes, links and shell commands of POSIX")
pytestmark = posix


@pytest.fixture
def patient(home: Path) -> Patient:
    """Give the test somebody who has installed keepthread."""
    return Patient(home)


class Fault(NamedTuple):
    """What is planted, the check that has to name it and how, and the command that doctor has to give."""

    plant: Callable[[Patient], object]
    check: str
    words: str
    fix: str


def without(patient: Patient, *events: str) -> None:
    def change(document: Any) -> None:
        for event in events:
            document["hooks"].pop(event)

    patient.edit(patient.settings, change)


def twice(patient: Patient) -> None:
    patient.edit(
        patient.settings,
        lambda document: document["hooks"]["Stop"].append(document["hooks"]["Stop"][0]),
    )


def other_starts(patient: Patient) -> None:
    patient.edit(
        patient.settings,
        lambda document: document["hooks"]["SessionStart"][0].update(matcher="compact"),
    )


def an_older_interpreter(patient: Patient) -> None:
    """Let the entries name an interpreter whose keepthread is another one."""
    python = patient.home / "old" / "python3"
    python.parent.mkdir()
    python.write_text(
        f'#!/bin/sh\ncase "$3" in *__version__*) echo 0.0.9;; *) exec "{sys.executable}" "$@";; esac\n'
    )
    python.chmod(0o755)
    for path in (patient.settings, patient.state / "manifest.json"):
        path.write_text(path.read_text().replace(f"'{sys.executable}'", f"'{python}'"))


def a_moved_environment(patient: Patient) -> None:
    """Let the entries name an interpreter that is no longer there."""
    for path in (patient.settings, patient.state / "manifest.json"):
        path.write_text(path.read_text().replace(f"'{sys.executable}'", "'/gone/venv/bin/python'"))


MENDED_BY_INSTALL = {
    "an entry that vanished": Fault(
        lambda p: without(p, "PostCompact"),
        "hooks registered",
        "not registered: post_compact.py; written into",
        "keepthread install",
    ),
    "a settings file that vanished": Fault(
        lambda p: p.settings.unlink(), "hooks registered", "another program", "keepthread install"
    ),
    "an entry there twice": Fault(
        twice, "hooks registered", "more than once: stop.py", "keepthread install"
    ),
    "an entry of another form": Fault(
        other_starts, "hooks registered", "want it: session_start.py", "keepthread install"
    ),
    "a feature turned on later": Fault(
        lambda p: (p.config / ".env").write_text("KEEPTHREAD_SPILL=on\n"),
        "hooks registered",
        "not registered: post_tool_use.py",
        "keepthread install",
    ),
    "an environment that was moved": Fault(
        a_moved_environment, "hook commands", "/gone/venv/bin/python", "keepthread install"
    ),
    "a slash command that is gone": Fault(
        lambda p: (p.config / "commands" / "pin.md").unlink(),
        "slash commands",
        "missing: /pin",
        "keepthread install",
    ),
}


@pytest.mark.parametrize("name", MENDED_BY_INSTALL)
def test_a_fault_of_the_entries_is_named_and_mended_by_the_command_beside_it(
    name: str, patient: Patient
) -> None:
    """What doctor says is typed, and it finds nothing more."""
    fault = MENDED_BY_INSTALL[name]
    fault.plant(patient)
    found = patient.faults()

    assert fault.words in found[fault.check]["detail"]
    assert found[fault.check]["fix"] == fault.fix
    patient.follow(found[fault.check]["fix"])
    assert patient.faults() == {}


def test_fix_mends_all_of_them_at_once_and_leaves_the_rest_alone(patient: Patient) -> None:
    """Entries, commands, modes; foreign entries and an edited time limit stay; a second time there is nothing to do."""
    patient.edit(patient.settings, lambda d: d.update(model="opus"))
    patient.change_hook("PreCompact", timeout=70)
    without(patient, "PostCompact")
    twice(patient)
    other_starts(patient)
    (patient.config / "commands" / "pin.md").unlink()
    (patient.state / "manifest.json").chmod(0o644)
    assert set(patient.faults()) == {"hooks registered", "slash commands", "state folder private"}

    told = patient.run("doctor", "--fix", "--json")

    assert told.returncode == 0
    assert f"registered again in {patient.settings}\n" in told.stderr
    assert patient.hook("PreCompact")["timeout"] == 70
    assert json.loads(patient.settings.read_text())["model"] == "opus"
    assert patient.run("doctor", "--fix", "--json").stderr == ""


def test_fix_is_no_first_installation(patient: Patient) -> None:
    """Who has taken keepthread out has done so on purpose."""
    patient.ok("uninstall")
    before = patient.settings.exists()
    patient.run("doctor", "--fix")

    assert patient.settings.exists() == before
    assert "hooks registered" in patient.faults()


def test_another_version_in_the_entries_environment_is_named(patient: Patient) -> None:
    """Handoffs would be written by one and read by the other."""
    an_older_interpreter(patient)
    found = patient.faults()

    assert set(found) == {"environment"}
    assert "has keepthread 0.0.9, and this is " in found["environment"]["detail"]
    patient.follow(found["environment"]["fix"].split(",")[0])
    assert patient.faults() == {}


def test_hooks_in_two_files_with_two_interpreters_are_two_installations(patient: Patient) -> None:
    """Equal commands the host runs once; these are not equal."""
    python = patient.home / "second" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    environment = Path(sys.prefix) / "pyvenv.cfg"
    if environment.exists():  # so that the link is an environment with the same packages
        library = patient.home / "lib"
        library.symlink_to(Path(sys.prefix) / "lib")
        shutil.copy(environment, patient.home / "pyvenv.cfg")
        shutil.rmtree(python.parent)
        python = patient.home / "bin" / "python"
        python.parent.mkdir()
        python.symlink_to(sys.executable)
    patient.ok("install", "--scope", "local", python=str(python))
    found = patient.faults()

    assert set(found) == {"one installation"}
    assert str(python) in found["one installation"]["detail"]
    patient.follow(found["one installation"]["fix"])
    assert patient.faults() == {}


def test_the_same_hooks_in_two_files_are_one_installation(patient: Patient) -> None:
    """The host runs equal commands once."""
    patient.ok("install", "--scope", "local")

    assert patient.faults() == {}


def test_the_plugin_beside_the_settings_is_a_second_installation(patient: Patient) -> None:
    """Each event would be answered twice; without the settings' entries all is well."""
    patient.edit(
        patient.settings, lambda d: d.update(enabledPlugins={"keepthread@keepthread": True})
    )
    found = patient.faults()

    assert set(found) == {"one installation"}
    assert "keepthread@keepthread" in found["one installation"]["detail"]
    patient.follow(found["one installation"]["fix"].partition(", or ")[2])
    assert patient.faults() == {}


def test_hooks_in_the_project_alone_are_an_installation(patient: Patient) -> None:
    """The scope local is enough, and its missing entry is mended there."""
    patient.ok("uninstall")
    patient.ok("install", "--scope", "local")
    assert patient.faults() == {}
    patient.edit(
        patient.project / ".claude" / "settings.local.json", lambda d: d["hooks"].pop("Stop")
    )
    found = patient.faults()["hooks registered"]

    assert "settings.local.json" in found["detail"]
    patient.follow(found["fix"])
    assert patient.faults() == {}


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_a_program_that_a_repository_names_is_never_started(name: str, patient: Patient) -> None:
    """Its settings may hold entries of our form; the host waits until the folder is trusted, and doctor for ever."""
    evil = patient.project / "bin" / "python3"
    script = patient.project / "keepthread" / "hooks" / "pre_compact.py"
    for path in (evil, script):
        path.parent.mkdir(parents=True)
    evil.write_text(f"#!/bin/sh\ntouch '{patient.home}/started'\n")
    evil.chmod(0o755)
    script.write_text("")
    handler = {"type": "command", "command": posix_command(str(evil), str(script)), "timeout": 75}
    patient.edit(
        patient.project / ".claude" / name,
        lambda d: d.update(hooks={"PreCompact": [{"hooks": [handler]}]}),
    )
    found = patient.faults()
    patient.run("doctor", "--fix")

    assert set(found) == {"one installation"}
    assert str(evil) in found["one installation"]["detail"]
    assert not (patient.home / "started").exists()
    patient.follow(found["one installation"]["fix"])
    assert patient.faults() == {}


def test_a_colleague_s_entries_in_the_project_are_no_fault_of_this_machine(
    patient: Patient,
) -> None:
    """They name programs that are not here, and do nothing."""
    command = posix_command("/home/eve/venv/bin/python", "/home/eve/keepthread/hooks/stop.py")
    handler = {"type": "command", "command": command, "timeout": 10}
    patient.edit(
        patient.project / ".claude" / "settings.json",
        lambda d: d.update(hooks={"Stop": [{"hooks": [handler]}]}),
    )

    assert patient.faults() == {}


def test_a_broken_file_of_the_project_is_named_beside_the_sound_user_s(patient: Patient) -> None:
    """The host would ignore it too."""
    path = patient.project / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"hooks": [}')
    found = patient.faults()

    assert set(found) == {"settings"}
    assert str(path) in found["settings"]["detail"]
    path.unlink()
    assert patient.faults() == {}


def test_the_nearer_file_decides_whether_hooks_run(patient: Patient) -> None:
    """As in the host: a project's false overrides the user's true."""
    patient.edit(patient.settings, lambda d: d.update(disableAllHooks=True))
    assert str(patient.settings) in patient.faults()["hooks enabled"]["fix"]

    patient.edit(
        patient.project / ".claude" / "settings.json", lambda d: d.update(disableAllHooks=False)
    )
    assert patient.faults() == {}


@pytest.mark.parametrize(
    ("variables", "event", "limit", "words"),
    [
        ("", "SessionStart", 5000, "session_start.py may take 5000 s"),
        ("KEEPTHREAD_MODE=wait\n", "PreCompact", 30, "pre_compact.py may wait 60 s"),
        ("KEEPTHREAD_JOIN=8\n", "SessionStart", 8, "session_start.py may wait 8 s"),
    ],
)
def test_time_limits_that_cannot_work_are_named(
    variables: str, event: str, limit: int, words: str, patient: Patient
) -> None:
    """Milliseconds in the place of seconds; a wait that the host ends."""
    (patient.config / ".env").write_text(variables)
    usual = patient.hook(event)["timeout"]
    patient.change_hook(event, timeout=limit)
    found = patient.faults()

    assert set(found) == {"time limits"}
    assert words in found["time limits"]["detail"]
    assert f"Set its timeout there to {usual}" in found["time limits"]["fix"]
    patient.change_hook(event, timeout=usual)
    assert patient.faults() == {}


def compacted(patient: Patient) -> Path:
    """Leave a session that began after the installation and was compacted."""
    session = patient.session()
    session.clock = datetime.now(timezone.utc) + timedelta(seconds=5)
    session.user("Port the gauges to the new ledger.")
    session.assistant("I have begun.")
    session.boundary("Work on the ledger.")
    return session.path


def test_hooks_that_never_fired_are_named_until_they_do(patient: Patient) -> None:
    """A folder that is not trusted has no hooks, and says nothing of it."""
    path = compacted(patient)
    found = patient.faults()

    assert set(found) == {"hooks fire"}
    assert found["hooks fire"]["detail"].startswith(
        "never ran here: pre_compact, session_start, post_compact, although 1 sessions"
    )
    assert "not trusted" in found["hooks fire"]["detail"]

    patient.fire("PreCompact", transcript_path=str(path), trigger="auto")
    patient.fire("SessionStart", transcript_path=str(path), source="compact")
    patient.fire("PostCompact", transcript_path=str(path), compact_summary="Work on the ledger.")
    assert patient.checks()["hooks fire"]["detail"].startswith("pre_compact, session_start, post_")


def test_a_session_from_before_the_installation_says_nothing_of_the_hooks(patient: Patient) -> None:
    """Its host had none."""
    path = compacted(patient)
    path.write_text(path.read_text().replace('"timestamp":"20', '"timestamp":"19'))

    assert patient.faults() == {}


def test_the_last_failure_is_a_fault_until_the_same_goes_well(patient: Patient) -> None:
    """Then it is told, and no fault."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    patient.log(time=now, event="pre_compact", outcome="failed", reason="disk full")
    found = patient.faults()
    assert set(found) == {"last failure"}
    assert found["last failure"]["detail"] == f"{now} pre_compact: disk full"
    assert f"keepthread logs --since {now}" in found["last failure"]["fix"]

    patient.log(time=now, event="pre_compact", outcome="partial")
    assert patient.faults() == {}
    assert patient.checks()["last failure"]["detail"].endswith("later runs went well")


def test_a_model_that_failed_is_no_fault_once_nobody_is_asked_any_more(patient: Patient) -> None:
    """Its user has chosen the facts."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    patient.log(time=now, event="worker", outcome="partial", reason="timeout")
    assert patient.checks()["last failure"]["ok"]


def test_what_killed_processes_left_is_a_note_and_goes(patient: Patient) -> None:
    """A temporary file of old; a worker that stands as running and is gone. A young one stays."""
    folder = patient.state / "sessions" / SESSION
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o700)
    worker = {"state": "running", "pid": 2**22 + 1, "process": "gone", "failures": 2}
    for path, text in (
        (folder / "worker.json", json.dumps(worker)),
        (folder / ".tmp-1", ""),
        (patient.state / ".tmp-2", ""),
    ):
        path.write_text(text)
        path.chmod(0o600)
    os.utime(folder / ".tmp-1", (1, 1))
    found = patient.checks()["leftovers"]
    assert (found["ok"], found["fix"]) == (True, "keepthread doctor --fix")
    assert ".tmp-1" in found["detail"]
    assert "worker.json" in found["detail"]

    patient.follow(found["fix"])
    assert patient.checks()["leftovers"]["detail"] == "none"
    assert not (folder / ".tmp-1").exists()
    assert (patient.state / ".tmp-2").exists()
    assert json.loads((folder / "worker.json").read_text())["failures"] == 2


def test_files_that_others_may_read_are_named_and_made_private(patient: Patient) -> None:
    """Not only the folder: a file in it."""
    patient.session().user("Never touch the gauges.")
    patient.ok("handoff")
    document = patient.state / "sessions" / SESSION / "handoff.json"
    document.chmod(0o644)
    found = patient.faults()
    assert set(found) == {"state folder private"}
    assert str(document) in found["state folder private"]["detail"]

    patient.follow(found["state folder private"]["fix"])
    assert patient.faults() == {}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_state_folder_of_somebody_else_s_is_named(patient: Patient) -> None:
    """After `sudo`, mostly."""
    os.chown(patient.state, 12_345, -1)
    found = patient.faults()
    assert set(found) == {"state folder owner"}

    patient.follow(found["state folder owner"]["fix"].replace("sudo ", ""))
    assert patient.faults() == {}


def test_a_clock_that_is_behind_the_log_is_named(patient: Patient) -> None:
    """Ages, retention and caps go by it."""
    patient.log(time="2999-01-01T00:00:00Z", event="pre_compact")
    found = patient.faults()

    assert set(found) == {"clock"}
    assert "2999-01-01T00:00:00Z" in found["clock"]["detail"]
    (patient.state / "log.jsonl").unlink()
    assert patient.faults() == {}


@pytest.mark.parametrize(
    ("version", "spill", "words"),
    [
        ("2.1.50", "", "PostCompact"),
        ("2.1.100", "KEEPTHREAD_SPILL=on\n", "short forms of long results"),
    ],
)
def test_a_client_too_old_is_named_with_the_feature(
    version: str, spill: str, words: str, patient: Patient
) -> None:
    """Only what is registered counts."""
    (patient.config / ".env").write_text(spill)
    patient.ok("install")
    fake = FakeClaude(patient.home / "bin", version=version)
    patient.env["PATH"] = f"{fake.folder}:{patient.env['PATH']}"
    found = patient.faults()

    assert set(found) == {"client"}
    assert f"is {version}, too old: {words}" in found["client"]["detail"]
    assert found["client"]["fix"] == "claude update"
    fake.behave(version="2.1.332")
    assert patient.faults() == {}


def test_a_memory_s_faults_and_its_trust_are_told(patient: Patient) -> None:
    """A malformed entry is a fault; a memory nobody has looked at is a note."""
    folder = patient.project / ".claude" / "team-memory"
    (patient.project / ".git").mkdir()
    folder.mkdir(parents=True, mode=0o700)
    (folder / "bad.md").write_text("---\ntype: nonsense\n---\nUse httpie.\n")
    found = patient.checks()

    assert found["team memory"]["ok"]
    assert found["team memory"]["fix"] == "keepthread memory trust"
    assert not found["memory entries"]["ok"]
    assert "bad.md: malformed" in found["memory entries"]["detail"]
    (folder / "bad.md").unlink()
    assert patient.faults() == {}


def test_a_memory_index_that_is_behind_is_made_anew(patient: Patient) -> None:
    """A killed process leaves it so."""
    patient.ok("memory", "add", "tools.md", "Use httpie.", "--type", "feedback")
    index = next((patient.state / "memory").glob("*/MEMORY.md"))
    index.write_text("# Memory\n")
    found = patient.checks()["memory entries"]
    assert (found["ok"], found["fix"]) == (True, "keepthread doctor --fix")

    patient.follow(found["fix"])
    assert "tools.md" in index.read_text()
    assert patient.checks()["memory entries"]["detail"] == "1 entries"


def test_the_host_s_variables_are_notes(patient: Patient) -> None:
    """They are its user's choice."""
    patient.edit(
        patient.settings, lambda d: d.update(env={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "500k"})
    )
    found = patient.checks()["host variables"]

    assert found["ok"]
    assert found["fix"] == "keepthread profile lint"
    assert "500k" in found["detail"]


def test_keys_that_others_may_read_are_a_note(patient: Patient) -> None:
    """The file is its user's own: doctor does not touch it."""
    path = patient.config / ".env"
    path.write_text("KEEPTHREAD_OPENAI_API_KEY=not-a-real-one\n")
    path.chmod(0o644)
    found = patient.checks()["keys"]
    assert (found["ok"], found["fix"]) == (True, f"chmod 600 {path}")

    patient.follow(found["fix"])
    assert "keys" not in patient.checks()


def test_another_configuration_folder_is_named_where_nothing_is_registered(
    patient: Patient,
) -> None:
    """CLAUDE_CONFIG_DIR was set after the installation, or only for the host."""
    patient.env["CLAUDE_CONFIG_DIR"] = str(patient.home / "elsewhere")
    found = patient.faults()["hooks registered"]

    assert f"they are in {patient.settings}, but CLAUDE_CONFIG_DIR is " in found["detail"]
    patient.follow(found["fix"])
    assert patient.faults() == {}
