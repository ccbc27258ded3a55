"""Where a project's memories lie: the team's in the project, the user's own in the state folder.

<project>/.claude/team-memory/     shared; `init --dir` chooses another folder
<state>/memory/<key>/              the user's own for this project
<state>/memory/<key>.json          which folder the team's is, when it is another
<state>/memory/<key>.team.json     the indexes, which hold nothing that the entries do not
<state>/memory/<key>.private.json
<state>/memory/<key>.team.digest      what session starts show, and
<state>/memory/<key>.private.digest   <key>.team.texts, what a search of many entries reads: see these modules
<state>/memory/<key>/trust.json       which folder of the team its user trusts
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from keepthread import files, log
from keepthread.errors import KeepthreadError
from keepthread.handoff.exclude import common_folder
from keepthread.handoff.project import project_key
from keepthread.handoff.user_secrets import user_secrets
from keepthread.host.locations import config_dir, git_root, state_dir
from keepthread.host.sessions import sanitised as host_folder_name
from keepthread.memory import entries, trust
from keepthread.memory.directory_by_name import open_beneath, open_root
from keepthread.memory.entries import Entry
from keepthread.memory.errors import MemoryProblem, NotFound, Unsafe
from keepthread.memory.index import MEMORY_MD, is_foreign
from keepthread.memory.store import Memory
from keepthread.memory.where import TEAM_FOLDER, named_team, project_of

_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# MEMORY.md is made anew on every machine, so that it is nothing to merge.
IGNORED = b"# keepthread: not shared\n/.lock\n/MEMORY.md\n.tmp-*\n"


class Place(NamedTuple):
    """A project's folders. `team` is "" for the default one in the project."""

    project: str
    state: str
    key: str
    team: str
    host: str  # the host's own auto memory of this project
    secrets: tuple[str, ...] = ()

    @property
    def team_path(self) -> str:
        """Return the team's folder."""
        return self.team or os.path.join(self.project, *TEAM_FOLDER.split("/"))

    @property
    def private_path(self) -> str:
        """Return the user's own folder."""
        return os.path.join(self.state, "memory", self.key)

    def beside(self, suffix: str) -> str:
        """Return the path of one of our files beside the user's own folder."""
        return f"{self.private_path}{suffix}"


def place_of(env: Mapping[str, str], cwd: str) -> Place:
    """Return the places of the project around `cwd`.

    Raises:
        KeepthreadError: there is no project or no home folder.
    """
    project = project_of(env, cwd)
    if not project:
        raise KeepthreadError(f"There is no project at {cwd!r}", "Change into one.")
    state, key = state_dir(env), project_key(project)
    top = git_root(project) or project
    shared = common_folder(top)
    main = os.path.dirname(shared) if os.path.basename(shared) == ".git" else top
    host = os.path.join(config_dir(env), "projects", host_folder_name(main), "memory")
    named = named_team(os.path.join(state, "memory", f"{key}.json"))
    secrets = user_secrets(env)
    return Place(project, state, key, named, host, secrets)


def init(place: Place, folder: str = "") -> str:
    """Make the team's folder and return its path; `folder`, an absolute path, is remembered for this user.

    Raises:
        Unsafe: the default folder is reached through a link.
        KeepthreadError: it holds a MEMORY.md of somebody's own, which would be replaced.
        OSError: it cannot be made.
    """
    place = place._replace(team=os.path.normpath(folder)) if folder else place
    new = not os.path.lexists(place.team_path)
    with _team_memory(place, create=True) as memory:
        if is_foreign(memory.directory):
            raise KeepthreadError(
                f"{os.path.join(place.team_path, MEMORY_MD)} is not of keepthread's making, and would be replaced",
                "Move it away, or choose another folder: keepthread memory init --dir FOLDER",
            )
        if folder:
            named = json.dumps({"team": place.team}, indent=2).encode() + b"\n"
            files.write_private(place.beside(".json"), named)
        ignore(memory)
        memory.reindex()
    if new:
        _vouch(place)
    return place.team_path


