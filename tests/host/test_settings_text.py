"""What becomes of the text of the settings: S-cases on shapes, encodings and styles. Nothing foreign changes."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError

from .conftest import ONCE, Host

FOREIGN = '{"type": "command", "command": "guard.sh", "timeout": 5}'
GROUP = '{"hooks": [' + FOREIGN + "]}"

REFUSED = {
    "S2 empty": ("", "empty"),
    "S3 white space": (" \r\n\t\n", "empty"),
    "S5 list": ("[]", "top level should be an object and is a list"),
    "S6 null": ("null", "top level"),
    "S7 string": ('"x"', "top level should be an object and is a string"),
    "S8 hooks is a list": ('{"hooks": []}', "hooks should be an object and is a list"),
    "S9 event is an object": ('{"hooks": {"PreCompact": {}}}', "hooks.PreCompact should be a list"),
    "S10 group is a number": (
        '{"hooks":{"PreCompact":[1]}}',
        r"hooks.PreCompact\[0\] should be an object and is a number",
    ),
    "S11 no hooks": (
        '{"hooks":{"Stop":[{"matcher": "x"}]}}',
        r"hooks.Stop\[0\].hooks should be a list",
    ),
    "hook is a string": (
        '{"hooks":{"Stop":[{"hooks": ["x"]}]}}',
        r"hooks.Stop\[0\].hooks\[0\] should be an object",
    ),
    "S12 truncated": ('{"model": "opus",\n  "hooks": {', ":2:13: the file ends"),
    "S12 in a string": ('{\n"model": "op', ":2:10: unterminated string"),
    "S13 line comment": ('{\n  // note\n  "a": 1\n}', ":2:3: a comment"),
    "S13 behind a value": ('{"a": 1, // note\n"b": 2}', ":1:10: a comment"),
    "S13 behind all": ('{"a": 1}\n// note\n', ":2:1: a comment"),
    "S14 block comment": ('{"a": /* one */ 1}', ":1:7: a comment"),
    "S15 comma in an object": ('{"a": 1,}', "a comma before a closing bracket"),
    "S15 comma in a list": ('{"a": [1,\n ]}', "a comma before a closing bracket"),
    "S16 single quotes": ("{'a': 1}", ":1:2: single quotes"),
    "S27 key twice": ('{"model": "a",\n "model": "b"}', ":2:2: the key model is there twice"),
    "S28 event twice": (
        '{"hooks": {"Stop": [],\n"Stop": []}}',
        ":2:1: the key hooks.Stop is there twice",
    ),
    "S29 NaN": ('{"a": [1, NaN]}', ":1:11: .*NaN"),
    "S29 Infinity": ('{"a": -Infinity}', ":1:7: .*Infinity"),
    "S31 deep": ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    "G1": (
        '{"permissions":{"deny":["Read(./.env)"]}, // note\n"x":"https://a//b", "hooks":{},}',
        ":1:43: a comment",
    ),
    "tab in a string": ('{"a": "x\ty"}', ":1:"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_that_the_host_would_not_read_is_refused_and_left_as_it_is(
    host: Host, text: str, reason: str
) -> None:
    """The message names the place and the reason, and no byte changes."""
    before = host.write(text)

    with pytest.raises(KeepthreadError, match=reason):
        host.install()

    assert host.settings.read_bytes() == before
    assert host.backups() == []
    with pytest.raises(KeepthreadError, match=reason):
        host.uninstall()
    assert host.settings.read_bytes() == before


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ('{"a": 1}'.encode("utf-16"), "UTF-16"),
        ('{"a": 1}'.encode("utf-16-be"), "UTF-16"),
        (b'{\n"a": "\xff"}', ":2: a byte that is not UTF-8"),
    ],
    ids=["S18 UTF-16", "S18 without a mark", "S19 invalid byte"],
)
def test_an_encoding_that_is_not_utf8_is_named(host: Host, data: bytes, reason: str) -> None:
    """PowerShell writes UTF-16; the message says so."""
    host.write(data)

    with pytest.raises(KeepthreadError, match=reason):
        host.install()

    assert host.settings.read_bytes() == data


KEPT = {
    "S4 empty object": "{}",
    "S4 with space": "{ }\n",
    "S4 on lines": "{\n}\n",
    "S17 BOM": '\ufeff{\n  "a": 1\n}\n',
    "S20 CRLF": '{\r\n  "a": 1,\r\n  "hooks": {\r\n    "Stop": []\r\n  }\r\n}\r\n',
    "S21 tabs": '{\n\t"a": 1,\n\t"hooks": {\n\t\t"PreCompact": [\n\t\t\t'
    + GROUP
    + "\n\t\t]\n\t}\n}\n",
    "S22 four spaces": '{\n    "hooks": {\n        "SessionStart": [\n            {\n                "hooks": []\n'
    "            }\n        ]\n    }\n}",
    "S23 minified": '{"a":1,"hooks":{"Stop":[' + GROUP + ']},"b":[1,2]}',
    "S23 one line": '{"a": 1, "b": {"c": 2}}\n',
    "S24 no final newline": '{\n  "a": 1\n}',
    "S25 order": '{\n  "z": 1,\n  "hooks": {"Stop": [], "PreCompact": [ ]},\n  "a": 2\n}\n',
    "S26 numbers and escapes": '{"a": 1.10, "b": 1E2, "c": 12345678901234567890, "d": "\\u00e9", "e": "a\\/b"}',
    "S26 a number without bound": '{"a": 1e999, "b": -0.0}',
    "S26 an integer of 5,000 digits": '{"a": ' + "9" * 5000 + "}",
    "S30 lone surrogate": '{"a": "x\\ud83d", "b": "\\udc00"}',
    "G6": '\ufeff{\r\n  "p": "C:\\\\项目管理\\\\h.py"\r\n}\r\n',
    "empty hooks": '{\n  "hooks": {\n\n  }\n}\n',
    "empty hooks on one line": '{"hooks": { }}',
    "empty event": '{"hooks": {"PreCompact": [\n]}}',
    "empty group": '{"hooks": {"PreCompact": [{"hooks": [ ]}]}}',
    "space around": '\n\n  {\n  "a": 1\n  }  \n\n',
    "blank lines between": '{\n  "a": 1,\n\n\n  "b": 2\n}\n',
    "no indentation": '{\n"a": 1,\n"hooks": {\n"Stop": []\n}\n}\n',
    "foreign around": '{"hooks": {"PreCompact": [{"matcher": "auto", "hooks": []}, '
    + GROUP
    + "]}}",
    "escaped key": '{"hoo\\u006bs": {"Pre\\u0043ompact": []}, "x": 1}',
    "old line ends": '{\r"a": 1\r}\r',
    "keys with nothing in them": '{"": {"": []}, "a": ""}',
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT.keys())
def test_install_and_uninstall_give_back_the_original_bytes(host: Host, text: str) -> None:
    """S37: whatever was missing and is created goes again, and foreign text is never rewritten."""
    before = host.write(text)

    host.install()
    installed = host.settings.read_bytes()
    host.install()

    assert host.ours() == ONCE
    assert host.settings.read_bytes() == installed
    host.uninstall()
    assert host.settings.read_bytes() == before
    host.uninstall()
    assert host.settings.read_bytes() == before


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT.keys())
def test_what_is_inserted_is_all_that_differs(host: Host, text: str) -> None:
    """The old text is what remains when one stretch per container is cut out of the new one."""
    before = host.write(text).decode()
    host.install()
    after = host.settings.read_bytes().decode()

    stripped = re.sub(r"\s", "", before)
    position = 0
    for character in re.sub(r"\s", "", after):
        if position < len(stripped) and character == stripped[position]:
            position += 1
    assert position == len(stripped)  # a subsequence: nothing was dropped, nothing changed place


def test_the_style_of_the_file_is_taken_up(host: Host) -> None:
    """Tabs and CRLF: no line of ours is written in another style."""
    host.write('{\r\n\t"model": "opus"\r\n}\r\n')
    host.install()
    text = host.settings.read_bytes().decode()

    assert "\n" not in text.replace("\r\n", "")
    assert '\r\n\t"hooks": {\r\n\t\t"PreCompact": [\r\n\t\t\t{\r\n\t\t\t\t"hooks": [' in text
    assert "  " not in text


def test_a_minified_file_stays_on_one_line(host: Host) -> None:
    """S23: no newline and no space that was not there."""
    host.write('{"a":1,"b":[1,2]}')
    host.install()
    text = host.settings.read_text()

    assert text.startswith(
        '{"a":1,"b":[1,2],"hooks":{"PreCompact":[{"hooks":[{"type":"command","command":'
    )
    assert "\n" not in text


def test_foreign_groups_keep_their_order_around_ours(host: Host) -> None:
    """An event array is added to, never replaced."""
    host.write('{"hooks": {"PreCompact": [' + GROUP + "]}}")
    host.install()
    settings = host.read()
    settings["hooks"]["PreCompact"].append({"hooks": [{"type": "command", "command": "later.sh"}]})
    host.write(json.dumps(settings))
    host.install()

    commands = host.commands_of("PreCompact")
    assert [commands[0], commands[2]] == ["guard.sh", "later.sh"]
    host.uninstall()
    assert host.commands_of("PreCompact") == ["guard.sh", "later.sh"]


def test_ours_and_theirs_in_one_group_are_told_apart(host: Host) -> None:
    """S33: install keeps the group as it is, uninstall takes ours only."""
    host.install()
    ours = host.read()["hooks"]["PreCompact"][0]["hooks"][0]
    host.write(
        json.dumps(
            {
                "hooks": {
                    "PreCompact": [
                        {"hooks": [json.loads(FOREIGN), ours, {"type": "command", "command": "b"}]}
                    ]
                }
            }
        )
    )
    host.install()

    assert len(host.read()["hooks"]["PreCompact"]) == 1
    assert host.ours() == ONCE
    host.uninstall()
    assert host.read() == {
        "hooks": {
            "PreCompact": [{"hooks": [json.loads(FOREIGN), {"type": "command", "command": "b"}]}]
        }
    }


def test_a_foreign_command_that_names_our_script_survives(host: Host) -> None:
    """S34: our path as a part or an argument of somebody else's command makes it not ours."""
    path = f"{host.hooks}/pre_compact.py"
    foreign = [
        f"bash -c \"'{host.python}' -I '{path}' || exit 0\"",
        f"'{host.python}' -I '{path}' || exit 0; notify",
        f"'{host.python}' '{path}' || exit 0",
        f"'/usr/bin/wrap' -I '{path}' || exit 0",
        f"'{host.python}' -I '/home/dev/keepthread/hooks/pre_compact.py.bak' || exit 0",
        "'/usr/bin/python3' -I '/home/dev/my-keepthread/hooks/pre_compact.py' || exit 0",
        f"log {path}",
        "keepthread",
    ]
    hooks = [{"type": "command", "command": command} for command in foreign]
    hooks.append({"type": "prompt", "prompt": f"'{host.python}' -I '{path}' || exit 0"})
    before = host.write(json.dumps({"hooks": {"PreCompact": [{"hooks": hooks}]}}))
    host.install()

    assert host.read()["hooks"]["PreCompact"][0]["hooks"] == hooks
    host.uninstall()
    assert host.settings.read_bytes() == before


