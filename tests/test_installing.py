"""Install and uninstall as commands: what they leave in repositories, and what they ask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from keepthread.handoff.alive import stamp
from keepthread.host.locations import session_dir
from tests.support.hook_runs import ROOT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="terminals are those of POSIX systems")
DOCUMENT = "docs/handoff-context.md"
OURS = "<!-- keepthread handoff -->\n# Handoff\n"


class Desk:
    """A person with a home and a project that is a repository."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder = home, folder
        self.config = home / ".claude"
        self.state = self.config / "keepthread"
        self.project = self.repository("proj")

    def repository(self, name: str) -> Path:
        path = self.folder / name
        subprocess.run(["git", "init", "-q", str(path)], check=True)
        return path

    def run(self, *arguments: str) -> str:
        """Run the program in the project and return what it prints."""
        run = subprocess.run(**self._given(*arguments), capture_output=True, text=True)
        assert (run.returncode, run.stderr) == (0, "")
        return str(run.stdout)

    def on_a_terminal(self, answer: str, *arguments: str) -> tuple[int, str]:
        """Run it on a terminal where somebody answers; return exit code and screen."""
        ours, theirs = os.openpty()
        process = subprocess.Popen(
            **self._given(*arguments), stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        os.write(ours, answer.encode())
        screen = b""
        try:
            while part := os.read(ours, 4096):
                screen += part
        except OSError:
            pass  # Linux says so that the other side is closed
        os.close(ours)
        return process.wait(timeout=60), screen.decode()

    def _given(self, *arguments: str) -> dict:
        env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src")}
        return {
            "args": [sys.executable, "-m", "keepthread", *arguments],
            "cwd": self.project,
            "env": env,
        }

    def session(self, number: int, project: Path, document: str = DOCUMENT) -> None:
        """Leave a stored session with its document, kept out of git."""
        session = f"{number:08d}-1111-4111-8111-111111111111"
        folder = Path(session_dir(str(self.state), session))
        folder.mkdir(parents=True)
        told = {"session_id": session, "project": str(project), "document": document}
        (folder / "context.json").write_text(json.dumps(told))
        if document:
            (project / document).parent.mkdir(exist_ok=True, parents=True)
            (project / document).write_text(OURS)
            with exclude(project).open("a") as file:
                file.write(f"/{document}\n")


def exclude(project: Path) -> Path:
    return project / ".git" / "info" / "exclude"


def untracked(project: Path) -> str:
    status = ["git", "-C", str(project), "status", "--porcelain", "-uall"]
    return subprocess.run(status, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def desk(home: Path, tmp_path: Path) -> Desk:
    return Desk(home, tmp_path)


def test_a_local_settings_file_of_ours_is_kept_out_of_git_and_leaves_no_trace(desk: Desk) -> None:
    """The host does so too when it makes one."""
    before = exclude(desk.project).read_bytes()
    desk.run("install", "--scope", "local")
    desk.run("install", "--scope", "local")

    assert (desk.project / ".claude" / "settings.local.json").is_file()
    assert untracked(desk.project) == ""
    desk.run("uninstall", "--scope", "local")
    assert exclude(desk.project).read_bytes() == before
    assert [path.name for path in desk.project.iterdir()] == [".git"]


def test_a_line_that_was_there_is_the_users(desk: Desk) -> None:
    with exclude(desk.project).open("a") as file:
        file.write("/.claude/settings.local.json\n")
    before = exclude(desk.project).read_bytes()
    desk.run("install", "--scope", "local")
    desk.run("uninstall", "--scope", "local")

    assert exclude(desk.project).read_bytes() == before


def test_a_local_settings_file_that_its_user_went_on_with_keeps_its_line(desk: Desk) -> None:
    desk.run("install", "--scope", "local")
    path = desk.project / ".claude" / "settings.local.json"
    path.write_text(path.read_text().replace("{", '{"a": 1,', 1))
    told = desk.run("uninstall", "--scope", "local")

    assert json.loads(path.read_text()) == {"a": 1}
    assert untracked(desk.project) == ""
    assert f"Left: the line for {path}" in told


def test_a_project_scope_install_is_made_where_the_project_is(desk: Desk) -> None:
    """From a folder below the repository's top as well."""
    below = desk.project / "src"
    below.mkdir()
    top, desk.project = desk.project, below
    desk.run("install", "--scope", "project")

    assert untracked(top) == "?? .claude/settings.json\n"
    desk.run("uninstall", "--scope", "project")
    assert untracked(top) == ""


def test_uninstall_takes_the_lines_for_documents_and_names_the_documents(desk: Desk) -> None:
    """Those of every project. A file of the user's own in a document's place is not named as ours."""
    other, foreign = desk.repository("other"), desk.repository("foreign")
    before = exclude(desk.project).read_bytes()
    desk.run("install")
    desk.session(1, desk.project)
    desk.session(2, other, "notes/hand.md")
    (other / "notes" / "hand.md").unlink()
    desk.session(3, foreign)
    (foreign / DOCUMENT).write_text("my own\n")
    desk.session(4, desk.folder / "gone", "")
    desk.session(5, foreign, "")
    shown = desk.run("uninstall", "--dry-run")
    assert f"The line for {DOCUMENT} would go from .git/info/exclude of {desk.project}" in shown
    assert exclude(desk.project).read_bytes() != before
    told = desk.run("uninstall").splitlines()

    for project in (desk.project, other, foreign):
        assert exclude(project).read_bytes() == before
    assert (foreign / DOCUMENT).read_text() == "my own\n"
    assert (desk.project / DOCUMENT).read_text() == OURS
    assert [line for line in told if line.startswith("Left: ")] == [
        f"Left: {desk.project}/{DOCUMENT}, for you to read; git shows it from now on"
    ]
    assert f"The line for notes/hand.md is gone from .git/info/exclude of {other}" in told
    assert any(f"{desk.state} is kept" in line for line in told)


def test_while_hooks_stand_in_another_scope_the_lines_stay(desk: Desk) -> None:
    desk.run("install")
    desk.run("install", "--scope", "local")
    desk.session(1, desk.project)
    desk.run("uninstall")

    assert exclude(desk.project).read_text().count(DOCUMENT) == 1
    desk.run("uninstall", "--scope", "local")
    assert DOCUMENT not in exclude(desk.project).read_text()


def test_who_installs_and_uninstalls_before_any_session_has_nothing_left(desk: Desk) -> None:
    desk.run("install")
    told = desk.run("uninstall")

    assert not desk.config.exists() or list(desk.config.iterdir()) == []
    assert "is kept" not in told


@pytest.mark.parametrize("more", ["", "# mine\n", "KEEPTHREAD_ENGINE=facts\n"])
def test_a_purge_takes_the_choice_of_a_session_memory_and_nothing_of_the_user_s(
    desk: Desk, more: str
) -> None:
    env = desk.config / ".env"
    desk.run("install")
    desk.run("memory", "session", "on")
    with env.open("a") as file:
        file.write(more)
    before = env.read_text()

    assert (f"{env}, which holds" in desk.run("uninstall", "--purge", "--dry-run")) == (not more)
    assert env.read_text() == before
    desk.run("uninstall", "--purge")
    assert (env.read_text() == before) if more else not env.exists()


def test_a_purge_takes_the_lines_too(desk: Desk) -> None:
    """What tells of the projects goes with it, so it is looked at first."""
    desk.run("install")
    desk.session(1, desk.project)
    told = desk.run("uninstall", "--purge")

    assert list(desk.config.iterdir()) == []
    assert DOCUMENT not in exclude(desk.project).read_text()
    assert f"Left: {desk.project}/{DOCUMENT}" in told


# A detached process as one of ours: it makes its folder and writes there until it is asked to end, and a moment longer.
WRITES_ON = """
import json, os, signal, sys, time
folder, name = sys.argv[1:]
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(time.monotonic()))
from keepthread.handoff.alive import stamp
state = {"state": "running", **stamp(os.getpid())}
number = 0
while not asked or time.monotonic() - asked[0] < 0.5:
    os.makedirs(folder, exist_ok=True)
    number += 1
    for file in (name, f"part-{number}"):
        with open(os.path.join(folder, "." + file), "w") as out:
            json.dump(state, out)
        os.replace(os.path.join(folder, "." + file), os.path.join(folder, file))
    if number == 1:
        print(flush=True)
"""


@pytest.mark.parametrize("name", ["worker.json", "memory-state.json"])
def test_a_purge_ends_what_is_at_work_and_leaves_nothing(desk: Desk, name: str) -> None:
    """A process that began before the hooks went would put its files into the folder while it goes."""
    desk.run("install")
    folder = session_dir(str(desk.state), "00000009-1111-4111-8111-111111111111")
    at_work = subprocess.Popen(
        [sys.executable, "-c", WRITES_ON, folder, name],
        env={"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
    )
    assert at_work.stdout is not None
    at_work.stdout.readline()
    try:
        desk.run("uninstall", "--purge")
        assert at_work.wait(timeout=60) == 0
    finally:
        at_work.kill()
        at_work.wait()
        at_work.stdout.close()

    assert list(desk.config.iterdir()) == []


def test_a_purge_ends_no_process_that_may_be_another_s(desk: Desk) -> None:
    """As on macOS and Windows: a worker that was killed left a number behind, and who bears it now is not told."""
    desk.run("install")
    folder = Path(session_dir(str(desk.state), "00000009-1111-4111-8111-111111111111"))
    folder.mkdir(parents=True)
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    state = {"state": "running", **stamp(stranger.pid), "process": ""}
    (folder / "worker.json").write_text(json.dumps(state))
    try:
        desk.run("uninstall", "--purge")
    finally:
        stranger.communicate(b"\n", timeout=60)

    assert stranger.returncode == 0


@pytest.mark.parametrize(("answer", "left"), [("y\n", False), ("n\n", True), ("\n", True)])
def test_on_a_terminal_its_user_is_asked_about_the_state(
    desk: Desk, answer: str, left: bool
) -> None:
    """No is the default."""
    desk.run("install")
    desk.session(1, desk.project)
    code, screen = desk.on_a_terminal(answer, "uninstall")

    assert code == 0
    assert f"Remove {desk.state} too" in screen
    assert desk.state.exists() == left
    assert not (desk.config / "settings.json").exists()


def test_who_breaks_off_at_the_question_keeps_everything(desk: Desk) -> None:
    desk.run("install")
    desk.session(1, desk.project)
    code, _ = desk.on_a_terminal("\x04", "uninstall")  # end of input

    assert code == 130
    assert (desk.config / "settings.json").exists()


@pytest.mark.parametrize("option", ["--purge", "--dry-run", "--json"])
def test_nothing_is_asked_when_the_answer_is_known_or_a_program_reads(
    desk: Desk, option: str
) -> None:
    desk.run("install")
    desk.session(1, desk.project)
    code, screen = desk.on_a_terminal("", "uninstall", option)

    assert code == 0
    assert "Remove" not in screen
    assert desk.state.exists() == (option != "--purge")


def test_the_state_that_another_scope_needs_is_not_asked_about(desk: Desk) -> None:
    desk.run("install")
    desk.run("install", "--scope", "local")
    desk.session(1, desk.project)

    assert "Remove" not in desk.on_a_terminal("", "uninstall")[1]


@pytest.mark.parametrize("kept", ["pins", "memory", "profiles"])
def test_what_is_kept_without_a_session_is_asked_about_too(desk: Desk, kept: str) -> None:
    """It is as dear to its user as a handoff."""
    desk.run("install")
    (desk.state / kept).mkdir()

    assert f"Remove {desk.state} too" in desk.on_a_terminal("n\n", "uninstall")[1]
