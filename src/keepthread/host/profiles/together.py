"""What contradicts what among values that are sound each by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from keepthread.host import thresholds, windows
from keepthread.host.profiles.catalogue import (
    BLOCKING,
    CATALOGUE,
    IDLE,
    MAX_OUTPUT,
    PCT,
    READ,
    THINKING,
    WINDOW,
)
from keepthread.host.profiles.lint import Finding, Level
from keepthread.host.profiles.variable import amount, switch

# After a compaction the host puts back up to 25,000 tokens of files beside its prompt, its tools and the summary
# (its documentation; 12,000 measured for prompt and tools): a point below this is reached again at once.
LEAST_POINT = 40_000
_AUTOCOMPACT = (PCT, WINDOW, IDLE)


def contradictions(values: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what cannot have been meant together."""
    for rule in _RULES:
        yield from rule(values)


def _off(values: Mapping[str, str]) -> Iterator[Finding]:
    """Nothing is compacted by itself, and something says when."""
    switch_ = next((name for name in thresholds.OFF if _on(values, name)), "")
    for name in _AUTOCOMPACT if switch_ else ():
        if name in values:
            yield _fault(name, f"{name} has no effect: {switch_} turns automatic compaction off")
    if all(_on(values, name) for name in thresholds.OFF):
        yield Finding(
            "note",
            "DISABLE_AUTO_COMPACT",
            "no-effect",
            "DISABLE_AUTO_COMPACT adds nothing: DISABLE_COMPACT turns all compaction off",
        )


def _percentage(values: Mapping[str, str]) -> Iterator[Finding]:
    """The percentage can only lower the point."""
    percent = _amount(values, PCT)
    if percent is None or any(_on(values, name) for name in thresholds.OFF):
        return
    window = _window(values)
    sizes = [window] if window else [windows.MILLION, windows.SHORT]
    for number, size in enumerate(sizes):  # what holds for the largest window holds for all
        level: Level = "note" if number else "fault"
        point = _point(values, size)
        without = _point({**values, PCT: ""}, size)
        if point >= without:
            message = f"{PCT} is {percent:g}: {_can_only_lower(without, size)}"
            yield Finding(level, PCT, "no-effect", message)
        elif point < LEAST_POINT:
            yield Finding(level, PCT, "minimum", f"{PCT} is {percent:g}: {_too_early(point, size)}")
        else:
            continue
        return


def _can_only_lower(point: int, window: int) -> str:
    return (
        f"with a window of {window:,} tokens compaction begins at {point:,} by itself, and a percentage "
        "can only lower that"
    )


def _too_early(point: int, window: int) -> str:
    return (
        f"with a window of {window:,} tokens compaction begins at {point:,}, and what the host puts back "
        f"after one can take {LEAST_POINT:,}"
    )


def _short_window(values: Mapping[str, str]) -> Iterator[Finding]:
    size = _amount(values, WINDOW)
    if size and size > windows.SHORT and _on(values, thresholds.SHORT):
        yield _fault(
            WINDOW, f"{WINDOW} is {size:,.0f}, and {thresholds.SHORT} holds the window to 200,000"
        )


def _stop(values: Mapping[str, str]) -> Iterator[Finding]:
    stop = _amount(values, BLOCKING)
    point = _point(values, _window(values) or windows.SHORT)
    if stop is not None and stop <= point and not any(_on(values, one) for one in thresholds.OFF):
        message = (
            f"{BLOCKING} stops the session at {stop:,.0f} tokens, before compaction at {point:,}"
        )
        yield _fault(BLOCKING, message)


def _reads(values: Mapping[str, str]) -> Iterator[Finding]:
    """One read that is as long as the context may become; other results go to files before that."""
    point = _point(values, _window(values) or windows.SHORT)
    size = _amount(values, READ)
    if size and size >= point:
        message = f"{READ} lets one file fill the context: compaction is at {point:,} tokens"
        yield _fault(READ, message)


def _cache(values: Mapping[str, str]) -> Iterator[Finding]:
    long, short, off = (
        "ENABLE_PROMPT_CACHING_1H",
        "FORCE_PROMPT_CACHING_5M",
        "DISABLE_PROMPT_CACHING",
    )
    for name, other in ((long, short), (long, off), (short, off)):
        if _on(values, name) and _on(values, other):
            yield _fault(name, f"{name} has no effect beside {other}")


def _thinking(values: Mapping[str, str]) -> Iterator[Finding]:
    budget, longest = _amount(values, THINKING), _amount(values, MAX_OUTPUT)
    if budget and _on(values, "CLAUDE_CODE_DISABLE_THINKING"):
        yield _fault(THINKING, f"{THINKING} has no effect beside CLAUDE_CODE_DISABLE_THINKING")
    elif budget and longest and budget >= longest:
        yield _fault(
            THINKING, f"{THINKING} is {budget:,.0f}, and {MAX_OUTPUT} caps it below {longest:,.0f}"
        )


def _limits(values: Mapping[str, str]) -> Iterator[Finding]:
    usual, most = "BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS"
    first, second = _amount(values, usual), _amount(values, most)
    if first and second and first > second:
        yield _fault(most, f"{most} has no effect: {usual} is larger")


_RULES: tuple[Callable[[Mapping[str, str]], Iterator[Finding]], ...] = (
    _off,
    _percentage,
    _short_window,
    _stop,
    _reads,
    _cache,
    _thinking,
    _limits,
)


def _window(values: Mapping[str, str]) -> int | None:
    """Return the window these values give every model, None when each keeps its own."""
    size = _amount(values, WINDOW)
    if size:
        return int(size)
    return windows.SHORT if _on(values, thresholds.SHORT) else None


def _point(values: Mapping[str, str], window: int) -> int:
    """Return where a session with this window is compacted."""
    env = {**values, WINDOW: str(window), "DISABLE_COMPACT": "", "DISABLE_AUTO_COMPACT": ""}
    return thresholds.thresholds("claude-opus-5-5", env).threshold or window


def _amount(values: Mapping[str, str], name: str) -> float | None:
    return amount(CATALOGUE[name], values[name]) if name in values else None


def _on(values: Mapping[str, str], name: str) -> bool:
    return bool(switch(values.get(name, "")))


def _fault(name: str, message: str) -> Finding:
    return Finding("fault", name, "contradiction", message)