def test_three_old_copies_become_one(host: Host) -> None:
    """S35: the first is kept where it is, the others go, and with them groups that hold nothing else."""
    old = "'/old/venv/bin/python' -I '/old/keepthread/hooks/pre_compact.py' || exit 0"
    ours = {"type": "command", "command": old, "timeout": 75}
    guard = json.loads(FOREIGN)
    host.write(
        json.dumps(
            {
                "hooks": {
                    "PreCompact": [
                        {"hooks": [ours]},
                        {"hooks": [guard, ours]},
                        {"hooks": [ours, ours]},
                    ]
                }
            },
            indent=2,
        )
    )
    host.install()

    assert len(host.commands_of("PreCompact")) == 2
    assert (
        host.commands_of("PreCompact")[0]
        == f"'{host.python}' -I '{host.hooks}/pre_compact.py' || exit 0"
    )
    assert host.read()["hooks"]["PreCompact"][1] == {"hooks": [guard]}
    assert host.ours() == ONCE


def test_an_older_form_is_brought_up_to_date_and_keeps_what_its_user_added(host: Host) -> None:
    """S36: command new, time limit and extra fields the user's, the rest of the text untouched."""
    old = "'/old/bin/python3.10' -I '/old/keepthread/hooks/pre_compact.py' || exit 0"
    text = (
        '{"hooks": {"PreCompact": [ {"hooks": [ {"timeout":  90, "command": "%s", '
        '"type":"command", "statusMessage": "h\\u00e4"} ]} ]}}'
    )
    host.write(text % old)
    host.install()

    new = f"'{host.python}' -I '{host.hooks}/pre_compact.py' || exit 0"
    assert (text % new)[: -len("]}}")].rstrip() in host.settings.read_text()


