"""The variables: the user's file decides, the process environment only narrows, a bad value is named."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from keepthread.host import variables
from keepthread.host.config import Config, load, store_resolved
from keepthread.host.locations import inside_any, user_file


def given(folder: Path, text: str | bytes, env: Mapping[str, str] | None = None) -> Config:
    """Return what a user's file with this text comes to."""
    (folder / ".env").write_bytes(text.encode() if isinstance(text, str) else text)
    return load(env or {}, str(folder))


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    """And nothing is wrong."""
    config = load({}, str(tmp_path))

    assert config.unnarrowed == Config()
    assert config.problems == ()
    assert (config.engine, config.timeout, config.sources) == (
        "auto",
        60.0,
        ("compact", "resume", "fork"),
    )


EVERY = (
    "# KEEPTHREAD_ENGINE=no\n"
    "export KEEPTHREAD_ENGINE='openai, claude'\n"
    'KEEPTHREAD_MODEL="opus"  # a comment\n'
    "KEEPTHREAD_MEMORY_MODEL=haiku-4\n"
    "KEEPTHREAD_EFFORT=High\n"
    "KEEPTHREAD_PROMPT_TOKENS=64_000\n"
    "KEEPTHREAD_TIMEOUT=45.5\n"
    "KEEPTHREAD_JOIN=0\n"
    "KEEPTHREAD_MODE=wait\n"
    "KEEPTHREAD_BUDGET=5000\n"
    "KEEPTHREAD_INDEX=0\n"
    "KEEPTHREAD_SOURCES=compact|startup\n"
    "KEEPTHREAD_GUIDE=off\n"
    "KEEPTHREAD_DOCUMENT=notes/handoff.md\n"
    "KEEPTHREAD_DISABLE=true\n"
    "KEEPTHREAD_MAX_CALLS_PER_HOUR=0\n"
    "KEEPTHREAD_MAX_USD_PER_DAY=0.5\n"
    "KEEPTHREAD_WINDOW=200000\n"
    "KEEPTHREAD_COMMAND=/usr/bin/summarise --fast\n"
    "KEEPTHREAD_OFF_PROJECTS=~/secret, /srv/x/\n"
    "KEEPTHREAD_LOCAL_ONLY_PROJECTS=/srv/y\n"
    "KEEPTHREAD_OPENAI_API_KEY=${HOME}k\n"
    "OTHER=1\n"
)


def test_the_users_file_sets_every_variable(tmp_path: Path) -> None:
    """Each by its name, with quotes, export and comments as dotenv files have them."""
    config = given(
        tmp_path,
        EVERY,
        {"HOME": "/home/dev"},
    )

    assert config.problems == ()
    assert config.unnarrowed == Config(
        engine="openai, claude",
        model="opus",
        memory_model="haiku-4",
        effort="high",
        prompt_tokens=64_000,
        timeout=45.5,
        join=0.0,
        mode="wait",
        budget=5_000,
        index=0,
        sources=("compact", "startup"),
        guide=False,
        document="notes/handoff.md",
        disable=True,
        max_calls_per_hour=0,
        max_usd_per_day=0.5,
        window=200_000,
        command="/usr/bin/summarise --fast",
        off_projects=("/home/dev/secret", "/srv/x"),
        local_only_projects=("/srv/y",),
        user=config.user,
    )
    assert config.user["KEEPTHREAD_OPENAI_API_KEY"] == "${HOME}k"  # not interpolated
    assert "OTHER" not in config.user


def test_every_variable_has_a_reader() -> None:
    """A field without one could not be set."""
    derived = {"user", "problems", "unnarrowed", "user_file"}

    assert {field.name for field in fields(Config)} - derived == set(variables.ALL)


BAD = {
    "TIMEOUT": ["0", "71", "-1", "nan", "inf", "sixty", "60s"],
    "JOIN": ["-0.1", "8.1", "x"],
    "BUDGET": ["999", "9901", "5k", "5e3", "1.5", "-1", "٥٠٠٠"],
    "INDEX": ["-1", "9901", "all"],
    "PROMPT_TOKENS": ["3999", "40k", "9" * 5000],
    "EFFORT": ["maximal"],
    "MODE": ["parallel"],
    "SOURCES": ["compact,restart", "|"],
    "GUIDE": ["maybe"],
    "DISABLE": ["perhaps"],
    "DOCUMENT": ['"a\\nb"'],
    "MODEL": ["x" * 5000],
    "MAX_CALLS_PER_HOUR": ["-1", "many"],
    "MAX_USD_PER_DAY": ["-1", "inf", "$5"],
    "WINDOW": ["500k"],
    "KEEP_SESSIONS": ["-1", "all"],
    "OFF_PROJECTS": ['"/a\\nb"'],
    "KEEP_DAYS": ["-1", "36501", "90d", "1.5"],
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts]
)
def test_a_bad_value_keeps_the_default_and_is_named(tmp_path: Path, name: str, text: str) -> None:
    """Thing, reason, remedy; the other variables count."""
    config = given(tmp_path, f"KEEPTHREAD_{name}={text}\nKEEPTHREAD_ENGINE=facts\n")

    assert getattr(config, name.lower()) == getattr(Config(), name.lower())
    assert config.engine == "facts"
    assert len(config.problems) == 1 + (
        name in ("DISABLE", "OFF_PROJECTS")
    )  # what keeps to oneself
    assert f"KEEPTHREAD_{name} in {tmp_path}/.env is " in config.problems[0]
    assert "its default is used" in config.problems[0]
    assert len(config.problems[0]) < 300 + len(str(tmp_path))


