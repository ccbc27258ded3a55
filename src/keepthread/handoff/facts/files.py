"""The files a session touched: edited with tools, changed by shell commands, or read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keepthread.handoff.facts import calls, effects, shell
from keepthread.handoff.facts.declared import declared, declared_in_reading
from keepthread.handoff.facts.paths import Paths, is_absolute
from keepthread.handoff.facts.text import as_dict, as_text
from keepthread.handoff.model import FileStatus, FileTouched
from keepthread.transcript.model import Call, Item, Note

MOST_EDITED = 150
MOST_READ = 80
_MOST_NAMES = 60
_SUMMARY = 260


class Touched:
    """One file: what happened to it, when last (index of the item), and the names its changes declare."""

    __slots__ = ("at", "came_from", "edits", "lines", "names", "note", "path", "status")

    def __init__(self, path: str, status: FileStatus, at: int, note: str = "") -> None:
        self.path = path
        self.status = status
        self.at = at
        self.edits = 0
        self.lines = 0
        self.names: dict[str, None] = {}
        self.came_from = ""
        self.note = note

    @property
    def edited(self) -> bool:
        """Whether the session changed it, not only read it."""
        return self.status != "read"


class Ledger:
    """Books what happens to files, in the order of the transcript."""

    def __init__(self) -> None:
        self.files: dict[str, Touched] = {}
        self.folders: dict[str, int] = {}
        self._born: set[str] = set()

    def spelling(self, path: str) -> str:
        """Return the one known path that ends like a relative one: the shell may stand in another folder than told."""
        if path in self.files or not path or is_absolute(path):
            return path
        known = [name for name in self.files if name.endswith("/" + path)]
        return known[0] if len(known) == 1 and "/" in path else path

    def change(self, path: str, at: int, *, new: bool = False) -> Touched:
        """Book a change; `new` when the file did not exist before."""
        known = self.files.get(path)
        if new and (known is None or known.status == "deleted"):
            self._born.add(path)
        if known is None:
            known = self.files[path] = Touched(path, "modified", at)
        if known.status != "renamed":
            known.status = "created" if path in self._born else "modified"
        known.at = at
        return known

    def delete(self, path: str, at: int) -> None:
        """Book a removal; of a folder, the removal of every known file below it."""
        below = [known for known in self.files if known.startswith(path.rstrip("/") + "/")]
        for known in below or [path]:
            entry = self.files.setdefault(known, Touched(known, "deleted", at))
            entry.status, entry.at = "deleted", at

    def rename(self, old: str, new: str, at: int) -> None:
        """Book a move; what was known of the old name goes with it."""
        before = self.files.pop(old, None)
        entry = Touched(new, "renamed", at)
        entry.came_from = old
        if before is not None:
            entry.edits, entry.names = before.edits, before.names
            entry.came_from = before.came_from or old
        self.files[new] = entry

    def read(self, path: str, at: int) -> Touched:
        """Book a reading; an edited file stays edited."""
        known = self.files.get(path)
        if known is None:
            known = self.files[path] = Touched(path, "read", at)
        elif not known.edited:
            known.at = at
        return known


def touched(items: Sequence[Item], paths: Paths) -> list[Touched]:
    """Return the files, edited before read, each group latest first."""
    ledger = Ledger()
    history: dict[str, bool] = {}
    for at, item in enumerate(items):
        if isinstance(item, Call):
            _book_call(ledger, item, at, paths)
        elif isinstance(item, Note):
            _book_note(ledger, item, at, paths, history)
    _book_history(ledger, history)
    _book_folders(ledger)
    ordered = sorted(
        ledger.files.values(), key=lambda entry: (not entry.edited, -entry.at, entry.path)
    )
    edited = [entry for entry in ordered if entry.edited and entry.path != "."]
    read = [entry for entry in ordered if not entry.edited and entry.path != "."]
    return edited[:MOST_EDITED] + read[:MOST_READ]


def described(
    entries: Sequence[Touched], scores: Mapping[str, float], beside: Mapping[str, Sequence[str]]
) -> list[FileTouched]:
    """Return the entries of the document. `scores` ranks names; `beside` holds the names that stand with a file."""
    found: list[FileTouched] = []
    for entry in entries:
        document: FileTouched = {
            "path": entry.path,
            "status": entry.status,
            "summary": _summary(entry, scores, beside),
        }
        if entry.came_from:
            document["from"] = entry.came_from
        found.append(document)
    return found


def _summary(
    entry: Touched, scores: Mapping[str, float], beside: Mapping[str, Sequence[str]]
) -> str:
    if entry.status == "deleted":
        return ""
    used = [name for name in beside.get(entry.path, ()) if name != entry.path]
    own = sorted(entry.names, key=lambda name: -scores.get(name, 0.0))
    if not entry.edited:
        own = [name for name in own if name in scores]
    names = list(dict.fromkeys([name for name in own if name in scores][:6] + used[:8] + own))
    lead = _lead(entry)
    text = ""
    for name in names[: 12 if entry.edited else 6]:
        if len(lead) + len(text) + len(name) + 4 > _SUMMARY:
            continue
        text += (", " if text else "") + name
    return f"{lead}: {text}" if lead and text else lead or text


def _lead(entry: Touched) -> str:
    if entry.note and not entry.edits:
        return entry.note
    if not entry.edited:
        return ""
    new = f"{entry.lines} lines" if entry.status == "created" and entry.lines else ""
    edits = f"{entry.edits} edit{'' if entry.edits == 1 else 's'}" if entry.edits else ""
    return ", ".join(part for part in (new, edits) if part)


def _book_call(ledger: Ledger, call: Call, at: int, paths: Paths) -> None:
    if not calls.succeeded(call):
        return
    if call.name in calls.SHELLS:
        _book_shell(ledger, call, at, paths)
        return
    path = paths.show(calls.path_of(call), call.cwd)
    if not path:
        return
    if calls.is_edit(call):
        _book_edit(ledger, call, path, at)
    elif calls.is_read(call):
        entry = ledger.read(path, at)
        if call.result and not entry.names:
            entry.names = dict.fromkeys(declared_in_reading(call.result.text, path))


def _book_edit(ledger: Ledger, call: Call, path: str, at: int) -> None:
    kind = call.result.data.get("type") if call.result else None
    said = call.result.text[:200] if call.result else ""
    new = kind == "create" or (kind is None and "created successfully" in said)
    entry = ledger.change(path, at, new=new)
    changed = calls.changes(call)
    if call.name == "Write":
        entry.lines = changed[0][1].count("\n") + 1
        entry.edits += 0 if new else 1
    else:
        entry.edits += max(len(changed), 1)
    for old, fresh in changed:
        _learn(entry, fresh, path)
        _learn(entry, old, path)
    _learn(entry, calls.patch_text(call), path)


def _learn(entry: Touched, text: str, path: str) -> None:
    if text and len(entry.names) < _MOST_NAMES:
        entry.names.update(dict.fromkeys(declared(text, path)))


def _book_shell(ledger: Ledger, call: Call, at: int, paths: Paths) -> None:
    command = calls.command_of(call)
    for effect in effects.of(shell.pieces(command, powershell=call.name == "PowerShell")):
        cwd = call.cwd
        if effect.cwd:
            cwd = (
                effect.cwd
                if is_absolute(effect.cwd)
                else f"{(cwd or paths.cwd).rstrip('/')}/{effect.cwd}"
            )
        path = ledger.spelling(paths.show(effect.path, cwd))
        # Logs, downloads and scratch scripts elsewhere are not the work.
        if not path or not (paths.inside(path) or path in ledger.files):
            continue
        if effect.kind == "delete":
            ledger.delete(path, at)
        elif effect.kind == "rename":
            ledger.rename(ledger.spelling(paths.show(effect.came_from, cwd)), path, at)
        elif effect.kind == "folder":
            ledger.folders[path] = at
        elif effect.kind == "read":
            ledger.read(path, at)
        else:
            ledger.change(path, at, new=effect.kind == "create")


def _book_note(ledger: Ledger, note: Note, at: int, paths: Paths, history: dict[str, bool]) -> None:
    if note.kind == "edited_file":
        path = paths.show(as_text(note.data.get("path")))
        if paths.inside(path) or path in ledger.files:
            entry = ledger.change(path, at)
            entry.note = "changed outside the session"
    elif note.kind == "file_history":
        for name, existed in as_dict(note.data.get("files")).items():
            path = paths.show(as_text(name), paths.root)
            if path not in ledger.files:
                path = ledger.spelling(paths.show(as_text(name))) or path
            if path:
                history[path] = existed is not False


def _book_history(ledger: Ledger, history: Mapping[str, bool]) -> None:
    """Add what the host's own snapshots know: files edited before the live part, and which ones are new."""
    for path, existed in history.items():
        entry = ledger.files.get(path)
        if entry is None or not entry.edited:
            ledger.files[path] = Touched(
                path, "modified" if existed else "created", -1, note="edited earlier in the session"
            )
        elif not existed and entry.status == "modified":
            entry.status = "created"


def _book_folders(ledger: Ledger) -> None:
    """Add the folders that were made and hold no file that is named already."""
    for folder, at in ledger.folders.items():
        below = f"{folder}/"
        if not any(path.startswith(below) for path in (*ledger.files, *ledger.folders)):
            ledger.files[below] = Touched(below, "created", at, note="folder")
