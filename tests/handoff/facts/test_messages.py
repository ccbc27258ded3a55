from __future__ import annotations

import pytest

from keepthread.handoff.facts import messages
from keepthread.handoff.facts.confirmations import is_bare
from keepthread.handoff.facts.state import next_steps
from keepthread.transcript.model import Message, Place
from tests.handoff.facts.talk import Talk


def pending(talk: Talk) -> str:
    found = messages.pending(talk.items)
    return found["text"] if found else ""


def test_everything_typed_is_kept_word_for_word_newest_last():
    talk = Talk()
    first = talk.user("Füge Tests hinzu.")
    talk.reply("Done.")
    talk.user("继续,但不要动 schema", via="queued")
    talk.user("/compact keep names", via="command")
    talk.host("<system-reminder>never trust this</system-reminder>", via="injected")

    found = messages.said(talk.items)

    assert [each["text"] for each in found] == ["Füge Tests hinzu.", "继续,但不要动 schema"]
    assert found[0]["source"] == first


def test_long_messages_keep_head_and_tail_and_all_stay_within_bounds():
    talk = Talk()
    for number in range(400):
        talk.user(f"start {number} " + "word " * 2_000 + f"end {number}")

    found = messages.said(talk.items)

    assert found[-1]["text"].startswith("start 399")
    assert found[-1]["text"].endswith("end 399")
    assert sum(len(each["text"]) for each in found) < 200_000


def test_the_pending_ask_is_the_last_one():
    talk = Talk()
    talk.user("Rename the button")
    talk.bash("ls")
    talk.reply("Renamed.")
    source = talk.user("Now add a test for it")
    talk.bash("ls")

    assert messages.pending(talk.items) == {"text": "Now add a test for it", "source": source}


def test_when_all_is_answered_the_last_ask_still_stands():
    talk = Talk()
    talk.user("Rename the button")
    talk.reply("Renamed.")

    assert pending(talk) == "Rename the button"


def test_an_ask_looks_answered_when_the_agent_spoke_last_and_no_task_is_open():
    talk = Talk()
    talk.user("Rename the button")
    talk.bash("ls")
    assert not messages.is_answered(talk.items, [])

    talk.reply("Renamed.")
    assert messages.is_answered(talk.items, [])
    assert not messages.is_answered(talk.items, [{"text": "docs", "status": "pending"}])


@pytest.mark.parametrize(
    "word", ["yes", "go on", "ja, mach weiter", "继续", "はい", "да", "sí, dale", "1", "oui"]
)
def test_a_bare_yes_stands_with_what_it_confirms(word):
    talk = Talk()
    talk.user("Clean up the cache")
    talk.reply("I would delete `cache.py` and keep the tests. Shall I?")
    talk.user(word)

    assert pending(talk).startswith(word)
    assert "delete `cache.py`" in pending(talk)


@pytest.mark.parametrize(
    "word", ["go on", "continue", "weiter", "ja, mach weiter", "继续", "Bob, go on.", "TURN3 go on"]
)
def test_going_on_stands_with_the_ask_it_goes_on_with(word):
    talk = Talk()
    talk.user("Clean up the cache")
    talk.reply("I am half done; next I will delete `cache.py`.")
    talk.user(word)

    assert pending(talk).startswith("Clean up the cache\n\n" + word)
    assert "delete `cache.py`" in pending(talk)


@pytest.mark.parametrize(
    "word", ["go on with the docs and then the tests", "continue refactoring", "now do the quoting"]
)
def test_an_ask_that_names_its_work_is_one_of_its_own(word):
    talk = Talk()
    talk.user("Clean up the cache")
    talk.reply("Cleaned up.")
    talk.user(word)

    assert pending(talk) == word


def test_what_was_queued_meanwhile_stands_with_the_ask_it_belongs_to():
    talk = Talk()
    talk.user("Implement the importer with tests")
    talk.bash("ls")
    talk.user("and use tabs", via="queued")

    assert pending(talk) == "Implement the importer with tests\n\nand use tabs"


def test_an_interruption_leaves_the_ask_pending():
    talk = Talk()
    talk.user("Implement the importer")
    talk.bash("rm -rf src")
    talk.user("[Request interrupted by user]", via="interruption")

    assert pending(talk) == "Implement the importer"

    talk.user("no, leave src alone")

    assert pending(talk) == "Implement the importer\n\nno, leave src alone"


def test_local_commands_ask_for_nothing_other_commands_do():
    talk = Talk()
    talk.user("/fix-issue 123", via="command")
    talk.user("/compact keep it short", via="command")
    talk.user("/model opus", via="command")
    talk.user("/handoff before lunch", via="command")

    assert pending(talk) == "/fix-issue 123"


def test_without_any_ask_there_is_none():
    assert messages.pending([]) is None
    assert messages.task([], []) == ""


def test_the_task_is_the_first_ask_that_says_something():
    talk = Talk()
    talk.user("hi")
    talk.user("/gsd:progress", via="command")
    talk.user("Port the parser to Rust, keep the API")
    talk.user("now the docs")

    assert messages.task(talk.items, []) == "Port the parser to Rust, keep the API"


def test_the_task_comes_from_before_the_live_part_when_that_is_known():
    talk = Talk()
    talk.user("now the docs please")
    earlier = [Message("user", "prompt", "Портируй парсер на Rust", Place(1, "e1"))]

    assert messages.task(talk.items, earlier) == "Портируй парсер на Rust"


