"""How much the child's model reads at once, and how much of that the request may take; all sizes in tokens."""

from __future__ import annotations

from typing import NamedTuple

from keepthread.host import windows as host

DEFAULT = 200_000
ASSUMED = "assumed"
LEAST = 16_000  # below, no handoff worth its name fits
SCANT = 32_000  # below, the conversation comes in brief only
RESERVE = 4_096  # kept for the instructions, the schema and the answer

# Part of a model's name -> window, as its vendor documents it. The first that fits wins.
_TABLE = (
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("gpt-oss", 131_072),
    ("gpt-5", 272_000),
    ("gemini", 1_048_576),
    ("grok", 131_072),
    ("deepseek", 131_072),
    ("kimi-k2", 262_144),
    ("moonshot-v1-8k", 8_192),
    ("moonshot-v1-32k", 32_768),
    ("moonshot", 131_072),
    ("glm", 131_072),
    ("minimax", 204_800),
    ("command", 128_000),
    ("sonar", 127_072),
    ("llama-3.", 131_072),
    ("llama3.", 131_072),
    ("llama-4", 131_072),
    ("mistral", 131_072),
    ("codestral", 262_144),
    ("devstral", 131_072),
    ("magistral", 40_960),
    ("mixtral", 32_768),
    ("qwen3-coder", 262_144),
    ("qwen3", 40_960),
    ("qwen2.5", 32_768),
    ("qwen", 131_072),
    ("phi-4", 16_384),
    ("gemma-3", 131_072),
    ("gemma3", 131_072),
)


class Window(NamedTuple):
    """A context window and who says so."""

    tokens: int
    source: str

    @property
    def room(self) -> int:
        """What a request may take of it."""
        return max(0, self.tokens - RESERVE)

    @property
    def fault(self) -> str:
        """Why it cannot be used, "" when it can."""
        if self.tokens >= LEAST:
            return ""
        return f"a window of {self.tokens} tokens ({self.source}) is too small, {LEAST} are needed"

    @property
    def warning(self) -> str:
        """What its user should know, "" when all is well."""
        if not LEAST <= self.tokens < SCANT:
            return ""
        return f"a window of {self.tokens} tokens ({self.source}) leaves little of the conversation"


def window_of(model: str, *, configured: int = 0, said: int | None = None) -> Window:
    """Return the window of the child's model.

    Args:
        model: its name as it is asked for.
        configured: KEEPTHREAD_WINDOW, 0 when it is not set.
        said: what the server itself says, if it does.
    """
    if configured:
        return Window(configured, "KEEPTHREAD_WINDOW")
    if said:
        return Window(said, "as its server says")
    name = model.lower()
    known = host.window_of(name)
    known = known or next((size for part, size in _TABLE if part in name), None)
    return Window(known, f"as documented for {model}") if known else Window(DEFAULT, ASSUMED)
