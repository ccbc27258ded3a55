"""Calls with their results: paired by id, slim, and free of what the host repeats."""

from __future__ import annotations

from typing import Any

from tests.support.session import SessionFile
from tests.transcript.views import calls, read

BASE64 = "iVBORw0KGgoAAAANSUhEUgAA" * 25_000
IMAGE: dict[str, Any] = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": BASE64},
}


def call_of(session: SessionFile) -> Any:
    [call] = calls(read(session))
    return call


def test_results_are_paired_by_id_out_of_order(session: SessionFile) -> None:
    one = session.tool("Read", {"file_path": "/a"}, None)
    two = session.tool("Read", {"file_path": "/b"}, None)
    three = session.tool("Read", {"file_path": "/c"}, None)
    session.result(two, "B")
    session.result(one, "A")

    found = {call.id: call.result and call.result.text for call in calls(read(session))}

    assert found == {one: "A", two: "B", three: None}


def test_a_result_written_before_its_call_is_its_result(session: SessionFile) -> None:
    session.result("t2", "early")
    session.assistant({"type": "tool_use", "id": "t2", "name": "Read", "input": {}})

    assert call_of(session).result.text == "early"


def test_calls_without_an_id_have_no_result(session: SessionFile) -> None:
    for _ in range(2):
        session.assistant({"type": "tool_use", "name": "Read", "input": {}})
    session.result("", "of none")

    assert [call.result for call in calls(read(session))] == [None, None]


def test_no_base64_is_carried_and_the_text_beside_it_is(session: SessionFile) -> None:
    """Screenshots stand twice on a line, in the content and in toolUseResult (B4)."""
    for number in range(3):
        content = [{"type": "text", "text": f"shot {number}"}, IMAGE]
        session.tool(
            "mcp__browser__shot", {"n": number}, content, data={"file": {"base64": BASE64}}
        )
    session.tool("Artifact", {"html": f"<img src='data:image/png;base64,{BASE64}'>"}, "ok")
    session.tool("Read", {"file_path": "/x.png"}, [IMAGE], data=[IMAGE])

    transcript = read(session)

    assert BASE64[:1000] not in repr(transcript)
    assert [call.result.text for call in calls(transcript)] == [
        "shot 0\n[image]",
        "shot 1\n[image]",
        "shot 2\n[image]",
        "ok",
        "[image]",
    ]


def test_a_line_of_12_mb_is_read_for_its_texts(session: SessionFile) -> None:
    huge: dict[str, Any] = {
        "type": "image",
        "source": {"type": "base64", "data": "QUJD" * 1_500_000},
    }
    session.user("goal")
    content = [{"type": "text", "text": "before"}, huge, {"type": "text", "text": "after"}]
    session.tool("Shot", {}, content, data={"x": "QUJD" * 1_500_000, "filePath": "/a.png"})
    session.user("next")

    transcript = read(session)

    assert calls(transcript)[0].result.text == "before\n[image]\nafter"
    assert calls(transcript)[0].result.data["filePath"] == "/a.png"
    assert transcript.skipped == 0


def test_results_are_bounded_to_head_and_tail(session: SessionFile) -> None:
    session.bash("cat big", "start " + "words " * 100_000 + " end")

    text = call_of(session).result.text

    assert len(text) < 66_000
    assert text.startswith("start ")
    assert text.endswith(" end")
    assert "characters cut" in text


def test_inputs_are_bounded_whatever_their_shape(session: SessionFile) -> None:
    deep: Any = "leaf"
    for _ in range(300):
        deep = {"x": [deep]}
    session.tool("Write", {"content": "line\n" * 100_000, "deep": deep, "n": 5, "ok": None}, "ok")

    arguments = call_of(session).input

    assert len(arguments["content"]) < 66_000
    assert (arguments["n"], arguments["ok"]) == (5, None)