def test_a_variable_without_a_value_is_not_set(tmp_path: Path) -> None:
    """People copy the list of all and fill in some."""
    names = "".join(f"KEEPTHREAD_{name.upper()}=\n" for name in variables.ALL)
    config = given(tmp_path, names + "KEEPTHREAD_BUDGE=\n")

    assert config.unnarrowed == Config(user=config.user)
    assert config.problems == ()


def test_a_misspelt_variable_is_named_and_an_endpoint_is_not(tmp_path: Path) -> None:
    """Endpoints have names of the user's own choosing."""
    config = given(
        tmp_path,
        "KEEPTHREAD_BUGDET=5000\nKEEPTHREAD_GROQ_BASE_URL=https://x\nKEEPTHREAD_GROQ_MODEL=m\n",
    )

    assert len(config.problems) == 1
    assert "is KEEPTHREAD_BUDGET meant?" in config.problems[0]


@pytest.mark.parametrize(
    "line", ["KEEPTHREAD_MODEL", "KEEPTHREAD_MODEL='unclosed", "KEEPTHREAD_MODEL: opus"]
)
def test_a_broken_line_is_named_with_its_number(tmp_path: Path, line: str) -> None:
    """Lines of others' variables are not our business."""
    config = given(tmp_path, f"OTHER\nFOO=KEEPTHREAD_X\n{line}\n")

    assert config.model == "sonnet"
    assert [problem.partition(" is not used")[0] for problem in config.problems] == [
        f"{tmp_path}/.env:3"
    ]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.mkdir(), "not used"),
        (os.mkfifo, "not a regular file"),
        (
            lambda path: path.write_bytes(b"KEEPTHREAD_ENGINE=facts\n" + b"#" * (1 << 20)),
            "too large",
        ),
        (lambda path: path.write_bytes("KEEPTHREAD_ENGINE=facts".encode("utf-16")), "not UTF-8"),
        (lambda path: path.symlink_to(path), "not used"),
    ],
    ids=["folder", "FIFO", "over 1 MB", "UTF-16", "loop"],
)
def test_a_file_that_cannot_be_read_is_said_and_nobody_is_asked(
    tmp_path: Path, make, reason: str
) -> None:
    """A hook runs on; what its user chose is not known, so nothing is sent anywhere and what was off stays off."""
    stored = {"off_projects": ["/secret"], "disable": False, "engine": "auto", "document": "off"}
    (tmp_path / "keepthread").mkdir()
    (tmp_path / "keepthread" / "settings.json").write_text(json.dumps(stored))
    make(tmp_path / ".env")
    config = load({}, str(tmp_path))

    assert (config.engine, config.off_projects, config.user) == ("facts", ("/secret",), {})
    assert (config.document, config.session_memory) == ("off", "facts")
    assert reason in config.problems[0]
    assert "no model is asked" in config.problems[1]


@pytest.mark.parametrize(
    "line",
    [
        "KEEPTHREAD_OFF_PROJECTS='/secret",
        "KEEPTHREAD_ENGINE: facts",
        "KEEPTHREAD_DISABLE=yes, please",
        "KEEPTHREAD_LOCAL_ONLY_PROJECT=/secret",
        "KEEPTHREAD_OFF_PROJECTS=$WORK/secret",
        "KEEPTHREAD_OFF_PROJECTS=~/{secret,private}",
        'KEEPTHREAD_OFF_PROJECTS=["~/secret"]',
        "KEEPTHREAD_OFF_PROJECTS=[~/secret, ~/b]",
        "KEEPTHREAD_OFF_PROJECTS=/home/$USER/secret",
        "KEEPTHREAD_OFF_PROJECTS=~nobody-of-that-name/secret",
        "KEEPTHREAD_MODEL='opus\nKEEPTHREAD_ENGINE=facts\nOTHER='x'",
    ],
)
def test_where_it_is_not_clear_what_shall_stay_here_nobody_is_asked(
    tmp_path: Path, line: str
) -> None:
    """A slip in one of these lines must send nothing."""
    config = given(tmp_path, f"KEEPTHREAD_JOIN=1\n{line}\n")

    assert (config.engine, config.join) == ("facts", 1.0)
    assert "no model is asked" in config.problems[-1]


