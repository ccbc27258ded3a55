"""Where the work stands: what is done, in flight, broken, and what comes next, as far as the transcript says it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from keepthread.handoff.facts import calls
from keepthread.handoff.facts.confirmations import goes_on
from keepthread.handoff.facts.messages import ANSWERED, PROPOSED
from keepthread.handoff.facts.open_asks import WAITING
from keepthread.handoff.facts.rules import only_binds
from keepthread.handoff.facts.text import as_dict, as_text, lazy, one_line, sentences, unique
from keepthread.handoff.model import Check, Sourced, Todo
from keepthread.transcript.model import Call, Item, Message, Note

_NEXT = lazy(
    # "The next run will retry" tells what a program does.
    r"^\W*(?:next(?!\s+(?!i\b|we\b|up\b|steps?\b)\w+(?:\s+\w+){0,3}\s+(?:will|is|are|was)\b)[\s:,]|now,?\s|now\s+i|let\s+me\s+(?!know)|let[’']s|i[’']?ll\s|i\s+will\s|i\s+(?:still\s+)?need\s+to|i[’']?m\s+going\s+to|then\s+i|remaining\b|ready\s|pending\b|still\s+to\s+do|the\s+next\s+step|todo\b"
    r"|als\s+nächstes|jetzt\b|nun\b|ich\s+werde|ensuite\b|maintenant\b|je\s+vais|prochaine|ahora\b|a\s+continuación|voy\s+a|siguiente|agora\b|vou\s|próxim|adesso\b|ora\s|prossim|vervolgens|nu\s|teraz\b|następn|"
    r"теперь|далее|сейчас|следующ|тепер|далі|şimdi|sıradaki|接下来|接下來|下一步|现在|現在|次に|次は|それでは|다음|이제|الآن|अब)",
    re.IGNORECASE,
)
_NEXT_HEADING = lazy(
    r"\b(?:next|remaining|remains|still\s+to|to\s+do|pending|follow-?ups?|outstanding)\b|nächste|offen|restlich"
    r"|restant|suivant|siguiente|pendient|próxim|pendente|prossim|volgende|następn|следующ|остал|дальш|наступн|sıradaki"
    r"|下一步|剩余|剩餘|待办|待辦|接下来|次の|残り|다음|남은|التالي|अगल",
    re.IGNORECASE,
)
_BARE_HEADING = lazy(
    r"\W*(?:the\s+)?(?:next|remaining|pending)\s+(?:steps?|tasks?|items?|work)(?:\s+are)?\W*",
    re.IGNORECASE,
)
_REACH = 3  # lines from a heading to its list
_LISTED = lazy(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_COMMIT = lazy(r"^\[([^\]\s]+)(?: \([^)]*\))? ([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_PULL_REQUEST = lazy(r"https://[\w.-]+/[\w.-]+/[\w.-]+/(?:pull|merge_requests|pull-requests)/\d+")
# A glob such as `**/*.py` stays.
_BOLD = lazy(r"(?<![\w`/])\*\*(?=[^\s*/])|(?<=[^\s*/])\*\*(?![\w`/*])")
_AWAY_END = lazy(r"\s*\(disable recaps in /config\)\s*$")


def completed(items: Sequence[Item], todos: Sequence[Todo]) -> list[str]:
    """Return what was finished: todos ticked off, commits and pull requests made, latest first."""
    done: list[str] = []
    for item in reversed(items):
        if isinstance(item, Call) and calls.succeeded(item) and item.name in calls.SHELLS:
            done += _commits(item)
        elif isinstance(item, Note) and item.kind == "pr":
            done.append(f"pull request {as_text(item.data.get('url')) or item.data.get('number')}")
    ticked = [todo["text"] for todo in reversed(todos) if todo["status"] == "completed"]
    return unique([*done[:20], *ticked], 40)


def _commits(call: Call) -> list[str]:
    result = call.result
    if result is None:
        return []
    found = [
        f"commit {sha} ({branch}): {one_line(subject, 200)}"
        for branch, sha, subject in _COMMIT.findall(result.text[:20_000])
    ]
    operation = as_dict(result.data.get("gitOperation"))
    commit = as_dict(operation.get("commit"))
    sha = as_text(commit.get("sha"))
    if sha and not any(sha[:7] in line for line in found):
        found.append(f"commit {sha}")
    push = as_dict(operation.get("push"))
    if as_text(push.get("branch")):
        found.append(f"pushed {as_text(push.get('branch'))}")
    request = as_dict(operation.get("pr"))
    url = as_text(request.get("url"))
    if not url and "gh pr create" in calls.command_of(call):
        match = _PULL_REQUEST.search(result.text[:20_000])
        url = match[0] if match else ""
    if url:
        found.append(f"pull request {url}")
    return found[::-1]


def in_flight(items: Sequence[Item]) -> str:
    """Return what the agent was at: the end of its last words, and the call that was not answered yet."""
    parts: list[str] = []
    last = next((item for item in reversed(items) if isinstance(item, Call)), None)
    for item in reversed(items):
        if isinstance(item, Message) and item.via == "reply" and item.text.strip():
            parts.append(_gist(item.text))
            break
    if last is not None and last.result is None:
        parts.append(f"Under way: {calls.named(last, 200)}")
    return " ".join(part for part in parts if part)


def _gist(text: str) -> str:
    """Return a message on one line; of a long one its first telling sentence and its last two."""
    lines = [
        _BOLD.sub("", line.strip())
        for line in text.strip().splitlines()
        if not line.startswith(("```", "|")) and any(map(str.isalnum, line))
    ]
    flat = one_line(" ".join(lines), 4_000)
    if len(flat) <= 500:
        return flat
    spoken = [sentence for line in lines for sentence in sentences(line.lstrip("-*# "))]
    opening = next((sentence for sentence in spoken[:4] if len(sentence) > 30), spoken[0])
    return f"{one_line(opening, 220)} … {one_line(' '.join(spoken[-2:]), 300)}"


def next_steps(
    items: Sequence[Item],
    todos: Sequence[Todo],
    ask: Sourced | None,
    check: Check | None,
    *,
    answered: bool,
) -> list[str]:
    """Return the next steps, the most concrete first.

    `answered` says that the ask looks done: then nothing is to be started again of one's own accord.
    """
    steps = [todo["text"] for todo in todos if todo["status"] == "in_progress"]
    steps += _announced(items)
    steps += [todo["text"] for todo in todos if todo["status"] == "pending"][:10]
    steps += _recap(items)
    if check is not None and check["outcome"] == "failed":
        steps.append(f"mend what `{one_line(check['command'], 120)}` reported: {check['result']}")
    if not steps and ask is not None:
        quoted = one_line(_asked(ask["text"]), 400)
        steps.append(f"{WAITING} (“{one_line(quoted, 160)}”)" if answered else quoted)
    return unique(steps, 12)


def _asked(text: str) -> str:
    """Return what an ask is about: what was answered since; for "go on" or a rule, what it goes on with."""
    ask, _, answer = text.partition(ANSWERED)
    if answer:
        return answer.partition(" — ")[2].removesuffix(")")
    first, _, rest = ask.partition("\n\n")
    if rest and all(goes_on(each) or only_binds(each) for each in rest.split("\n\n")):
        return first
    word, _, proposal = text.partition(PROPOSED)
    return proposal.removesuffix(")") if proposal and goes_on(word) else text


def _recap(items: Sequence[Item]) -> list[str]:
    """Return the recap that the host wrote while the user was away, when nothing was asked since."""
    for item in reversed(items):
        if isinstance(item, Note) and item.kind == "away_summary":
            return [one_line(_AWAY_END.sub("", as_text(item.data.get("text"))), 400)]
        if isinstance(item, Message) and item.typed:
            break
    return []


def _announced(items: Sequence[Item]) -> list[str]:
    """Return what the agent said it would do next, in its last message: sentences, or the list under such a line."""
    for item in reversed(items):
        if isinstance(item, Message) and item.via == "reply":
            return _announcements(item.text)
        if isinstance(item, Message) and item.typed:
            break
    return []


def _announcements(text: str) -> list[str]:
    said: list[str] = []
    listed: list[str] = []
    heading = 0
    for line in text.strip().splitlines()[-40:]:
        bare = line.strip().lstrip("-*#•> ").strip()
        if heading and _LISTED.match(line):
            listed.append(one_line(_LISTED.sub("", line).strip("* "), 300))
            heading = _REACH
            continue
        # A list may stand a line or two below its heading, not further.
        heading = _REACH if _announces_list(line.strip()) else max(heading - 1, 0)
        said += [one_line(each, 300) for each in sentences(bare) if _says_next(each)]
    return unique([*listed[:5], *(sentence.rstrip(":* ") for sentence in said[-2:])], 6)


def _announces_list(line: str) -> bool:
    heads = line.startswith("#") or line.rstrip("* ").endswith((":", "："))
    return heads and len(line) < 100 and bool(_NEXT_HEADING.search(line))


def _says_next(sentence: str) -> bool:
    bare = sentence.rstrip("*: ")
    return (
        bool(_NEXT.match(bare))
        and (len(bare) > 12 or not bare.isascii())
        and not _BARE_HEADING.fullmatch(bare)
    )


def resume_prompt(
    task: str,
    ask: Sourced | None,
    state: str,
    steps: Sequence[str],
    changed: Sequence[str],
    check: Check | None,
) -> str:
    """Return one paragraph that lets the work go on."""
    parts: list[str] = []
    if ask is not None:
        parts.append(f"The user's last ask: “{one_line(ask['text'], 500)}”.")
    if task and (ask is None or one_line(task, 100) != one_line(ask["text"], 100)):
        parts.append(f"It belongs to: “{one_line(task, 300)}”.")
    if state:
        parts.append(f"Last said: {one_line(state, 400)}")
    if changed:
        more = f" and {len(changed) - 6} more" if len(changed) > 6 else ""
        parts.append(f"Changed so far: {', '.join(changed[:6])}{more}.")
    if check is not None:
        parts.append(
            f"Last check: `{one_line(check['command'], 120)}` {check['outcome']} ({check['result']})."
        )
    if steps:
        parts.append(f"Next: {one_line(steps[0], 300)}")
    return " ".join(parts)
