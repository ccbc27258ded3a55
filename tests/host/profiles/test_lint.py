"""Thirty environments with one planted mistake each, and a dozen without any."""

from __future__ import annotations

import pytest

from keepthread.host.profiles import reading
from keepthread.host.profiles.lint import Client, lint_values

PCT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
READ = "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS"
MAX_OUTPUT = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"
# What stands in every shell beside it, and is nobody's business here.
FOREIGN = {
    "PATH": "/usr/bin:/bin",
    "MAX_TOKENS": "500k",
    "MAX_OUTPUT_TOKENS": "4096",
    "MCP_SERVER_URL": "http://127.0.0.1:9000",
    "DISABLE_COLORS": "maybe",
    "BASH_ENV": "/etc/bashrc",
    "CLAUDE_MEM_MODEL": "small",
    "CLAUDE_FLOW_TIMEOUT": "never",
    "ANTHROPIC_API_KEY": "sk-not-shown",
    "CLAUDE_CODE_OAUTH_TOKEN": "not-shown-either",
    "CLAUDECODE": "1",
    "KEEPTHREAD_BUDGET": "9000",
}
# environment, variable named, rule
PLANTED = [
    ({PCT: "95", WINDOW: "200000"}, PCT, "no-effect"),
    ({PCT: "99"}, PCT, "no-effect"),
    ({PCT: "93", "CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}, PCT, "no-effect"),
    ({PCT: "3"}, PCT, "minimum"),
    ({PCT: "35", WINDOW: "120000"}, PCT, "minimum"),
    ({PCT: "0.8"}, PCT, "unit"),
    ({PCT: "0"}, PCT, "range"),
    ({PCT: "150"}, PCT, "range"),
    ({PCT: "eighty"}, PCT, "value"),
    ({WINDOW: "50000"}, WINDOW, "range"),
    ({WINDOW: "2000000"}, WINDOW, "range"),
    ({WINDOW: "500000", "CLAUDE_CODE_DISABLE_1M_CONTEXT": "true"}, WINDOW, "contradiction"),
    ({PCT: "80", "DISABLE_COMPACT": "1"}, PCT, "contradiction"),
    ({WINDOW: "400000", "DISABLE_AUTO_COMPACT": "yes"}, WINDOW, "contradiction"),
    ({"CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS": "50000"}, "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS", "range"),
    ({"CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE": "100000"}, "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE", "contradiction"),
    ({"MAX_MCP_OUTPUT_TOKENS": "500k"}, "MAX_MCP_OUTPUT_TOKENS", "unit"),
    ({"MAX_MCP_OUTPUT_TOKENS": "25"}, "MAX_MCP_OUTPUT_TOKENS", "unit"),
    ({READ: "200000"}, READ, "contradiction"),
    ({"BASH_MAX_OUTPUT_LENGTH": "60000"}, "BASH_MAX_OUTPUT_LENGTH", "no-effect"),
    ({"BASH_MAX_OUTPUT_LENGTH": "400000"}, "BASH_MAX_OUTPUT_LENGTH", "range"),
    ({"BASH_MAX_OUTPUT_LENGTH": "20000 chars"}, "BASH_MAX_OUTPUT_LENGTH", "value"),
    ({"MCP_TIMEOUT": "30"}, "MCP_TIMEOUT", "unit"),
    ({"MAX_THINKING_TOKENS": "90000", MAX_OUTPUT: "64000"}, "MAX_THINKING_TOKENS", "contradiction"),
    ({"ENABLE_PROMPT_CACHING_1H": "1", "FORCE_PROMPT_CACHING_5M": "1"}, "ENABLE_PROMPT_CACHING_1H", "contradiction"),
    ({"ENABLE_PROMPT_CACHING_1H": "1", "DISABLE_PROMPT_CACHING": "1"}, "ENABLE_PROMPT_CACHING_1H", "contradiction"),
    ({"DISABLE_AUTO_COMPACT": "never"}, "DISABLE_AUTO_COMPACT", "value"),
    ({"CLAUDE_CODE_EFFORT_LEVEL": "huge"}, "CLAUDE_CODE_EFFORT_LEVEL", "value"),
    ({"CLAUDE_CONTEXT_COLLAPSE": "1"}, "CLAUDE_CONTEXT_COLLAPSE", "retired"),
    ({"DISABLE_MICROCOMPACT": "1"}, "DISABLE_MICROCOMPACT", "retired"),
    ({"TASK_MAX_OUTPUT_LENGTH": "64000"}, "TASK_MAX_OUTPUT_LENGTH", "retired"),
    ({"CLAUDE_CODE_TURBO_FLUX": "1"}, "CLAUDE_CODE_TURBO_FLUX", "unknown"),
    ({"CLAUDE_AUTOCOMPACT_PCT_OVERIDE": "80"}, "CLAUDE_AUTOCOMPACT_PCT_OVERIDE", "misspelt"),
    ({"CLAUDE_CODE_AUTOCOMPACT_PCT_OVERRIDE": "80"}, "CLAUDE_CODE_AUTOCOMPACT_PCT_OVERRIDE", "misspelt"),
    ({"MAX_MCP_OUPUT_TOKENS": "8000"}, "MAX_MCP_OUPUT_TOKENS", "misspelt"),
    ({"BASH_MAX_OUTPUT_LENGHT": "8000"}, "BASH_MAX_OUTPUT_LENGHT", "misspelt"),
    ({"bash_max_output_length": "8000"}, "bash_max_output_length", "misspelt"),
]  # fmt: skip
RIGHT = [
    {},
    {PCT: "80"},
    {PCT: "50%"},
    {PCT: "95", WINDOW: "1000000"},
    {WINDOW: "120000", PCT: "50"},
    {WINDOW: "500_000"},
    {WINDOW: "5e5"},
    {"MAX_MCP_OUTPUT_TOKENS": "12_000"},
    {"MAX_THINKING_TOKENS": "0"},
    {"MAX_THINKING_TOKENS": "31999", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "64000"},
    {"CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE": "195000", "ENABLE_PROMPT_CACHING_1H": "1"},
    {"ENABLE_TOOL_SEARCH": "auto:5", "CLAUDE_CODE_SUBAGENT_MODEL": "haiku"},
    {"DISABLE_COMPACT": "1", "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "64000"},
    {"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "CLAUDE_CODE_TMPDIR": "/var/tmp"},
    {PCT: "", "DISABLE_AUTO_COMPACT": " "},
    {"MCP_TOOL_TIMEOUT": "120000", "BASH_DEFAULT_TIMEOUT_MS": "300000"},
]


@pytest.mark.parametrize(("values", "name", "rule"), PLANTED, ids=lambda one: str(one)[:60])
def test_a_planted_mistake_is_found_and_nothing_else(values, name, rule):
    found = lint_values({**FOREIGN, **values})

    assert [(one.level, one.name, one.rule) for one in found] == [("fault", name, rule)]
    assert name in found[0].message


@pytest.mark.parametrize("values", RIGHT, ids=str)
def test_nothing_is_found_where_nothing_is_wrong(values):
    assert lint_values({**FOREIGN, **values}) == []


@pytest.mark.parametrize("name", reading.names(""))
def test_the_built_in_profiles_hold_no_fault(name):
    assert [one for one in lint_values(reading.load(name, "").values) if one.level == "fault"] == []


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"MAX_MCP_OUTPUT_TOKENS": "25000"}, "MAX_MCP_OUTPUT_TOKENS"),
        ({"BASH_MAX_OUTPUT_LENGTH": "30_000"}, "BASH_MAX_OUTPUT_LENGTH"),
        ({"FORCE_PROMPT_CACHING_5M": "false"}, "FORCE_PROMPT_CACHING_5M"),
    ],
)
def test_a_value_equal_to_the_default_is_only_noted(values, name):
    assert [(one.level, one.name, one.rule) for one in lint_values(values)] == [
        ("note", name, "default")
    ]


