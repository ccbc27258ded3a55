"""Where values come from: every place, its order, and start files of shells as they are written in the world."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepthread.host.profiles import sources

PCT, BASH, MCP = (
    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
    "BASH_MAX_OUTPUT_LENGTH",
    "MAX_MCP_OUTPUT_TOKENS",
)


def settings(path: Path, **env: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"env": env}))
    return str(path)


def test_the_settings_count_more_than_the_environment_and_the_project_more_than_the_user(
    home, tmp_path
):
    project = tmp_path / "project"
    user = settings(home / ".claude" / "settings.json", **{BASH: "1", MCP: "1", PCT: 1})
    shared = settings(project / ".claude" / "settings.json", **{MCP: "2", PCT: "2"})
    local = settings(project / ".claude" / "settings.local.json", **{PCT: "3"})
    (home / ".bashrc").write_text(f"export {BASH}=5\nexport API_TIMEOUT_MS=7000\n")
    env = {"HOME": str(home), BASH: "4", "MCP_TIMEOUT": "9000"}

    found = sources.in_force_of(sources.all_sources(env, str(home / ".claude"), str(project)))

    assert found[PCT][:2] == ("3", local)
    assert found[PCT].shadowed == (("2", shared), ("1", user))
    assert found[MCP][:2] == ("2", shared)
    assert found[BASH][:2] == ("1", user)
    assert found[BASH].shadowed == (("4", "environment"), ("5", str(home / ".bashrc")))
    assert found["MCP_TIMEOUT"] == ("9000", "environment", ())
    assert found["API_TIMEOUT_MS"][:2] == ("7000", str(home / ".bashrc"))


def test_the_file_that_the_client_does_not_read_is_told_and_counts_for_nothing(home):
    (home / ".claude").mkdir()
    (home / ".claude" / ".env").write_text(f"export {PCT}=50\nKEEPTHREAD_MODEL=haiku\n")

    found = sources.all_sources({"HOME": str(home)}, str(home / ".claude"), "")

    assert [(one.kind, one.values) for one in found] == [("unread", {PCT: "50"})]
    assert sources.in_force_of(found) == {}


def test_foreign_variables_are_nobody_s_business(home):
    env = {"HOME": str(home), "MAX_TOKENS": "5", "AWS_SECRET_ACCESS_KEY": "x", "DISABLE_COLORS": ""}

    assert sources.all_sources(env, str(home / ".claude"), "") == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("export A=1", {"A": "1"}),
        ("  export A='1 2' B=\"3 4\" # both", {"A": "1 2", "B": "3 4"}),
        ("A=1\nexport A", {"A": "1"}),
        ("A=1", {}),
        ("A=1 claude --resume", {}),
        ("# export A=1", {}),
        ("export A=1\nunset A", {}),
        ("export A=1\nexport A=2", {"A": "2"}),
        ("export A=1\nA=3", {"A": "3"}),
        ("export A=$(cat ~/.token)", {}),
        ("export A=$B", {}),
        ("declare -x A=1; typeset -x B=2", {"A": "1"}),
        ("export A=1; export PATH", {"A": "1"}),
        ("if true; then\n  export A=1\nfi", {"A": "1"}),
        ('export A="a \\"quoted\\" word"', {"A": 'a "quoted" word'}),
        ("export A=1\r\n", {"A": "1"}),
        ("export A=", {"A": ""}),
        ("alias a='export A=1'", {}),
        ("echo export A=1", {}),
        ("export -n A", {}),
        ("export \\\n  A=1", {"A": "1"}),
        ("cat <<'END'\nexport A=1\nEND\nexport B=2", {"B": "2"}),
        ("cat <<-A <<B >x\nexport A=1\n\tA\nexport B=1\nB\nexport C=3", {"C": "3"}),
        ("grep x <<<EOF\nexport A=1", {"A": "1"}),
        ("cat <<END\nexport A=1", {}),
    ],
)
def test_a_start_file_is_read_by_its_lines(text, values):
    assert sources.shell_values(text) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("set -gx A 1", {"A": "1"}),
        ("set -Ux A '1 2' # both", {"A": "1 2"}),
        ("set --export --global A 1", {"A": "1"}),
        ("set -g A 1", {}),
        ("set -gx A 1\nset -e A", {}),
        ("set -gx A (cat token)", {}),
        ("# set -gx A 1", {}),
    ],
)
def test_fish_has_words_of_its_own(text, values):
    assert sources.shell_values(text, fish=True) == values


def test_a_start_file_is_never_run(home):
    (home / ".bashrc").write_text(f"touch {home}/ran\nexport {BASH}=`touch {home}/ran`\n")

    sources.all_sources({"HOME": str(home)}, str(home / ".claude"), "")

    assert not (home / "ran").exists()
