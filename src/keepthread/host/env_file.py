"""Writes one variable into the user's own `.env`; every other byte of the file stays as it is."""

from __future__ import annotations

import io
import os
import re
import stat

from keepthread import files
from keepthread.errors import KeepthreadError

_LIMIT = 1 << 20  # bytes; `config` reads no larger one
_BOM = "\ufeff"


def set_variable(path: str, name: str, value: str) -> bool:
    """Make `name=value` hold in a dotenv file; return whether it was changed.

    The line that is in force now, the last one of that name, is written anew in its place; without one a line is added
    at the end. A link is followed, as it is when the file is read; the file's mode stays, a new one has 0600.

    Args:
        path: the file, which need not exist.
        name: letters, digits and "_".
        value: letters, digits, "_" and "-": nothing that needs quotes.

    Raises:
        KeepthreadError: the file is none that can be changed safely: it is not UTF-8, too large, or not to be read as
            a dotenv file; nothing was written.
        OSError: it cannot be written; the old one stays.
    """
    real = os.path.realpath(path)
    before, mode = _read(real)
    after = _with(before, name, value, path)
    if after == before:
        return False
    if mode is None:
        files.make_private(os.path.dirname(real))
    files.write_private(real, after.encode(), mode=files.PRIVATE_FILE if mode is None else mode)
    return True


def holds_only(path: str, name: str) -> bool:
    """Return whether the file is what `set_variable` makes of none: one line of that name, and no link leads to it."""
    try:
        data = files.read_regular(path, _LIMIT)
    except OSError:
        return False
    return re.fullmatch(rf"{re.escape(name)}=[\w-]+\n".encode(), data) is not None


def _read(path: str) -> tuple[str, int | None]:
    """Return the text and the mode, None when there is no file."""
    try:
        data = files.read_regular(path, _LIMIT)
        return data.decode(), stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return "", None
    except UnicodeDecodeError:
        raise KeepthreadError(
            f"{path} is not UTF-8", "Save it as UTF-8; nothing was changed."
        ) from None
    except OSError as error:
        raise KeepthreadError(
            f"{path} cannot be changed: {error.strerror or error}",
            "It should be a regular file under 1 MB.",
        ) from error


def _with(text: str, name: str, value: str, path: str) -> str:
    from dotenv.parser import parse_stream

    bom = _BOM if text.startswith(_BOM) else ""
    bindings = list(parse_stream(io.StringIO(text[len(bom) :], newline="")))
    pieces = [binding.original.string for binding in bindings]
    if bom + "".join(pieces) != text:
        raise KeepthreadError(
            f"{path} cannot be changed safely",
            f"Write {name}={value} into it by hand; nothing was changed.",
        )
    places = [
        at for at, binding in enumerate(bindings) if binding.key == name and not binding.error
    ]
    if places:
        pieces[places[-1]] = _line(pieces[places[-1]], name, value)
    else:
        end = "\r\n" if "\r\n" in text else "\n"
        whole = "".join(pieces)
        gap = end if whole and not whole.endswith(("\n", "\r")) else ""
        pieces.append(f"{gap}{name}={value}{end}")
    return bom + "".join(pieces)


def _line(old: str, name: str, value: str) -> str:
    """Return the line with another value; what stands before it, a comment behind it and its end stay."""
    start = re.match(rf"\s*(?:export[^\S\r\n]+)?{re.escape(name)}", old)
    end = re.search(r"[\r\n]*\Z", old)
    comment = re.search(r"=[^\S\r\n]*[\w.,/-]*([^\S\r\n]+#[^\r\n]*)[\r\n]*\Z", old)
    head = start[0] if start else name
    return f"{head}={value}{comment[1] if comment else ''}{end[0] if end else ''}"
