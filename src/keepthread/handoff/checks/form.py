"""Faults of form: secrets, pasted prompts, markup, placeholders, length, and the wrong language."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from keepthread import redact, resources
from keepthread.handoff.checks.case import MOST, SENTENCES, Case, failure, lists, revise, texts
from keepthread.handoff.language import language, languages_of, named_languages
from keepthread.handoff.model import AuditFailure
from keepthread.handoff.wording import NOT_FOUND, cut, is_aged

FROM_OUTPUT = "(as a file or a tool's output says)"

# Characters of a text.
_LONGEST = {
    "task": 1_500,
    "in_flight": 1_200,
    "resume_prompt": 2_400,
    "summary": 300,
    "reason": 500,
    "workaround": 500,
}
_LONGEST_ITEM = 700
_MARKS = len(FROM_OUTPUT) + len(NOT_FOUND) + 40  # marks are not held against a text

_FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*$\n?", re.MULTILINE)
_LINE_MARK = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+(?=\S)|>[ \t]+|(?:[-*•+]|\d{1,2}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|\[[ xX]\][ \t]+)+(?=\S)",
    re.MULTILINE,
)
_BOLD = re.compile(r"(?<![\w*`/])\*\*(?=[^\s*/`])([^*\n`]{1,200}?)(?<=[^\s*/])\*\*(?![\w*/])")
_NOTHING = re.compile(
    r"\W*(?:n/?a|none(?: (?:known|found|yet|so far|at this time|identified))?|nothing(?: (?:yet|so far|else))?|null|nil"
    r"|tb[da]|unknown|not applicable|string|no (?:open questions?|known issues?|issues?|next steps?)|keine?|nichts"
    r"|aucune?|rien|ningun[oa]|nada|nenhum|nessun[oa]|なし|無し|特になし|无|没有|нет|없음)?\W*",
    re.IGNORECASE,
)
_FENCE_TAG = re.compile(r"</?keepthread-\w+-[0-9a-f]{8,}>|\{\{\w+\}\}")
_SPEAKER = re.compile(
    r"^(?:USER|AGENT|CALL [A-Z]\w*|[ \t]*RESULT (?:ok|failed|no result))\b", re.MULTILINE
)
_SENTENCE_END = re.compile(r"(?<=[.;:])\s+")
_PASSAGE = 30  # characters of an instruction that nobody repeats by chance


def secrets(case: Case) -> list[AuditFailure]:
    """Replace what looks like a secret; a model may join again what redaction had parted."""
    failed: list[AuditFailure] = []

    def clean(field: str, text: str) -> str:
        without = redact.text(text)
        if without != text:
            failed.append(failure("secrets", f"{field}: {without}", "redacted"))
        return without

    revise(case.handoff, clean)
    return failed


def markup(case: Case) -> list[AuditFailure]:
    """Drop pasted prompts, transcripts and placeholders; take Markdown out of what is to be plain sentences."""
    failed: list[AuditFailure] = []

    def look(field: str, text: str) -> str | None:
        if not text.strip():
            return text
        if _NOTHING.fullmatch(text.strip()):
            if field not in SENTENCES:
                failed.append(failure("markup", f"{field}: {text}", "dropped"))
            return None
        if _is_pasted(text, case):
            failed.append(failure("markup", f"{field}: {text}", "dropped"))
            return None
        plain = _plain(text)
        if plain != text.strip():
            failed.append(failure("markup", f"{field}: {text}", "repaired"))
            return plain
        return text

    revise(case.handoff, look)
    return failed


def _plain(text: str) -> str:
    text = _BOLD.sub(r"\1", _FENCE.sub("", text))
    return _LINE_MARK.sub("", text).strip()


def _is_pasted(text: str, case: Case) -> bool:
    if _FENCE_TAG.search(text) or len(_SPEAKER.findall(text)) > 1 or _is_json(text):
        return True
    flat = " ".join(text.split())
    found = next((passage for passage in _instructions() if passage in flat), "")
    return bool(found) and not case.evidence.contains(found)


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[{", '["')):
        return False
    try:
        return isinstance(json.loads(text), (dict, list))
    except (ValueError, RecursionError):
        return False


@lru_cache(maxsize=1)
def _instructions() -> tuple[str, ...]:
    """Return the sentences of our own prompt that are long enough to be known again."""
    schema = json.loads(resources.read("templates", "answer.schema.json"))
    parts = [
        resources.read("templates", "prompt-system.md"),
        resources.read("templates", "prompt-user.md"),
    ]
    parts += [field.get("description", "") for field in schema["properties"].values()]
    sentences = (
        " ".join(sentence.lstrip("- ").split())
        for part in parts
        for line in part.splitlines()
        for sentence in _SENTENCE_END.split(line)
    )
    return tuple(sentence for sentence in sentences if len(sentence) >= _PASSAGE)


def bounds(case: Case) -> list[AuditFailure]:
    """Cut texts and lists that are too long."""
    failed: list[AuditFailure] = []

    def shorten(field: str, text: str) -> str:
        limit = _LONGEST.get(field, _LONGEST_ITEM)
        if len(text) <= limit + _MARKS:
            return text
        failed.append(failure("bounds", f"{field}: {cut(text, 80)}", "cut"))
        return cut(text, limit)

    revise(case.handoff, shorten)
    for field, most in MOST.items():
        told = dict(case.answer).get(field) if case.answer else None
        if isinstance(told, list) and len(told) > most:  # the merge has cut it
            failed.append(failure("bounds", f"{field}: {len(told)} entries", "cut"))
    for field, items in lists(case.handoff):
        if len(items) > MOST[field]:
            failed.append(failure("bounds", f"{field}: {len(items)} entries", "cut"))
            del items[MOST[field] :]
    return failed


def in_language(case: Case) -> list[AuditFailure]:
    """A handoff is written in a language its user writes in, or has asked for."""
    typed = [*case.evidence.typed, *_typed(case)]
    users = languages_of(typed) | named_languages(typed)
    if not users or case.answer is None:
        return []
    written = language(
        "\n".join(
            text
            for field, text in texts(case.handoff)
            if field in ("next_steps", "completed_tasks", "open_questions", *SENTENCES)
            and not is_aged(text)
            and not any(text.strip() in said for said in typed)
        )
    )
    if not written or written in users:
        return []
    return [failure("language", f"written in {written}, not in {', '.join(sorted(users))}", "kept")]


def _typed(case: Case) -> list[str]:
    facts = case.handoff["facts"]
    said = [entry["text"] for entry in facts["user_messages"]]
    return said + [rule["text"] for rule in case.handoff["constraints"]["rules"]]
