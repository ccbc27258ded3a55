"""The start of a session: what the project's memories hold is given to the model, the team's if it is trusted."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from keepthread.host.events import Event
from keepthread.host.locations import session_dir, state_dir
from keepthread.running import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from keepthread.memory.digest import Digest, Row
    from keepthread.memory.where import Where

KIND, TOLD = "memory", "memorynotice"
_FRESH = ("startup", "clear")
_HEAD, _TAIL = 1 << 20, 2 << 20  # bytes of a transcript in which a replayed text is looked for
_NAMES = 3  # authors named in the line for the person
_LINE = 299  # characters of it


class Found:
    """What was found at one start: the digests, who may be shown, and what the person is to know."""

    __slots__ = ("digests", "known", "notice")

    def __init__(self) -> None:
        self.digests: list[Digest] = []
        self.known: frozenset[str] | None = None
        self.notice = ""

    def shows(self, row: Row) -> bool:
        """Return whether an entry may be shown: a team's only when its author was known when it was trusted."""
        return row.scope != "team" or self.known is None or row.author in self.known


def team_memory(event: Event, run: Run) -> str:
    """Return what the memories hold for the work at hand as additional context, once in a context."""
    from keepthread.handoff import inject
    from keepthread.memory.where import where

    state, session = state_dir(run.env), event.session_id
    settings = inject.settings(state, run.env)
    budget = int(settings["memory_budget"])
    if inject.is_off(settings, run.env, event.cwd) or not budget:
        return ""
    at = where(run.env, event.cwd)
    if at is None:
        return ""
    found = _found(at, event, run)
    text = _chosen(found, at, budget, event, run)
    if found.notice and not inject.claim(state, session, TOLD, found.notice[-100:]):
        found.notice = ""
    return inject.output(text, found.notice[:_LINE])


def _found(at: Where, event: Event, run: Run) -> Found:
    """Return the digests of the memories that may be shown."""
    found = Found()
    private = os.path.realpath(at.private_path)
    if os.path.isdir(private) and (digest := _digest(at, "private", private, event, run)):
        found.digests.append(digest)
    root = at.team_root()
    if not root:
        return found
    from keepthread.memory import trust, where

    if not where.holds_something(root):
        return found
    decisions = trust.read(at.private_path)
    standing = trust.standing_now(decisions, root)
    if standing == trust.TRUSTED:
        found.known = trust.known_authors(decisions, root)
        if digest := _digest(at, "team", root, event, run):
            found.digests.append(digest)
            found.notice = _of_authors(digest, found)
    elif standing != trust.REFUSED:
        found.notice = _untrusted(root, standing)
        run.log(event.session_id, "not shown", f"the team's memory is not trusted ({standing})")
    return found


def _untrusted(root: str, standing: str) -> str:
    why = (
        "comes from elsewhere than when you decided about it" if standing == "changed" else "is new"
    )
    place = root if len(root) <= 100 else f"…{root[-99:]}"
    return (
        f"keepthread: the team memory in {_visible(place)} {why} and is kept out of the context until you look at it: "
        "keepthread memory trust"
    )


def _of_authors(digest: Digest, found: Found) -> str:
    """Return the line for the person when entries of new authors are held back."""
    if found.known is None:
        return ""
    new = {name: n for name, n in digest.authors.items() if name not in found.known}
    if not new:
        return ""
    names = ", ".join(_visible(name)[:40] or "no author named" for name in [*new][:_NAMES])
    more = f" and {len(new) - _NAMES} more" if len(new) > _NAMES else ""
    number = sum(new.values())
    held = (
        "1 team memory entry of a new author"
        if number == 1
        else f"{number} team memory entries of new authors"
    )
    return f"keepthread: {held} ({names}{more}) held back: keepthread memory trust"


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def _digest(at: Where, scope: str, root: str, event: Event, run: Run) -> Digest | None:
    """Return a memory's digest, brought up to date when that is done soon, else as it is."""
    from keepthread.memory.digest import load

    digest = load(at.beside(f".{scope}.digest"), scope)
    if digest is not None and digest.is_fresh(root):
        return digest
    return _prepared(at, scope, event, run) or (
        digest if digest is not None and digest.root == root else None
    )


