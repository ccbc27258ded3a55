"""What is known of one variable of the host, and how the host reads its value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

VERIFIED = "2.1.332"  # the client on which the catalogue was checked
Evidence = Literal["measured", "documented", "program"]
Kind = Literal["number", "percent", "switch", "choice", "words"]

_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off")
# How the client's program reads whole numbers: scientific notation and groups of three first, else the leading digits;
# a digit is one of ASCII.
_SCIENTIFIC = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)[eE][+-]?\d+", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}([_,])\d{3}(?:\1\d{3})*", re.ASCII)
_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?)([kKmM])", re.ASCII)
_LEADING = re.compile(r"[+-]?\d+", re.ASCII)
_LEADING_FRACTION = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of the host.

    Numbers are in `unit`; `low` and `high` bound what has an effect of its own, None leaves a side open. `default` is
    the value the client goes by when the variable is unset, "" when that is none or depends on the model. `since` is
    the first client known to read it, in words when only a bound is known. `evidence` says how we know: a run of the
    real client, its documentation, or its program's text.
    """

    name: str
    group: str
    meaning: str
    kind: Kind = "number"
    unit: str = ""
    default: str = ""
    low: float | None = None
    high: float | None = None
    zero: bool = False  # 0 has a meaning of its own below `low`
    lowers_only: Literal["", "text", "all"] = ""  # above the default nothing, for text or at all
    suffixes: bool = False  # k and m count as thousands and millions, in the client checked
    choices: tuple[str, ...] = ()
    since: str = "2.0.30 or earlier"
    evidence: Evidence = "documented"
    note: str = ""

    @property
    def range(self) -> str:
        """Return what is accepted, in words."""
        if self.kind == "switch":
            return "1 or 0"
        if self.kind == "choice":
            return ", ".join(self.choices)
        if self.kind == "words":
            return "text"
        if self.low is None and self.high is None:
            return "a number"
        low, high = (None if end is None else f"{end:,.0f}" for end in (self.low, self.high))
        span = f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}"
        return f"{span}, or 0" if self.zero else span


def number(text: str) -> float | None:
    """Return the whole number the client reads from a text, None when it reads none: "500k" is 500."""
    text = text.strip()
    if _SCIENTIFIC.fullmatch(text):
        value = float(text)
        return value if value.is_integer() else None  # infinity is none
    if _GROUPED.fullmatch(text):
        return float(text.replace("_", "").replace(",", ""))
    found = _LEADING.match(text)
    return float(found[0]) if found else None


def percent(text: str) -> float | None:
    """Return the percentage the client reads from a text, None when it reads none: "80%" is 80."""
    found = _LEADING_FRACTION.match(text.strip())
    return float(found[0]) if found else None


def switch(text: str) -> bool | None:
    """Return whether a switch is on, None when the text is neither on nor off."""
    word = text.strip().lower()
    return True if word in _ON else False if word in _OFF else None


def amount(variable: Variable, text: str) -> float | None:
    """Return the number the client reads for a variable, None when it reads none or the variable holds none."""
    if variable.kind == "percent":
        return percent(text)
    suffix = _SUFFIXED.fullmatch(text.strip()) if variable.suffixes else None
    if suffix:
        return float(suffix[1]) * (1e3 if suffix[2] in "kK" else 1e6)
    return number(text) if variable.kind == "number" else None


def version_key(version: str) -> tuple[int, ...]:
    """Return a version as numbers to compare, () when there is none in the text."""
    found = re.search(r"\d+(?:\.\d+)+", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def older(version: str, than: str) -> bool:
    """Return whether a client is known to be older than a version; an unknown one is not."""
    here, there = version_key(version), version_key(than)
    return bool(here and there and here < there)


def effect(variable: Variable, version: str) -> str:
    """Return in words whether a variable does anything on a client of this version, "" for an unknown one."""
    if not version:
        return "not known: no client was found"
    if "earlier" not in variable.since and older(version, variable.since):
        return f"none: client {version} is older than {variable.since}"
    how = {
        "measured": f"yes, measured on {VERIFIED}",
        "documented": "yes, as documented",
        "program": f"yes, read in the program of {VERIFIED}",
    }[variable.evidence]
    return how if not older(VERIFIED, version) else f"{how}; not checked on {version}"