def test_a_file_among_the_dotfiles_is_read_through_its_link_and_a_bom_is_no_harm(
    tmp_path: Path,
) -> None:
    """The folder is the user's own."""
    (tmp_path / "real").write_bytes(b"\xef\xbb\xbfKEEPTHREAD_ENGINE=facts\r\nKEEPTHREAD_JOIN=1\r\n")
    (tmp_path / ".env").symlink_to("real")
    config = load({}, str(tmp_path))

    assert (config.engine, config.join, config.problems) == ("facts", 1.0, ())


NARROWER = {
    "ENGINE": ("facts", "facts"),
    "DISABLE": ("1", True),
    "TIMEOUT": ("5", 5.0),
    "JOIN": ("0", 0.0),
    "BUDGET": ("2000", 2000),
    "INDEX": ("0", 0),
    "MODE": ("wait", "wait"),
    "GUIDE": ("off", False),
}


@pytest.mark.parametrize(
    ("chosen", "asked", "comes_to"),
    [
        ("model", "facts", "facts"),
        ("model", "off", "off"),
        ("facts", "off", "off"),
        ("facts", "model", "facts"),
        ("off", "facts", "off"),
        ("off", "model", "off"),
    ],
)
def test_of_the_session_memory_the_environment_takes_the_less(
    tmp_path: Path, chosen: str, asked: str, comes_to: str
) -> None:
    """A project may keep the model from being asked, and turns on nothing."""
    env = {"KEEPTHREAD_SESSION_MEMORY": asked}
    config = given(tmp_path, f"KEEPTHREAD_SESSION_MEMORY={chosen}\n", env)

    assert config.session_memory == comes_to
    assert bool(config.problems) == (comes_to != asked)


@pytest.mark.parametrize("name", NARROWER)
def test_the_environment_may_narrow(tmp_path: Path, name: str) -> None:
    """A repository may ask for less."""
    text, value = NARROWER[name]
    config = given(tmp_path, "", {f"KEEPTHREAD_{name}": text})

    assert getattr(config, name.lower()) == value
    assert config.problems == ()
    assert config.unnarrowed == Config()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ENGINE", "openai"),
        ("ENGINE", "command"),
        ("TIMEOUT", "61"),
        ("JOIN", "3.5"),
        ("BUDGET", "9900"),
        ("BUDGET", "10"),
        ("INDEX", "4001"),
        ("MODE", "x"),
        ("DISABLE", "off"),
        ("GUIDE", "on"),
    ],
)
def test_the_environment_may_not_widen(tmp_path: Path, name: str, text: str) -> None:
    """What a repository asks beyond that is ignored, and said."""
    file = "KEEPTHREAD_BUDGET=9000\nKEEPTHREAD_DISABLE=on\nKEEPTHREAD_GUIDE=off\n"
    config = given(tmp_path, file, {f"KEEPTHREAD_{name}": text})

    assert getattr(config, name.lower()) == getattr(config.unnarrowed, name.lower())
    assert len(config.problems) == 1
    assert "may only narrow" in config.problems[0]


def test_everything_else_in_the_environment_is_ignored(tmp_path: Path) -> None:
    """Programs, addresses, keys and places count only from the user's file."""
    env = {
        f"KEEPTHREAD_{name}": text
        for name, text in {
            "MODEL": "opus",
            "COMMAND": "/repo/evil",
            "OPENAI_BASE_URL": "https://evil",
            "DOCUMENT": "/etc/x",
            "SOURCES": "startup",
            "MAX_CALLS_PER_HOUR": "1000",
            "PROMPT_TOKENS": "900000",
            "KEEP_DAYS": "1",
            "KEEP_SESSIONS": "1",
            "OFF_PROJECTS": "/",
            "CHILD": "1",
        }.items()
    }
    config = given(tmp_path, "KEEPTHREAD_JOIN=2\n", env)

    assert config.unnarrowed == Config(join=2.0, user={"KEEPTHREAD_JOIN": "2"})
    assert (config.model, config.command, config.document) == (
        "sonnet",
        "",
        "docs/handoff-context.md",
    )
    assert config.user == {"KEEPTHREAD_JOIN": "2"}
    assert config.problems == ()


