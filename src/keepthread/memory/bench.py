"""A git folder of our own in which objects are read and made and the remote is spoken to.

It is made for one command and removed with it. Its configuration is written here, so that of the repository, which may
be another's work, has no say; its object store is the repository's, so nothing has to be copied. For a trial the
store is a passing one that only looks things up in the repository's.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from keepthread import files
from keepthread.errors import KeepthreadError
from keepthread.memory.git import NETWORK_SECONDS, PROTOCOLS, Git, GitFailed, Ran
from keepthread.memory.repository import Remote, Repository, is_local
from keepthread.memory.words import one_line

FILE = "100644"
FILES = frozenset((FILE, "100755", "100664"))
FOLDER = "040000"
MOST_PATHS = 200_000  # of a tree
_PREFIX = "work-"
_THEIRS = "refs/heads/theirs"
_DEEPEST = 100
_AT_ONCE = 400  # entries whose texts are held at a time
# What git starts in a remote that is a folder: with its hooks off, for the folder may be another's work.
_SERVER = "git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=: -c core.fsmonitor=false"
_RECEIVER = f"{_SERVER} -c receive.autogc=false -c receive.denyCurrentBranch=refuse receive-pack"


class Item(NamedTuple):
    """What stands at a path of a tree: git's mode, the object, its size in bytes (0 for what is no file)."""

    mode: str
    oid: str
    size: int


class Refused(GitFailed):
    """The remote took nothing; `out` tells why."""