@pytest.mark.parametrize(("percent", "rule"), [("95", "no-effect"), ("20", "minimum")])
def test_what_holds_for_a_small_window_alone_is_only_noted(percent, rule):
    assert [(one.level, one.rule) for one in lint_values({PCT: percent})] == [("note", rule)]


def test_a_limit_that_can_only_be_raised_for_pictures_is_only_noted():
    [found] = lint_values({"MAX_MCP_OUTPUT_TOKENS": "50000"})

    assert (found.level, found.rule) == ("note", "no-effect")


def test_two_mistakes_are_both_found():
    found = lint_values({PCT: "0.5", "CLAUDE_CODE_TURBO_FLUX": "1", "MCP_TIMEOUT": "30"})

    assert {one.rule for one in found} == {"unit", "unknown"}
    assert len(found) == 3


def test_a_message_never_holds_a_value_of_a_variable_that_may_be_a_secret():
    found = lint_values({"CLAUDE_CODE_OAUTH_TOKN": "hunter2secret", "CLAUDE_CODE_X_Y_Z": "hunter2"})

    assert len(found) == 2
    assert "hunter2" not in str(found)


def test_500k_is_500_for_every_variable_but_the_window_of_a_client_that_reads_it():
    [limit] = lint_values({"CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS": "500k"})
    [old] = lint_values({WINDOW: "500k"}, Client("2.1.240"))

    assert "reads as 500" in limit.message
    assert (old.level, old.rule) == ("fault", "unit")
    assert lint_values({WINDOW: "500k"}, Client("2.1.332")) == []


def test_what_the_installed_client_is_too_old_for_is_a_fault():
    [found] = lint_values({"ENABLE_PROMPT_CACHING_1H": "1"}, Client("2.1.100"))

    assert (found.level, found.rule) == ("fault", "no-effect")
    assert "2.1.108" in found.message


def test_a_name_that_the_installed_client_s_program_holds_is_known():
    client = Client("2.2.0", lambda name: name == "CLAUDE_CODE_BRAND_NEW_SWITCH")

    assert lint_values({"CLAUDE_CODE_BRAND_NEW_SWITCH": "1"}, client) == []
    [other] = lint_values({"CLAUDE_CODE_TURBO_FLUX": "1"}, client)
    assert "2.2.0" in other.message


def test_a_newer_client_whose_program_cannot_be_read_gets_the_benefit_of_the_doubt():
    [found] = lint_values({"CLAUDE_CODE_TURBO_FLUX": "1"}, Client("2.2.0"))

    assert found.level == "note"
