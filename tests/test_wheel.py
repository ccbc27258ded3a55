"""The wheel: it carries the folders beside src, and needs nothing but its run-time dependencies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from functools import partial
from pathlib import Path

import pytest

from tests.support.installation import ROOT, copy_checkout, environment, need_index
from tests.support.sample import SAMPLE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the paths are those of POSIX systems")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a clean copy of the checkout."""
    root = tmp_path_factory.mktemp("wheel")
    need_index(root)
    copy = copy_checkout(root / "copy")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(root), str(copy)]
    run = subprocess.run(build, env=environment(root), capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, run.stderr
    return next(root.glob("keepthread-*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel with its run-time dependencies alone and return the interpreter."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    run = subprocess.run(
        [str(python), "-I", "-m", "pip", "install", "-q", str(wheel)],
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert run.returncode == 0, run.stderr
    return python


def test_it_carries_hooks_commands_templates_and_types(wheel: Path) -> None:
    """Every tracked file of these folders, inside the package."""
    listing = ["git", "-C", str(ROOT), "ls-files", "hooks", "commands", "templates"]
    tracked = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split()
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    assert {f"keepthread/{name}" for name in tracked} <= names
    assert "keepthread/py.typed" in names
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"keepthread"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_no_text_in_it_has_a_carriage_return(wheel: Path) -> None:
    """A script with one does not start on POSIX systems."""
    with zipfile.ZipFile(wheel) as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}

    assert [name for name, data in texts.items() if b"\r" in data] == []


def test_its_metadata_names_what_is_needed_and_no_more(wheel: Path) -> None:
    """Five dependencies; the licence goes along."""
    with zipfile.ZipFile(wheel) as archive:
        info = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(info).decode().partition("\n\n")[0].splitlines()
        licences = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
    needed = [line.split(": ")[1] for line in lines if line.startswith("Requires-Dist")]

    assert sorted(name.split(">")[0] for name in needed) == [
        "click",
        "filelock",
        "httpx",
        "jsonschema",
        "python-dotenv",
    ]
    assert "Requires-Python: >=3.10" in lines
    assert len(licences) == 1


def test_the_program_works_with_run_time_dependencies_alone(python: Path, home: Path) -> None:
    """No test or build tool is there to lean on."""
    run = subprocess.run(
        [str(python.parent / "keepthread"), "--help"],
        env=environment(home),
        capture_output=True,
        text=True,
    )

    assert (run.returncode, run.stderr) == (0, "")
    assert "handoff" in run.stdout


@pytest.mark.parametrize("command", ["status", "doctor", "logs", "handoff", "show", "install"])
def test_every_command_can_load_what_it_imports(command: str, python: Path, home: Path) -> None:
    """Exit codes 0 and 1 are answers; 3 would be a module that is not there."""
    run = subprocess.run(
        [str(python), "-I", "-m", "keepthread", command],
        env=environment(home),
        cwd=home,
        capture_output=True,
        text=True,
    )

    assert run.returncode in (0, 1), run.stderr


def test_the_hooks_of_the_installed_wheel_run(python: Path, tmp_path: Path) -> None:
    """PreCompact stores, SessionStart gives back."""
    package = next(python.parent.parent.glob("lib/*/site-packages/keepthread"))
    transcript = package / "templates" / "sample" / "session.jsonl"
    env = environment(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "c"), KEEPTHREAD_ENGINE="facts")
    told = {"session_id": SAMPLE, "transcript_path": str(transcript), "cwd": str(tmp_path)}
    outputs = []
    for script, event in (("pre_compact", "PreCompact"), ("session_start", "SessionStart")):
        run = subprocess.run(
            [str(python), "-I", str(package / "hooks" / f"{script}.py")],
            input=json.dumps({**told, "hook_event_name": event, "source": "compact"}),
            env=env,
            capture_output=True,
            text=True,
        )
        assert (run.returncode, run.stderr) == (0, "")
        outputs.append(run.stdout)
    context = json.loads(outputs[1])["hookSpecificOutput"]["additionalContext"]

    assert "Use httpx for downloads, never requests." in context


def test_installed_as_pipx_and_uv_do_it_the_hooks_in_the_settings_run(
    python: Path, tmp_path: Path
) -> None:
    """The program is a link in a folder of the PATH, its environment lies elsewhere; uninstall leaves no trace."""
    home, folder = tmp_path / "home", tmp_path / "bin"
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"a": 1}')
    folder.mkdir()
    (folder / "keepthread").symlink_to(python.parent / "keepthread")
    env = environment(home, PATH=f"{folder}:{os.defpath}", KEEPTHREAD_ENGINE="facts")
    run = partial(subprocess.run, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert run(["keepthread", "install"]).returncode == 0
    hooks = json.loads(settings.read_text())["hooks"]
    sample = next(python.parent.parent.glob("lib/*/site-packages/keepthread/templates/sample"))
    told = {
        "session_id": SAMPLE,
        "transcript_path": str(sample / "session.jsonl"),
        "cwd": str(tmp_path),
    }
    command = hooks["PreCompact"][0]["hooks"][0]["command"]
    event = json.dumps({**told, "hook_event_name": "PreCompact"})
    assert run(["sh", "-c", command], input=event).returncode == 0

    assert command.startswith(f"'{python}' -I '")
    assert f"{folder}/keepthread" not in (home / ".claude" / "commands" / "pin.md").read_text()
    assert run(["keepthread", "profile", "list"]).stdout.count("tuned") >= 1
    assert "Use httpx" in run(["keepthread", "show", "--session", SAMPLE]).stdout
    assert run(["keepthread", "uninstall", "--purge"]).returncode == 0
    assert [path.name for path in settings.parent.iterdir()] == ["settings.json"]
    assert settings.read_text() == '{"a": 1}'


@pytest.mark.parametrize("how", ["its files", "a line that leads there"])
def test_packages_of_one_s_own_home_are_refused_since_no_hook_would_find_them(
    wheel: Path, tmp_path: Path, how: str
) -> None:
    """What pip does by itself where it may not write: the hooks, which run isolated, would do nothing.

    With `--editable` the line is all that lies there.
    """
    home = tmp_path / "home"
    env = environment(home) | {"HOME": str(home), "PYTHONPATH": sysconfig.get_path("purelib")}
    base = [os.path.join(sys.base_prefix, "bin", "python3"), "-c"]
    run = partial(subprocess.run, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    where = run([*base, "import site; print(site.getusersitepackages())"]).stdout.strip()
    there = where if how == "its files" else str(tmp_path / "checkout")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(there)
    if there != where:
        os.makedirs(where)
        Path(where, "keepthread.pth").write_text(f"{there}\n")
    ran = run([*base, "from keepthread.cli import main; main()", "install"])

    assert ran.returncode == 1, ran.stderr
    assert ran.stderr.startswith(f"keepthread: Hooks would not find keepthread in {there}: ")
    assert "./install.sh" in ran.stderr
    assert not (home / ".claude").exists()
