"""A late answer, delivered once at the next prompt. Standard library only: UserPromptSubmit imports this module.

The worker stores `upgrade.json` together with a complete handoff, and any newer handoff takes it away. SessionStart
leaves a marker that says which handoff it showed, and in which state. So nobody has to know who was first: at the next
prompt the upgrade is due when it was the partial that the model was shown last, and not otherwise.
"""

from __future__ import annotations

import os
from contextlib import suppress

from keepthread.host.locations import session_dir

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from typing import Any

UPGRADE = "upgrade.json"
_TAKEN = "upgrade-shown.json"


def due(state: str, session_id: str) -> dict[str, Any] | None:
    """Return the upgrade that this session's model still lacks, or None. Mostly this is a single look."""
    folder = session_dir(state, session_id)
    path = os.path.join(folder, UPGRADE)
    if not os.path.isfile(path):
        return None
    from keepthread.handoff import inject  # only now is there something to be read

    upgrade = inject.read_json(path)
    if upgrade is None or upgrade.get("session_id") != session_id:
        return None
    shown = inject.shown_status(folder, inject.position_key(upgrade))
    if shown == "complete":  # it was there in time
        take(state, session_id)
    return upgrade if shown == "partial" else None


def take(state: str, session_id: str) -> bool:
    """Take the upgrade away; return whether it was there. Of several processes one gets it."""
    folder = session_dir(state, session_id)
    try:
        os.replace(os.path.join(folder, UPGRADE), os.path.join(folder, _TAKEN))
    except OSError:
        return False  # another prompt was faster, or a newer handoff has taken its place
    return True


def put_back(state: str, session_id: str) -> None:
    """Undo `take`: the host did not read what was printed. A newer upgrade stays."""
    folder = session_dir(state, session_id)
    with suppress(OSError):
        os.link(os.path.join(folder, _TAKEN), os.path.join(folder, UPGRADE))
