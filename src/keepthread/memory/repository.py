"""Which repository the team's folder belongs to, where it stands, and whether it may be touched now."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from keepthread.errors import KeepthreadError
from keepthread.handoff.exclude import common_folder
from keepthread.memory.git import Git
from keepthread.memory.words import one_line

# A file of git's folder that stands there while something is under way.
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
# Settings that run a program, or lead a connection elsewhere. Names are as git lists them: in lower case but for
# what stands between the dots.
_ACTS = re.compile(
    r"core\.(?:sshcommand|gitproxy|askpass|alternaterefscommand)"
    r"|credential\.(?:.*\.)?helper"
    r"|remote\..*\.(?:uploadpack|receivepack|proxy|vcs|promisor|serveroption)"
    r"|url\..*|include\.path|includeif\..*"
    r"|http\.(?:.*\.)?(?:proxy.*|sslverify|ssl.*|curloptresolve|cookiefile|savecookies)"
    r"|extensions\.partialclone|uploadpack\.packobjectshook|gpg\..*|ssh\..*",
    re.DOTALL,
)
_BOOLEANS = frozenset(("true", "false", "yes", "no", "on", "off", "1", "0", ""))
_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SCHEMES = frozenset(("file", "git", "http", "https", "ssh", "git+ssh", "ssh+git"))
_BRANCH = re.compile(
    r"(?![-/.])(?!.*(?:\.\.|//|@\{|\.lock(?:/|\Z)|/\.|[/.]\Z))[^\0-\x20\x7f~^:?*\[\\]+"
)
_MOST_CONFIG = 1 << 20  # bytes
_SET_URL = "Name another: git remote set-url origin URL"


class Remote(NamedTuple):
    """Where a branch is shared: the remote's name, "" for a bare URL; its URLs; the branch there, "" for any."""

    name: str
    url: str
    push_url: str
    branch: str


class Repository(NamedTuple):
    """The repository that the team's folder lies in. `head` is "" for a branch without a commit.

    Args:
        git: runs git there; every protocol is shut.
        top: the work tree.
        folder: its git folder, which in a linked work tree is not the common one.
        common: the one that holds the objects.
        format: of its hashes, "sha1" or "sha256".
        prefix: the team's folder in it, with a "/" at its end; "" when it is all of it.
        branch: its name without "refs/heads/".
        head: the commit of that branch.
    """

    git: Git
    top: str
    folder: str
    common: str
    format: str
    prefix: str
    branch: str
    head: str

    @property
    def objects(self) -> str:
        """Return the object store."""
        return os.path.join(self.common, "objects")

    @property
    def ref(self) -> str:
        """Return the full name of the branch."""
        return f"refs/heads/{self.branch}"


def find(team: str, project: str) -> Repository:
    """Return the repository around the team's folder.

    Raises:
        KeepthreadError: there is none, it is bare, shallow, on no branch, or something is under way in it.
    """
    git = Git(team, project)
    ran = git.run(
        *("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"),
        *("--show-object-format", "--is-shallow-repository", "--show-prefix"),
    )
    if ran.code:
        raise _no_repository(team, ran.told)
    told = os.fsdecode(ran.out).split("\n")
    if len(told) != 7:  # a line end in a path
        raise KeepthreadError(f"The repository around {team} cannot be used: its path is odd")
    top, folder, common, kind, shallow, prefix, _ = told
    if shallow == "true":
        raise KeepthreadError(
            f"The repository {top} has only a part of its history", "git fetch --unshallow"
        )
    if kind not in ("sha1", "sha256"):
        raise KeepthreadError(f"The hashes of {top} are of an unknown kind: {one_line(kind, 20)}")
    common = os.path.normpath(os.path.join(team, common))
    if prefix and os.path.lexists(os.path.join(team, ".git")):
        raise KeepthreadError(
            f"{os.path.join(team, '.git')} is no repository that git can use",
            "Remove it, or put a fresh clone in its place.",
        )
    _refuse_foreign(top, common)
    git = Git(top, project)  # paths are told from there on
    _refuse_under_way(top, folder)
    branch = _branch(git, top)
    _refuse_links(top, folder, common, branch)
    head = git.line("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")
    return Repository(git, top, folder, common, kind, prefix, branch, head)


def _no_repository(team: str, told: str) -> KeepthreadError:
    if "not a git repository" in told or "must be run in a work tree" in told:
        return KeepthreadError(
            f"The team's memory {team} lies in no git repository",
            "Make it one and name its remote: git init, git remote add origin URL. Or use a folder of the project's.",
        )
    return KeepthreadError(f"The repository around {team} cannot be used: {told}")


def _refuse_foreign(top: str, common: str) -> None:
    """Raise for a `.git` that leads to a repository which does not know this work tree: it is somebody's own."""
    known = common_folder(top)
    if not known or os.path.realpath(known) != os.path.realpath(common):
        raise KeepthreadError(
            f"{os.path.join(top, '.git')} leads to a repository that does not know this folder: {common}",
            "Use a clone, or a work tree made by git worktree add.",
        )


def _refuse_links(top: str, folder: str, common: str, branch: str) -> None:
    """Raise when something that git would write through is a link: it would write elsewhere."""
    for name in ("HEAD", "index", "logs/HEAD", "info"):
        _refuse_link(top, folder, name)
    for name in ("config", "packed-refs", f"refs/heads/{branch}", f"logs/refs/heads/{branch}"):
        _refuse_link(top, common, name)
    _refuse_link(top, common, "objects")
    for name in os.listdir(os.path.join(common, "objects")):
        _refuse_link(top, common, f"objects/{name}")


def refuse_link_to(repository: Repository, ref: str) -> None:
    """Raise when git would write a reference, or what it notes of its changes, through a link.

    Raises:
        KeepthreadError: with the link.
    """
    for name in (ref, f"logs/{ref}"):
        _refuse_link(repository.top, repository.common, name)


