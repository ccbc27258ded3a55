"""Which keys of the grammar may be those of entries."""

from __future__ import annotations

from keepthread.memory import keys
from keepthread.memory.errors import PathRejected
from keepthread.memory.index import MEMORY_MD

_GENERATED = f"{MEMORY_MD} is generated from the entries"
# The host takes files of these names for instructions wherever it meets them.
_INSTRUCTIONS = frozenset(
    ("claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md")
)


def check_key(key: str) -> None:
    """Raise when no entry may be stored under a key, though the grammar may accept it.

    Raises:
        PathRejected: as the grammar says; or it is no .md file, the generated MEMORY.md, or a name whose file the
            host would take for instructions.
    """
    try:
        keys.check(key)
    except PathRejected as problem:
        raise PathRejected(key, problem.rule, _offer(problem.repaired)) from None
    if rule := _no_entry(key):
        raise PathRejected(key, rule, _offer(key))


def _no_entry(key: str) -> str:
    """Return why a key of the grammar is none of an entry, "" when it is one."""
    folded = [keys.folded(segment) for segment in key.split("/")]
    if folded[0] == keys.folded(MEMORY_MD):
        return _GENERATED
    if not key.endswith(".md"):
        return "no .md file"
    if any(name in _INSTRUCTIONS for name in folded):
        return "the host takes files of this name for instructions"
    return ""


def _offer(repaired: str) -> str:
    """Return a key of an entry that is close to an acceptable one, "" when there is none."""
    folder, slash, name = repaired.rpartition("/")
    stem = name.removesuffix(".md").encode()[: keys.MAX_SEGMENT_BYTES - 3].decode("utf-8", "ignore")
    offer = f"{folder}{slash}{stem}.md"
    return "" if keys.broken_rule(offer) or _no_entry(offer) else offer


def refuse_generated(key: str) -> None:
    """Raise for a key that the grammar refuses, and for MEMORY.md.

    Raises:
        PathRejected: with the rule.
    """
    if keys.folded(keys.check(key)[0]) == keys.folded(MEMORY_MD):
        raise PathRejected(key, _GENERATED)
