"""What the user said: every typed message, the ask that is pending, and what the session is about."""

from __future__ import annotations

from collections.abc import Sequence

from keepthread.handoff.facts import calls
from keepthread.handoff.facts.confirmations import goes_on, is_bare
from keepthread.handoff.facts.rules import only_binds
from keepthread.handoff.facts.text import as_dict, as_list, as_text, head_tail, one_line, source
from keepthread.handoff.kept_words import note
from keepthread.handoff.model import Given, Rejection, RuledOut, Sourced, Todo
from keepthread.handoff.note import note_in
from keepthread.transcript.model import Call, Item, Message
from keepthread.transcript.wording import is_local_command

LONGEST = 4_000
_ROOM = 60_000
_OLD = 400
_MOST = 300
_MOST_REJECTIONS = 40
_TASK = 1_200
_PROPOSAL = 1_500
_LEAST = 12
PROPOSED = "\n(to the agent's words: "
ANSWERED = "\n\n(answered since: "
_ASKS = frozenset(("prompt", "queued", "command", "rejection", "approval", "plan"))
_SPOKEN = frozenset(("prompt", "queued", "command", "rejection", "approval", "memory"))


def is_ask(message: Message) -> bool:
    """Return whether a message asks for something: no local command, nothing empty."""
    text = message.text.strip()
    if message.via not in _ASKS or not text:
        return False
    if message.via == "command":
        return not is_local_command(text)
    return True


def is_substantial(message: Message) -> bool:
    """Return whether an ask says what it wants by itself."""
    if not is_ask(message) or not names_work(message.text):
        return False
    text = message.text.strip()
    return len(text) >= _LEAST or not text.isascii() or message.via == "command"


def names_work(text: str) -> bool:
    """Return whether the words of an ask say what is wanted, beyond yes and go on."""
    return not is_bare(text) and not goes_on(text)


def said(items: Sequence[Item]) -> list[Sourced]:
    """Return what the user typed, oldest first, each bounded; together at most some 60,000 characters."""
    typed = [
        item
        for item in items
        if isinstance(item, Message) and item.via in _SPOKEN and item.text.strip()
    ]
    typed = [message for message in typed if message.via != "command" or is_ask(message)]
    found: list[Sourced] = []
    room = _ROOM
    for message in reversed(typed[-_MOST:]):
        text = head_tail(message.text, min(LONGEST, max(room, _OLD)))
        room -= len(text)
        found.append({"text": text, "source": source(message.place)})
    return found[::-1]


def notes(items: Sequence[Item]) -> list[Sourced]:
    """Return what the user wrote behind /handoff, oldest first, as notes."""
    found = [
        (note_in(item.text), source(item.place))
        for item in items
        if isinstance(item, Message) and item.via == "command"
    ]
    return [note(text, place) for text, place in found if text]


