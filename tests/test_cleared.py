"""A cleared session's handoff is offered to the next one of its project: once, for a day, and only if asked for."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from keepthread.handoff import cleared
from tests.support import hook_runs
from tests.support.hook_runs import GOAL, RULE, Run, World
from tests.support.session import SESSION

NEW = "55555555-5555-4555-8555-555555555555"
LATER = "66666666-6666-4666-8666-666666666666"


@pytest.fixture
def world(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a home whose user asked for it."""
    monkeypatch.setitem(hook_runs.NAMES, "session_end", "SessionEnd")
    world = World(tmp_path, home)
    world.variables(SOURCES="compact,resume,fork,clear")
    return world


def clear(world: World, session: str = SESSION, **fields: Any) -> Run:
    """Clear a session, after the start that stored the settings."""
    return world.run(
        "session_end", world.event("session_end", session, **{"reason": "clear"} | fields)
    )


def start(
    world: World, session: str = NEW, source: str = "clear", hook: str = "session_start"
) -> Run:
    """Start a session that has no transcript yet."""
    return world.run(hook, world.event(hook, session, source=source, transcript_path=""))


@pytest.mark.parametrize("source", ["clear", "startup"])
def test_the_next_session_of_the_project_is_offered_it_once(world: World, source: str) -> None:
    """Context and index, labelled with the age and the session."""
    world.session()
    assert clear(world).stdout == ""

    shown = start(world, source=source)
    index = start(world, source=source, hook="session_index")

    first = shown.context.splitlines()[0]
    assert first.startswith(f"From the session before ({SESSION[:8]}), cleared 0 min ago")
    assert GOAL in shown.context
    assert RULE in shown.context
    assert "record of that session" in shown.context
    assert shown.notice.startswith(
        "keepthread: the handoff of the session before (cleared 0 min ago)"
    )
    assert "https://tides.example" in index.context
    for session in (NEW, LATER):
        assert start(world, session, source=source).stdout == ""
        assert start(world, session, source=source, hook="session_index").stdout == ""
    assert world.handoff()["meta"]["reason"] == "engine_facts"
    assert [line["outcome"] for line in world.log("session_end")] == ["partial"]


def test_the_label_counts_towards_the_budget(world: World) -> None:
    """However full the context is."""
    session = world.session()
    for number in range(60):
        session.user(f"Never touch table {number} of the ledger, " + "because of the audit " * 9)
        session.edit(f"{world.project}/src/deep/folder/module_{number}.py")
    clear(world)

    text = start(world).context

    assert 8_000 < len(text.encode("utf-16-le")) // 2 <= 9_900
    assert text.endswith("</keepthread-handoff>")


def test_nobody_gets_it_who_did_not_ask_for_it(world: World) -> None:
    """The default; and other ways to end a session."""
    world.session()
    for reason in ("other", "logout", "prompt_input_exit", "resume", ""):
        assert clear(world, reason=reason).stdout == ""
    assert not (world.state / "sessions").exists()
    world.variables(SOURCES="compact,resume,fork")

    clear(world)

    assert not (world.state / "sessions").exists()
    assert start(world).stdout == ""


def test_no_other_project_gets_it(world: World, tmp_path: Path) -> None:
    """Another folder, and none."""
    world.session()
    clear(world)
    other = tmp_path / "other"
    other.mkdir()
    for cwd in (str(other), "", "/"):
        event = world.event("session_start", NEW, source="clear", transcript_path="", cwd=cwd)
        assert world.run("session_start", event).stdout == ""

    assert GOAL in start(world).context


def test_a_worktree_is_the_same_project(world: World, tmp_path: Path) -> None:
    """As for pins."""
    world.session()
    clear(world)
    link = tmp_path / "link"
    link.symlink_to(world.project)
    event = world.event("session_start", NEW, source="startup", transcript_path="", cwd=str(link))

    assert GOAL in world.run("session_start", event).context


def test_a_session_with_a_handoff_of_its_own_is_offered_nothing(world: World) -> None:
    """Its own is what it goes on from."""
    world.session()
    clear(world)
    world.session(NEW)
    world.run("pre_compact", world.event("pre_compact", NEW))

    assert start(world).context.startswith("<keepthread-handoff>")
    assert start(world).stdout == ""
    assert "From the session before" in start(world, LATER).context


