"""Profiles as files: the built-in ones, the user's own, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.host.profiles import reading
from keepthread.host.profiles.catalogue import CATALOGUE

PCT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"


@pytest.fixture
def own(tmp_path: Path):
    """Return a function that writes a profile of the user's own and returns the state folder."""
    folder = tmp_path / "profiles"
    folder.mkdir(mode=0o700)

    def write(name: str, text: str | bytes, mode: int = 0o600) -> str:
        path = folder / f"{name}.env"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return str(tmp_path)

    return write


def test_the_built_in_profiles_are_those_of_the_design():
    assert reading.names("") == ["aggressive", "default", "frugal", "long-context", "tuned"]
    assert reading.load("default", "").values == {}
    assert reading.load("tuned", "").values[PCT] == "80"
    assert reading.load("aggressive", "").values[PCT] == "50"


@pytest.mark.parametrize("name", reading.names(""))
def test_a_built_in_profile_sets_only_what_the_catalogue_knows_and_says_what_it_is_for(name):
    profile = reading.load(name, "")

    assert set(profile.values) <= set(CATALOGUE)
    assert profile.purpose.endswith(".")


def test_one_of_the_user_s_own_extends_and_overrides_the_built_in(own):
    state = own("tuned", f"# Mine.\nexport {PCT}='70'\nBASH_MAX_OUTPUT_LENGTH=\nMCP_TIMEOUT=9000\n")

    profile = reading.load("tuned", state)

    assert profile.values == {PCT: "70", "MAX_MCP_OUTPUT_TOKENS": "25000", "MCP_TIMEOUT": "9000"}
    assert profile.purpose == "Mine."
    assert len(profile.files) == 2


def test_a_new_one_is_listed_among_the_others(own):
    state = own("night", f"{PCT}=90\n")
    own("Not A Name", "")

    assert "night" in reading.names(state)
    assert reading.load("night", state).values == {PCT: "90"}
    assert len(reading.names(state)) == 6


@pytest.mark.parametrize(
    "name",
    ["../tuned", "/etc/passwd", "tuned.env", "", ".", "TUNED", "a" * 41, "tu\0ned", "tuned\n"],
)
def test_a_name_leads_nowhere_else(name):
    with pytest.raises(KeepthreadError, match="no name of a profile"):
        reading.load(name, "")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (f"{PCT}=80\nthis is no assignment\n", 2, "NAME=value"),
        (f"# x\n\n{PCT}\n", 3, "NAME=value"),
        ("KEEPTHREAD_MODEL=haiku\n", 1, "keepthread's own"),
        ('A="one\ntwo"\n', 1, "character"),
        ("A-B=1\n", 1, "no name"),
        (f"{PCT}='80\n", 1, "NAME=value"),
    ],
)
def test_a_bad_line_is_named(own, text, line, reason):
    state = own("bad", text)

    with pytest.raises(KeepthreadError, match=rf"bad\.env:{line}: .*{reason}"):
        reading.load("bad", state)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_a_file_that_others_can_write_is_refused(own):
    with pytest.raises(KeepthreadError, match="written by others"):
        reading.load("open", own("open", f"{PCT}=1\n", 0o666))


def test_a_link_a_folder_and_binary_are_refused(own, tmp_path):
    state = own("binary", b"\xff\xfe\x00A")
    (tmp_path / "profiles" / "link.env").symlink_to("/etc/hostname")
    (tmp_path / "profiles" / "folder.env").mkdir()

    for name in ("binary", "link", "folder"):
        with pytest.raises(KeepthreadError, match=f"{name}.env"):
            reading.load(name, state)


def test_nothing_is_interpolated(own, monkeypatch):
    monkeypatch.setenv("SECRET", "hunter2")

    assert reading.load("x", own("x", "MCP_TIMEOUT=${SECRET}\n")).values == {
        "MCP_TIMEOUT": "${SECRET}"
    }


def test_what_comes_with_the_program_is_nobody_s_own_wherever_that_is_installed(own):
    """install.sh puts it into the state folder."""
    state = own("night", f"{PCT}=90\n")
    [mine] = reading.load("night", state).files
    [built_in] = reading.load("tuned", "").files

    assert reading.is_own(mine, state)
    assert not reading.is_own(built_in, state)
    assert not reading.is_own(f"{state}/venv/lib/keepthread/templates/profiles/tuned.env", state)
