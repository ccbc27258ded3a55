"""The bundled sample session: as its builder tells it, and as the README and install.sh show it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.readme import run_sample
from tests.support.sample import write_sample

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "templates" / "sample"


def test_the_bundled_session_is_what_its_builder_writes(tmp_path: Path) -> None:
    """After a change: python -m tests.support.sample templates/sample/session.jsonl."""
    write_sample(tmp_path / "session.jsonl")

    assert (tmp_path / "session.jsonl").read_text() == (SAMPLE / "session.jsonl").read_text()


def test_it_shows_what_was_typed_and_what_is_put_back(home: Path) -> None:
    """Rules, the words of a refusal, files, the next step; nothing is written into the home."""
    run = run_sample()
    before, _, after = run.stdout.partition("\nAfter the compaction")

    assert (run.returncode, run.stderr) == (0, "")
    for words in (
        "Never touch the files under data/raw/",
        "no cache module, I said no whole days in memory",
        "start over instead of appending",
    ):
        assert words in before
        assert words in after
    assert "First next step: resume_download sends Range" in after
    assert "/home/ada/tidewatch/src/tidewatch/download.py" in after
    assert run.stdout.splitlines()[-1].startswith("And you are told: keepthread: handoff restored")
    assert list(home.iterdir()) == []


def test_the_user_s_own_variables_do_not_change_it(home: Path) -> None:
    """Somebody who has switched keepthread off still sees what it would do."""
    (home / ".claude").mkdir()
    (home / ".claude" / ".env").write_text("KEEPTHREAD_DISABLE=yes\n")
    run = run_sample(KEEPTHREAD_DISABLE="1", KEEPTHREAD_BUDGET="1000", CLAUDE_PROJECT_DIR=str(home))

    assert run.returncode == 0
    assert "## Files touched" in run.stdout
    assert [path.name for path in home.iterdir()] == [".claude"]


def test_a_repository_around_the_temporary_folder_is_left_alone(tmp_path: Path) -> None:
    """TMPDIR may lie in a project."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    exclude = tmp_path / ".git" / "info" / "exclude"
    before = exclude.read_bytes()

    assert run_sample(TMPDIR=str(tmp_path)).returncode == 0
    assert exclude.read_bytes() == before


def test_when_the_hooks_do_not_work_it_says_so(tmp_path: Path) -> None:
    """install.sh must not end well then."""
    package = tmp_path / "keepthread"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "resources.py").write_text((ROOT / "src/keepthread/resources.py").read_text())
    for name in ("templates", "hooks"):
        (package / name).symlink_to(ROOT / name if name == "templates" else tmp_path)
    code = "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_path(sys.argv[2], run_name='__main__')"
    command = [sys.executable, "-I", "-c", code, str(tmp_path), str(SAMPLE / "run.py")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == (
        "keepthread: the sample session gave no handoff; `keepthread doctor` says why"
    )


def test_the_sample_holds_no_word_of_a_real_person() -> None:
    """Its only home folder is Ada's."""
    for line in (SAMPLE / "session.jsonl").read_text().splitlines():
        assert json.loads(line)["cwd"] == "/home/ada/tidewatch"
