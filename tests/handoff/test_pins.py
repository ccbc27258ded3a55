"""Pins: what is kept, for whom, and what is refused."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.handoff import pins
from keepthread.handoff.frame import defuse
from keepthread.handoff.project import project_key
from keepthread.handoff.render.context import render_context
from tests.support.handoffs import make_partial
from tests.support.session import SESSION

OTHER = "22222222-2222-4222-8222-222222222222"


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder."""
    name = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", "-C", str(folder), *name, *arguments], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository with one commit."""
    folder = tmp_path / "proj"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


@pytest.fixture
def state(tmp_path: Path) -> str:
    """Return a state folder that is not there yet."""
    return str(tmp_path / "state")


def test_pins_are_kept_word_for_word_in_private_files(state: str, project: Path) -> None:
    """Of a project and of a session, in the order in which they were typed."""
    assert pins.add(state, "  Zwei: «Übung»\nmacht den Meister ", project=str(project))
    assert pins.add(state, "one", project=str(project), session=SESSION)
    assert not pins.add(state, "one", project=str(project), session=SESSION)
    assert pins.add(state, "three", project=str(project))

    kept = pins.load(state, str(project), SESSION)

    assert kept == (["Zwei: «Übung»\nmacht den Meister", "three"], ["one"])
    assert pins.load(state, str(project), OTHER) == (kept.project, [])
    files = [path for path in Path(state).rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert {stat.S_IMODE(path.parent.stat().st_mode) for path in files} == {0o700}


def test_the_number_of_the_list_takes_a_pin_off(state: str, project: Path) -> None:
    """The project's come first."""
    for text in ("a", "b"):
        pins.add(state, text, project=str(project))
    pins.add(state, "c", project=str(project), session=SESSION)

    assert pins.remove(state, 3, project=str(project), session=SESSION) == "c"
    assert pins.remove(state, 1, project=str(project), session=SESSION) == "a"
    assert pins.load(state, str(project), SESSION).all() == ["b"]
    with pytest.raises(KeepthreadError, match="no pin 2: 1 are kept"):
        pins.remove(state, 2, project=str(project), session=SESSION)


def test_folders_worktrees_and_links_of_a_repository_are_one_project(
    state: str, project: Path, tmp_path: Path
) -> None:
    """A pin typed in a worktree counts in all of them."""
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "link").symlink_to(project)
    pins.add(state, "of all", project=str(tmp_path / "tree"))

    for place in (project, project / "src", tmp_path / "tree", tmp_path / "link"):
        assert pins.load(state, str(place), "").project == ["of all"], place


def test_a_submodule_and_a_clone_are_projects_of_their_own(
    state: str, project: Path, tmp_path: Path
) -> None:
    """They have other work in them."""
    git(tmp_path, "clone", "-q", str(project), "clone")
    git(tmp_path / "clone", "submodule", "add", "-q", str(project), "inner")
    keys = {
        project_key(str(place))
        for place in (project, tmp_path / "clone", tmp_path / "clone" / "inner")
    }

    assert len(keys) == 3


def test_a_folder_that_only_claims_to_be_a_worktree_gets_no_foreign_pins(
    state: str, project: Path, tmp_path: Path
) -> None:
    """The repository has to name it too."""
    pins.add(state, "not for you", project=str(project))
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / ".git").write_text((tmp_path / "tree" / ".git").read_text())

    assert pins.load(state, str(evil), "").project == []


SECRETS = [("github-token", "gh" + "p_" + "a1B2" * 9), ("secret-value", "DB_PASSWORD=hunter22x")]


@pytest.mark.parametrize(("rule", "secret"), SECRETS)
def test_a_pin_with_a_secret_is_refused_by_the_name_of_its_rule(
    state: str, project: Path, rule: str, secret: str
) -> None:
    """The value stands neither in the message nor on the disk."""
    with pytest.raises(KeepthreadError, match=rf"holds a secret \(rule {rule}\)") as refusal:
        pins.add(state, f"deploy with {secret}", project=str(project))

    assert secret not in str(refusal.value)
    assert secret[-8:] not in refusal.value.message + refusal.value.hint
    assert not os.path.exists(state)


def test_what_the_hook_redacted_is_refused_too(state: str, project: Path) -> None:
    """/pin reaches the command with the secret gone."""
    with pytest.raises(KeepthreadError, match="rule environment"):
        pins.add(state, "use [REDACTED:environment] here", project=str(project))


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 501, "<system-reminder>" * 30])
def test_empty_and_overlong_pins_are_refused(state: str, project: Path, text: str) -> None:
    """What makes a text harmless counts towards its length."""
    with pytest.raises(KeepthreadError):
        pins.add(state, text, project=str(project))


def test_pins_are_bounded_so_that_all_of_them_fit_into_the_context_whole(
    state: str, project: Path
) -> None:
    """At the bound, beside twenty long rules and sixty files."""
    number = 0
    for session in ("", SESSION):
        with pytest.raises(KeepthreadError, match="no room for this pin"):
            while True:
                number += 1
                text = f"{number:03} always keep <this> 🧵 as it is " + "w" * (number % 7 * 60)
                pins.add(state, text, project=str(project), session=session)
    kept = pins.load(state, str(project), SESSION).all()
    rules = [{"text": f"rule {n:02} " + "r" * 290, "source": ""} for n in range(20)]
    files = [
        {"path": f"src/pkg/module_{n:02}.py", "status": "modified", "summary": ""}
        for n in range(60)
    ]
    handoff = make_partial(
        facts={"pins": kept},
        constraints={"rules": rules, "ruled_out": []},
        files_touched=files,
    )

    text = render_context(handoff, budget=9_900, document="").text

    assert len(kept) > 6
    assert [pin for pin in kept if defuse(pin) not in text] == []
    assert [file["path"] for file in files if file["path"].rpartition("/")[2] not in text] == []


def test_a_forked_session_has_the_pins_of_the_one_it_continues(state: str) -> None:
    """Its own ones, from then on: what it takes off stays off."""
    pins.add(state, "of the parent", session=SESSION)

    assert pins.inherit(state, SESSION, OTHER) == ["of the parent"]
    pins.remove(state, 1, project="", session=OTHER)
    assert pins.inherit(state, SESSION, OTHER) == []
    assert pins.load(state, "", SESSION).session == ["of the parent"]


@pytest.mark.parametrize("content", ["", "[]", '{"pins": 3}', '{"pins": [1, "a"]}', "{" * 9999])
def test_a_damaged_file_of_pins_is_read_as_far_as_it_goes(state: str, content: str) -> None:
    """It never stops a compaction."""
    pins.add(state, "a", session=SESSION)
    Path(state, "sessions", SESSION, "pins.json").write_text(content)

    assert pins.load(state, "", SESSION).session == (["a"] if '"a"' in content else [])


def test_pins_typed_at_the_same_moment_are_all_kept(state: str, project: Path) -> None:
    """Each change is one step."""
    threads = [
        threading.Thread(
            target=pins.add, args=(state, f"pin {n}"), kwargs={"project": str(project)}
        )
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(pins.load(state, str(project), "").project) == sorted(
        f"pin {n}" for n in range(12)
    )
