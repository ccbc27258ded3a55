"""Figures as people read them."""

from __future__ import annotations

from datetime import datetime, timezone


def tokens(count: int) -> str:
    """Return a number of tokens in three figures at most: 950, 31.2K, 50K, 167K, 1.09M."""
    if count < 1_000:
        return str(count)
    if count < 999_500:
        return f"{_three(count / 1_000)}K"
    return f"{_three(count / 1_000_000)}M"


def _three(value: float) -> str:
    decimals = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def size(count: int) -> str:
    """Return a file's size: 24 kB, 3.5 MB, 1,240 MB."""
    if count < 999_500:
        return f"{count / 1_000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB" if count < 99_950_000 else f"{count / 1_000_000:,.0f} MB"


def share(part: int, whole: int) -> float | None:
    """Return a share in percent, None of nothing."""
    return 100 * part / whole if whole else None


def percent(value: float | None) -> str:
    """Return a share without decimals; never 100 when something is missing, never 0 when something is there."""
    if value is None:
        return "–"
    rounded = round(value)
    if rounded == 100 and value < 100:
        return "> 99 %"
    return "< 1 %" if rounded == 0 and value > 0 else f"{rounded} %"


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def seconds(value: float) -> str:
    """Return a run's duration: 0.3 s, 8.4 s, 118 s, 12 min."""
    if value < 99.5:
        return f"{value:.1f} s"
    return f"{value:.0f} s" if value < 600 else f"{value / 60:,.0f} min"


def duration(value: int) -> str:
    """Return how long a session lasted: under a minute, 43 min, 5 h 12 min, 3 days."""
    minutes = value // 60
    if minutes < 1:
        return "under a minute"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours // 24} days"


def money(value: float | None) -> str:
    """Return an amount in USD; small ones with the figures that say something."""
    if value is None:
        return "–"
    return f"${value:,.2f}" if value >= 0.995 or value == 0 else f"${value:.3f}"


def day(at: int | None) -> str:
    """Return the day and minute in UTC: 11 Feb 2026 20:31."""
    return f"{_moment(at):%d %b %Y %H:%M}".lstrip("0") if at is not None else "time unknown"


def clock(at: int | None) -> str:
    """Return the minute in UTC: 11 Feb 20:31."""
    return f"{_moment(at):%d %b %H:%M}".lstrip("0") if at is not None else ""


def iso(at: int) -> str:
    """Return the second in UTC as machines read it."""
    return f"{_moment(at):%Y-%m-%dT%H:%M:%SZ}"


def _moment(at: int) -> datetime:
    return datetime.fromtimestamp(at, timezone.utc)
