"""The one exception that means "tell the user"; anything else is a bug and lands in the log."""

from __future__ import annotations


class KeepthreadError(RuntimeError):
    """Something a person can mend.

    Args:
        message: names the thing and the reason, in one line.
        hint: the remedy, or "" when the message says it all.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[type[KeepthreadError], tuple[str, str]]:
        return (type(self), (self.message, self.hint))