def _vouch(place: Place) -> None:
    """Trust a folder that was just made and that nobody else can write in through git."""
    root = os.path.realpath(place.team_path)
    if git_root(root):
        return  # what comes with the repository is for `memory trust` to decide
    private = place.private_path
    trust.decide(private, root, None, trusted=True, authors=None, when=log.stamp())


def ignore(memory: Memory) -> None:
    """Tell git what in the team's folder is not shared, unless something is told already.

    Raises:
        OSError: the folder cannot be written.
    """
    path = os.path.join(memory.directory.path, ".gitignore")
    try:
        fd = os.open(
            ".gitignore" if memory.directory.fd >= 0 else path,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS,
            files.PRIVATE_FILE,
            dir_fd=memory.directory.fd if memory.directory.fd >= 0 else None,
        )
    except FileExistsError:
        return  # its owner's own
    with os.fdopen(fd, "wb") as file:
        file.write(IGNORED)


def open_memory(place: Place, scope: str, waiting: Callable[[str], None] | None = None) -> Memory:
    """Open the memory of a scope, "team" or "private"; the private one is made when it is missing.

    Raises:
        KeepthreadError: the team's was not set up yet, or is reached through a link.
        OSError: the system refuses.
    """
    if scope == "private":
        files.make_private(os.path.dirname(place.private_path))
        directory = open_root(place.private_path, create=True)
        return Memory(
            directory,
            scope=scope,
            cache=place.beside(".private.json"),
            secrets=place.secrets,
            waiting=waiting,
        )
    try:
        return _team_memory(place, waiting=waiting)
    except (NotFound, FileNotFoundError):
        raise KeepthreadError(
            f"There is no team memory in {place.team_path}", "Set it up: keepthread memory init"
        ) from None


def _team_memory(
    place: Place, *, create: bool = False, waiting: Callable[[str], None] | None = None
) -> Memory:
    if place.team:
        directory = open_root(place.team, create=create)
    else:
        try:
            directory = open_beneath(place.project, TEAM_FOLDER, create=create)
        except Unsafe as problem:
            hint = "If that is on purpose, name the folder: keepthread memory init --dir FOLDER"
            raise Unsafe(TEAM_FOLDER, problem.rule, hint) from problem
    files.make_private(os.path.join(place.state, "memory"))
    return Memory(
        directory,
        scope="team",
        cache=place.beside(".team.json"),
        secrets=place.secrets,
        waiting=waiting,
    )


def open_all(place: Place) -> list[Memory]:
    """Open the memories that are there, the team's first.

    Raises:
        KeepthreadError: one is reached through a link.
    """
    found = []
    if os.path.lexists(place.team_path):
        found.append(open_memory(place, "team"))
    if os.path.isdir(place.private_path):
        found.append(open_memory(place, "private"))
    return found


def home_of(entry: Entry) -> str:
    """Return the scope of an entry: what it says, else private for what is about one user, else the team's."""
    if entry.type in entries.ALWAYS_PRIVATE:
        return "private"
    private = entry.type in entries.PRIVATE_TYPES
    return entry.scope or ("private" if private else "team")


def holder_of(memories: list[Memory], key: str) -> Memory:
    """Return which memory holds a key.

    Raises:
        NotFound: none does.
        KeepthreadError: several do.
    """
    held = []
    for memory in memories:
        try:
            memory.directory.read(key)
        except NotFound:
            continue
        except Unsafe:
            pass  # whoever uses it is told why
        held.append(memory)
    if not held:
        raise NotFound(key)
    if len(held) > 1:
        raise MemoryProblem(
            f"{key!r} is in several memories: {', '.join(memory.scope for memory in held)}",
            "Say which: --scope team or --scope private",
        )
    return held[0]
