"""doctor: every check made to fail once, each with a remedy; nothing of the user's is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keepthread.diagnose.doctor import Check, examine, render_checks
from keepthread.host.entries import ENTRIES
from tests.support.cli import DOCUMENT, Person


@pytest.fixture
def person(person: Person) -> Person:
    """Give the test somebody who has installed keepthread."""
    person.set(KEEPTHREAD_ENGINE="facts")
    person.ok("install")
    return person


def checks(person: Person) -> list[Check]:
    return examine(dict(os.environ), str(person.project))


def faults(person: Person) -> dict[str, Check]:
    """Return what doctor finds wrong, by name; each finding has a remedy."""
    found = {check["name"]: check for check in checks(person) if not check["ok"]}
    assert all(check["fix"] for check in found.values())
    return found


def edit(person: Person, change: Any) -> None:
    """Change the settings file through a function of its document."""
    path = person.config / "settings.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_a_sound_installation_has_no_fault_and_stays_as_it_is(person: Person) -> None:
    """Exit 0; the whole list; every byte of the home, and of the project, is the same after it."""
    before = person.files()
    lines = [line.split(":")[0] for line in person.ok("doctor").splitlines()]

    assert lines == [
        "ok    settings",
        "ok    hooks registered",
        "ok    one installation",
        "ok    hooks enabled",
        "ok    hook commands",
        "ok    time limits",
        "ok    slash commands",
        "ok    status line",
        *(f"ok    dry run {entry.script}" for entry in ENTRIES),
        "ok    hooks fire",
        "ok    last failure",
        "ok    state folder",
        "ok    state folder owner",
        "ok    state folder private",
        "ok    disk",
        "ok    clock",
        "ok    leftovers",
        "ok    stored secrets",
        "ok    variables",
        "ok    host variables",
        "ok    session memory",
        "ok    team memory",
        "ok    memory entries",
        "ok    client",
        "ok    environment",
        "ok    engine",
    ]
    assert person.files() == before


def test_json_has_exactly_the_documented_shape(person: Person) -> None:
    """Scripts rely on it."""
    found = person.json("doctor", "--json")

    assert set(found) == {"checks"}
    assert all(list(check) == ["name", "ok", "detail", "fix"] for check in found["checks"])


def test_a_fault_ends_with_1_and_tells_how_to_mend_it(person: Person) -> None:
    """On standard output, since it is what was asked for."""
    person.write_env("KEEPTHREAD_JOIN=soon\n")
    ran = person.run("doctor")

    assert (ran.code, ran.err) == (1, "")
    assert "FAIL  variables: KEEPTHREAD_JOIN in " in ran.out
    assert f"        mend it: Correct them in {person.config}/.env\n" in ran.out


def test_before_an_installation_it_names_the_command(home: Path, person: Person) -> None:
    """Nothing is registered, nothing can be run; there is no state folder."""
    person.ok("uninstall", "--purge")
    found = faults(person)

    assert set(found) == {"hooks registered", "slash commands", "state folder"}
    assert {check["fix"] for check in found.values()} == {"keepthread install"}


@pytest.mark.parametrize(
    "text",
    [
        '{"hooks": ',
        '{"hooks": []}',
        '{"hooks": {"PreCompact": [{"hooks": "x"}]}}',
        "[]",
        "\x00",
        "",
    ],
)
def test_a_broken_settings_file_is_named(text: str, person: Person) -> None:
    """Broken JSON, a shape the host would not read either, or what a write that was cut off leaves."""
    (person.config / "settings.json").write_text(text)
    found = faults(person)

    assert set(found) == {"settings"}
    assert str(person.config / "settings.json") in found["settings"]["detail"]


def test_vanished_entries_are_named(person: Person) -> None:
    """Another program, or a hand, took one out."""
    edit(person, lambda document: document["hooks"].pop("PostCompact"))

    assert faults(person)["hooks registered"]["detail"].startswith(
        f"not registered: post_compact.py; written into {person.config}/settings.json on "
    )


def test_doubled_entries_are_named(person: Person) -> None:
    """The handoff would be written twice."""
    edit(
        person,
        lambda document: document["hooks"]["PreCompact"].append(document["hooks"]["PreCompact"][0]),
    )

    assert faults(person)["hooks registered"]["detail"] == (
        "registered more than once: pre_compact.py"
    )


def test_an_entry_under_the_wrong_event_does_not_count(person: Person) -> None:
    """PreCompact's script would never run there."""
    edit(
        person,
        lambda document: document["hooks"].update(Notification=document["hooks"].pop("PreCompact")),
    )

    assert faults(person)["hooks registered"]["detail"].startswith("not registered: pre_compact.py")


