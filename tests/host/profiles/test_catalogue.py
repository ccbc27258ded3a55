"""The catalogue, the list of names, and what of them stands in documents."""

from __future__ import annotations

import pytest

from keepthread.host.profiles import names
from keepthread.host.profiles.catalogue import CATALOGUE, RETIRED
from keepthread.host.profiles.lint import lint_values
from keepthread.host.profiles.variable import effect, number, older, percent, switch
from tests.support.profiles import DOCUMENT, with_tables


def test_the_document_s_tables_are_those_of_the_catalogue_and_the_profiles():
    """python -m tests.support.profiles brings them up to date."""
    text = DOCUMENT.read_text(encoding="utf-8")

    assert with_tables(text) == text
    assert text.count("`CLAUDE_AUTOCOMPACT_PCT_OVERRIDE`") >= 2


def test_every_variable_is_one_that_the_client_names_and_no_retired_one_is():
    assert set(CATALOGUE) <= names.listed()
    assert set(RETIRED) & set(CATALOGUE) == set()
    assert set(RETIRED) & names.listed() == set()


@pytest.mark.parametrize("variable", CATALOGUE.values(), ids=lambda one: one.name)
def test_a_default_lies_in_its_range(variable):
    found = lint_values({variable.name: variable.default})

    assert [one.level for one in found] == (["note"] if variable.default else [])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("500", 500),
        ("500k", 500),
        (" 64_000 ", 64000),
        ("64,000", 64000),
        ("2e3", 2000),
        ("1.5e0", None),
        ("12.9", 12),
        ("-3", -3),
        ("+3", 3),
        ("1_00", 1),
        ("abc", None),
        ("\uff18\uff10", None),
        ("8\u0660", 8),
        ("", None),
    ],
)
def test_numbers_are_read_as_the_client_reads_them(text, value):
    assert number(text) == value


def test_percentages_and_switches_are_read_as_the_client_reads_them():
    percentages = {
        "80": 80,
        "80%": 80,
        "0.8": 0.8,
        ".5": 0.5,
        "x": None,
        "1e1": 10,
        "\uff18\uff10": None,
    }
    switches = {"1": True, "TRUE": True, " on ": True, "0": False, "no": False, "maybe": None}

    assert {text: percent(text) for text in percentages} == percentages
    assert {text: switch(text) for text in switches} == switches


def test_versions_are_compared_as_numbers():
    assert older("2.1.99", "2.1.108")
    assert not older("2.1.108", "2.1.108")
    assert not older("", "2.1.108")


def test_the_effect_is_told_for_old_present_new_and_unknown_clients():
    variable = CATALOGUE["ENABLE_PROMPT_CACHING_1H"]

    assert effect(variable, "2.1.107").startswith("none")
    assert effect(variable, "2.1.332") == "yes, as documented"
    assert effect(variable, "2.2.0").endswith("not checked on 2.2.0")
    assert effect(variable, "").startswith("not known")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("CLAUDE_AUTOCOMPACT_PCT_OVERIDE", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"),
        ("CLAUDE_CODE_MAX_OUTPUT_TOKEN", "CLAUDE_CODE_MAX_OUTPUT_TOKENS"),
        ("BASH_MAX_OUTPUT_LENGHT", "BASH_MAX_OUTPUT_LENGTH"),
        ("DISABLE_AUTOCOMPACT", "DISABLE_AUTO_COMPACT"),
        ("disable_compact", "DISABLE_COMPACT"),
        ("CLAUDE_CODE_AUTOCOMPACT_PCT_OVERRIDE", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"),
        ("CLAUDE_AUTO_COMPACT_WINDOW", "CLAUDE_CODE_AUTO_COMPACT_WINDOW"),
        ("CLAUDE_CODE_TURBO", ""),
        ("MAX_OUTPUT_TOKENS", ""),
        ("MAX_TOKENS", ""),
        ("MIN_THINKING_TOKENS", ""),
        ("DISABLE_CACHE", ""),
        ("MCP_SERVER_TIMEOUT", ""),
        ("CLAUDE_MEM_MODEL", ""),
    ],
)
def test_a_slip_is_known_and_a_foreign_name_is_none(name, meant):
    assert names.meant(name) == meant


def test_a_name_is_looked_for_in_a_client_s_program(tmp_path):
    program = tmp_path / "claude"
    program.write_bytes(b"\0process.env.CLAUDE_CODE_NEW_ONE\0")
    knows = names.program_knows(str(program))

    assert knows
    assert knows("CLAUDE_CODE_NEW_ONE")
    assert not knows("CLAUDE_CODE_OTHER")
    assert names.program_knows(str(tmp_path / "none")) is None