def test_a_limit_that_we_wrote_is_ours_to_change_and_one_that_the_user_wrote_is_not(
    host: Host,
) -> None:
    """The manifest tells them apart."""
    host.install()
    settings = host.read()
    settings["hooks"]["PreCompact"][0]["hooks"][0]["timeout"] = 70
    host.write(json.dumps(settings))
    host.install(python="/new/bin/python")

    assert host.read()["hooks"]["PreCompact"][0]["hooks"][0]["timeout"] == 70
    assert host.read()["hooks"]["PostCompact"][0]["hooks"][0]["timeout"] == 10
    assert host.commands_of("PreCompact")[0].startswith("'/new/bin/python' -I ")


def test_a_list_that_its_user_emptied_is_the_users(host: Host) -> None:
    """We created it once; what its user made of it since is theirs, and comes back."""
    host.install()
    settings = host.read()
    settings["hooks"]["PreCompact"] = []
    host.write(json.dumps(settings))
    host.install()
    host.uninstall()

    assert host.read() == {"hooks": {"PreCompact": []}}


def test_a_limit_that_its_user_took_out_comes_back(host: Host) -> None:
    """Without one the host would wait ten minutes for us."""
    host.install()
    settings = host.read()
    del settings["hooks"]["PreCompact"][0]["hooks"][0]["timeout"]
    host.write(json.dumps(settings))
    host.install()

    assert host.read()["hooks"]["PreCompact"][0]["hooks"][0]["timeout"] == 75


