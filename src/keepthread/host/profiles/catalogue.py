"""The host's variables that bear on compaction and on how much enters the context.

Checked against client 2.1.332: each name stands in its program, and what is marked `measured` was seen in runs of it.
Sources: the host's page on environment variables, its release notes, and its program.
"""

from __future__ import annotations

from keepthread.host.profiles.variable import VERIFIED, Variable

COMPACTION, OUTPUT, CACHE, MCP, MODEL, TIME = (
    "compaction",
    "output and reading",
    "prompt cache",
    "MCP",
    "model",
    "time limits",
)
PCT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
IDLE = "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS"
BLOCKING = "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE"
MAX_OUTPUT = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"
BASH = "BASH_MAX_OUTPUT_LENGTH"
MCP_OUTPUT = "MAX_MCP_OUTPUT_TOKENS"
READ = "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS"
THINKING = "MAX_THINKING_TOKENS"

_ALL = (
    Variable(
        PCT,
        COMPACTION,
        "the share of the usable window at which automatic compaction begins",
        kind="percent",
        unit="%",
        low=1,
        high=100,
        evidence="measured",
        note="can only lower the point, and only where sessions compact before the model's limit",
    ),
    Variable(
        WINDOW,
        COMPACTION,
        "the window that automatic compaction reckons with",
        unit="tokens",
        low=100_000,
        high=1_000_000,
        suffixes=True,
        since="later than 2.0.30",
        evidence="measured",
        note="makes every model compact before its limit",
    ),
    Variable(
        IDLE,
        COMPACTION,
        "the least context that is compacted while nobody types, shortly before the cache expires",
        unit="tokens",
        default="200000",
        low=100_000,
        since="later than 2.0.30",
        evidence="program",
        note="not documented; whether idle compaction is on is decided per account",
    ),
    Variable(
        BLOCKING,
        COMPACTION,
        "the context size at which a prompt is refused",
        unit="tokens",
        low=1,
        since="later than 2.0.30",
        evidence="program",
        note="not documented",
    ),
    Variable(
        "DISABLE_AUTO_COMPACT",
        COMPACTION,
        "no automatic compaction; /compact still works",
        kind="switch",
        default="0",
        since="later than 2.0.30",
        evidence="measured",
    ),
    Variable(
        "DISABLE_COMPACT",
        COMPACTION,
        "no compaction at all, /compact included",
        kind="switch",
        default="0",
        evidence="measured",
    ),
    Variable(
        "CLAUDE_CODE_DISABLE_1M_CONTEXT",
        COMPACTION,
        "holds models with a window of a million tokens to 200,000",
        kind="switch",
        default="0",
        since="2.1.50",
    ),
    Variable(
        "CLAUDE_CODE_DISABLE_UNKNOWN_MODEL_WINDOW_ENFORCEMENT",
        COMPACTION,
        "lets sessions on models the client does not know grow beyond the window it assumes",
        kind="switch",
        default="0",
        since="2.1.223",
    ),
    Variable(
        "CLAUDE_CODE_MAX_CONTEXT_TOKENS",
        COMPACTION,
        "the window assumed for a model",
        unit="tokens",
        low=1,
        since="later than 2.0.30",
        note="for the vendor's own models only beside DISABLE_COMPACT",
    ),
    Variable(
        MAX_OUTPUT,
        OUTPUT,
        "the longest answer",
        unit="tokens",
        low=1,
        high=128_000,
        evidence="measured",
        note="up to 20,000 of it are taken off the usable window; the model's own cap holds too",
    ),
    Variable(
        MCP_OUTPUT,
        OUTPUT,
        "the longest result of an MCP tool that enters the context",
        unit="tokens",
        default="25000",
        low=1,
        note="the client warns above 10,000; the vendor may change the default from afar",
    ),
    Variable(
        BASH,
        OUTPUT,
        "how much of a shell command's output enters the context; the rest stays in a file",
        unit="characters",
        default="30000",
        low=1,
        high=150_000,
        note="the setting bashOutputMaxChars, where it is set, counts instead",
    ),
    Variable(
        READ,
        OUTPUT,
        "the longest file that one read puts into the context",
        unit="tokens",
        default="25000",
        low=1,
        since="2.1.0",
    ),
    Variable(
        "SLASH_COMMAND_TOOL_CHAR_BUDGET",
        OUTPUT,
        "how much of the skills' and commands' descriptions is sent with a session",
        unit="characters",
        low=1,
        note="by default 1 % of the window",
    ),
    Variable(
        "ENABLE_PROMPT_CACHING_1H",
        CACHE,
        "keeps the prompt cache for an hour instead of five minutes",
        kind="switch",
        default="0",
        since="2.1.108",
        note="writes cost more; subscriptions have it within their included usage",
    ),
    Variable(
        "FORCE_PROMPT_CACHING_5M",
        CACHE,
        "keeps the prompt cache for five minutes whatever else is set",
        kind="switch",
        default="0",
        since="2.1.108",
    ),
    Variable(
        "DISABLE_PROMPT_CACHING",
        CACHE,
        "no prompt cache: every request pays its whole input",
        kind="switch",
        default="0",
    ),
    Variable(
        "ENABLE_TOOL_SEARCH",
        MCP,
        "leaves the descriptions of MCP tools out until one is looked for",
        kind="words",
        since="later than 2.0.30",
        note="true, false, auto or auto:N; unset: as true, but false behind another vendor's base URL",
    ),
    Variable(
        "ENABLE_MCP_LARGE_OUTPUT_FILES",
        MCP,
        "saves an MCP result that is too long to a file instead of cutting it",
        kind="switch",
        default="1",
        since="later than 2.0.30",
        evidence="program",
    ),
    Variable(
        "MCP_TIMEOUT",
        MCP,
        "how long an MCP server may take to start",
        unit="ms",
        default="30000",
        low=1,
        high=2_147_483_647,
    ),
    Variable(
        "MCP_TOOL_TIMEOUT",
        MCP,
        "how long an MCP tool may run",
        unit="ms",
        default="100000000",
        low=1000,
        high=2_147_483_647,
    ),
    Variable(
        THINKING,
        MODEL,
        "a fixed budget for thinking",
        unit="tokens",
        low=1024,
        zero=True,
        note="models that choose their own depth of thinking ignore it; 0 turns thinking off",
    ),
    Variable(
        "CLAUDE_CODE_DISABLE_THINKING",
        MODEL,
        "asks for no thinking",
        kind="switch",
        default="0",
        since="later than 2.0.30",
    ),
    Variable(
        "CLAUDE_CODE_EFFORT_LEVEL",
        MODEL,
        "how much effort the model takes",
        kind="choice",
        choices=("low", "medium", "high", "xhigh", "max", "auto"),
        since="later than 2.0.30",
    ),
    Variable(
        "CLAUDE_CODE_SUBAGENT_MODEL",
        MODEL,
        "the model of all subagents",
        kind="words",
    ),
    Variable(
        "BASH_DEFAULT_TIMEOUT_MS",
        TIME,
        "how long a shell command may run",
        unit="ms",
        default="120000",
        low=1,
    ),
    Variable(
        "BASH_MAX_TIMEOUT_MS",
        TIME,
        "how long the model may let a shell command run",
        unit="ms",
        default="600000",
        low=1,
    ),
    Variable(
        "API_TIMEOUT_MS",
        TIME,
        "how long a request may take",
        unit="ms",
        default="600000",
        low=1,
        high=2_147_483_647,
    ),
    Variable(
        "CLAUDE_CODE_MAX_RETRIES",
        TIME,
        "how often a failed request is tried again",
        default="10",
        low=0,
        high=15,
    ),
)
CATALOGUE = {one.name: one for one in _ALL}

# Names that advice on the web still gives, and what became of them.
_GONE = f"client {VERIFIED} does not read it"
RETIRED = {
    "CLAUDE_CONTEXT_COLLAPSE": _GONE,
    "CLAUDE_CODE_CONTEXT_COLLAPSE": _GONE,
    "CLAUDE_CODE_SM_COMPACT": _GONE,
    "ENABLE_SM_COMPACT": _GONE,
    "DISABLE_MICROCOMPACT": f"client 2.0.30 read it, {VERIFIED} does not",
    "TASK_MAX_OUTPUT_LENGTH": f"it is documented, but nothing in client {VERIFIED} reads it",
}
