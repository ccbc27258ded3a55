"""Which of several values the host goes by, and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keepthread.host.in_force import ENVIRONMENT, settings_env, settings_files, settings_values

NAME = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"


def write(path: Path, value: Any) -> Path:
    """Write a settings file; a text goes in as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_the_settings_override_the_environment_and_the_local_file_the_others(
    tmp_path: Path,
) -> None:
    """User, project, local: the later one wins, and its path is named."""
    config, project = tmp_path / "config", tmp_path / "project"
    env = {NAME: "100000", "ONLY_SHELL": "x"}
    values = [settings_env(env, str(config), str(project))[NAME]]
    paths = [config / "settings.json"]
    paths += [project / ".claude" / name for name in ("settings.json", "settings.local.json")]
    for number, path in enumerate(paths):
        write(path, {"env": {NAME: str(200000 + number)}})
        values.append(settings_env(env, str(config), str(project))[NAME])

    assert values == [
        ("100000", ENVIRONMENT),
        *((str(200000 + number), str(path)) for number, path in enumerate(paths)),
    ]
    assert settings_env(env, str(config), str(project))["ONLY_SHELL"] == ("x", ENVIRONMENT)


def test_a_settings_file_that_the_host_refuses_sets_nothing(tmp_path: Path) -> None:
    """Comments, a list at the top, an `env` that is no object."""
    for text in (
        '{"env": {"A": "1"}, } // mine',
        "[]",
        '{"env": ["A"]}',
        '{"env": {"A": null}}',
        "",
    ):
        write(tmp_path / "settings.json", text)

        assert settings_env({}, str(tmp_path), "") == {}


def test_numbers_and_booleans_of_an_env_block_come_as_their_text(tmp_path: Path) -> None:
    """As the host puts them into the environment."""
    write(tmp_path / "settings.json", '{"env": {"A": 80, "B": true, "C": 1.50}}')

    found = settings_env({}, str(tmp_path), "")

    assert {name: one.value for name, one in found.items()} == {"A": "80", "B": "true", "C": "1.50"}


def test_settings_keys_come_from_the_strongest_file_that_has_them(tmp_path: Path) -> None:
    """Keys that are lists or objects are left out."""
    config, project = tmp_path / "config", tmp_path / "project"
    user = write(
        config / "settings.json", {"autoCompactEnabled": False, "model": "opus", "hooks": {}}
    )
    local = write(project / ".claude" / "settings.local.json", {"autoCompactEnabled": True})

    found = settings_values(str(config), str(project), "autoCompactEnabled", "model", "hooks", "x")

    assert found == {"autoCompactEnabled": ("true", str(local)), "model": ("opus", str(user))}


def test_a_project_that_is_the_home_folder_has_its_file_once(tmp_path: Path) -> None:
    """`~/.claude/settings.json` is the user's and the project's there."""
    paths = settings_files(str(tmp_path / ".claude"), str(tmp_path))

    assert len(paths) == len(set(paths))
