"""From KEEPTHREAD_ENGINE to the ladder."""

from __future__ import annotations

import pytest

from keepthread.engines.choose import engines_for, known
from keepthread.errors import KeepthreadError
from keepthread.host.config import Config


def names(setting: str, project: str = "", **more):
    config = Config(engine=setting, **more)
    return [e.name for e in engines_for(config, {}, config_dir="/c", project=project)]


@pytest.mark.parametrize(
    ("setting", "ladder"),
    [
        ("auto", ["claude", "facts"]),
        ("claude", ["claude", "facts"]),
        ("facts", ["facts"]),
        ("", ["facts"]),
        ("claude,facts", ["claude", "facts"]),
        (" Claude , auto ,", ["claude", "facts"]),
        ("facts,claude", ["facts"]),
        ("Ollama,anthropic, llama.cpp", ["ollama", "anthropic", "llama.cpp", "facts"]),
        ("command,facts,claude", ["command", "facts"]),
    ],
)
def test_the_ladder_follows_the_setting_and_ends_with_facts(setting, ladder):
    assert names(setting) == ladder


@pytest.mark.parametrize("setting", ["gpt", "claude,gpt", "clause"])
def test_an_unknown_name_is_refused_with_the_known_ones(setting):
    with pytest.raises(KeepthreadError) as caught:
        names(setting)
    assert setting.rpartition(",")[2] in caught.value.message
    assert all(name in caught.value.hint for name in known())


def test_a_local_project_sends_nothing_out(tmp_path):
    folders = (str(tmp_path / "private"),)
    assert names("auto", str(tmp_path / "private" / "app"), local_only_projects=folders) == [
        "facts"
    ]
    assert names("auto", str(tmp_path / "privateer"), local_only_projects=folders) == [
        "claude",
        "facts",
    ]


def test_auto_asks_nobody_but_the_host():
    """A key kept for another purpose must not send transcripts anywhere."""
    named = {f"KEEPTHREAD_{name}_API_KEY": "k" for name in ("OPENAI", "ANTHROPIC", "GROQ")}
    config = Config(engine="auto", user={**named, "KEEPTHREAD_COMMAND": "/bin/cat"})
    env = {"OPENAI_API_KEY": "k", "KEEPTHREAD_ENGINE": "openai"}
    engines = engines_for(config, env, config_dir="/c", project="")
    assert [engine.name for engine in engines] == ["claude", "facts"]


@pytest.mark.parametrize(
    ("setting", "user", "left"),
    [
        ("claude,command,anthropic,groq", {"COMMAND": "/bin/cat"}, ["facts"]),
        ("ollama", {"OLLAMA_MODEL": "qwen9:8b"}, ["ollama", "facts"]),
        ("ollama", {"OLLAMA_MODEL": "qwen9:480b-cloud"}, ["facts"]),
        ("ollama", {"OLLAMA_BASE_URL": "http://10.0.0.2:11434"}, ["facts"]),
        ("llama.cpp,vllm,lmstudio", {}, ["llama.cpp", "vllm", "lmstudio", "facts"]),
        ("openai", {"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"}, ["openai", "facts"]),
    ],
)
def test_a_local_project_may_be_told_to_what_runs_on_this_machine(tmp_path, setting, user, left):
    """And to nothing that passes it on."""
    written = {f"KEEPTHREAD_{name}": value for name, value in user.items()}
    folders = (str(tmp_path),)
    config = Config(engine=setting, user=written, local_only_projects=folders)
    engines = engines_for(config, {}, config_dir="/c", project=str(tmp_path))
    assert [engine.name for engine in engines] == left
