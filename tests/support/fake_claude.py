"""A stand-in for the host's own program: what it does comes from a JSON file beside it, what it saw goes to another.

`FakeClaude(folder)` puts this very file there as an executable named `claude`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NAG = "Not logged in · Please run /login"


class FakeClaude:
    """A folder with a `claude` in it, for the front of PATH.

    What it does is given by name; all of it may be combined:

        stdout         text printed as it is
        stderr         text printed there
        result         fields of the JSON result, over those of a success
        exit           exit code
        sleep          seconds before it answers
        linger         seconds between its answer and its end
        deaf           true: it ignores SIGTERM, as its children always do
        children       a list of "child", "session" (left the group) and "daemon" (left its parent too);
                       each holds stdout and sleeps 300 s
        reads          false: it never reads stdin; otherwise it reads to the end first
        refuses        true: it does not start inside a session of the host
        login          what it needs: "key" refuses without ANTHROPIC_API_KEY, "stored" refuses with --bare
        runs           [argv, stdin]: a program run with the environment it got
        session        true: it leaves a session file where the real one would
        takes          bytes; a longer prompt is refused as too long, with the numbers its vendor would give
        knows          the long flags it has, as an older version; any other it refuses
        version        what it says to --version, which counts as no run
        turns          a list of all this: the first run does what the first says, and so on; the last one stays
    """

    def __init__(self, folder: Path, **behaviour: Any) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.program = folder / "claude"
        self.program.write_text(
            f"#!{sys.executable} -I\n{Path(__file__).read_text(encoding='utf-8')}", encoding="utf-8"
        )
        self.program.chmod(0o755)
        self.behave(**behaviour)

    def behave(self, **behaviour: Any) -> None:
        """Say what it does from now on."""
        (self.folder / "behaviour.json").write_text(json.dumps(behaviour), encoding="utf-8")

    def answer(self, document: dict[str, Any], **behaviour: Any) -> None:
        """Let it answer with a document, as the real one does under --json-schema."""
        self.behave(
            result={"result": json.dumps(document), "structured_output": document}, **behaviour
        )

    def answer_in_turn(self, *documents: dict[str, Any]) -> None:
        """Let its runs answer with one document after the other."""
        results = [{"result": json.dumps(d), "structured_output": d} for d in documents]
        self.behave(turns=[{"result": result} for result in results])

    def env(self, home: Path, **more: str) -> dict[str, str]:
        """Return an environment with it on PATH and an API key, as a hook of the host would have it."""
        path = f"{self.folder}{os.pathsep}{os.defpath}"
        return {"HOME": str(home), "PATH": path, "ANTHROPIC_API_KEY": "fake-key", **more}

    @property
    def calls(self) -> list[dict[str, Any]]:
        """What it saw, one entry per run: argv, env, stdin, cwd, pid, files (in its folder)."""
        return [json.loads(line) for line in _lines(self.folder / "calls.jsonl")]

    @property
    def pids(self) -> list[int]:
        """Every process it was or started."""
        return [int(line) for line in _lines(self.folder / "pids")]

    def alive(self) -> list[int]:
        """Return those of its processes that still live."""
        return [pid for pid in self.pids if _lives(pid)]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2][1] != "Z"
    except OSError:
        return not Path("/proc/self").exists()


def _note(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text + "\n")


def _main(folder: Path) -> int:
    act = json.loads((folder / "behaviour.json").read_text(encoding="utf-8"))
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(act.get("version", "2.1.332") + " (Claude Code)\n")
        return 0
    if act.get("turns"):
        act = act["turns"][min(len(_lines(folder / "calls.jsonl")), len(act["turns"]) - 1)]
    _note(folder / "pids", str(os.getpid()))
    if "knows" in act and not _understood(act["knows"]):
        return 0 if "--help" in sys.argv else 1
    if act.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if act.get("refuses") and {"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"} & set(os.environ):
        sys.stderr.write("Error: Claude Code cannot be launched inside another session.\n")
        return 1
    for kind in act.get("children", ()):
        _start(kind, folder)
    stdin = sys.stdin.buffer.read().decode() if act.get("reads", True) else ""
    _log(folder, stdin)
    if len(stdin) > act.get("takes", len(stdin)):
        act = {
            "result": {"is_error": True, "result": _too_long(len(stdin), act["takes"])},
            "exit": 1,
        }
    time.sleep(act.get("sleep", 0))
    if act.get("runs"):
        argv, fed = act["runs"]
        subprocess.run(argv, input=fed.encode(), stdout=subprocess.DEVNULL, check=False)
    if act.get("session") and "--no-session-persistence" not in sys.argv:
        _leave_session()
    code = _answer(act)
    sys.stdout.flush()
    time.sleep(act.get("linger", 0))
    return code


def _too_long(size: int, takes: int) -> str:
    return f"API Error: 400 prompt is too long: {size // 3} tokens > {takes // 3} maximum"


def _understood(knows: list[str]) -> bool:
    """Print the help when that is asked, or the first flag that is not known."""
    if "--help" in sys.argv:
        sys.stdout.write(
            "Usage: claude [options]\n" + "".join(f"  {flag} <x>  …\n" for flag in knows)
        )
        return False
    flags = [word for word in sys.argv[1:] if word.startswith("--")]
    strange = next((flag for flag in flags if flag not in knows), "")
    if strange:
        sys.stderr.write(f"error: unknown option '{strange}'\n")
    return not strange


def _log(folder: Path, stdin: str) -> None:
    call = {
        "argv": sys.argv[1:],
        "env": dict(os.environ),
        "stdin": stdin,
        "cwd": str(Path.cwd()),
        "pid": os.getpid(),
        "files": os.listdir(),
    }
    _note(folder / "calls.jsonl", json.dumps(call))


def _leave_session() -> None:
    config = os.environ.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    slug = "".join(char if char.isalnum() else "-" for char in str(Path.cwd()))
    project = Path(config) / "projects" / slug
    project.mkdir(parents=True, exist_ok=True)
    (project / f"{os.getpid()}.jsonl").write_text("{}\n", encoding="utf-8")


def _answer(act: dict[str, Any]) -> int:
    bare, key = "--bare" in sys.argv, os.environ.get("ANTHROPIC_API_KEY")
    if (act.get("login") == "key" and not key) or (act.get("login") == "stored" and bare):
        act = {"result": {"is_error": True, "result": NAG}, "exit": act.get("exit", 1)}
    sys.stdout.write(act.get("stdout", ""))
    sys.stderr.write(act.get("stderr", ""))
    if "result" in act:
        usage = {"input_tokens": 700, "cache_read_input_tokens": 300, "output_tokens": 50}
        reply = {"type": "result", "subtype": "success", "is_error": False, "result": ""}
        reply |= {"total_cost_usd": 0.25, "usage": usage, **act["result"]}
        sys.stdout.write(json.dumps(reply) + "\n")
    return int(act.get("exit", 0))


def _start(kind: str, folder: Path) -> None:
    """Start a process that holds our stdout, ignores SIGTERM and sleeps; a daemon's parent is gone at once."""
    (folder / f"{kind}.up").unlink(missing_ok=True)
    first = os.fork()
    if first:
        if kind == "daemon":
            os.waitpid(first, 0)
        _until(folder / f"{kind}.up")
        return
    if kind in ("session", "daemon"):
        os.setsid()
    if kind == "daemon" and os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _note(folder / "pids", str(os.getpid()))
    (folder / f"{kind}.up").touch()
    time.sleep(300)
    os._exit(0)


def _until(flag: Path) -> None:
    while not flag.exists():
        time.sleep(0.005)


if __name__ == "__main__":
    raise SystemExit(_main(Path(sys.argv[0]).resolve().parent))
