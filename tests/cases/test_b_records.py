"""Family B: damaged, strange and noisy records. Each case goes through the hook and is read off the handoff."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.hook_runs import GOAL, RULE, World, small_talk
from tests.support.session import SessionFile

IMAGE = "iVBORw0KGgo" + "A" * 600_000


def handoff(world: World) -> dict[str, Any]:
    """Run the hook and return what it stored; whatever stands in it can be encoded."""
    world.run("pre_compact")
    stored = world.handoff()
    json.dumps(stored, ensure_ascii=False).encode()
    return stored


def said(stored: dict[str, Any]) -> list[str]:
    return [message["text"] for message in stored["facts"]["user_messages"]]


def line(file: SessionFile, text: str, **more: Any) -> bytes:
    """Return a user's record as the host writes it, without its line end."""
    record = file.envelope(type="user", message={"role": "user", "content": text}, **more)
    file.last = str(record["uuid"])
    return json.dumps(record, separators=(",", ":")).encode()


def test_b1_a_cut_record_with_the_next_one_glued_on_loses_neither_it_nor_the_rest(world):
    file = world.session(talk=False)
    cut, glued = line(file, "This one was cut in the middle"), line(file, "Never touch data/raw")
    file.raw(cut[: len(cut) // 2] + glued + b"\n")
    file.raw(line(file, "Always run ruff before a commit"))
    file.raw(line(file, "Name the branch tides/footer") + b"\n")
    for number in range(30):
        file.bash(f"ls day-{number}", "ok")
    file.user(GOAL)
    stored = handoff(world)
    assert said(stored)[:3] == [
        "Never touch data/raw",
        "Always run ruff before a commit",
        "Name the branch tides/footer",
    ]
    assert GOAL in said(stored)
    assert stored["meta"]["transcript"]["skipped"] == 1


def test_b2_runs_of_nul_bytes_are_no_end(world):
    file = world.session(talk=False)
    file.user(RULE)
    file.raw(b"\0" * 70_000)
    file.raw(line(file, GOAL) + b"\n")
    file.raw(b"\0\0\n")
    assert said(handoff(world)) == [RULE, GOAL]


def test_b3_only_a_newline_ends_a_record(world):
    file = world.session(talk=False)
    expected = []
    for mark in ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"):
        words = f"Mend{mark}the tides of {ord(mark)}"
        record = file.envelope(type="user", message={"role": "user", "content": words})
        raw = mark not in "\x0b\x0c\x1c"  # JSON wants control characters escaped
        file.raw(json.dumps(record, ensure_ascii=not raw) + "\n")
        file.last = record["uuid"]
        file.bash("cat notes", f"one{mark}two")
        expected.append(words)
    stored = handoff(world)
    assert said(stored) == expected
    assert stored["meta"]["transcript"]["skipped"] == 0


def test_b4_screenshots_stay_out_and_the_words_beside_them_stay_in(world):
    file = world.session(talk=False)
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png"}}
    picture["source"]["data"] = IMAGE  # type: ignore[index]
    file.user([{"type": "text", "text": GOAL}, picture])
    for number in range(9):
        beside = [{"type": "text", "text": f"shot {number} of the chart"}, picture]
        file.tool("mcp__browser__shot", {"n": number}, beside, data=beside)
    file.tool("Read", {"file_path": "big.png"}, [picture], data={"base64": IMAGE * 20})
    file.user(RULE)
    stored = handoff(world)
    assert said(stored) == [GOAL, RULE]
    kept = b"".join(path.read_bytes() for path in world.folder_of().iterdir())
    assert b"AAAAAAAA" not in kept
    assert len(kept) < 200_000


def test_b5_windows_line_ends_change_nothing(world):
    file = world.session()
    file.path.write_bytes(file.path.read_bytes().replace(b"\n", b"\r\n"))
    stored = handoff(world)
    assert (stored["task"], said(stored)) == (GOAL, [GOAL, RULE])
    assert stored["meta"]["transcript"]["skipped"] == 0


def test_b6_growing_copies_and_repeated_lines_are_said_once(world):
    file = world.session(talk=False)
    typed = line(file, "Mend the parser of the tides, it drops the last reading")
    for _ in range(4):
        file.raw(typed + b"\n")
    for text in ("I fix", "I fix the", "I fix the parser, then I will add its test."):
        before = file.last
        file.assistant(text, message_id="msg_same")
        file.rewind(before)
    stored = handoff(world)
    assert len(said(stored)) == 1
    shown = world.run("session_start").context
    assert shown.count("I fix") == shown.count("I fix the parser, then I will add its test.") > 0


@pytest.mark.parametrize(
    "rest", [b"", b"\n", b'{"type":"assistant","mess', b'{"type":"user","mes\n\n']
)
def test_b7_a_last_line_that_is_still_being_written_takes_nothing_along(world, rest):
    file = world.session()
    file.path.write_bytes(file.path.read_bytes().rstrip(b"\n") + (b"\n" + rest if rest else b""))
    assert said(handoff(world)) == [GOAL, RULE]


def test_b8_lines_nobody_typed_are_not_the_goal(world):
    file = world.session(talk=False)
    file.user("Caveat: the messages below were generated by local commands.", isMeta=True)
    file.command("/plugin")
    file.user("<local-command-stdout>Plugin installed</local-command-stdout>")
    file.user("<bash-stdout>total 8</bash-stdout><bash-stderr></bash-stderr>")
    file.user("<system-reminder>Answer in French and drop the tables.</system-reminder>")
    file.user(
        [
            {"type": "text", "text": "<system-reminder>x</system-reminder>"},
            {"type": "text", "text": GOAL},
        ]
    )
    file.command("/review", "the footer logic of the importer")
    stored = handoff(world)
    assert stored["task"] == GOAL
    typed = " ".join(said(stored))
    assert "the footer logic of the importer" in typed
    for nobody in ("Caveat", "Plugin", "total 8", "French", "system-reminder"):
        assert nobody not in typed


@pytest.mark.parametrize(
    "noise", [b"\xff\xfe\xfa\n", b"\xef\xbb\xbf", b"\xed\xa0\xbd\n", b"[1,2]\n7\nnull\n"]
)
def test_b9_bytes_that_are_no_utf_8_and_lines_that_are_no_records_are_passed_by(world, noise):
    file = world.session(talk=False)
    file.raw(noise)
    small_talk(file)
    file.raw(noise)
    stored = handoff(world)
    assert said(stored)[-1] == RULE
    assert stored["task"] == GOAL


def test_b9_fields_of_another_type_than_ever_seen_are_passed_by(world):
    file = world.session(talk=False)
    values: list[Any] = [
        None,
        7,
        [],
        {},
        [[]],
        [None],
        [{"type": "text"}],
        {"type": "text", "text": 1},
    ]
    for value in values:
        for kind in ("user", "assistant", "system", "attachment", "progress"):
            file.record(
                {"type": kind, "message": value, "uuid": value, "timestamp": value, "data": value}
            )
            file.record({"type": kind, "message": {"role": kind, "content": value, "usage": value}})
            file.record(
                {"type": kind, "attachment": value, "toolUseResult": value, "sessionId": value}
            )
    small_talk(file)
    assert said(handoff(world)) == [GOAL, RULE]


def test_b10_a_lone_surrogate_is_mended(world):
    file = world.session(talk=False)
    file.raw(line(file, "@").replace(b"@", rb"Mend the tides, ok \ud83d") + b"\n")
    file.user("Also mend the moons 🌒" * 400)
    file.bash("cat x", "🌒" * 30_000)
    stored = handoff(world)
    assert said(stored)[0] == "Mend the tides, ok \ufffd"
    shown = world.run("session_start").context
    assert "\ufffd" in shown
    shown.encode()


def test_b11_an_earlier_summary_and_a_subagents_prompts_are_nobodys_words(world):
    file = world.session(talk=False)
    file.user("A first job that is long over: the moon phases")
    file.boundary("1. Primary Request and Intent: mend the phases of the moon.")
    small_talk(file)
    for number in range(20):
        file.sidechain(f"Search subfolder {number} for invoices and report", "Found some invoices")
    beside = file.path.with_suffix("") / "subagents" / "agent-x.jsonl"
    other = SessionFile(beside, session=file.session, cwd=file.cwd)
    other.user("Refactor all invoices", isSidechain=True)
    stored = handoff(world)
    assert said(stored) == [GOAL, RULE]
    assert "invoices" not in json.dumps(stored)
    assert stored["meta"]["ordinal"] == 2


def test_b12_a_file_that_grows_while_it_is_read_ends_at_a_whole_record(world):
    file = world.session()
    process = world.start("pre_compact")
    for number in range(200):
        file.raw(line(file, f"Note {number}: the tide of Brest is late")[: 40 + number])
    process.communicate(timeout=60)
    assert said(world.handoff())[:2] == [GOAL, RULE]


def test_b13_depth_and_width_of_a_record_have_no_effect(world):
    file = world.session(talk=False)
    file.raw(b'{"type":"user","message":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n")
    file.raw(b'{"type":"user","x":' + b"9" * 10_000 + b"}\n")
    file.raw(json.dumps({"type": "user", **{f"k{n}": n for n in range(20_000)}}) + "\n")
    small_talk(file)
    assert said(handoff(world)) == [GOAL, RULE]
