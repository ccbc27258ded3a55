"""The host's own summary, as PostCompact hands it over: kept as a fallback and as the baseline to measure against."""

from __future__ import annotations

import re

_ANALYSIS = re.compile(r"<analysis>.*?(?:</analysis>|\Z)", re.DOTALL)
_TAGS = re.compile(r"</?summary>")
_ERRORS = (
    "You've hit your limit",
    "API Error",
    "Not logged in",
    "Prompt is too long",
    "Invalid API key",
)
LIMIT = 200_000  # characters


def clean_summary(text: str) -> str:
    """Return the summary without its scratchpad and tags; "" when it is empty or the text of an error."""
    summary = _TAGS.sub("", _ANALYSIS.sub("", text)).strip()[:LIMIT]
    return "" if summary.startswith(_ERRORS) else summary
