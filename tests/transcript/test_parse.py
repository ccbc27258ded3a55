"""What stands on a line is recovered, or skipped and counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keepthread.transcript.parse import first, parse

A = {"parentUuid": None, "type": "user", "message": {"content": [{"type": "text", "text": "a {"}]}}
B = {
    "parentUuid": "a",
    "type": "assistant",
    "message": {"content": [{"type": "text", "text": "b"}]},
}


def line(record: Any) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


def records(data: bytes) -> list[dict[str, Any]]:
    return [record for _, record in parse(data)[0]]


def test_two_glued_records_are_two_records() -> None:
    assert (records(line(A) + line(B)), parse(line(A) + line(B))[1]) == ([A, B], 0)


@pytest.mark.parametrize("cut", [1, 20, 40, 60, 70])
def test_the_whole_record_behind_a_cut_one_is_recovered(cut: int) -> None:
    found, skipped = parse(line(A)[:cut] + line(B))

    assert [record for _, record in found] == [B]
    assert skipped == 1


def test_a_record_and_a_cut_one_behind_it() -> None:
    found, skipped = parse(line(A) + line(B)[:30])

    assert ([record for _, record in found], skipped) == ([A], 1)


def test_what_is_nested_in_a_cut_record_is_no_record() -> None:
    """The block inside is whole JSON, but followed by the rest of its array."""
    found, skipped = parse(line(A)[1:])

    assert (found, skipped) == ([], 1)


def test_the_index_of_each_record_is_its_first_character() -> None:
    data = line(A) + b" " + line(B)

    assert [index for index, _ in parse(data)[0]] == [0, len(line(A)) + 1]


@pytest.mark.parametrize(
    "data",
    [b"// a comment", b"[1,2]", b'"text"', b"12", b"null", b"{", b"}", b"\xff\xfe", b'{"a":' * 10],
)
def test_what_is_no_record_is_counted(data: bytes) -> None:
    assert parse(data) == ([], 1)


@pytest.mark.parametrize("data", [b"", b"  \t", b"\r", b"\x00\x00\x00", b"\xef\xbb\xbf"])
def test_blank_lines_are_nothing(data: bytes) -> None:
    assert parse(data) == ([], 0)


@pytest.mark.parametrize(
    "padding", [b"\xef\xbb\xbf%s", b"\x00\x00%s", b"%s\r", b"%s\x00\x00\x00", b"  %s  "]
)
def test_padding_around_a_record_does_no_harm(padding: bytes) -> None:
    data = padding.replace(b"%s", line(A))

    assert (records(data), parse(data)[1]) == ([A], 0)


def test_raw_control_characters_inside_strings_are_read() -> None:
    assert first(b'{"type":"user","x":"a\x00b\tc"}')["x"] == "a\x00b\tc"


def test_invalid_utf8_is_replaced() -> None:
    assert first(b'{"type":"user","x":"a\xffb"}')["x"] == "a\ufffdb"


def test_deep_nesting_is_skipped_and_the_record_behind_it_read() -> None:
    deep = b'{"type":"user","x":' + b"[" * 200_000 + b"]" * 200_000 + b"}"

    found, skipped = parse(deep + line(B))

    assert ([record for _, record in found], skipped) == ([B], 1)


def test_an_integer_past_the_digit_limit_is_skipped() -> None:
    found, skipped = parse(b'{"type":"user","x":' + b"9" * 10_000 + b"}" + line(B))

    assert [record for _, record in found][-1] == B
    assert skipped <= 1


def test_a_hostile_line_is_given_up_on() -> None:
    """A hundred thousand record starts that lead nowhere are not all tried."""
    assert parse(b'{"type":' * 100_000) == ([], 1)
