"""docs/report.png: `keepthread report` on the bundled sample session, as a browser shows it.

The sample ends before a compaction. So that there is something to report, it goes on here: PreCompact and SessionStart
run as the host runs them, with the embedded engine, and a text in the form of the host's summary stands in for it.
Run as a program, python -m tests.support.report_picture, it makes the picture anew; it needs a Chromium.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support import chromium
from tests.support.sample import ROOT as SAMPLE_PROJECT
from tests.support.sample import SAMPLE, write_sample
from tests.support.session import SessionFile

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "report.png"
WIDTH, HEIGHT = 1000, 1330
_UNTOLD = 1_000  # tokens that SessionFile writes where the sample says none
# In place of the host's summary; written for the picture, in the host's form.
SUMMARY = """1. Primary Request and Intent: The user reported that the tide importer drops the last reading of every day
and asked for a fix with a test. Then the downloader should resume partial files, without caching whole days in memory.
2. Key Technical Concepts: footer detection, HTTP Range requests, .part files, httpx.
3. Files and Code Sections: src/tidewatch/importer.py (body_lines replaces lines[:-1]), tests/test_last_reading.py,
src/tidewatch/download.py (resume_download), src/tidewatch/cli.py.
4. Errors and fixes: tests/test_download.py fails, since resume_download sends a Range header for an empty .part file.
5. Pending Tasks: send the header only when the file has bytes; documentation.
6. Current Work: the user confirmed, and wants a start over when the server answers 200."""


def make_report(work: Path) -> Path:
    """Return the page of the sample session, made in an empty configuration folder below `work`."""
    project, config = work / "tidewatch", work / ".claude"
    (project / ".git").mkdir(parents=True)
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(project))
    transcript = config / "projects" / slug / f"{SAMPLE}.jsonl"
    transcript.parent.mkdir(parents=True)
    env = _environment(work, project)
    session = write_sample(transcript)
    _grow_steadily(transcript)
    _hook("pre_compact", transcript, project, env, trigger="auto")
    _go_on(session)
    _hook("session_start", transcript, project, env, source="compact")
    page = work / "report.html"
    command = [sys.executable, "-m", "keepthread", "report", "--out", str(page)]
    subprocess.run(command, cwd=project, env=env, check=True, capture_output=True, timeout=60)
    return page


def _environment(work: Path, project: Path) -> dict[str, str]:
    foreign = ("CLAUDE", "KEEPTHREAD_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    ours = {"HOME": str(work), "CLAUDE_PROJECT_DIR": str(project), "KEEPTHREAD_ENGINE": "facts"}
    return {**kept, **ours, "PYTHONPATH": str(ROOT / "src"), "TZ": "UTC"}


def _hook(name: str, transcript: Path, project: Path, env: dict[str, str], **more: str) -> None:
    event = {"session_id": SAMPLE, "transcript_path": str(transcript), "cwd": str(project), **more}
    subprocess.run(
        [sys.executable, "-I", str(ROOT / "hooks" / f"{name}.py")],
        input=json.dumps(event).encode(),
        env=env,
        cwd=project,
        check=True,
        capture_output=True,
        timeout=60,
    )


def _grow_steadily(transcript: Path) -> None:
    """Give the requests whose size the sample leaves open the size of the one before."""
    text, last = transcript.read_text(encoding="utf-8"), _UNTOLD

    def size(found: re.Match[str]) -> str:
        nonlocal last
        last = last if int(found[2]) == _UNTOLD else int(found[2])
        return f"{found[1]}{last}"

    transcript.write_text(
        re.sub(r'("cache_read_input_tokens":)(\d+)', size, text), encoding="utf-8"
    )


def _go_on(session: SessionFile) -> None:
    """Compact the session, and let the work after it use what was before it."""
    session.boundary(SUMMARY, tokens=50_000)
    session.read(f"{SAMPLE_PROJECT}/src/tidewatch/download.py", "1\timport httpx", tokens=14_000)
    session.edit(
        f"{SAMPLE_PROJECT}/src/tidewatch/download.py",
        "    part = target.with_suffix('.part')",
        "    part = target.with_suffix('.part')\n    start = part.stat().st_size if part.exists() else 0",
        tokens=16_000,
    )
    session.bash("pytest -q tests/test_download.py", "8 passed in 0.61s", tokens=17_000)
    session.assistant(
        "`test_resume_asks_for_the_rest` passes: as https://www.rfc-editor.org/rfc/rfc9110#section-14.2 says, a 200 "
        "starts over. Nothing under data/raw/ was touched.",
        tokens=18_000,
    )
    session.edit(
        f"{SAMPLE_PROJECT}/src/tidewatch/cli.py",
        "resume_download(",
        "resume_download(url, target)",
        tokens=19_500,
    )
    session.edit(f"{SAMPLE_PROJECT}/README.md", "", "TIDEWATCH_DATA_DIR", tokens=21_000)
    session.bash("git show --stat 7c41e9d -- src/tidewatch/importer.py", "1 file", tokens=22_000)
    session.bash(
        "pytest -q tests/test_last_reading.py tests/test_importer.py", "6 passed", tokens=23_000
    )
    session.assistant(
        "`parse_day`, `body_lines` and station 9414290 are in the changelog.", tokens=24_000
    )


def _update() -> None:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        page = make_report(work)
        # The sample's project is not on this machine: the page names the folder that stood in for it.
        shown = page.read_text(encoding="utf-8").replace(
            str(work), str(Path(SAMPLE_PROJECT).parent)
        )
        page.write_text(shown, encoding="utf-8")
        chromium.shoot(page, work, width=WIDTH, height=HEIGHT, dark=False)
        PICTURE.write_bytes((work / f"{WIDTH}-light.png").read_bytes())


if __name__ == "__main__":
    _update()
