"""Sentences that give themselves away: claimed success, steps that say nothing, orders planted by someone else."""

from __future__ import annotations

import re

from keepthread.handoff.named import named
from keepthread.handoff.wording import words

_GOAL = re.compile(
    r"\b(?:not|n['’]t|never|nothing|nobody|no longer|until|unless|make|get|so that|ensure|should|must|needs?"
    r"|want|to|if|once|when|before|after|whether|verify|check|confirm|expect\w*|will|would|could|might|previously|earlier|nicht|damit|bis|wenn"
    r"|sobald|soll\w*|pas|pour|jusqu|hasta|para|cuando)\b",
    re.IGNORECASE,
)
_GREEN = r"(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|successful(?:ly)?|ok|clean)"
_TEST_CLAIMS = (
    r"\b(?:all|every|the (?:whole|full|entire|complete))\b[^.;\n]{0,40}\b(?:tests?|specs?|suite)\b"
    rf"[^.;\n]{{0,30}}\b{_GREEN}\b",
    r"(?:^|[.;:,(]\s*|\b(?:the|and|unit|integration|regression|now)\s+)tests?(?: suite| run)?"
    rf"(?: \w+){{0,2}} {_GREEN}\b",
    rf"\bsuite\b(?: \w+){{0,2}} {_GREEN}\b",
    r"\b(\d+)\s?/\s?\1 (?:tests? )?pass\w*",
    r"\b(?:0|zero|no) (?:test )?failures?\b|\b(?:0|zero|no) (?:tests? )?failed\b|\bno failing tests?\b",
    r"\balle tests?\b[^.;\n]{0,30}\b(?:grün|bestehen|bestanden|laufen|erfolgreich)\b",
    r"\btous les tests\b[^.;\n]{0,30}\b(?:passent|réussi\w*|verts?)\b",
    r"\btod[ao]s (?:las pruebas|los tests|os testes)\b[^.;\n]{0,30}\b(?:pasan|pasaron|passam|passaram|verde)\b",
    r"(?:全部|すべて|全て|所有)[^。\n]{0,10}(?:测试|測試|テスト)[^。\n]{0,10}(?:通过|通過|成功|パス|合格)",
    r"(?:测试|測試|テスト)[^。\n]{0,6}(?:全部|すべて|全て|都)[^。\n]{0,6}(?:通过|通過|成功|パス|合格)",
    r"\bвсе тесты\b[^.;\n]{0,30}(?:проход|прош)\w*",
)
_BUILD_CLAIMS = (
    rf"\b(?:build|compilation|type ?check(?:ing)?|code)\b(?: \w+){{0,2}} (?:{_GREEN}|compiles)\b",
    r"\bcompiles (?:cleanly|without|fine)\b|\bbuilds (?:cleanly|without|fine)\b",
)
_LINT_CLAIMS = (rf"\b(?:lint(?:er|ing)?|eslint|ruff|mypy|clippy)\b(?: \w+){{0,2}} {_GREEN}\b",)
_ANY_CLAIMS = (
    rf"\b(?:ci|pipeline|everything|all checks?)\b(?: \w+){{0,2}} {_GREEN}\b",
    r"\ball green\b",
)

_KINDS = (
    (
        re.compile(
            r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|ctest|phpunit|playwright|cypress|tests?)\b|:test\b",
            re.IGNORECASE,
        ),
        _TEST_CLAIMS,
    ),
    (
        re.compile(r"\b(?:lint|eslint|ruff|flake8|pylint|clippy|prettier|black|fmt|format)\b"),
        _LINT_CLAIMS,
    ),
    (
        re.compile(r"\b(?:build|compile|tsc|make|mvn|gradle|cargo check|mypy|pyright|vet)\b"),
        _BUILD_CLAIMS,
    ),
)

_GENERIC_WORDS = """
    a an and as at back carry code coding complete continue continuing conversation current development doing done
    ensure everything feature finalize finish fix fixing following for forward from further go going handle
    implementation implementing in is issue issues it its keep left make maintain more move moving necessary needed next
    of off on ongoing our out pending plan planned please previous problem problems proceed process progress project
    rest remaining request required resume right session should start started step steps stuff sure task tasks tbd that
    the them then there things this to todo up user what whatever where which with work working wrap we were was you
    arbeit weiter weitermachen weiterarbeiten fortfahren fortsetzen mit der die das den aufgabe an projekt am
    continuer le la travail tâche projet avec continuar con el trabajo tarea proyecto trabalho tarefa com seguir
    продолжить работу задачу над"""