def test_a_project_env_file_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook runs in the project's folder, which may hold a hostile .env."""
    project = tmp_path / "project"
    project.mkdir()
    (project / ".env").write_text("KEEPTHREAD_COMMAND=/repo/evil\n")
    monkeypatch.chdir(project)

    assert load({}, str(tmp_path)).command == ""


def test_what_session_start_needs_is_stored_once(tmp_path: Path) -> None:
    """Private, without keys or programs, and written only when it changed."""
    state = tmp_path / "keepthread"
    config = given(
        tmp_path, "KEEPTHREAD_JOIN=1\nKEEPTHREAD_COMMAND=/usr/bin/x\nKEEPTHREAD_OPENAI_API_KEY=k\n"
    )
    path = state / "settings.json"

    store_resolved(str(state), config)
    assert json.loads(path.read_text()) == {
        "join": 1.0,
        "budget": 9900,
        "index": 4000,
        "memory_budget": 6000,
        "sources": ["compact", "resume", "fork"],
        "disable": False,
        "document": "docs/handoff-context.md",
        "off_projects": [],
        "engine": "auto",
        "session_memory": "facts",
        "spill": False,
        "spill_chars": 8000,
        "spill_turn_chars": 200_000,
        "max_transcript_bytes": 0,
        "user_file": user_file(str(tmp_path)),
    }
    assert (path.stat().st_mode & 0o777, state.stat().st_mode & 0o777) == (0o600, 0o700)
    before = path.stat()
    store_resolved(str(state), config)
    assert path.stat() == before


def test_what_the_environment_narrowed_is_not_stored(tmp_path: Path) -> None:
    """One project's wish must not hold for every other."""
    state = tmp_path / "keepthread"
    store_resolved(
        str(state),
        given(
            tmp_path,
            "KEEPTHREAD_INDEX=3000\n",
            {"KEEPTHREAD_DISABLE": "1", "KEEPTHREAD_INDEX": "0"},
        ),
    )
    stored = json.loads((state / "settings.json").read_text())

    assert (stored["disable"], stored["index"]) == (False, 3000)


def test_how_many_turns_an_engine_is_told_is_its_own(tmp_path: Path) -> None:
    """A number for all, and others by name; what is neither is refused in words."""
    config = given(tmp_path, "KEEPTHREAD_TURNS=30,ollama=8\n")
    wrong = given(tmp_path, "KEEPTHREAD_TURNS=many\n")

    assert [config.turns_of(name) for name in ("claude", "ollama")] == [30, 8]
    assert given(tmp_path, "KEEPTHREAD_TURNS=claude=40\n").turns_of("ollama") == 0
    assert wrong.turns_of("claude") == 0
    assert "KEEPTHREAD_TURNS" in wrong.problems[0]


@pytest.mark.parametrize(
    ("text", "project", "is_meant"),
    [
        ("secret", "/home/ada/secret/src", True),
        ("work/secret", "/home/ada/work/secret", True),
        ("work/secret", "/home/ada/secret", False),
        ("/a:/home/ada/secret", "/home/ada/secret", True),
        ("/a;~/secret", "/home/ada/secret", True),
        ("/a, b, ~/x", "/srv/b/c", True),
        ("$HOME/secret", "/home/ada/secret", True),
        ("${HOME}", "/home/ada/secret", True),
        ("/a ~/secret", "/home/ada/secret", True),
        ("~/a $HOME/secret", "/home/ada/secret", True),
        ("~/a:${HOME}/secret", "/home/ada/secret", True),
        ("~root/x", os.path.expanduser("~root/x"), True),
        ("/a b/c", "/a b/c/d", True),
        ("/a\\ b/c", "/a b/c/d", True),
        ("/srv/$x", "/srv/$x/y", True),
        ("/a", "/ab", False),
    ],
)
def test_folders_are_read_as_widely_as_they_can_be_meant(
    tmp_path: Path, text: str, project: str, is_meant: bool
) -> None:
    """What its user wants left alone is not dropped for a slip."""
    env = tmp_path / ".env"
    env.write_text(f"KEEPTHREAD_OFF_PROJECTS='{text}'\nKEEPTHREAD_LOCAL_ONLY_PROJECTS='{text}'\n")
    config = load({"HOME": "/home/ada"}, str(tmp_path))

    assert config.problems == ()
    assert inside_any(project, config.off_projects) is is_meant
    assert config.local_only_projects == config.off_projects


def test_without_home_a_tilde_is_the_home_that_the_system_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook may be started without it; "~/secret" is never "/secret"."""
    monkeypatch.setattr(variables, "home_of_user", lambda: "/home/ada")

    (tmp_path / ".env").write_text("KEEPTHREAD_OFF_PROJECTS=~/secret\n")
    assert load({}, str(tmp_path)).off_projects == ("/home/ada/secret",)
