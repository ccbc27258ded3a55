"""A handoff on demand: whose project it is, what is redacted, and what becomes of transcripts that are none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.handoff.model import Handoff
from keepthread.ondemand import Wish, deliver, make, shown, stored
from tests.support.cli import ASK, DOCUMENT, RULE, Person
from tests.support.session import SESSION

OTHER = "22222222-2222-4222-8222-222222222222"
TOKEN = "ghp_" + "A1b2C3d4E5" * 3 + "F6g7H8"


def handoff(person: Person, wish: Wish | None = None, cwd: Path | None = None) -> Handoff:
    """Take a handoff by the facts engine, as from this folder."""
    env = {**os.environ, "KEEPTHREAD_ENGINE": "facts"}
    return make(wish or Wish(), env, str(cwd or person.project))


def test_from_a_subfolder_the_session_of_the_repository_is_found(person: Person) -> None:
    """The host names its folder after where it was started."""
    subprocess.run(["git", "init", "-q", str(person.project)], check=True)
    (person.project / "src").mkdir()
    person.session()
    made = handoff(person, cwd=person.project / "src")

    assert made["meta"]["session_id"] == SESSION
    assert made["meta"]["project"] == str(person.project)


def test_a_transcript_of_a_folder_that_is_gone_has_no_project_here(person: Person) -> None:
    """Nothing is written where its last folder was; its name stays on record."""
    gone = person.home / "gone"
    file = person.session(gone, session=OTHER)
    made = handoff(person, Wish(session=OTHER))

    assert made["meta"]["project"] == str(gone)
    assert made["meta"]["transcript"]["path"] == str(file.path)
    assert not gone.exists()
    assert list(person.project.iterdir()) == []


def test_the_project_of_a_named_transcript_is_its_own(person: Person) -> None:
    """Not that of the folder in which its user happens to stand."""
    elsewhere = person.home / "elsewhere"
    elsewhere.mkdir()
    file = person.session(elsewhere)
    made = handoff(person, Wish(transcript=str(file.path)))

    assert made["meta"]["project"] == str(elsewhere)
    assert made["meta"]["session_id"] == SESSION


@pytest.mark.parametrize("content", ["", "not json\n", '{"type": "user"', "\x00" * 100])
def test_a_file_that_is_no_transcript_gives_a_partial(content: str, person: Person) -> None:
    """Whatever is in it."""
    path = person.home / "odd.jsonl"
    path.write_text(content)
    made = handoff(person, Wish(transcript=str(path)))

    assert made["meta"]["status"] == "partial"
    assert made["meta"]["session_id"] == "odd"
    assert shown(made, "md", dict(os.environ)).startswith("HANDOFF_AUTO_PARTIAL\n")


def test_a_folder_is_no_transcript(person: Person) -> None:
    """Neither is a path that nothing lies at."""
    with pytest.raises(KeepthreadError, match="There is no transcript"):
        handoff(person, Wish(transcript=str(person.project)))


def test_secrets_are_redacted_in_what_is_printed(person: Person) -> None:
    """Those in the transcript, and those that a model puts together."""
    person.session().user(f"The deploy token is {TOKEN}, keep it out of the code.")
    person.has_claude().answer(
        {
            **DOCUMENT,
            "issues_discovered": [{"issue": f"The token {TOKEN} leaks.", "workaround": ""}],
        }
    )
    made = make(
        Wish(transcript=str(next((person.config / "projects").rglob("*.jsonl")))),
        dict(os.environ),
        str(person.project),
    )
    texts = [shown(made, form, dict(os.environ)) for form in ("md", "json", "context", "index")]

    assert made["meta"]["status"] == "complete"
    assert not any(TOKEN in text for text in texts)
    assert "keep it out of the code" in texts[0]


def test_what_is_shown_ends_with_exactly_one_line_break(person: Person) -> None:
    """In every form."""
    person.session()
    made = handoff(person)

    for form in ("md", "json", "context", "index"):
        text = shown(made, form, dict(os.environ))
        assert text.endswith("\n")
        assert not text.endswith("\n\n")


def test_asking_again_takes_it_again_although_nothing_has_moved(person: Person) -> None:
    """A person who asks for a checkpoint expects one; a hook would do nothing."""
    person.session()
    first, second = handoff(person), handoff(person)

    assert first["meta"]["transcript"] == second["meta"]["transcript"]
    assert RULE in str(second["constraints"]["rules"])
    assert ASK in str(second["facts"]["pending_ask"])


def test_the_stored_handoff_is_that_of_the_session_at_hand(person: Person) -> None:
    """Named, of the environment, or the project's newest."""
    person.session(session=OTHER)
    handoff(person)
    person.session()
    handoff(person, Wish(session=SESSION))
    env = dict(os.environ)

    assert stored(OTHER, env, "/")["meta"]["session_id"] == OTHER
    found = stored("", {**env, "CLAUDE_CODE_SESSION_ID": SESSION}, "/")
    assert found["meta"]["session_id"] == SESSION


def test_a_file_that_cannot_be_written_is_named(person: Person) -> None:
    """A folder stands there."""
    with pytest.raises(KeepthreadError, match="cannot be written"):
        deliver("text\n", str(person.project))
    assert list(person.project.iterdir()) == []


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no files that stand for open ones")
def test_a_pipe_by_its_name_is_written_to() -> None:
    """As `--to /dev/stdout`, and what a shell makes of >(program)."""
    ours, theirs = os.pipe()
    deliver("text\n", f"/dev/fd/{theirs}")
    os.close(theirs)

    with open(ours, "rb") as stream:
        assert stream.read() == b"text\n"


def test_a_link_in_the_project_does_not_lead_out_of_it(person: Person) -> None:
    """A clone's `notes.md` may lead to the shell's start file; a link of the user's own leads where it leads."""
    precious, inside = person.home / "bashrc", person.project / "inside.md"
    precious.write_text("mine")
    inside.write_text("old")
    folder = person.project / "docs"
    folder.symlink_to(person.home)
    for name, target in (("out.md", precious), ("within.md", inside)):
        (person.project / name).symlink_to(target)
    own = person.home / "own.md"
    own.symlink_to(precious)
    project = str(person.project)

    for bad in (person.project / "out.md", folder / "bashrc", folder / "new"):
        with pytest.raises(KeepthreadError, match="leads out of it"):
            deliver("text\n", str(bad), project)
    deliver("text\n", str(person.project / "within.md"), project)
    assert (precious.read_text(), inside.read_text()) == ("mine", "text\n")
    deliver("text\n", str(own), project)
    assert precious.read_text() == "text\n" and own.is_symlink()