def test_malformed_calls_are_calls(session: SessionFile) -> None:
    session.assistant({"type": "tool_use", "id": "t1", "name": 'Task" >\n<parameter', "input": "x"})
    session.assistant({"type": "tool_use", "id": "t2", "input": {"__unparsedToolInput": "{"}})
    session.assistant({"type": "tool_use"})

    assert [(call.name[:5], type(call.input)) for call in calls(read(session))] == [
        ('Task"', dict),
        ("", dict),
        ("", dict),
    ]


def test_facts_of_the_host_are_kept_and_file_contents_dropped(session: SessionFile) -> None:
    data = {
        "filePath": "/a.py",
        "type": "update",
        "userModified": True,
        "originalFile": "x" * 5000,
        "oldString": "a",
        "structuredPatch": [{"oldStart": 1, "lines": ["-a", "+b" * 5000]}] * 300,
        "gitOperation": {"commit": {"sha": "abc123", "kind": "committed"}},
        "filenames": [f"/f{n}" for n in range(5000)],
        "stdout": "y" * 5000,
        "task": {"id": "1", "subject": "write it"},
        "statusChange": {"from": "pending", "to": "completed"},
        "backgroundTaskId": "b1",
        "interrupted": False,
        "plan": "step\n" * 2000,
        "numFiles": 5000,
    }
    session.tool("Edit", {"file_path": "/a.py"}, "ok", data=data)

    slim = call_of(session).result.data

    assert {"originalFile", "oldString", "stdout"} & set(slim) == set()
    assert slim["gitOperation"] == data["gitOperation"]
    assert (slim["task"], slim["statusChange"]) == (data["task"], data["statusChange"])
    assert (slim["userModified"], slim["numFiles"], slim["backgroundTaskId"]) == (True, 5000, "b1")
    assert (len(slim["filenames"]), len(slim["structuredPatch"])) == (100, 100)
    assert len(slim["structuredPatch"][0]["lines"][1]) < 1100
    assert slim["plan"] == data["plan"]


def test_results_without_structure_have_no_data(session: SessionFile) -> None:
    session.tool(
        "Read",
        {},
        "<tool_use_error>File has not been read yet</tool_use_error>",
        data="Error: x",
        is_error=True,
    )
    session.tool("mcp__a__b", {}, "ok", data=[{"type": "text", "text": "ok"}])

    first, second = calls(read(session))

    assert (first.result.is_error, first.result.rejected, first.result.data) == (True, False, {})
    assert (second.result.is_error, second.result.data) == (False, {})


def test_a_cancelled_sibling_is_marked(session: SessionFile) -> None:
    text = "<tool_use_error>Sibling tool call errored</tool_use_error>"
    session.tool("Read", {}, text, is_error=True)
    session.tool("Bash", {}, "[Request interrupted by user for tool use]", is_error=True)

    cancelled, interrupted = calls(read(session))

    assert (cancelled.result.data, interrupted.result.data) == (
        {"cancelled": True},
        {"interrupted": True},
    )


def test_reminders_go_from_the_ends_of_results_only(session: SessionFile) -> None:
    session.read("/a", "1\tcode\n\n<system-reminder>\nno malware\n</system-reminder>\n")
    session.read("/b", "see <system-reminder>x</system-reminder> in the docs")

    first, second = calls(read(session))

    assert first.result.text == "1\tcode"
    assert second.result.text == "see <system-reminder>x</system-reminder> in the docs"


def test_windows_shells_and_tool_references(session: SessionFile) -> None:
    session.tool("PowerShell", {"command": "Get-Item D:\\a"}, "D:\\a\r\n")
    session.tool("ToolSearch", {}, [{"type": "tool_reference", "tool_name": "WebFetch"}])

    first, second = calls(read(session))

    assert first.result.text == "D:\\a\r\n"
    assert second.result.text == "[tool WebFetch]"


def test_old_results_give_way_when_there_is_very_much(session: SessionFile) -> None:
    """Beyond what any context window holds, only outlines are carried: the newest stay whole."""
    for number in range(260):
        session.bash(f"cat {number}", "many words here " * 4000)

    found = calls(read(session))

    assert len(found) == 260
    assert len(found[-1].result.text) > 60_000
    assert len(found[0].result.text) < 3_000