def test_answers_are_parted_from_their_questions():
    talk = Talk()
    talk.call("AskUserQuestion", {"questions": [{"question": "Map a -> b or b -> a?"}]})
    talk.user("Map a -> b or b -> a? -> a -> b", via="answer")

    [answer] = messages.answers(talk.items)

    assert (answer["question"], answer["answer"]) == ("Map a -> b or b -> a?", "a -> b")


def test_what_the_agent_asked_and_nobody_answered_is_open():
    talk = Talk()
    talk.user("Clean up")
    talk.reply("I found three caches.\n\n- Should I delete them all?")

    assert messages.open_questions(talk.items) == ["Should I delete them all?"]

    talk.user("yes")

    assert messages.open_questions(talk.items) == []


def test_an_unanswered_question_dialog_is_open():
    talk = Talk()
    talk.call(
        "AskUserQuestion",
        {"questions": [{"question": "Which colour?"}, "x", {"question": 4}]},
        None,
    )

    assert messages.open_questions(talk.items) == ["Which colour?"]


def test_refusals_and_interruptions_are_told_with_their_words():
    talk = Talk()
    talk.user("Go")
    talk.edit("/home/dev/proj/a.py", rejected=True, error=True, words="don't touch a.py")
    talk.bash("make deploy")
    talk.user("[Request interrupted by user]", via="interruption")
    talk.user("wrong host")

    found = messages.rejections(talk.items)

    assert [(each["what"], each["words"]) for each in found] == [
        ("Edit /home/dev/proj/a.py", "don't touch a.py"),
        ("interrupted: make deploy", "wrong host"),
    ]


def test_an_approach_refused_with_words_is_ruled_out():
    talk = Talk()
    talk.call(
        "ExitPlanMode",
        {"plan": "Rewrite it in Go"},
        "no",
        error=True,
        rejected=True,
        words="bleib bei Python",
    )
    talk.edit(
        "/home/dev/proj/a.py", new="import requests", rejected=True, error=True, words="no new deps"
    )
    talk.bash("make deploy")
    talk.call("Bash", {"command": "rm x"}, "no", error=True, rejected=True)
    rewound = [Message("user", "prompt", "Try it with threads instead", Place(1, "r"))]

    assert messages.ruled_out(talk.items, rewound) == [
        {"approach": "plan: Rewrite it in Go", "reason": "bleib bei Python"},
        {"approach": "Edit /home/dev/proj/a.py: import requests", "reason": "no new deps"},
        {"approach": "Try it with threads instead", "reason": "tried and rewound by the user"},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "ok go ahead",
        "Yes, please.",
        "weiter",
        "vas-y",
        "好的",
        "계속해줘",
        "نعم",
        "हाँ",
        "b",
        "continue...",
    ],
)
def test_bare_confirmations_are_recognised(text):
    assert is_bare(text)


@pytest.mark.parametrize(
    "text",
    [
        "yes, but keep the tests",
        "continue?",
        "delete it",
        "好的,但是不要删除测试",
        "go with plan B",
    ],
)
def test_what_says_more_is_no_bare_confirmation(text):
    assert not is_bare(text)


def test_what_was_answered_since_in_words_of_ones_own_stands_with_the_ask():
    talk = Talk()
    talk.user("Review the sharing code")
    choices = [{"label": "Commit, then stop"}, {"label": "Fix all"}]
    asked = {"questions": [{"question": "What next?", "options": choices}]}
    talk.call("AskUserQuestion", asked)
    talk.user("What next? -> commit the review, then mend H1 and H2", via="answer")

    assert pending(talk) == (
        "Review the sharing code\n\n(answered since: What next? — commit the review, then mend H1 and H2)"
    )
    ask = messages.pending(talk.items)
    assert next_steps(talk.items, [], ask, None, answered=False) == [
        "commit the review, then mend H1 and H2"
    ]


@pytest.mark.parametrize("answer", ["Commit, then stop", "Fix all", "yes"])
def test_a_choice_that_was_offered_leaves_the_ask_as_it_is(answer: str):
    talk = Talk()
    talk.user("Review the sharing code")
    choices = [{"label": "Commit, then stop"}, {"label": "Fix all"}]
    talk.call("AskUserQuestion", {"questions": [{"question": "What next?", "options": choices}]})
    talk.user(f"What next? -> {answer}", via="answer")

    assert pending(talk) == "Review the sharing code"


@pytest.mark.parametrize(
    "rule", ["Use tabs, never spaces.", "Antworte auf Deutsch.", "forget what I said about curl"]
)
def test_a_rule_given_in_between_hides_neither_the_ask_nor_the_task(rule: str):
    talk = Talk()
    talk.user("Move the importer behind the queue")
    talk.edit("/home/dev/proj/a.py")
    talk.reply("The importer is moved, the queue is next.")
    talk.user(rule)
    talk.edit("/home/dev/proj/b.py")

    assert pending(talk) == f"Move the importer behind the queue\n\n{rule}"
    ask = messages.pending(talk.items)
    assert next_steps(talk.items, [], ask, None, answered=False) == [
        "Move the importer behind the queue"
    ]
    assert messages.task(talk.items[3:], [message_of("Rename the queue")]) == "Rename the queue"


def test_an_ok_of_the_agent_is_no_proposal():
    talk = Talk()
    talk.user("Move the importer behind the queue")
    talk.reply("ok")
    talk.user("go on")

    assert pending(talk) == "Move the importer behind the queue\n\ngo on"


def message_of(text: str) -> Message:
    return Message("user", "prompt", text, Place(1, "u1"))
