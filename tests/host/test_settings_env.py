"""Values of ours in the `env` block: written, taken back, and the bytes that stood there before given back."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from keepthread.errors import KeepthreadError
from keepthread.host import manifest, settings_env
from keepthread.host.plan import Report
from keepthread.host.scopes import place

from .conftest import ONCE, Host
from .test_settings_text import KEPT

TUNED = {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "80", "MAX_MCP_OUTPUT_TOKENS": "25000"}


def apply(host: Host, values: Mapping[str, str], *, dry_run: bool = False) -> Report:
    where = place("user", str(host.folder), str(host.state))
    return settings_env.apply(
        values, where=where, config_dir=str(host.folder), state=str(host.state), dry_run=dry_run
    )


ORIGINALS = {
    **KEPT,
    "env is there": '{\n  "env": {\n    "A": "1"\n  },\n  "b": 2\n}\n',
    "env is empty": '{"env": { }, "b": 2}',
    "env holds the same names": '{"env":{"MAX_MCP_OUTPUT_TOKENS":1.50,"A":"\\u00e9",'
    '"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE":"\\u0037"}}',
}


@pytest.mark.parametrize("text", ORIGINALS.values(), ids=ORIGINALS.keys())
@pytest.mark.parametrize("first", ["hooks", "values"])
def test_install_values_and_uninstall_give_back_the_original_bytes(
    host: Host, text: str, first: str
) -> None:
    """In either order, done twice, with another set of values between."""
    before = host.write(text)
    for step in ("hooks", "values") if first == "hooks" else ("values", "hooks"):
        if step == "hooks":
            host.install()
            host.install()
        else:
            apply(host, {"MAX_MCP_OUTPUT_TOKENS": "9", "OTHER": "x"})
            apply(host, TUNED)
            apply(host, TUNED)

    assert host.ours() == ONCE
    assert host.read()["env"].items() >= TUNED.items()
    assert "OTHER" not in host.read()["env"]
    host.uninstall()
    assert host.settings.read_bytes() == before


@pytest.mark.parametrize("text", ORIGINALS.values(), ids=ORIGINALS.keys())
def test_values_without_hooks_are_cleared_to_the_byte(host: Host, text: str) -> None:
    """A profile can be applied by who has not installed."""
    before = host.write(text)
    assert apply(host, TUNED).changed
    assert not apply(host, TUNED).changed
    assert apply(host, {}).changed

    assert host.settings.read_bytes() == before
    assert manifest.load(str(host.state)) is None


def test_a_missing_file_is_created_and_goes_again(host: Host) -> None:
    """S1 for values."""
    apply(host, TUNED)
    assert host.settings.stat().st_mode & 0o777 == 0o600
    host.install()
    host.uninstall()

    assert not host.settings.exists()


def test_clearing_values_leaves_the_hooks_and_the_other_way_round_all_goes(host: Host) -> None:
    """Values are a part of what install cleans up; a clear takes only the values."""
    before = host.write("{ }")
    host.install()
    installed = host.settings.read_bytes()
    apply(host, TUNED)
    apply(host, {})

    assert host.settings.read_bytes() == installed
    host.uninstall()
    assert host.settings.read_bytes() == before


def test_a_value_that_its_user_changed_is_left_and_named(host: Host) -> None:
    """It is the user's now; the others go."""
    host.write('{"a": 1}')
    apply(host, TUNED)
    text = host.settings.read_text().replace('"80"', '"70"')
    host.write(text)
    report = host.uninstall()

    assert host.read() == {"a": 1, "env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "70"}}
    assert any("env.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE was changed" in note for note in report.notes)


def test_a_value_that_its_user_changed_comes_back_after_the_next_profile(host: Host) -> None:
    """What is put aside is the newest of the user's own."""
    host.write('{"env": {"MAX_MCP_OUTPUT_TOKENS": "1"}}')
    apply(host, TUNED)
    host.write('{"env": {"MAX_MCP_OUTPUT_TOKENS": "2"}}')
    apply(host, TUNED)
    apply(host, {})

    assert host.settings.read_text() == '{"env": {"MAX_MCP_OUTPUT_TOKENS": "2"}}'


def test_a_value_that_stands_already_is_the_users_own(host: Host) -> None:
    """Nothing is written, and nothing is taken out later."""
    before = host.write('{"env": {"A": "\\u0031"}}')
    assert not apply(host, {"A": "1"}).changed
    apply(host, {"A": "2"})
    apply(host, {"A": "1"})

    assert host.settings.read_bytes() == before
    host.uninstall()
    assert host.settings.read_bytes() == before


def test_what_a_user_removed_stays_removed(host: Host) -> None:
    """A clear puts nothing back where there is nothing of ours."""
    host.write('{"env": {"MAX_MCP_OUTPUT_TOKENS": "1"}, "b": 1}')
    apply(host, TUNED)
    host.write('{"b": 1}')
    apply(host, {})

    assert host.settings.read_text() == '{"b": 1}'


def test_it_is_told_what_is_written_and_what_still_stands(host: Host) -> None:
    """Name, value, and the JSON text from before."""
    host.write('{"env": {"MAX_MCP_OUTPUT_TOKENS": 7}}')
    apply(host, TUNED)
    where = place("user", str(host.folder), str(host.state))
    host.write(host.settings.read_text().replace('"80"', '"70"'))

    assert settings_env.written(where, str(host.state)) == (
        ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "80", None),
        ("MAX_MCP_OUTPUT_TOKENS", "25000", "7"),
    )
    assert list(settings_env.standing(where, str(host.state))) == ["MAX_MCP_OUTPUT_TOKENS"]
    assert settings_env.current(where)["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"] == "70"


def test_a_dry_run_shows_the_difference_and_writes_nothing(host: Host) -> None:
    """No lock, no state folder."""
    before = host.write("{}\n")
    report = apply(host, {"A": "1"}, dry_run=True)

    assert '+    "A": "1"\n' in report.diff
    assert host.settings.read_bytes() == before
    assert not host.state.exists()


@pytest.mark.parametrize("text", ['{"env": []}', '{"env": null}', '{"env": {"A": "1", "A": "2"}}'])
def test_an_env_block_of_another_shape_is_refused(host: Host, text: str) -> None:
    """As S5 to S11: named, bytes unchanged."""
    before = host.write(text)

    with pytest.raises(KeepthreadError, match="env"):
        apply(host, TUNED)

    assert host.settings.read_bytes() == before


@pytest.mark.parametrize("values", [{"A B": "1"}, {"": "1"}, {"A": "\0"}, {"A": "\ud800"}])
def test_what_no_environment_can_hold_is_refused(host: Host, values: dict[str, str]) -> None:
    before = host.write("{}")

    with pytest.raises(KeepthreadError):
        apply(host, values)

    assert host.settings.read_bytes() == before


def test_a_manifest_of_an_earlier_version_is_read(host: Host) -> None:
    """It knows no values and no scopes."""
    host.install()
    path = host.state / "manifest.json"
    raw = json.loads(path.read_text())
    for name in ("env", "scope", "project", "excluded"):
        del raw[name]
    path.write_text(json.dumps(raw))

    apply(host, TUNED)
    host.uninstall()
    assert not host.settings.exists()
