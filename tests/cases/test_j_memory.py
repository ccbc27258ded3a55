"""Family J, the part on memory: keys that want to leave the folder, and the folder itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from keepthread.cli import cli

# J5: a search for the text "../" misses a final "..".
KEYS = (
    *(
        "..",
        "foo/..",
        "foo/../../x",
        "../x",
        "..\\x",
        "%2e%2e%2fx",
        "//x",
        "C:\\x",
        ".git/config",
        ".",
        "/",
        "",
        "./",
    ),
    *(
        "x.md.",
        "x.md ",
        "cafe\u0301.md",
        "foo/../..",
        "foo/./..",
        "%2e%2e",
        "..%2f..",
        "．．/x",
        "foo//..",
    ),
)


def state_of(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes, and every folder."""
    found = {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}
    return {
        name: data for name, data in found.items() if ".lock" not in name and "unsaved-" not in name
    }


@pytest.mark.parametrize("key", KEYS, ids=ascii)
def test_j5_a_key_that_leads_out_is_refused_and_the_root_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """By every command, segment by segment; the root is never the target."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "x").write_text("outside")
    monkeypatch.chdir(tmp_path / "project")
    runner = CliRunner()
    for arguments in (
        ["init"],
        ["add", "caf\u00e9.md", "x", "--type", "project"],
        ["add", "foo/a.md", "y", "--type", "project"],
    ):
        assert runner.invoke(cli, ["memory", *arguments]).exit_code == 0
    before = state_of(tmp_path)

    for arguments in (
        ["add", "--type", "project", "--", key, "text"],
        ["edit", "--", key, "text"],
        ["show", "--", key],
        ["rm", "--", key],
        ["mv", "--", key, "b.md"],
        ["mv", "--", "foo/a.md", key],
    ):
        result = runner.invoke(cli, ["memory", *arguments])
        assert result.exit_code == 1
        assert "is refused" in str(result.exception)

    assert state_of(tmp_path) == before
    assert os.path.isdir(tmp_path / "project" / ".claude" / "team-memory")
