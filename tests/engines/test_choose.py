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