def test_hooks_switched_off_are_named(person: Person) -> None:
    """The host then runs none at all."""
    edit(person, lambda document: document.update(disableAllHooks=True))

    assert set(faults(person)) == {"hooks enabled"}


def copy_of_the_hooks(person: Person) -> Path:
    """Let the settings name a copy of the package which the test may destroy."""
    root = Path(__file__).parents[2]
    copy = person.home / "copy"
    for name in ("src", "hooks", "commands", "templates"):
        shutil.copytree(root / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (person.config / "settings.json", person.state / "manifest.json"):
        path.write_text(path.read_text().replace(f"{root}/hooks", f"{copy}/hooks"))
    return copy


def test_a_missing_script_is_named_although_its_entry_ends_well(person: Person) -> None:
    """The host is never harmed by it: nothing else would tell."""
    copy = copy_of_the_hooks(person)
    (copy / "hooks" / "pre_compact.py").unlink()
    found = faults(person)

    assert found["hook commands"]["detail"] == f"missing: {copy}/hooks/pre_compact.py"
    assert found["dry run pre_compact.py"]["detail"] == "it left no handoff.json"


def test_half_an_installation_is_named(person: Person) -> None:
    """Every hook ends with 0, and none of them works."""
    copy = copy_of_the_hooks(person)
    (copy / "src" / "keepthread" / "handlers.py").unlink()

    assert {name for name in faults(person) if name.startswith("dry run")} == {
        f"dry run {entry.script}" for entry in ENTRIES
    }


def test_a_lost_manifest_leaves_the_entries_known(person: Person) -> None:
    """What stands in the settings is what is run."""
    copy_of_the_hooks(person).rename(person.home / "keepthread")
    for path in (person.config / "settings.json", person.state / "manifest.json"):
        path.write_text(
            path.read_text().replace(f"{person.home}/copy/", f"{person.home}/keepthread/")
        )
    (person.state / "manifest.json").unlink()

    assert set(faults(person)) == {"slash commands"}


def test_a_missing_slash_command_is_named(person: Person) -> None:
    """Somebody tidied up."""
    (person.config / "commands" / "handoff.md").unlink()

    assert faults(person)["slash commands"]["detail"] == "missing: /handoff"


def test_a_status_line_whose_program_is_gone_is_named_and_mended(person: Person) -> None:
    """The host shows none then, and no word of it."""
    person.ok("statusline", "--install")
    settings = person.config / "settings.json"
    now = json.loads(settings.read_text())["statusLine"]["command"]
    gone = now.replace(sys.executable, "/gone/python3")
    settings.write_text(settings.read_text().replace(now, gone))
    manifest = person.state / "manifest.json"
    manifest.write_text(manifest.read_text().replace(now, gone))

    found = faults(person)["status line"]
    assert "/gone/python3" in found["detail"]
    assert found["fix"] == "keepthread statusline --install"
    person.ok("statusline", "--install")
    assert "status line" not in faults(person)


def test_an_entry_of_a_newer_version_is_named_and_goes_with_an_install(person: Person) -> None:
    """Somebody went back to an older one."""
    settings, record = person.config / "settings.json", person.state / "manifest.json"
    there, known = json.loads(settings.read_text()), json.loads(record.read_text())
    new = {**known["hooks"][0], "event": "PreModelSwitch", "script": "future.py"}
    new["command"] = new["command"].replace("pre_compact.py", "stop.py")
    known["hooks"].append(new)
    known["containers"]["created"].append("hooks/PreModelSwitch")
    hook = {"type": "command", "command": new["command"], "timeout": 10}
    there["hooks"]["PreModelSwitch"] = [{"hooks": [hook]}]
    settings.write_text(json.dumps(there))
    record.write_text(json.dumps(known))

    assert "not as this version" in faults(person)["hooks registered"]["detail"]
    person.ok("install")
    assert "PreModelSwitch" not in settings.read_text()
    assert "hooks registered" not in faults(person)


@pytest.mark.parametrize("name", ["log.jsonl", "install.lock", "settings.json"])
def test_a_folder_in_the_place_of_a_file_is_named(name: str, person: Person) -> None:
    """Nothing is logged then, or nothing installed any more."""
    path = person.state / name
    path.unlink(missing_ok=True)
    path.mkdir(mode=0o700)
    found = faults(person)["state folder"]

    assert found["fix"] == f"Move it away: {path}"
    path.rename(person.home / "away")
    assert "state folder" not in faults(person)


def test_folders_open_to_others_or_in_the_way_are_named(person: Person) -> None:
    """0700, and a folder."""
    person.state.chmod(0o755)
    (person.state / "sessions").write_text("")
    found = faults(person)

    assert set(found) == {"state folder", "state folder private"}
    assert found["state folder private"]["fix"] == "keepthread doctor --fix"
    assert str(person.state / "sessions") in found["state folder"]["detail"]


def test_bad_variables_and_a_switched_off_keepthread_are_named(person: Person) -> None:
    """Each value with its place."""
    person.write_env("KEEPTHREAD_BUDGET=lots\nKEEPTHREAD_DISABLE=yes\n")
    found = faults(person)

    assert set(found) == {"variables", "enabled"}
    assert "KEEPTHREAD_BUDGET in " in found["variables"]["detail"]


def test_hooks_for_a_client_that_is_nowhere_are_a_fault_unless_facts_was_chosen(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would mend it is named; that the facts would answer is a note."""
    monkeypatch.delenv("KEEPTHREAD_ENGINE")
    found = {check["name"]: check for check in checks(person)}

    assert set(faults(person)) == {"client"}
    assert found["client"]["fix"].startswith("Install Claude Code")
    assert found["engine"]["ok"]
    assert found["engine"]["detail"].startswith(
        "facts would answer (claude: claude was not found on PATH; facts: "
    )
    assert found["engine"]["fix"].startswith("Install Claude Code")


def test_a_client_that_is_elsewhere_than_on_path_is_no_fault(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor brings its own: its sessions are there."""
    monkeypatch.delenv("KEEPTHREAD_ENGINE")
    person.session()

    assert faults(person) == {}


def test_an_engine_that_was_named_and_cannot_answer_is_a_fault(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto` promises no model; a name does."""
    monkeypatch.delenv("KEEPTHREAD_ENGINE")
    person.write_env("KEEPTHREAD_ENGINE=claude\n")

    assert set(faults(person)) == {"engine"}


def test_which_engine_would_answer_and_why(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's program and the login it would use; it is not started."""
    monkeypatch.delenv("KEEPTHREAD_ENGINE")
    fake = person.has_claude()
    fake.answer(DOCUMENT)
    found = {check["name"]: check for check in checks(person)}

    assert found["engine"]["ok"]
    assert found["engine"]["detail"].startswith(
        f"claude would answer (claude: {fake.program}, --bare"
    )
    assert fake.calls == []


def test_an_unknown_engine_is_named(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """With those that are known."""
    monkeypatch.delenv("KEEPTHREAD_ENGINE")
    person.write_env("KEEPTHREAD_ENGINE=gtp\n")

    assert "auto, claude, anthropic, openai" in faults(person)["engine"]["fix"]


def test_the_dry_run_stays_out_of_a_repository_around_the_temporary_folder(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TMPDIR may lie in a project: no document and no exclude line may appear there."""
    subprocess.run(["git", "init", "-q", str(person.project)], check=True)
    (person.project / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(person.project / "tmp"))
    before = person.files()

    assert faults(person) == {}
    assert person.files() == before


def test_a_remedy_stands_under_its_fault_only() -> None:
    """One line for what is well."""
    fine: Check = {"name": "a", "ok": True, "detail": "is well", "fix": ""}
    fault: Check = {"name": "b", "ok": False, "detail": "is not", "fix": "do this"}

    assert (
        render_checks([fine, fault])
        == "ok    a: is well\nFAIL  b: is not\n        mend it: do this"
    )