def _refuse_link(top: str, base: str, name: str) -> None:
    path = base
    for part in name.split("/"):
        path = os.path.join(path, part)
        if os.path.islink(path):
            raise KeepthreadError(
                f"In the repository {top} stands a link that git would write through: {path}",
                "Remove it, or use a fresh clone.",
            )


def _refuse_under_way(top: str, folder: str) -> None:
    for name, what in _UNDER_WAY.items():
        if os.path.lexists(os.path.join(folder, name)):
            raise KeepthreadError(
                f"In the repository {top} {what} is under way",
                "Finish it or give it up, then try again.",
            )


def _branch(git: Git, top: str) -> str:
    ref = git.line("symbolic-ref", "--quiet", "HEAD")
    branch = ref.removeprefix("refs/heads/")
    if not ref.startswith("refs/heads/") or not _BRANCH.fullmatch(branch):
        raise KeepthreadError(f"The repository {top} is on no branch", "git switch BRANCH")
    return branch


def identity(repository: Repository) -> dict[str, str]:
    """Return who commits, as variables for git.

    Raises:
        KeepthreadError: git knows no name or no address.
    """
    found = {}
    for field in ("name", "email"):
        value = repository.git.line("config", "--get", f"user.{field}")
        if not value:
            raise KeepthreadError(
                f"git does not know your {field}", f"git config --global user.{field} ..."
            )
        for who in ("AUTHOR", "COMMITTER"):
            found[f"GIT_{who}_{field.upper()}"] = value
    return found


def remote_of(repository: Repository) -> Remote | None:
    """Return where the branch is shared, None when the repository has no remote.

    The repository's configuration is read as data: nothing that it includes, nothing it runs.

    Raises:
        KeepthreadError: there are several remotes and none is named, a name or URL is malformed or unsafe, or a
            setting of the repository would run a program or lead the connection elsewhere.
    """
    settings = list(_settings(repository))
    _refuse_acting(repository, settings)
    values = dict(settings)
    names = sorted({name[7:-4] for name in values if re.fullmatch(r"remote\..+\.url", name)})
    named = values.get(f"branch.{repository.branch}.remote", "")
    if not named:
        if not names:
            return None
        named = names[0] if len(names) == 1 else "origin"
        if named not in names:
            raise KeepthreadError(
                f"The repository {repository.top} has several remotes",
                f"Say which is the branch's: git branch --set-upstream-to REMOTE/{repository.branch}",
            )
    merge = values.get(f"branch.{repository.branch}.merge", "")
    branch = merge.removeprefix("refs/heads/")
    if merge and (not merge.startswith("refs/heads/") or not _BRANCH.fullmatch(branch)):
        raise KeepthreadError(
            f"{one_line(merge, 80)!r} is no branch of a remote",
            f"Say which it is: git branch --set-upstream-to {one_line(named, 80)}/BRANCH",
        )
    url = values.get(f"remote.{named}.url", "")
    name = named if url else ""
    url = url or named
    push_url = values.get(f"remote.{named}.pushurl", url)
    for one in (url, push_url):
        _refuse_url(one)
    return Remote(name if _BRANCH.fullmatch(name) else "", url, push_url, branch)


def _settings(repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield names and values of the repository's own configuration, later ones later."""
    places = [os.path.join(repository.common, "config")]
    places += [os.path.join(repository.folder, "config.worktree")]
    for path in places:
        if not os.path.lexists(path):
            continue
        out = repository.git.output(
            *("config", "--file", path, "--no-includes", "--null", "--list"), limit=_MOST_CONFIG
        )
        for item in os.fsdecode(out).split("\0"):
            name, _, value = item.partition("\n")
            if name:
                yield name, value


def _refuse_acting(repository: Repository, settings: list[tuple[str, str]]) -> None:
    acting = sorted(
        {
            name
            for name, value in settings
            if _ACTS.fullmatch(name)
            or (name == "core.fsmonitor" and value.lower() not in _BOOLEANS)
        }
    )
    if acting:
        shown = ", ".join(one_line(name, 80) for name in acting[:5])
        raise KeepthreadError(
            f"The configuration of {repository.top} would run a program or lead elsewhere: {shown}",
            "If that is your own setting, move it: git config --local --unset NAME, git config --global NAME VALUE.",
        )


def _refuse_url(url: str) -> None:
    shown = one_line(redacted(url), 120)
    if not url or url.startswith("-") or not url.isprintable():
        raise KeepthreadError(f"{shown!r} is no URL of a remote", _SET_URL)
    scheme = _SCHEME.match(url)
    if _HELPER.match(url) or (scheme and scheme[1].lower() not in _SCHEMES):
        raise KeepthreadError(
            f"The remote {shown} is reached by a helper program, which is not run",
            f"Use one of: {', '.join(sorted(_SCHEMES))}, user@host:path, or a folder.",
        )
    host = url[scheme.end() :] if scheme else url
    if re.match(r"(?:[^/@:]*@)?-", host) or (not scheme and re.match(r"[^/]*:-", url)):
        raise KeepthreadError(
            f"The remote {shown} has a part that ssh would take for an option", _SET_URL
        )


def redacted(url: str) -> str:
    """Return a URL without the login in it."""
    return re.sub(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/@\s]*@", r"\1", url)


def is_local(url: str) -> bool:
    """Return whether a URL is a folder of this machine, so that git itself is started in it."""
    if scheme := _SCHEME.match(url):
        return scheme[1].lower() == "file"
    drive = os.name == "nt" and re.match(r"[A-Za-z]:[\\/]", url)
    return bool(drive) or "/" in url.partition(":")[0] or ":" not in url