def _prepared(at: Where, scope: str, event: Event, run: Run) -> Digest | None:
    """Return a memory's digest made anew; None when that takes longer, and is done beside this start."""
    from keepthread.memory import prepare
    from keepthread.memory.digest import load

    env = dict(run.env)
    if prepare.here(env, event.cwd, scope, prepare.AT_ONCE):
        return load(at.beside(f".{scope}.digest"), scope)
    prepare.beside(env, event.cwd, scope, at.state)
    return None


def _chosen(found: Found, at: Where, budget: int, event: Event, run: Run) -> str:
    """Return the text of the most relevant entries; "" when there is none, or it is in the context already."""
    if not found.digests:
        return ""
    from keepthread.handoff import inject
    from keepthread.memory import recall

    text, shown, changed = _composed(found, at, budget)
    if changed:
        again = {scope: _prepared(at, scope, event, run) for scope in changed}
        found.digests = [again.get(digest.scope) or digest for digest in found.digests]
        text, shown, _ = _composed(found, at, budget)
    if not shown:
        return ""
    total = sum(digest.count for digest in found.digests)
    name = recall.identity(shown)
    state, session = at.state, event.session_id
    key = f"{name}:{_compactions(event, state)}"
    if _is_there(name, key, event, state) or not inject.claim(state, session, KIND, key):
        run.log(session, "shown before")
        return ""
    run.undo = lambda: inject.release(state, session, KIND, key)
    run.log(session, "shown", "", f"{len(shown)} of {total} entries")
    return text


def _composed(found: Found, at: Where, budget: int) -> tuple[str, list[Row], set[str]]:
    """Return the text, the entries in it, and the scopes in which a file was changed in place since it was prepared."""
    from keepthread.memory import recall
    from keepthread.memory.git_files import branch_of

    now = time.time()
    roots = {digest.scope: digest.root for digest in found.digests}
    words = recall.words_of(branch_of(at.project))
    project = recall.words_of(os.path.basename(at.project))
    rows = recall.candidates(found.digests, words, project, now, found.shows)
    total = sum(digest.count for digest in found.digests)
    changed: set[str] = set()

    def still(row: Row) -> bool:
        same = row.is_still(roots[row.scope])
        if not same:
            changed.add(row.scope)
        return same

    return (*recall.compose(rows, total, budget, now, still), changed)


def _compactions(event: Event, state: str) -> str:
    """Return how often this session's context was wiped, the compaction that fires this event included."""
    if event.source in _FRESH:
        return "0"
    from keepthread.handoff import inject
    from keepthread.transcript.tail import since

    stored = inject.read_json(os.path.join(session_dir(state, event.session_id), "context.json"))
    ordinal = stored.get("ordinal") if stored else None
    if stored and isinstance(ordinal, int):
        number = int(inject.news(stored, event.transcript_path, True)["boundaries"])
        before = ordinal - 1
    else:
        number, before = int(since(event.transcript_path, 0)["boundaries"]), 0
    if number >= 0:
        return str(before + number + (event.source == "compact"))
    # Too far to count. Of one event's hooks each sees the same size; a later compaction sees another one.
    with suppress(OSError):
        return f"far{os.stat(event.transcript_path).st_size}"
    return "far"


def _is_there(name: str, key: str, event: Event, state: str) -> bool:
    """Return whether a session that goes on holds this text from before: its host replays what hooks gave it."""
    from keepthread.handoff import inject

    if event.source not in ("resume", "fork"):
        return False
    if ":far" in key and inject.was_shown(state, event.session_id, KIND, name):
        return True
    return _replayed(event.transcript_path, name.encode(), wiped=not key.endswith(":0"))


def _replayed(path: str, name: bytes, *, wiped: bool) -> bool:
    """Return whether a transcript holds the name of a text behind its last compaction, as far as that is found soon."""
    from keepthread.transcript.lines import open_regular

    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            head = b"" if wiped else file.read(min(_HEAD, max(0, size - _TAIL)))
            file.seek(max(0, size - _TAIL))
            tail = file.read(_TAIL)
    except (OSError, ValueError):
        return False
    boundary = tail.rfind(b'"compact_boundary"')
    return name in tail[boundary + 1 :] or (boundary < 0 and name in head)
