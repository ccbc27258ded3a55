"""What a rule is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

Span = tuple[int, int]


def words_in(texts: Iterable[str]) -> str:
    """Return each different word of the texts once, in lower case, with blanks between."""
    return " ".join({word for text in texts for word in text.lower().split()})


def may_hold(words: str, keyword: str) -> bool:
    """Return whether a keyword may occur in texts with these words: each of its own is in one of them."""
    return all(part in words for part in keyword.split())


class Known(str):
    """A secret that was found somewhere, to be taken out wherever it stands; `rule` is the name of what told it."""

    rule = "secret"

    def __new__(cls, value: str, rule: str = rule) -> Known:
        known = super().__new__(cls, value)
        known.rule = rule
        return known


class Rule:
    """One way a secret is told.

    Attributes:
        name: stands in the text instead of the secret.
        keywords: lower case, separated by spaces unless they hold some themselves; without one of them in the
            lower-cased text the rule is not tried.
    """

    __slots__ = ("_accepts", "_compiled", "_pattern", "keywords", "name")

    def __init__(
        self,
        name: str,
        keywords: str | tuple[str, ...],
        pattern: str,
        accepts: Callable[[re.Match[str]], bool] | None = None,
    ) -> None:
        self.name = name
        self.keywords = tuple(keywords.split()) if isinstance(keywords, str) else keywords
        self._pattern = pattern
        self._accepts = accepts
        self._compiled: re.Pattern[str] | None = None

    def spans(self, value: str, start: int, end: int) -> Iterator[Span]:
        """Yield where secrets stand in `value[start:end]`: the pattern's last group that matched, or all of it."""
        for match in self.compiled.finditer(value, start, end):
            if self._accepts is None or self._accepts(match):
                yield match.span(match.lastindex or 0)

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled when first needed: most texts need none."""
        if self._compiled is None:
            self._compiled = re.compile(self._pattern)
        return self._compiled
