from __future__ import annotations

import pytest

from keepthread.handoff.facts import state
from keepthread.handoff.model import Todo
from tests.handoff.facts.talk import Talk


def steps(talk: Talk, todos: list[Todo] | None = None) -> list[str]:
    return state.next_steps(
        talk.items, todos or [], {"text": "Ship it", "source": "u"}, None, answered=False
    )


def test_the_todo_in_progress_is_the_next_step():
    todos: list[Todo] = [
        {"text": "done", "status": "completed"},
        {"text": "write tests", "status": "in_progress"},
        {"text": "docs", "status": "pending"},
    ]
    talk = Talk()
    talk.reply("Now I'll run the tests.")

    assert steps(talk, todos) == ["write tests", "Now I'll run the tests.", "docs"]


def test_a_list_under_a_line_that_announces_is_taken_item_by_item():
    talk = Talk()
    talk.reply(
        "All merged.\n\n**Next steps:**\n1. Rename `load_all`\n2. Publish 2.0\n\nThat is it."
    )

    assert steps(talk)[:2] == ["Rename `load_all`", "Publish 2.0"]


def test_a_list_may_stand_below_its_heading_and_a_line_of_words():
    talk = Talk()
    talk.reply(
        "### Done\n- the parser\n\n### Next Steps\nThe remaining tasks are:\n- epic.4: trace it\n- epic.5: docs\n"
    )

    assert steps(talk) == ["epic.4: trace it", "epic.5: docs"]


def test_announcements_are_understood_in_other_languages():
    for text in (
        "Als Nächstes prüfe ich die Migration.",
        "接下来我会修改解析器。",
        "Теперь проверю миграцию базы.",
    ):
        talk = Talk()
        talk.reply(text)
        assert steps(talk) == [text]


def test_the_recap_written_while_the_user_was_away_counts():
    talk = Talk()
    talk.note(
        "away_summary",
        text="You fixed the parser. Next: run the suite. (disable recaps in /config)",
    )

    assert steps(talk) == ["You fixed the parser. Next: run the suite."]


def test_without_any_hint_the_ask_itself_is_the_next_step():
    assert steps(Talk()) == ["Ship it"]


def test_what_looks_answered_is_not_started_again():
    found = state.next_steps([], [], {"text": "commit", "source": "u"}, None, answered=True)

    assert found == ["wait for the user: the last ask looks answered (“commit”)"]


def test_a_failed_check_is_a_next_step():
    check = {"command": "pytest", "outcome": "failed", "result": "1 failed", "source": "u"}

    found = state.next_steps([], [], None, check, answered=False)  # type: ignore[arg-type]

    assert found == ["mend what `pytest` reported: 1 failed"]


def test_commits_and_pull_requests_are_done_work():
    talk = Talk()
    talk.bash("git commit -m x", "[main 1a2b3c4] fix: 修复 parser\n 1 file changed")
    talk.bash(
        "git commit -qm y", "", gitOperation={"commit": {"sha": "9f8e7d6c", "kind": "committed"}}
    )
    talk.bash("git push", "", gitOperation={"push": {"branch": "main"}})
    talk.bash("gh pr create --fill", "https://github.com/o/r/pull/7\n")
    talk.fail("git commit -m z", "[main 0000000] never happened")

    assert state.completed(talk.items, [{"text": "ticked", "status": "completed"}]) == [
        "pull request https://github.com/o/r/pull/7",
        "pushed main",
        "commit 9f8e7d6c",
        "commit 1a2b3c4 (main): fix: 修复 parser",
        "ticked",
    ]


def test_in_flight_is_what_was_last_said_and_the_call_under_way():
    talk = Talk()
    talk.reply("Found it. The cache is stale.")
    talk.call("Bash", {"command": "make clean"}, None)

    assert state.in_flight(talk.items) == "Found it. The cache is stale. Under way: make clean"


def test_of_a_long_message_the_opening_and_the_end_are_kept():
    talk = Talk()
    talk.reply(
        "Perfect! The importer now keeps the last line of every file. "
        + "Details follow. " * 60
        + "Shall I go on?"
    )

    found = state.in_flight(talk.items)

    assert found.startswith("The importer now keeps the last line of every file.")
    assert found.endswith("Shall I go on?")
    assert len(found) < 600


@pytest.mark.parametrize(
    ("said", "steps"),
    [
        ("Next: the footer handling", ["Next: the footer handling"]),
        ("Next I will add the footer", ["Next I will add the footer"]),
        ("Next step is the footer handling", ["Next step is the footer handling"]),
        ("Next sync cycle will retry automatically", []),
        ("**Next deploys are faster**", []),
    ],
)
def test_what_a_program_does_next_is_no_step_of_the_agent(said: str, steps: list[str]):
    talk = Talk()
    talk.user("go")
    talk.reply(said)

    assert state.next_steps(talk.items, [], None, None, answered=False) == steps


def test_what_is_in_flight_is_told_without_rulers_and_marks():
    talk = Talk()
    talk.reply("━━━━━━━━\n**Review:** all of `src/**/*.py`\n━━━━━━━━")

    assert state.in_flight(talk.items) == "Review: all of `src/**/*.py`"
