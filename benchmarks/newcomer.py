"""A newcomer's path: what is typed, and how long it takes, from a clone to the first handoff in the real client.

    python -m benchmarks.newcomer [--check]

The home is empty and the packages come from the index that pip is set to. The commands that are run are those that are
counted; after them nothing of keepthread is typed any more: a session of the real client is held over an automatic
compaction, and the request after it has to hold the rule, the files and the ask.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

from tests.client import story
from tests.support.api import Answer, FakeApi
from tests.support.client import Client
from tests.support.fetch_client import fetch_client

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = (("git", "clone", "--quiet", str(ROOT), "keepthread"), ("./install.sh",))
MOST = 2  # commands


def main() -> int:
    """Print the table; return 1 when --check was asked for and the path is longer or does not arrive."""
    parser = argparse.ArgumentParser(description="A newcomer's path, typed and timed")
    parser.add_argument("--check", action="store_true", help="exit 1 when it does not arrive")
    options = parser.parse_args()
    executable = fetch_client()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, FakeApi() as api:
        client = _client(executable, Path(folder).resolve(), api)
        steps = [*_typed(client), _session(client, api)]
    for name, seconds in steps:
        print(f"{name:44}{seconds:8.1f} s")
    typed = len(COMMANDS)
    print(f"{'typed: ' + str(typed) + ' commands; in all':44}{sum(s for _, s in steps):8.1f} s")
    return 1 if options.check and typed > MOST else 0


def _client(executable: Path, folder: Path, api: FakeApi) -> Client:
    for name in ("home", "proj"):
        (folder / name).mkdir()
    subprocess.run(["git", "init", "-q", str(folder / "proj")], check=True)
    return Client(executable, folder / "home", folder / "proj", api)


def _typed(client: Client) -> list[tuple[str, float]]:
    """Run what a newcomer types, in an empty home; return each command with its seconds."""
    index = {name: text for name, text in os.environ.items() if name.startswith("PIP_")}
    env = {**client.environment(), "PATH": os.environ["PATH"], **index}
    steps = []
    for command in COMMANDS:
        inside = client.home if command[0] == "git" else client.home / "keepthread"
        started = time.perf_counter()
        subprocess.run(command, cwd=inside, env=env, check=True, capture_output=True)
        words = ["git clone", "<this repository>"] if command[0] == "git" else list(command)
        steps.append((" ".join(words), time.perf_counter() - started))
    return steps


def _session(client: Client, api: FakeApi) -> tuple[str, float]:
    """Hold a session over a compaction; the request after it holds the thread.

    Raises:
        AssertionError: it does not.
    """
    story.answer_child(api, Answer(document=story.DOCUMENT))
    started = time.perf_counter()
    _, body = story.compacted(client, api)
    seconds = time.perf_counter() - started
    story.assert_holds_the_thread(body)
    return "three prompts, a compaction, the handoff back", seconds


if __name__ == "__main__":
    raise SystemExit(main())