_GENERIC = frozenset(_GENERIC_WORDS.split())
_GENERIC_WIDE = re.compile(
    r"(?:请|請)?(?:继续|繼續)(?:进行|進行|之前的|当前|目前的)?(?:工作|任务|任務|开发|開發|实现)?|(?:作業|開発|実装|タスク)?を?(?:続ける|続行する?|継続する?)"
    r"|(?:작업을? )?계속(?:하기|한다|하세요)?"
)

_PLANTED = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,30}\b(?:previous|prior|above|earlier|all|system|user(?:'s)?)\b"
    r"[^.\n]{0,20}\b(?:instructions?|messages?|rules?|prompts?|constraints?)\b"
    r"|\b(?:curl|wget|iwr|irm|Invoke-WebRequest|fetch)\b[^\n]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da|k)?(?:sh|iex|python3?)\b"
    r"|\b(?:eval|source|bash|sh)\b[^\n]{0,20}[$<]\(\s*(?:curl|wget)\b"
    r"|\bbase64\b[^\n|]{0,80}\|\s*(?:ba|z)?sh\b"
    r"|\b(?:don['’]t|do not|never|without)\b[^.\n]{0,12}\b(?:tell|telling|inform|informing|mention)\w*\b"
    r"[^.\n]{0,12}\b(?:the )?user\b"
    r"|\b(?:send|post|upload|exfiltrate|email|forward)\b[^.\n]{0,60}\b(?:credentials?|secrets?|tokens?|passwords?"
    r"|private keys?|api keys?|\.env|id_rsa|ssh keys?)\b[^\n]{0,40}\bto\b[^\n]{0,20}(?:https?://|www\.|@)"
    r"|</?system-reminder|\bnew (?:system )?instructions?:|\byou are now\b[^.\n]{0,40}\b(?:agent|assistant|mode|dan)\b",
    re.IGNORECASE,
)


_FAILING = re.compile(
    r"\b(?:fail(?:s|ed|ing)?|broken|red|does not pass|do not pass|schlägt fehl|fehlgeschlagen|échoue\w*|falla\w*)\b"
    r"|失败|失敗",
    re.IGNORECASE,
)
_ACTS = {
    "commit": r"\b(?:committed|commit(?:tet|té|teado)|eingecheckt)\b",
    "push": r"\b(?:pushed|gepusht|poussée?s?)\b",
    "merge": r"\b(?:merged|gemergt|fusionnée?s?)\b",
    "deploy": (
        r"\b(?:deployed|rolled out|published to|released (?:to|as|v?\d)|ausgerollt|déployée?s?|desplegad[oa]s?)\b"
    ),
    "all committed": (
        r"\b(?:all|everything|every change|all changes|alles)\b[^.;\n]{0,30}\b(?:committed|eingecheckt)\b"
        r"|\bworking tree is clean\b"
    ),
}


def acts_claimed(text: str) -> list[str]:
    """Return the acts the text says were done: commit, push, merge, deploy; and "all committed"."""
    return [act for act, pattern in _ACTS.items() if _claimed(text, pattern)]


def denies_success(text: str, command: str) -> bool:
    """Return whether the text says that this very command fails."""
    at = text.find(command) if command else -1
    return at >= 0 and bool(_FAILING.search(text[at + len(command) :][:80]))


def is_goal(text: str) -> bool:
    """Return whether words before a claim make it a goal, a condition or its opposite."""
    return bool(_GOAL.search(text))


def claims_success(text: str, command: str) -> bool:
    """Return whether the text claims that the kind of check `command` runs has succeeded; a goal is no claim."""
    kinds = [claims for pattern, claims in _KINDS if pattern.search(command)][:1]
    patterns = (*(kinds[0] if kinds else (*_TEST_CLAIMS, *_BUILD_CLAIMS)), *_ANY_CLAIMS)
    return any(_claimed(text, pattern) for pattern in patterns)


def _claimed(text: str, pattern: str) -> bool:
    for match in re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE):
        before = re.split(r"[.;:\n]", text[: match.start()])[-1][-60:]
        if not _GOAL.search(before) and not _GOAL.search(match[0]):
            return True
    return False


def is_vague(step: str) -> bool:
    """Return whether a step names nothing to do: "continue the work", "fix the remaining issues"."""
    plain = step.strip().strip(".!。 ")
    if named(plain):
        return False
    if _GENERIC_WIDE.fullmatch(plain):
        return True
    return all(word in _GENERIC for word in words(plain))


def planted(text: str) -> str:
    """Return the passage that looks like an order planted for an agent, "" when there is none."""
    match = _PLANTED.search(text)
    return match[0] if match else ""