class Bench:
    """Reads and makes objects, and speaks to the remote. Made by `opened`."""

    def __init__(self, folder: str, git: Git, empty: str) -> None:
        self._folder = folder
        self._git = git
        self._empty = empty  # the tree without entries

    def tree(self, treeish: str) -> dict[str, Item]:
        """Return what a tree or a commit's tree holds by path, folders left out; nothing for "".

        Raises:
            GitFailed: it is too large, too deep, or broken.
        """
        if not treeish:
            return {}
        found: dict[str, Item] = {}
        for path, item in self._listed("-r", "-l", treeish):
            if path.count("/") > _DEEPEST or len(found) >= MOST_PATHS:
                raise GitFailed(
                    f"The tree {treeish} holds too many files, or too deep folders",
                    "Use a repository that holds the team's memory alone.",
                )
            found[path] = item
        return found

    def _listed(self, *arguments: str) -> Iterator[tuple[str, Item]]:
        out = self._git.output("ls-tree", "-z", "--full-tree", *arguments)
        for line in out.split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, _, oid, *size = head.decode().split()
            yield (
                os.fsdecode(path),
                Item(mode, oid, int(size[0]) if size and size[0].isdigit() else 0),
            )

    def descend(self, commit: str, prefix: str) -> list[dict[str, Item]]:
        """Return what the folders above a folder hold, from the top on: as many levels as its path has parts.

        Raises:
            KeepthreadError: a link or a file stands on the way.
        """
        levels: list[dict[str, Item]] = []
        treeish = commit
        for name in prefix.strip("/").split("/") if prefix else []:
            levels.append(dict(self._listed(treeish)) if treeish else {})
            item = levels[-1].get(name)
            if item and item.mode != FOLDER:
                raise KeepthreadError(
                    f"{prefix!r} is no folder in the last commit, but a link, a file or a submodule",
                    "A submodule is brought here by git submodule update --init; move anything else away.",
                )
            treeish = item.oid if item else ""
        return [*levels, self.tree(treeish)]

    def graft(self, levels: Sequence[Mapping[str, Item]], prefix: str, tree: str) -> str:
        """Return the tree of a whole repository in which a folder's tree is another; the rest is as `levels` say."""
        names = prefix.strip("/").split("/") if prefix else []
        for name, level in zip(reversed(names), reversed(levels), strict=True):
            merged = {**level, name: Item(FOLDER, tree, 0)}
            if tree == self._empty:
                del merged[name]
            given = b"".join(_line(item.mode, item.oid, path) for path, item in merged.items())
            tree = self._git.output("mktree", "-z", "--missing", given=given).decode().strip()
        return tree

    def blobs(self, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the bytes of each blob, once each.

        Raises:
            GitFailed: one is missing.
        """
        wanted = sorted(set(oids))
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            given = "".join(f"{oid}\n" for oid in part).encode()
            out = self._git.output("cat-file", "--batch", given=given)
            at = 0
            for oid in part:
                end = out.find(b"\n", at)
                head = out[at:end].split()
                if len(head) != 3 or head[1] != b"blob":
                    raise GitFailed(f"The object {oid} is missing or no file")
                size = int(head[2])
                yield oid, out[end + 1 : end + 1 + size]
                at = end + size + 2

    def store(self, texts: Sequence[bytes]) -> list[str]:
        """Write blobs, as they are: no filter sees them. Return their names."""
        if not texts:
            return []
        paths = []
        for number, data in enumerate(texts):
            paths.append(os.path.join(self._folder, f"blob-{number}"))
            with open(paths[-1], "xb") as file:  # the folder is private
                file.write(data)
        given = "".join(f"{path}\n" for path in paths).encode()
        out = self._git.output("hash-object", "-w", "--no-filters", "--stdin-paths", given=given)
        for path in paths:
            os.unlink(path)
        return out.decode().split()

    def write_tree(self, tree: Mapping[str, Item]) -> str:
        """Make the trees of some paths, and return the one that holds them all."""
        whole = {path: item for path, item in tree.items() if "" not in path.split("/")}
        folders: dict[str, list[bytes]] = {"": []}
        for path in whole:
            for above in _above(path):
                folders.setdefault(above, [])
        for path, item in whole.items():
            if path not in folders:
                folders[path.rpartition("/")[0]].append(_line(item.mode, item.oid, path))
        made = ""
        for depth in range(max(map(_depth, folders)), -1, -1):
            names = [name for name in folders if _depth(name) == depth]
            given = b"".join(b"".join(folders[name]) + b"\0" for name in names)
            out = self._git.output("mktree", "-z", "--missing", "--batch", given=given)
            for name, made in zip(names, out.decode().split(), strict=True):
                if name:
                    folders[name.rpartition("/")[0]].append(_line(FOLDER, made, name))
        return made

    def commit(
        self, tree: str, parents: Sequence[str], message: str, who: Mapping[str, str]
    ) -> str:
        """Make a commit and return it."""
        above = [part for parent in parents for part in ("-p", parent)]
        out = self._git.output(
            "commit-tree", tree, *above, "-F", "-", given=message.encode(), more=who
        )
        return out.decode().strip()

    def tree_of(self, commit: str) -> str:
        """Return the tree of a commit, "" for no commit."""
        return self._git.line("rev-parse", "--verify", f"{commit}^{{tree}}") if commit else ""

    def is_ancestor(self, old: str, new: str) -> bool:
        """Return whether a commit is another or comes before it; one that is not here does not."""
        if not old or not new:
            return False
        return old == new or self._git.run("merge-base", "--is-ancestor", old, new).code == 0

    def common_ancestor(self, one: str, other: str) -> str:
        """Return the best common ancestor of two commits, "" when there is none."""
        if not one or not other:
            return ""
        return self._git.line("merge-base", one, other).partition("\n")[0]

    def last_author(self, commit: str, path: str) -> str:
        """Return the name of whoever changed a path last, "" when it cannot be told."""
        told = self._git.line("rev-list", "-1", "--format=%an", commit, "--", path)
        return one_line(told.partition("\n")[2], 80)  # below the commit's own line

    def introduced(self, new: str, known: str, limit: int = MOST_PATHS) -> list[tuple[str, str]]:
        """Return name and path of the objects that come with a commit and not with another."""
        told = [new, *([f"^{known}"] if known else [])]
        out = self._git.output("rev-list", "--objects", *told, "--")
        lines = [os.fsdecode(line).partition(" ") for line in out.split(b"\n")]
        return [(oid, path) for oid, _, path in lines if path][:limit]

    def sizes(self, oids: Sequence[str]) -> dict[str, int]:
        """Return the sizes of those objects that are blobs."""
        given = "".join(f"{oid}\n" for oid in oids).encode()
        out = self._git.output("cat-file", "--batch-check", given=given).decode().splitlines()
        rows = [line.split() for line in out]
        return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[1] == "blob"}

    def keep(self, name: str, commit: str) -> None:
        """Remember a commit that is here already, so that it is not fetched again."""
        if commit and self._git.run("cat-file", "-e", f"{commit}^{{commit}}").code == 0:
            self._git.output("update-ref", f"refs/heads/{name}", commit)

    def advertised(self, remote: Remote) -> tuple[dict[str, str], str]:
        """Return the remote's branches with their commits, and the one its HEAD stands on, "" when it tells none.

        Raises:
            GitFailed: it cannot be reached.
        """
        out = self._speak(
            *("ls-remote", "--symref", *_server("upload", remote.url), "--end-of-options"),
            *(remote.url, "HEAD", "refs/heads/*"),
            url=remote.url,
        ).out
        branches, head = {}, ""
        for line in os.fsdecode(out).splitlines():
            what, _, name = line.partition("\t")
            if what.startswith("ref: refs/heads/") and name == "HEAD":
                head = what.removeprefix("ref: refs/heads/")
            elif name.startswith("refs/heads/"):
                branches[name.removeprefix("refs/heads/")] = what
        return branches, head

    def fetch(self, remote: Remote, branch: str) -> str:
        """Bring a branch of the remote here and return its commit.

        Raises:
            GitFailed: it cannot be reached.
        """
        self._speak(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"),
            *("--no-auto-maintenance", "--no-show-forced-updates", *_server("upload", remote.url)),
            *("--end-of-options", remote.url, f"+refs/heads/{branch}:{_THEIRS}"),
            url=remote.url,
        )
        return self._git.output("rev-parse", "--verify", f"{_THEIRS}^{{commit}}").decode().strip()

    def push(self, remote: Remote, branch: str, commit: str) -> None:
        """Offer a commit to a branch of the remote, which must contain what stands there.

        Raises:
            Refused: the remote was reached and does not take it, as when it moved meanwhile.
            GitFailed: it cannot be reached.
        """
        try:
            self._speak(
                *("push", "--porcelain", "--no-verify", "--no-signed", "--recurse-submodules=no"),
                *(*_server("receive", remote.push_url), "--end-of-options", remote.push_url),
                f"{commit}:refs/heads/{branch}",
                url=remote.push_url,
            )
        except GitFailed as problem:
            lines = problem.out.decode("utf-8", "replace").splitlines()
            refusals = [line for line in lines if line.startswith("!")]
            if refusals:
                raise Refused(
                    refusals[0].rpartition("\t")[2], problem.message, problem.out
                ) from None
            raise

    def _speak(self, *arguments: str, url: str) -> Ran:
        protocols = "file" if is_local(url) else PROTOCOLS
        ran = self._git.run(
            *arguments, seconds=NETWORK_SECONDS, more={"GIT_ALLOW_PROTOCOL": protocols}
        )
        if ran.code:
            raise GitFailed(ran.told or f"git {arguments[0]} failed", "", ran.out)
        return ran


def _server(side: str, url: str) -> list[str]:
    if not is_local(url):
        return []
    program = _RECEIVER if side == "receive" else f"{_SERVER} upload-pack"
    return [f"--{side}-pack={program}"]


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _depth(folder: str) -> int:
    return folder.count("/") + 1 if folder else 0


def _line(mode: str, oid: str, path: str) -> bytes:
    kind = {"160000": "commit", FOLDER: "tree"}.get(mode, "blob")
    return f"{mode} {kind} {oid}\t".encode() + os.fsencode(path.rpartition("/")[2]) + b"\0"


@contextmanager
def opened(repository: Repository, base: str, *, trial: bool = False) -> Iterator[Bench]:
    """Make a bench in a private folder, removed at the end with those that killed processes left.

    Args:
        repository: whose objects are read and written.
        base: the private folder; the caller holds its lock.
        trial: write no object into the repository's store.
    """
    for name in os.listdir(base):
        if name.startswith(_PREFIX):
            shutil.rmtree(os.path.join(base, name), ignore_errors=True)
    folder = os.path.join(base, _PREFIX + os.urandom(8).hex())
    files.make_private(folder)
    try:
        _furnish(folder, repository.format)
        store = os.path.join(folder, "objects") if trial else repository.objects
        more = {"GIT_DIR": folder, "GIT_OBJECT_DIRECTORY": store}
        if trial:
            more["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = repository.objects
        git = Git(repository.top, repository.git.project, more)
        yield Bench(folder, git, object_name(b"tree", b"", repository.format))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _furnish(folder: str, kind: str) -> None:
    version, more = (
        ("1", f"[extensions]\n\tobjectFormat = {kind}\n") if kind != "sha1" else ("0", "")
    )
    config = f"[core]\n\tbare = true\n\trepositoryFormatVersion = {version}\n{more}"
    files.write_private(os.path.join(folder, "config"), config.encode())
    files.write_private(os.path.join(folder, "HEAD"), b"ref: refs/heads/none\n")
    for name in ("refs", "objects"):
        files.make_private(os.path.join(folder, name))


def object_name(kind: bytes, data: bytes, hashes: str) -> str:
    """Return the name that git gives an object.

    Args:
        kind: b"blob" or b"tree".
        data: its bytes.
        hashes: "sha1" or "sha256".
    """
    import hashlib

    return hashlib.new(hashes, b"%b %d\0" % (kind, len(data)) + data).hexdigest()
