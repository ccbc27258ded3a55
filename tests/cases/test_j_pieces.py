"""Family J, cut up: names are taken out of tokens, commands are shortened, and no piece of a secret stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, takewhile

import pytest

from keepthread import redact
from tests.cases.test_j_hostile import Round
from tests.redact.samples import FORMED, HEX, UPPER
from tests.support.fake_claude import FakeClaude
from tests.support.hook_runs import ANSWER, GOAL, RULE, World
from tests.support.planted import AGENT, FOREIGN, letters
from tests.support.session import SessionFile

_RUN = 8
_CYCLES = ("a1B2c3D4e5F6g7H8", HEX, UPPER)

PLACES: dict[str, Callable[[SessionFile, str], object]] = {
    "typed": lambda file, text: file.user(f"Take {text} from now on"),
    "variable": lambda file, text: file.bash(f"export BERTH={text} && ./deploy.sh", "ok"),
    "header": lambda file, text: file.bash(f'curl -H "x-berth: {text}" https://x.example', "ok"),
    "output": lambda file, text: file.bash("cat .env", f"A=1\nBERTH={text}\n"),
    "input": AGENT["file written"],
    "answer": lambda file, text: file.assistant(f"I set `{text}` in the config."),
    "file name": AGENT["file name"],
    "branch": FOREIGN["branch"],
    "todo": AGENT["todo"],
    "commit": lambda file, text: file.bash(f"git commit -m 'Use {text}'", f"[main 4be1f07] {text}"),
    "failure": FOREIGN["failure"],
    "cut": lambda file, text: file.bash(f"echo {'a ' * 130}{text} && make", "", is_error=True),
}  # fmt: skip


def _drawn(sample: str, seed: str) -> tuple[str, list[str]]:
    """Return a sample with chance in it where it repeats its even pattern, and the parts that are chance."""
    text, parts, at = "", list[str](), 0
    while at < len(sample):
        size, even = max((_agreeing(sample[at:], each), each) for each in _CYCLES)
        if size < 10:
            text, at = text + sample[at], at + 1
            continue
        parts.append(_chance(f"{seed}{at}", size, even))
        text, at = text + parts[-1], at + size
    return text, parts


def _agreeing(text: str, even: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, cycle(even))))


def _chance(seed: str, size: int, even: str) -> str:
    chance = letters(seed, 400)
    if even == HEX:
        chance = "".join(f"{ord(character) % 16:x}" for character in chance)
    if even == UPPER:
        chance = chance.upper()
    return (
        f"{chance[:4]}7{chance[5:size]}"  # nearly every token has a digit, and some rules want one
    )


def _tokens(seed: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield of every vendor's format the rule, a token, and what of it is random."""
    for number, (rule, sample) in enumerate(FORMED):
        drawn, parts = _drawn(sample, f"{seed}{number}")
        if parts:
            yield rule, drawn, parts


def _told(seed: str) -> Iterator[tuple[str, list[str]]]:
    """Yield texts that give a secret away which bears no mark of its own, and its parts."""
    for number, (before, joint, after) in enumerate((
        ("Authorization: Bearer ", "-", ""),
        ("Authorization: Basic ", "", "=="),
        ("postgres://ada:", "-", "@db.example/tides"),
        ("Set-Cookie: session=", ".", "; Path=/"),
        ("TIDE_PASSWORD=", "_", ""),
        ("--token ", "-", " now"),
    )):  # fmt: skip
        parts = [f"{letters(f'{seed}{number}{part}', 11)}7x" for part in "ab"]
        yield f"{before}{joint.join(parts)}{after}", parts


def _runs(text: str) -> set[str]:
    return {text[at : at + _RUN] for at in range(len(text) - _RUN + 1)}


def test_the_tokens_drawn_are_tokens_of_every_vendor():
    drawn = [(rule, token) for rule, token, _ in _tokens("x")]

    assert len(drawn) > len(FORMED) * 3 // 4
    told = [(rule, [found.rule for found in redact.scan(token)]) for rule, token in drawn]
    assert [(rule, found) for rule, found in told if found != [rule]] == []


@pytest.mark.parametrize("pair", [0, 2, 4, 6, 8, 10])
def test_j8_no_piece_of_a_token_is_kept_or_sent(world: World, claude: FakeClaude, pair: int):
    """Two places for every vendor's token, and for what only its surroundings give away."""
    claude.answer(ANSWER, sleep=1)
    file = world.session(talk=False)
    file.user(GOAL)
    secret: dict[str, str] = {}
    for name in list(PLACES)[pair : pair + 2]:
        planted = [(rule, token, parts) for rule, token, parts in _tokens(name)]
        if name not in ("file name", "branch"):
            planted += [(text.split("=")[0], text, parts) for text, parts in _told(name)]
        for rule, text, parts in planted:
            PLACES[name](file, text)
            secret |= {run: f"{rule}, {name}" for part in parts for run in _runs(part)}
    file.user(RULE)
    run = Round(world, claude)

    run.go("mind the tides", "<summary>nothing</summary>", "go on")

    seen = [
        (secret[found], place, found)
        for place, text in run.seen.items()
        for found in _runs(text) & secret.keys()
    ]
    assert sorted(seen) == []
    assert "[REDACTED:environment]" not in "".join(run.seen.values())


def test_j8_plain_hashes_and_ids_stay_beside_a_token(world: World, claude: FakeClaude):
    claude.answer(ANSWER)
    kept = ["4be1f07a9c", "11111111-2222-4333-8444-555555555555", "src/harbour_v2/berth-17.py"]
    file = world.session(talk=False)
    file.user(f"{GOAL} See {' and '.join(kept)}.")
    file.bash(f"deploy {'ghp' + '_' + letters('beside', 36)} {' '.join(kept)}", "ok")

    world.run("pre_compact")

    names = {name["text"] for name in world.handoff()["facts"]["identifiers"]}
    assert set(kept) <= names
