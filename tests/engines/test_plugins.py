"""Engines of third parties: the example package is installed and used; what is broken stays in its rung."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepthread.engines import choose, plugins
from keepthread.engines.model import Setup
from keepthread.errors import KeepthreadError
from keepthread.host.config import Config
from tests.engines.asking import DOCUMENT, REQUEST, ask, failed
from tests.support.session import SESSION, SessionFile

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests" / "data" / "example_engine"
SETUP = Setup({}, {}, "/nowhere")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder into which pip has installed the example, as its user would."""
    target = str(tmp_path_factory.mktemp("site"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target]
    if importlib.util.find_spec("hatchling"):
        command.append("--no-build-isolation")
    done = subprocess.run([*command, str(EXAMPLE)], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return target


def keepthread(site: str, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {"HOME": str(home), "PATH": os.defpath}
    env["PYTHONPATH"] = os.pathsep.join((str(ROOT / "src"), site))
    return subprocess.run(
        [sys.executable, "-m", "keepthread", *arguments],
        env=env,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=120,
    )


def settings(home: Path, text: str) -> None:
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude" / ".env").write_text(text)


def test_the_installed_example_writes_a_complete_handoff(site: str, home: Path) -> None:
    """From the user's file to the stored document, in a process of its own."""
    settings(home, "KEEPTHREAD_ENGINE=parrot\nKEEPTHREAD_PARROT_WORDS=Mend the tide importer\n")
    file = SessionFile(home / ".claude/projects/s" / f"{SESSION}.jsonl", cwd=str(home))
    file.user("Mend the tide importer, it drops the last reading.")
    done = keepthread(site, home, "handoff", "--session", SESSION, "--format", "json")
    made = json.loads(done.stdout)

    assert made["meta"]["status"] == "complete", done.stderr
    assert made["meta"]["engine"] == "parrot"
    assert made["task"] == "Mend the tide importer"


def test_doctor_asks_the_installed_example(site: str, home: Path) -> None:
    """With --live for real; without, it says what is missing."""
    settings(home, "KEEPTHREAD_ENGINE=parrot\n")
    checks = json.loads(keepthread(site, home, "doctor", "--json").stdout)["checks"]
    [engine] = [check for check in checks if check["name"] == "engine"]
    assert "KEEPTHREAD_PARROT_WORDS" in engine["fix"]


def test_the_installed_example_is_listed_beside_ours(site: str, home: Path) -> None:
    """Whoever mistypes a name sees it."""
    settings(home, "KEEPTHREAD_ENGINE=parot\n")
    done = keepthread(site, home, "handoff", "--session", SESSION)
    assert done.returncode == 1
    assert "facts, parrot." in done.stderr


def test_the_example_is_as_short_as_it_is_said_to_be() -> None:
    """Twenty lines of code and their words."""
    lines = (EXAMPLE / "example_engine.py").read_text().splitlines()
    code = [line for line in lines if line.strip() and '"""' not in line]
    assert len(code) <= 21


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A maker of packages that bring one engine, on the path of this process."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def make(name: str, code: str, point: str = "") -> None:
        module = f"foreign_{name}"
        made.append(module)
        (tmp_path / f"{module}.py").write_text(code)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        entry = point or f"{module}:make"
        (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{name} = {entry}\n")
        importlib.invalidate_caches()

    yield make
    for module in made:
        sys.modules.pop(module, None)


HEAD = """
from keepthread.engines.model import Answer, EngineError, Readiness
class E:
    name = "anything"
    def readiness(self): return Readiness(True, "made")
    def ask(self, request, deadline): {ask}
make = lambda setup: E()
"""


def foreign(package: Any, ask: str) -> Any:
    package("foreign", HEAD.format(ask=ask))
    maker = plugins.find("foreign")
    assert maker is not None
    return maker(SETUP)


def test_an_answer_bears_the_name_its_user_gave(package: Any) -> None:
    """Whatever the engine calls itself."""
    engine = foreign(package, f"return Answer({DOCUMENT!r}, 'x', 1, 2, 0.5)")
    answer = ask(engine)
    assert (engine.name, answer.engine, answer.cost_usd) == ("foreign", "foreign", 0.5)
    assert engine.local is False


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        ("raise EngineError('overload', 'busy')", "overload", "busy"),
        ("return Answer({'task': 'x'}, 'x', cost_usd=0.5)", "bad_answer", "next_steps is missing"),
        ("return Answer({'task': '', 'next_steps': []}, 'x')", "bad_answer", "every field"),
        ("return None", "bad_answer", "broken (AttributeError)"),
        ("return Answer('x', 'x')", "bad_answer", "not of type object"),
        ("raise KeyError('a secret')", "bad_answer", "broken (KeyError)"),
        ("1 / 0", "bad_answer", "broken (ZeroDivisionError)"),
        ("open('/no/such/file')", "bad_answer", "broken (FileNotFoundError)"),
        ("raise RecursionError", "bad_answer", "broken (RecursionError)"),
    ],
)
def test_what_is_no_answer_costs_its_rung_alone(
    package: Any, code: str, reason: str, words: str
) -> None:
    """A stranger's bug included, without the words it may quote."""
    found = failed(foreign(package, code))
    assert found.reason == reason
    assert words in found.detail
    assert "a secret" not in found.detail


@pytest.mark.parametrize(
    ("code", "point"),
    [
        ("import no_such_module_of_anybody", ""),
        ("make = 3", ""),
        ("def make(setup): raise ValueError", ""),
        ("syntax error(", ""),
        ("x = 1", "foreign_broken:missing"),
    ],
)
def test_a_package_that_cannot_be_loaded_is_not_ready(package: Any, code: str, point: str) -> None:
    """doctor says so, and the ladder goes on."""
    package("broken", code, point)
    maker = plugins.find("broken")
    assert maker is not None
    engine = maker(SETUP)
    assert not engine.readiness().ready
    assert "cannot be loaded" in engine.readiness().why
    assert failed(engine).reason == "no_login"


def test_a_name_of_ours_cannot_be_taken(package: Any) -> None:
    """An installed package must not step between its user and what was asked for."""
    package("claude", HEAD.format(ask="return None"))
    config = Config(engine="claude")
    engines = choose.engines_for(config, {}, config_dir="/nowhere", project="")
    assert not engines[0].readiness().ready
    assert choose.known().count("claude") == 1


def test_no_package_is_looked_for_when_all_names_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would cost every worker 50 ms."""
    monkeypatch.setattr(plugins, "_points", lambda: pytest.fail("the packages were listed"))
    choose.engines_for(Config(engine="auto,ollama"), {}, config_dir="/nowhere", project="")
    monkeypatch.setattr(plugins, "_points", list)
    with pytest.raises(KeepthreadError):
        choose.engines_for(Config(engine="parrot"), {}, config_dir="/nowhere", project="")
    assert REQUEST
