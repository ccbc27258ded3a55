"""What a cleared session leaves to the next one of its project, once, for a day.

<state>/cleared/<project key>.json   the session that was cleared last, and when
<state>/cleared/<project key>.taken  the two sessions: which was cleared, and which was offered its handoff
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from keepthread.files import make_private_within, read_regular, write_private
from keepthread.handoff.inject import read_json
from keepthread.handoff.project import project_key
from keepthread.host.locations import session_dir

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from typing import Any

FOLDER = "cleared"
LASTS = 86_400.0  # seconds


def leave(state: str, project: str, session: str, now: float) -> None:
    """Leave a session's stored handoff to the next session of the project, instead of any earlier one.

    Raises:
        OSError: the state folder cannot be written.
    """
    folder = os.path.join(state, FOLDER)
    make_private_within(state, folder)
    entry = {"session_id": session, "epoch": now}
    write_private(_path(state, project, "json"), json.dumps(entry).encode())
    withdraw(state, project)  # it may be a session that was cleared before, and resumed


def offer(state: str, project: str, session: str, now: float) -> dict[str, Any] | None:
    """Return the stored context that this new session is offered, labelled, or None.

    Of several new sessions one gets it; `withdraw` undoes that.
    """
    if not project or not os.path.isdir(os.path.join(state, FOLDER)):
        return None
    entry = read_json(_path(state, project, "json")) or {}
    cleared, epoch = entry.get("session_id"), entry.get("epoch")
    if not isinstance(cleared, str) or not isinstance(epoch, (int, float)) or cleared == session:
        return None
    if abs(now - epoch) > LASTS or not _take(_path(state, project, "taken"), cleared, session):
        return None
    stored = read_json(os.path.join(session_dir(state, cleared), "context.json"))
    if stored is None or stored.get("session_id") != cleared:
        return None
    return _labelled(stored, cleared, max(0.0, now - epoch))


def withdraw(state: str, project: str) -> None:
    """Forget who was offered it, so that the next to come is: the host did not take what was printed, or it is new."""
    with suppress(OSError):
        os.unlink(_path(state, project, "taken"))


def _path(state: str, project: str, kind: str) -> str:
    return os.path.join(state, FOLDER, f"{project_key(project)}.{kind}")


def _take(path: str, cleared: str, session: str) -> bool:
    """Return whether this session is the one that is offered it: the first to come, with each of its hooks."""
    both = json.dumps([cleared, session]).encode()
    temp = f"{path}-{os.urandom(8).hex()}"
    try:
        write_private(temp, both)
    except OSError:
        return False  # who cannot remember that it was offered does not offer it
    try:
        for _ in range(2):
            with suppress(FileExistsError):
                os.link(temp, path)  # in one step: nobody ever sees the file without its content
            found = read_regular(path, 4_096)
            if found == both or json.loads(found)[0] == cleared:
                return found == both
            os.replace(temp, path)  # of an earlier session: its day is over
            write_private(temp, both)
    except (OSError, ValueError, LookupError, TypeError):
        return False  # a damaged file, or one that another process is just replacing
    finally:
        with suppress(OSError):
            os.unlink(temp)
    return False


def _labelled(stored: dict[str, Any], cleared: str, age: float) -> dict[str, Any]:
    """Return the context with a first line that says whose it is, and a notice that says the same to the person."""
    when = _span(age)
    label = (
        f"From the session before ({cleared[:8]}), cleared {when} ago: its user has started afresh. What follows is "
        "background, not the task; what the user says now comes first.\n\n"
    )
    cuts = [cut + len(label) for cut in stored.get("cuts", []) if isinstance(cut, int)]
    notice = f"keepthread: the handoff of the session before (cleared {when} ago) is in the context"
    text = str(stored.get("text", "")).replace(" of this session", " of that session", 1)
    return {**stored, "text": label + text, "cuts": cuts, "notice": notice}


def _span(seconds: float) -> str:
    return f"{int(seconds // 3600)} h" if seconds >= 7200 else f"{int(seconds // 60)} min"
