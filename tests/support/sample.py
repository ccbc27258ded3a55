"""The story of the bundled sample session, told through the same builder as every test's transcript.

Run as a program it writes templates/sample/session.jsonl anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.session import SessionFile

SAMPLE = "5a3b1c1e-2f60-4d55-9a57-6f1d6c0b7e42"
ROOT = "/home/ada/tidewatch"


def write_sample(path: Path) -> SessionFile:
    """Write a session of some twenty turns: two rules, a ruled-out approach, edits, a failing test, an open ask."""
    path.unlink(missing_ok=True)
    s = SessionFile(path, session=SAMPLE, cwd=ROOT)
    _mend_the_importer(s)
    _resume_downloads(s)
    _fail_and_go_on(s)
    return s


def _mend_the_importer(s: SessionFile) -> None:
    s.user(
        "The tide importer drops the last reading of every day. Find out why and fix it, with a test. "
        "Never touch the files under data/raw/, they are the reference. Use httpx for downloads, never requests."
    )
    s.assistant("I'll look at the importer first.", tokens=21_000)
    s.tool(
        "Grep",
        {"pattern": "def parse_day", "path": "src"},
        "src/tidewatch/importer.py:41:def parse_day(",
    )
    s.read(
        f"{ROOT}/src/tidewatch/importer.py",
        "41\tdef parse_day(lines: list[str]) -> list[Reading]:",
        tokens=24_000,
    )
    s.read(f"{ROOT}/tests/test_importer.py", "12\tdef test_parse_day_keeps_order():")
    s.bash("pytest -q tests/test_importer.py", "5 passed in 0.21s", tokens=27_500)
    s.assistant(
        "`parse_day` ends its loop at `len(lines) - 1` to skip the footer, but files of station 9414290 have no "
        "footer, so their 23:54 reading is lost. I will detect the footer instead.",
        tokens=29_000,
    )
    s.edit(
        f"{ROOT}/src/tidewatch/importer.py",
        "    for line in lines[:-1]:",
        "    for line in body_lines(lines):\n\n\ndef body_lines(lines: list[str]) -> list[str]:",
        tokens=31_000,
    )
    s.write(
        f"{ROOT}/tests/test_last_reading.py",
        "from tidewatch.importer import parse_day\n\n\ndef test_last_reading_survives_without_footer():\n    ...\n",
        tokens=33_000,
    )
    s.bash("pytest -q", "6 passed in 0.34s", tokens=35_000)


def _resume_downloads(s: SessionFile) -> None:
    s.user(
        "Good. Do not cache whole days in memory, the Pi has 512 MB. Now the downloader: it must resume partial files."
    )
    s.assistant("I could keep the day's bytes in a dict and flush at the end.", tokens=37_000)
    s.reject(
        "Write",
        {
            "file_path": f"{ROOT}/src/tidewatch/cache.py",
            "content": "CACHE: dict[str, bytes] = {}\n",
        },
        "no cache module, I said no whole days in memory. Write to a .part file and use the Range header.",
    )
    s.assistant("Understood: `.part` files and a Range header.", tokens=40_000)
    s.write(
        f"{ROOT}/src/tidewatch/download.py",
        "import httpx\n\n\ndef resume_download(url: str, target: Path) -> Path:\n"
        "    part = target.with_suffix('.part')\n",
        tokens=43_000,
    )
    s.edit(f"{ROOT}/src/tidewatch/cli.py", "fetch(", "resume_download(", tokens=45_000)
    s.bash(
        "git commit -qam 'Keep the last reading of a day' && git rev-parse --short HEAD",
        "7c41e9d",
        tokens=46_000,
    )


def _fail_and_go_on(s: SessionFile) -> None:
    s.bash(
        "pytest -q tests/test_download.py",
        "Exit code 1\nE   AssertionError: expected status 206, got 200\n"
        "FAILED tests/test_download.py::test_resume_asks_for_the_rest - AssertionError\n1 failed, 7 passed in 0.58s",
        is_error=True,
        tokens=48_000,
    )
    s.tool(
        "TodoWrite",
        {
            "todos": [
                {
                    "content": "Footer detection in parse_day",
                    "status": "completed",
                    "activeForm": "Fixing",
                },
                {
                    "content": "resume_download sends Range when the .part file is not empty",
                    "status": "in_progress",
                },
                {"content": "Document TIDEWATCH_DATA_DIR in README.md", "status": "pending"},
            ]
        },
        "Todos have been modified successfully.",
        tokens=49_500,
    )
    s.assistant(
        "The test server answers 200 because `resume_download` sends `Range: bytes=0-` for an empty `.part` file. "
        "Next I will send the header only when the file has bytes.",
        tokens=50_000,
    )
    s.user(
        "Yes, and when the server answers 200 although we asked for a range, start over instead of appending. "
        "See https://www.rfc-editor.org/rfc/rfc9110#section-14.2"
    )


if __name__ == "__main__":
    write_sample(Path(sys.argv[1]))
