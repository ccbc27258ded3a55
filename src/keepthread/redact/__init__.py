"""Secrets out of text. Pure: no file, no environment but what is passed in."""

from __future__ import annotations

from keepthread.redact.environment import environment_secrets
from keepthread.redact.finder import Finding, document, named, scan, text, withheld

__all__ = ["Finding", "document", "environment_secrets", "named", "scan", "text", "withheld"]
