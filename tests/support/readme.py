"""The sample in the README: what the sample run prints, shortened by whole sections.

Run as a program, python -m tests.support.readme, it puts the present output there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARK = "<!-- sample -->"
SHOWN = (
    "## Pending ask and next step",
    "## Rules (the user's own words)",
    "## Files touched",
    "## Ruled out (not to be tried again)",
)


def run_sample(**env: str) -> subprocess.CompletedProcess[str]:
    """Run the sample as install.sh does, the package taken from this checkout."""
    code = "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_path(sys.argv[2], run_name='__main__')"
    script = ROOT / "templates" / "sample" / "run.py"
    return subprocess.run(
        [sys.executable, "-I", "-c", code, str(ROOT / "src"), str(script)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


def block(printed: str) -> str:
    """Return the README's block of a run's output: some sections whole, "..." for the others."""
    after = printed.partition("is given this again:\n")[2].partition("\nAnd you are told:")[0]
    lines = list(_shortened([line[2:] for line in after.splitlines()]))
    return "\n".join([MARK, "```text", *lines, "```", MARK])


def _shortened(lines: list[str]) -> Iterator[str]:
    section, cut = "", False
    for line in lines:
        section = line if line.startswith("## ") else section
        if section not in SHOWN:
            if not cut:
                yield "..."
            cut = True
        elif line:
            cut = False
            yield line


def _update() -> None:
    readme = ROOT / "README.md"
    head, *_, tail = readme.read_text(encoding="utf-8").split(MARK)
    readme.write_text(f"{head}{block(run_sample().stdout)}{tail}", encoding="utf-8")


if __name__ == "__main__":
    _update()