@pytest.mark.parametrize("hours", [25, -25])
def test_after_a_day_it_is_not_offered(world: World, hours: int) -> None:
    """Nor by a clock that was set back."""
    world.session()
    clear(world)
    cleared.leave(str(world.state), str(world.project), SESSION, time.time() - hours * 3600)

    assert start(world).stdout == ""


def test_its_age_is_told(world: World) -> None:
    """In hours when it is hours."""
    world.session()
    clear(world)
    cleared.leave(str(world.state), str(world.project), SESSION, time.time() - 5.5 * 3600)

    assert "cleared 5 h ago" in start(world).context


def test_the_session_cleared_last_counts(world: World) -> None:
    """Also when an earlier one was offered."""
    world.session()
    clear(world)
    start(world)
    second = world.session(NEW)
    second.user("Now draw the tide chart.")
    clear(world, NEW)

    assert "Now draw the tide chart." in start(world, LATER).context


def test_an_empty_session_leaves_nothing_and_what_was_left_stays(world: World) -> None:
    """/clear right after /clear."""
    world.session()
    clear(world)
    world.session(NEW, talk=False)
    clear(world, NEW)

    assert GOAL in start(world, LATER).context


def test_what_was_resumed_and_cleared_again_is_offered_again(world: World) -> None:
    """To the session after it, with what was said meanwhile."""
    file = world.session()
    clear(world)
    assert GOAL in start(world).context
    file.user("Now the downloader as well")
    clear(world)

    assert "Now the downloader as well" in start(world, LATER).context


def test_of_two_starts_at_once_one_is_offered_it(world: World) -> None:
    """Both its hooks, and none of the other's."""
    world.session()
    clear(world)
    runs = [
        (
            session,
            hook,
            world.start(hook, world.event(hook, session, source="clear", transcript_path="")),
        )
        for hook in ("session_start", "session_index")
        for session in (NEW, LATER)
    ]
    shown = {(session, hook): process.communicate(timeout=60)[0] for session, hook, process in runs}

    winners = {session for (session, _), out in shown.items() if out}
    assert len(winners) == 1
    winner = winners.pop()
    assert all(shown[winner, hook] for hook in ("session_start", "session_index"))


def test_what_the_host_did_not_take_is_offered_again(world: World) -> None:
    """Its end of the pipe was closed."""
    world.session()
    clear(world)
    process = world.start(
        "session_start", world.event("session_start", NEW, source="clear", transcript_path="")
    )
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    process.stderr.close()
    process.wait(timeout=60)

    assert GOAL in start(world, LATER).context


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"session_id": 3, "epoch": "x"}', "{" * 5000])
def test_damaged_files_offer_nothing(world: World, content: str) -> None:
    """And never fail."""
    world.session()
    clear(world)
    for path in (world.state / "cleared").iterdir():
        path.write_text(content)

    assert start(world).stdout == ""
    clear(world)
    assert GOAL in start(world).context


def test_its_files_are_private(world: World) -> None:
    """0600 in 0700."""
    world.session()
    clear(world)
    start(world)
    folder = world.state / "cleared"

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert len(os.listdir(folder)) == 2


def test_it_is_off_where_keepthread_is_off(world: World) -> None:
    """Everywhere, or in the project."""
    world.session()
    world.run("session_end", world.event("session_end", reason="clear"), KEEPTHREAD_DISABLE="1")
    world.variables(SOURCES="clear", OFF_PROJECTS=str(world.project))
    clear(world)

    assert not (world.state / "cleared").exists()


def test_the_hook_is_registered_only_for_who_asked_for_it(world: World) -> None:
    """The host gives the hooks of SessionEnd a limit of their own; nobody else pays for it."""
    from keepthread.host.install import install

    def registered(sources: tuple[str, ...]) -> dict[str, Any]:
        install(
            config_dir=str(world.config),
            state=str(world.state),
            python="/venv/bin/python",
            package_hooks="/lib/keepthread/hooks",
            sources=sources,
        )
        return dict(json.loads((world.config / "settings.json").read_text())["hooks"])

    with_it = registered(("compact", "resume", "fork", "clear"))
    assert [hook["timeout"] for group in with_it["SessionEnd"] for hook in group["hooks"]] == [10]
    matchers = {group["matcher"] for group in with_it["SessionStart"]}
    assert matchers == {"compact|resume|fork|clear|startup"}
    assert "SessionEnd" not in registered(("compact", "resume", "fork"))