def pending(items: Sequence[Item], before_live: Sequence[Sourced] = ()) -> Sourced | None:
    """Return the last ask that is not answered in full; when all are, the last one.

    An ask that only says yes stands with the proposal it confirms; one that only says to go on, or gives a rule, also
    with the ask it goes on with. What was queued while the agent worked, or said after an interruption, stands with
    the ask it belongs to; so does what the user answered since in words of their own.

    Args:
        items: the live part.
        before_live: open asks from before it, oldest first.
    """
    asks = [
        (at, item) for at, item in enumerate(items) if isinstance(item, Message) and is_ask(item)
    ]
    if not asks:
        return None
    last_at, last = asks[-1]
    texts = [_with_proposal(items, last_at, last)]
    for position in range(len(asks) - 1, max(len(asks) - 4, 0), -1):
        at, message = asks[position]
        before_at, before = asks[position - 1]
        open_before = not _answered(items, before_at, at) and not (
            (is_bare(message.text) or goes_on(message.text)) and _proposal(items, at)
        )
        if not open_before or before.via in ("rejection", "approval"):
            break
        texts.insert(0, _with_proposal(items, before_at, before))
        last_at, last = before_at, before
    texts = [*_gone_on_with([ask for ask in asks if ask[0] <= last_at], items, before_live), *texts]
    last = asks[-1][1]
    text = "\n\n".join(head_tail(text, LONGEST // len(texts)) for text in dict.fromkeys(texts))
    return {"text": text + _own_answer(items, asks[-1][0]), "source": source(last.place)}


def _own_answer(items: Sequence[Item], since: int) -> str:
    """Return the last answer after item `since`, when it is none of the choices the agent offered."""
    offered = {
        as_text(option.get("label"))
        for item in items[since:]
        if isinstance(item, Call) and item.name == "AskUserQuestion"
        for question in map(as_dict, as_list(item.input.get("questions")))
        for option in map(as_dict, as_list(question.get("options")))
    }
    for given in answers(items[since:])[-1:]:
        answer = given["answer"]
        chosen = {answer} <= offered or set(answer.split(", ")) <= offered
        if not chosen and not is_bare(answer):
            return f"{ANSWERED}{one_line(given['question'], 200)} — {answer})"
    return ""


def _gone_on_with(
    asks: Sequence[tuple[int, Message]], items: Sequence[Item], before: Sequence[Sourced]
) -> list[str]:
    """Return the ask that the last of these only says to go on with, or how to do; [] when it says what it wants."""
    at, message = asks[-1]
    proposal = _proposal(items, at)
    on = goes_on(message.text) and not proposal.rstrip("*_ ").endswith(("?", "？"))
    on = on or only_binds(message.text)
    if not on and not (is_bare(message.text) and not proposal):
        return []
    for _, ask in reversed(asks[:-1]):
        if (
            ask.via not in ("rejection", "approval")
            and is_substantial(ask)
            and not only_binds(ask.text)
        ):
            return [ask.text.strip()]
    return [ask["text"] for ask in before[-1:]]


def is_answered(items: Sequence[Item], todos: Sequence[Todo]) -> bool:
    """Return whether the last ask looks done: the agent spoke last, uninterrupted, and no task is open."""
    asks = [at for at, item in enumerate(items) if isinstance(item, Message) and is_ask(item)]
    if not asks or any(todo["status"] != "completed" for todo in todos):
        return False
    return _answered(items, asks[-1], len(items))


def task(items: Sequence[Item], earlier: Sequence[Message]) -> str:
    """Return what the session is about: its first substantial ask, bounded; "" when nothing was asked.

    A slash command says little of its own; it stands only where nothing better was said.
    """
    asks = [item for item in [*earlier, *items] if isinstance(item, Message) and is_ask(item)]
    telling = [ask for ask in asks if is_substantial(ask) and not only_binds(ask.text)]
    best = next(
        (
            ask
            for ask in telling
            if ask.via != "command" or len(ask.text.partition(" ")[2]) >= _LEAST
        ),
        None,
    )
    first = best or next(iter(telling), None) or next(iter(asks), None)
    return head_tail(first.text, _TASK) if first else ""


def answers(items: Sequence[Item]) -> list[Given]:
    """Return what the user answered to the agent's questions."""
    questions = [
        question for item in items if isinstance(item, Call) for question in _questions(item)
    ]
    found: list[Given] = []
    for item in items:
        if isinstance(item, Message) and item.via == "answer" and item.text.strip():
            asked = next((each for each in questions if item.text.startswith(f"{each} -> ")), "")
            answer = item.text[len(asked) + 4 :] if asked else item.text.partition(" -> ")[2]
            question = asked or item.text.partition(" -> ")[0]
            found.append(
                {
                    "question": one_line(question, 400),
                    "answer": head_tail(answer or item.text, 1_000),
                    "source": source(item.place),
                }
            )
    return found[-40:]


def open_questions(items: Sequence[Item]) -> list[str]:
    """Return what the agent asked and nobody answered: an open AskUserQuestion, or what its last words end in."""
    last_call = next((item for item in reversed(items) if isinstance(item, Call)), None)
    found: list[str] = []
    if last_call is not None and last_call.result is None:
        found += [one_line(question, 400) for question in _questions(last_call)]
    reply = _last_reply(items)
    if reply and not found:
        ending = [line.strip() for line in reply.splitlines() if line.strip()][-6:]
        found += [
            one_line(line.lstrip("-*0123456789. "), 400)
            for line in ending
            if line.rstrip("*_ ").endswith(("?", "？"))
        ]
    return [question for question in found if question][:6]


def rejections(items: Sequence[Item]) -> list[Rejection]:
    """Return the tool calls the user refused or interrupted, with the words said with it."""
    words = {
        item.place: item.text.strip()
        for item in items
        if isinstance(item, Message) and item.via == "rejection"
    }
    found: list[Rejection] = []
    for at, item in enumerate(items):
        if isinstance(item, Call) and item.result is not None and item.result.rejected:
            spoken = words.get(item.result.place, "") or _next_words(items, at)
            found.append(
                {
                    "what": calls.named(item, 300),
                    "words": head_tail(spoken, 1_000),
                    "source": source(item.result.place),
                }
            )
        elif isinstance(item, Message) and item.via == "interruption":
            before = items[at - 1] if at else None
            if isinstance(before, Call) and before.result is not None and before.result.rejected:
                continue
            if found and found[-1]["words"] == _next_words(items, at):
                continue
            what = calls.named(before, 300) if isinstance(before, Call) else "the agent's turn"
            found.append(
                {
                    "what": f"interrupted: {what}",
                    "words": head_tail(_next_words(items, at), 1_000),
                    "source": source(item.place),
                }
            )
    return found[-_MOST_REJECTIONS:]


def ruled_out(items: Sequence[Item], abandoned: Sequence[Message]) -> list[RuledOut]:
    """Return the approaches the user refused with words, and the branches that were rewound."""
    words = {
        item.place: item.text.strip()
        for item in items
        if isinstance(item, Message) and item.via == "rejection"
    }
    found: list[RuledOut] = []
    for item in items:
        if isinstance(item, Call) and item.result is not None and item.result.rejected:
            reason = words.get(item.result.place, "")
            if reason and item.name != "AskUserQuestion":
                found.append({"approach": _approach(item), "reason": head_tail(reason, 600)})
    found += [
        {"approach": one_line(message.text, 300), "reason": "tried and rewound by the user"}
        for message in abandoned[-10:]
        if is_substantial(message)
    ]
    return found[-30:]


def _approach(call: Call) -> str:
    if call.name == "ExitPlanMode":
        return f"plan: {one_line(as_text(call.input.get('plan')), 400)}"
    if calls.is_edit(call):
        fresh = next((new for _, new in calls.changes(call) if new.strip()), "")
        return one_line(f"{calls.named(call, 200)}: {fresh}", 400)
    return calls.named(call, 400)


def _next_words(items: Sequence[Item], at: int) -> str:
    """Return what the user typed right after item `at`, before the agent went on."""
    for item in items[at + 1 : at + 6]:
        if isinstance(item, Message) and item.via in ("prompt", "queued"):
            return item.text.strip()
        if isinstance(item, Call) or (isinstance(item, Message) and item.via == "reply"):
            break
    return ""


def _answered(items: Sequence[Item], start: int, end: int) -> bool:
    """Return whether between an ask and `end` the agent finished: its words stand last, uninterrupted."""
    for item in reversed(items[start + 1 : end]):
        if isinstance(item, Message):
            if item.via == "reply":
                return True
            if item.via in ("interruption", "rejection", "error"):
                return False
        elif isinstance(item, Call):
            return False
    return False


def _with_proposal(items: Sequence[Item], at: int, message: Message) -> str:
    text = message.text.strip()
    proposal = _proposal(items, at) if is_bare(text) or goes_on(text) else ""
    return f"{text}{PROPOSED}{proposal})" if proposal else text


def _proposal(items: Sequence[Item], at: int) -> str:
    """Return what the agent said last before item `at`: the end of it, where proposals stand."""
    for item in reversed(items[:at]):
        if isinstance(item, Message) and item.via == "reply":
            text = item.text.strip()
            if is_bare(text):
                return ""  # "ok" proposes nothing
            return text if len(text) <= _PROPOSAL else "… " + text[-_PROPOSAL:].lstrip()
        if isinstance(item, Message) and is_ask(item):
            break
    return ""


def _last_reply(items: Sequence[Item]) -> str:
    """Return the agent's last words when nothing was called or typed after them."""
    for item in reversed(items):
        if isinstance(item, Call) or (isinstance(item, Message) and item.typed and is_ask(item)):
            return ""
        if isinstance(item, Message) and item.via == "reply":
            return item.text
    return ""


def _questions(call: Call) -> list[str]:
    if call.name != "AskUserQuestion":
        return []
    return [
        text
        for each in map(as_dict, as_list(call.input.get("questions")))
        if (text := as_text(each.get("question")).strip())
    ]
