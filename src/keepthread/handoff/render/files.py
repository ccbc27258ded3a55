"""The files a session touched, edited before read, grouped by folder, in as much detail as there is room for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from keepthread.handoff.frame import one_line
from keepthread.handoff.model import FileTouched
from keepthread.handoff.render.words import listed, plural, short
from keepthread.handoff.units import units

MOST = 60  # files named; beyond that they are counted
_SUMMARY = 200  # units of one file's summary
_PATH = 400  # units of one path


def files_body(files: Sequence[FileTouched], limit: int) -> str:
    """Return the files in at most `limit` units: with summaries as far as there is room, then paths only.

    Where even the paths do not fit, they share their folder's name; where that does not fit either, the rest is
    counted.
    """
    shown = _shown(files)
    missing = _missing(files, shown)
    for described in _halving(len(shown)):
        text = _joined(_lines(shown, described), missing)
        if units(text) <= limit:
            return text
    lines = _by_folder(shown)
    text = _joined(lines, missing)
    if units(text) <= limit:
        return text
    return _counted(shown, len(files), limit)


def names_only(files: Sequence[FileTouched]) -> int:
    """Return the units it takes to name every shown file with its whole path."""
    shown = _shown(files)
    return units(_joined(_lines(shown, 0), _missing(files, shown)))


def _shown(files: Sequence[FileTouched]) -> list[FileTouched]:
    """Return the first files, edited before read, each folder's files together in the order of its best one."""
    changed = [file for file in files if file["status"] != "read"]
    read = (file for file in files if file["status"] == "read")
    best = changed[:MOST] + list(islice(read, max(0, MOST - len(changed))))
    folders: dict[tuple[bool, str], int] = {}
    for file in best:
        folders.setdefault(_place(file), len(folders))
    return sorted(best, key=lambda file: (file["status"] == "read", folders[_place(file)]))


def _place(file: FileTouched) -> tuple[bool, str]:
    return (file["status"] == "read", _split(file["path"])[0])


def _split(path: str) -> tuple[str, str]:
    """Return folder (with its separator) and name."""
    at = max(path.rfind("/"), path.rfind("\\")) + 1
    return path[:at], path[at:]


def _missing(files: Sequence[FileTouched], shown: Sequence[FileTouched]) -> str:
    rest = len(files) - len(shown)
    if not rest:
        return ""
    changed = sum(file["status"] != "read" for file in files) - sum(
        file["status"] != "read" for file in shown
    )
    return f"… and {plural(rest, 'more file')} ({changed:,} edited, {rest - changed:,} read)"


def _halving(number: int) -> Iterable[int]:
    """Yield how many files get a line and a summary of their own: all, then ever fewer, at last none."""
    while number:
        yield number
        number = number * 3 // 4
    yield 0


def _lines(shown: Sequence[FileTouched], described: int) -> list[str]:
    """Return a line for each of the first `described` files, and the others by status, whole paths."""
    lines = [_line(file) for file in shown[:described]]
    by_status: dict[str, list[str]] = {}
    for file in shown[described:]:
        by_status.setdefault(_status(file), []).append(_path(file))
    return lines + [f"- {status}: {', '.join(paths)}" for status, paths in by_status.items()]


def _line(file: FileTouched) -> str:
    summary = short(file["summary"], _SUMMARY)
    return f"- {_path(file)} ({_status(file)})" + (f": {summary}" if summary else "")


def _path(file: FileTouched) -> str:
    return short(file["path"], _PATH)


def _status(file: FileTouched) -> str:
    if file["status"] == "renamed" and file.get("from"):
        return f"renamed from {one_line(file['from'][:_PATH])}"
    return file["status"]


def _by_folder(shown: Sequence[FileTouched]) -> list[str]:
    folders: dict[tuple[str, str], list[str]] = {}
    for file in shown:
        folder, name = _split(_path(file))
        folders.setdefault((file["status"], folder), []).append(name)
    return [
        f"- {status} in {folder or './'}: {', '.join(names)}"
        for (status, folder), names in folders.items()
    ]


def _counted(shown: Sequence[FileTouched], total: int, limit: int) -> str:
    """Return what fits of one file a line, and how many more there are."""
    lines = (f"- {_path(file)} ({file['status']})" for file in shown)
    return listed(lines, limit, total, " in the whole document") or short(
        f"{plural(total, 'file')}", limit
    )


def _joined(lines: list[str], missing: str) -> str:
    return "\n".join([*lines, missing] if missing else lines)