@pytest.mark.parametrize("depth", range(800, 1000, 7))
def test_a_depth_near_the_limit_is_edited_or_refused(host: Host, depth: int) -> None:
    """Parsing may just succeed where taking apart does not."""
    before = host.write('{"a":' + "[" * depth + "]" * depth + "}")
    with suppress(KeepthreadError):
        host.install()
        assert host.ours() == ONCE
        host.uninstall()

    assert host.settings.read_bytes() == before


def test_the_matcher_follows_the_sources(host: Host) -> None:
    """Other sources: the entries move to a group with the new matcher, and only once."""
    host.install()
    host.install(sources=["compact"])

    matchers = [group["matcher"] for group in host.read()["hooks"]["SessionStart"]]
    assert matchers == [  # a failure is told at any start, and the team's memory too
        "compact|startup",
        "compact",
        "compact|startup|clear",
    ]
    assert host.ours() == ONCE


def test_a_large_file_is_edited_like_a_small_one(host: Host) -> None:
    """S32: ten megabytes, in hooks and elsewhere."""
    many = [{"matcher": f"Tool{n}", "hooks": [json.loads(FOREIGN)]} for n in range(2_000)]
    text = json.dumps(
        {
            "hooks": {"PreToolUse": many},
            "rest": [{"key": n, "text": "x" * 40} for n in range(100_000)],
        },
        indent=2,
    )
    before = host.write(text)
    host.install()

    assert host.ours() == ONCE
    host.uninstall()
    assert host.settings.read_bytes() == before


def test_without_a_manifest_ours_is_still_found_and_what_held_only_ours_goes(host: Host) -> None:
    """The state folder was deleted by hand: the forms we ship are recognised."""
    host.write('{"model": "opus"}')
    host.install()
    (host.state / "manifest.json").unlink()
    host.uninstall()

    assert host.settings.read_text() == '{"model": "opus"}'


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 1}', '{"containers": 3}'])
def test_a_damaged_manifest_is_no_manifest(host: Host, damage: str) -> None:
    """It is a convenience: its loss costs nothing but knowledge."""
    host.write("{}")
    host.install()
    Path(host.state / "manifest.json").write_text(damage)
    host.install(python="/new/bin/python")

    assert host.ours() == ONCE
    host.uninstall()
    assert host.read() == {}
