"""The document in the project: ours alone, inside alone, and unseen by git."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from keepthread.handoff.document import forget_document, why_left_alone, write_document

NAME = "docs/handoff-context.md"
LINE = "/docs/handoff-context.md"
TEXT = "<!-- keepthread handoff: generated, do not edit -->\n\n# Session handoff\n"
POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="needs dir_fd and links")


def git(folder: Path, *arguments: str) -> str:
    run = subprocess.run(
        ["git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


@pytest.fixture(scope="module")
def pattern(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pattern") / "proj"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("a")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def repository(pattern, tmp_path):
    return Path(shutil.copytree(pattern, tmp_path / "proj", symlinks=True))


def excluded(folder: Path) -> list[str]:
    return (folder / ".git" / "info" / "exclude").read_text().splitlines()


def test_the_document_is_written_private_and_git_does_not_see_it(repository):
    result = write_document(str(repository), NAME, TEXT)

    assert result == (str(repository / NAME), True, "")
    assert (repository / NAME).read_text() == TEXT
    assert stat.S_IMODE((repository / NAME).stat().st_mode) == 0o600
    assert git(repository, "status", "--porcelain") == ""
    assert excluded(repository).count(LINE) == 1


def test_writing_again_replaces_the_document_and_adds_no_second_line(repository):
    write_document(str(repository), NAME, TEXT)
    write_document(str(repository), NAME, TEXT + "new")

    assert (repository / NAME).read_text() == TEXT + "new"
    assert excluded(repository).count(LINE) == 1
    assert [path.name for path in (repository / "docs").iterdir()] == ["handoff-context.md"]


def test_outside_git_the_document_is_just_written(tmp_path):
    project = tmp_path / "plain"
    project.mkdir()

    assert write_document(str(project), NAME, TEXT).written
    assert [path.name for path in project.iterdir()] == ["docs"]


def test_a_partial_has_its_marker_behind_the_first_line_and_is_still_ours(repository):
    write_document(str(repository), NAME, "HANDOFF_AUTO_PARTIAL\n\n" + TEXT)

    assert write_document(str(repository), NAME, TEXT).written


@pytest.mark.parametrize("content", ["", "# Our own notes\n", "x" * 400 + TEXT])
def test_a_file_that_is_not_ours_is_left_alone(repository, content):
    (repository / "docs").mkdir()
    (repository / NAME).write_text(content)

    result = write_document(str(repository), NAME, TEXT)

    assert not result.written
    assert "not keepthread's" in result.why
    assert result.why == why_left_alone(str(repository), NAME)
    assert (repository / NAME).read_text() == content
    assert LINE not in excluded(repository)


def test_a_file_that_git_tracks_is_left_alone_even_with_our_marker(repository):
    write_document(str(repository), NAME, TEXT)
    git(repository, "add", "-f", NAME)
    git(repository, "commit", "-qm", "committed by accident")

    result = write_document(str(repository), NAME, TEXT + "new")

    assert not result.written
    assert "tracked by git" in result.why
    assert git(repository, "status", "--porcelain") == ""


def test_a_tracked_file_that_was_deleted_is_not_made_again(repository):
    (repository / "docs").mkdir()
    (repository / NAME).write_text(TEXT)
    git(repository, "add", "-f", NAME)
    (repository / NAME).unlink()

    assert not write_document(str(repository), NAME, TEXT).written
    assert not (repository / NAME).exists()


def test_a_variable_that_names_another_repository_changes_nothing(
    repository, monkeypatch, tmp_path
):
    (repository / "docs").mkdir()
    (repository / NAME).write_text(TEXT)
    git(repository, "add", "-f", NAME)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))

    assert "tracked" in write_document(str(repository), NAME, TEXT + "new").why


def test_a_name_full_of_wildcards_means_itself(repository):
    name = "docs/[a]*?/hand off!.md"
    (repository / "docs").mkdir()
    (repository / "docs" / "other.md").write_text("seen")

    assert write_document(str(repository), name, TEXT).written
    assert git(repository, "status", "--porcelain").split() == ["??", "docs/"]
    assert git(repository, "status", "--porcelain", "-uall").split() == ["??", "docs/other.md"]


def test_without_git_the_document_is_still_written(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")

    assert write_document(str(repository), NAME, TEXT).written


def test_a_git_that_hangs_is_not_waited_for(repository, monkeypatch, tmp_path):
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    assert write_document(str(repository), NAME, TEXT).written


def test_nothing_of_the_repositorys_configuration_runs(repository, tmp_path):
    trap = tmp_path / "ran"
    git(repository, "config", "core.fsmonitor", f"touch {trap}")

    write_document(str(repository), NAME, TEXT)
    write_document(str(repository), NAME, TEXT)

    assert not trap.exists()


@POSIX_ONLY
@pytest.mark.parametrize("target", ["outside", "missing", "inside"])
def test_a_linked_folder_is_never_followed(repository, tmp_path, target):
    outside = tmp_path / "outside"
    outside.mkdir()
    (repository / "inside").mkdir()
    where = {"outside": outside, "missing": tmp_path / "missing", "inside": "inside"}[target]
    (repository / "docs").symlink_to(where)

    result = write_document(str(repository), NAME, TEXT)

    assert not result.written
    assert "link" in result.why
    assert result.why == why_left_alone(str(repository), NAME)
    assert not list(outside.iterdir())
    assert not (tmp_path / "missing").exists()
    assert not list((repository / "inside").iterdir())


@POSIX_ONLY
@pytest.mark.parametrize("target", ["precious.txt", "missing.txt"])
def test_a_link_in_the_documents_place_is_left_alone(repository, tmp_path, target):
    precious = tmp_path / "precious.txt"
    precious.write_text(TEXT)
    (repository / "docs").mkdir()
    (repository / NAME).symlink_to(tmp_path / target)

    assert not write_document(str(repository), NAME, "new").written
    assert (repository / NAME).is_symlink()
    assert precious.read_text() == TEXT
    assert not (tmp_path / "missing.txt").exists()


@POSIX_ONLY
def test_a_hard_link_to_a_file_outside_is_parted_not_written_through(repository, tmp_path):
    outside = tmp_path / "outside.md"
    outside.write_text(TEXT)
    (repository / "docs").mkdir()
    os.link(outside, repository / NAME)

    assert write_document(str(repository), NAME, TEXT + "new").written
    assert outside.read_text() == TEXT


@POSIX_ONLY
def test_a_fifo_in_the_documents_place_does_not_hang(repository):
    (repository / "docs").mkdir()
    os.mkfifo(repository / NAME)

    assert "no regular file" in write_document(str(repository), NAME, TEXT).why


def test_a_folder_in_the_documents_place_is_left_alone(repository):
    (repository / NAME).mkdir(parents=True)

    assert not write_document(str(repository), NAME, TEXT).written


def test_a_file_in_the_folders_place_is_left_alone(repository):
    (repository / "docs").write_text("a file")

    assert not write_document(str(repository), NAME, TEXT).written
    assert (repository / "docs").read_text() == "a file"


@pytest.mark.parametrize(
    "relative",
    ["/etc/x.md", "../x.md", "docs/../../x.md", "docs/..", "", ".", "docs//x.md", "docs/", "a\0b", "a\nb",
     ".git/hooks/pre-commit", "sub/.GIT/config", "\ud83d.md"],
)  # fmt: skip
def test_a_path_that_leaves_the_project_is_refused(repository, relative):
    before = set(repository.parent.rglob("*"))

    result = write_document(str(repository), relative, TEXT)

    assert not result.written
    assert "KEEPTHREAD_DOCUMENT" in result.why
    assert result.why == why_left_alone(str(repository), relative)
    assert not forget_document(str(repository), relative)
    assert set(repository.parent.rglob("*")) == before


@pytest.mark.parametrize("root", ["missing", "file", "a\0b", "x" * 5_000])
def test_a_project_that_is_no_folder_is_an_answer_not_an_error(tmp_path, root):
    (tmp_path / "file").write_text("")

    assert not write_document(str(tmp_path / root), NAME, TEXT).written
    assert not forget_document(str(tmp_path / root), NAME)
    why_left_alone(str(tmp_path / root), NAME)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_project_is_an_answer_not_an_error(repository):
    repository.chmod(0o500)
    try:
        result = write_document(str(repository), NAME, TEXT)
    finally:
        repository.chmod(0o700)

    assert not result.written
    assert "Permission denied" in result.why


@pytest.mark.parametrize("call", ["write", "replace", "mkdir", "fsync"])
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_no_fault_of_the_disk_harms_what_was_there(repository, monkeypatch, call, number, code):
    write_document(str(repository), NAME, TEXT)
    exclude = repository / ".git" / "info" / "exclude"
    exclude.write_text("*.log\n")
    real, calls = getattr(os, call), []

    def failing(*arguments, **more):
        calls.append(arguments)
        if len(calls) == number:
            raise OSError(code, os.strerror(code))
        return real(*arguments, **more)

    monkeypatch.setattr(os, call, failing)
    result = write_document(str(repository), NAME, TEXT + "new")
    monkeypatch.undo()

    assert (repository / NAME).read_text() == TEXT + ("new" if result.written else "")
    assert exclude.read_text() in ("*.log\n", f"*.log\n{LINE}\n")
    assert [path.name for path in (repository / "docs").iterdir()] == ["handoff-context.md"]
    assert not [path for path in exclude.parent.iterdir() if path.name.startswith(".tmp")]


@pytest.mark.parametrize(
    "before, after",
    [
        (b"", b"LINE\n"),
        (b"*.log\n", b"*.log\nLINE\n"),
        (b"*.log", b"*.log\nLINE\n"),
        (b"a\r\nb\r\n", b"a\r\nb\r\nLINE\n"),
        (b"\xff\xfe caf\xe9 \x0c x\n", b"\xff\xfe caf\xe9 \x0c x\nLINE\n"),
        (b"LINE\nz\n", b"LINE\nz\n"),
        (b"LINE\r\nz", b"LINE\r\nz"),
        (b"# LINE\n", b"# LINE\nLINE\n"),
    ],
)
def test_what_the_exclude_file_held_is_kept_byte_for_byte(repository, before, after):
    exclude = repository / ".git" / "info" / "exclude"
    exclude.write_bytes(before.replace(b"LINE", LINE.encode()))

    write_document(str(repository), NAME, TEXT)

    assert exclude.read_bytes() == after.replace(b"LINE", LINE.encode())


def test_the_exclude_file_keeps_its_mode(repository):
    exclude = repository / ".git" / "info" / "exclude"
    exclude.chmod(0o664)

    write_document(str(repository), NAME, TEXT)

    assert stat.S_IMODE(exclude.stat().st_mode) == 0o664


def test_an_info_folder_that_is_missing_is_made(repository):
    (repository / ".git" / "info" / "exclude").unlink()
    (repository / ".git" / "info").rmdir()

    assert write_document(str(repository), NAME, TEXT).written
    assert excluded(repository) == [LINE]


@POSIX_ONLY
@pytest.mark.parametrize("link", ["info", "exclude"])
def test_a_linked_exclude_is_not_written_through_and_nothing_is_left_for_git_to_see(
    repository, tmp_path, link
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "exclude").write_text("precious\n")
    info = repository / ".git" / "info"
    (info / "exclude").unlink()
    if link == "info":
        info.rmdir()
        info.symlink_to(outside)
    else:
        (info / "exclude").symlink_to(outside / "exclude")

    result = write_document(str(repository), NAME, TEXT)

    assert not result.written
    assert (outside / "exclude").read_text() == "precious\n"
    assert not (repository / NAME).exists()


def test_in_a_folder_of_a_repository_the_line_names_the_way_from_its_top(repository):
    project = repository / "services" / "api"
    project.mkdir(parents=True)

    write_document(str(project), NAME, TEXT)

    assert "/services/api/docs/handoff-context.md" in excluded(repository)
    assert git(repository, "status", "--porcelain") == ""
    assert forget_document(str(project), NAME)


def test_in_a_worktree_the_main_repositorys_exclude_file_is_used(repository, tmp_path):
    worktree = tmp_path / "wt"
    git(repository, "worktree", "add", "-q", str(worktree))

    assert write_document(str(worktree), NAME, TEXT).written
    assert git(worktree, "status", "--porcelain") == ""
    assert LINE in excluded(repository)


def test_in_a_submodule_its_own_exclude_file_is_used(repository, tmp_path):
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(repository), str(other))
    git(other, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "sub")

    assert write_document(str(other / "sub"), NAME, TEXT).written
    assert git(other / "sub", "status", "--porcelain") == ""
    assert LINE in (other / ".git/modules/sub/info/exclude").read_text()


@pytest.mark.parametrize("shape", ["plain folder", "another repository", "claims to be a worktree"])
def test_a_git_file_that_points_elsewhere_writes_nothing_there(repository, tmp_path, shape):
    outside = tmp_path / "outside"
    if shape == "plain folder":
        outside.mkdir()
    else:
        git(tmp_path, "init", "-q", str(outside))
        outside = outside / ".git"
    if shape == "claims to be a worktree":
        (outside / "commondir").write_text(".")
        (outside / "gitdir").write_text(str(outside / "HEAD"))
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text(f"gitdir: {outside}\n")

    write_document(str(hostile), NAME, TEXT)

    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("content", [b"", b"gitdir:", b"\xff\0", b"gitdir: a\0b\n", b"x" * 10_000])
def test_a_damaged_git_file_is_like_none(tmp_path, content):
    project = tmp_path / "proj"
    project.mkdir()
    (project / ".git").write_bytes(content)

    assert isinstance(write_document(str(project), NAME, TEXT).written, bool)


def test_forgetting_takes_out_our_line_and_no_other(repository):
    exclude = repository / ".git" / "info" / "exclude"
    exclude.write_bytes(b"a\r\n# /docs/handoff-context.md\n\x0cb")
    write_document(str(repository), NAME, TEXT)

    assert forget_document(str(repository), NAME)
    assert exclude.read_bytes() == b"a\r\n# /docs/handoff-context.md\n\x0cb\n"
    assert not forget_document(str(repository), NAME)


def test_a_document_that_may_be_written_has_no_reason_against_it(repository):
    assert why_left_alone(str(repository), NAME) == ""

    write_document(str(repository), NAME, TEXT)

    assert why_left_alone(str(repository), NAME) == ""


def test_where_folders_have_no_descriptors_links_are_still_not_followed(
    repository, tmp_path, monkeypatch
):
    monkeypatch.setattr("keepthread.handoff.document._HAS_DIR_FD", False)
    assert write_document(str(repository), NAME, TEXT).written
    outside = tmp_path / "outside"
    outside.mkdir()
    (repository / "linked").symlink_to(outside)

    assert not write_document(str(repository), "linked/x.md", TEXT).written
    assert not list(outside.iterdir())


def _refused(project: Path) -> None:
    result = write_document(str(project), NAME, TEXT)

    assert not result.written
    assert "git would show" in result.why
    assert not os.path.lexists(project / NAME)


def test_a_rule_of_the_project_that_overrides_our_line_keeps_the_document_unwritten(repository):
    """And the line, which is of no use, is gone again."""
    before = (repository / ".git" / "info" / "exclude").read_bytes()
    (repository / ".gitignore").write_text("!docs/\n!docs/**\n")

    _refused(repository)
    assert (repository / ".git" / "info" / "exclude").read_bytes() == before
    (repository / ".gitignore").write_text("docs/\n")
    assert write_document(str(repository), NAME, TEXT).written


@POSIX_ONLY
def test_a_git_folder_behind_a_link_keeps_the_document_unwritten(repository):
    (repository / ".git").rename(repository.parent / "elsewhere")
    (repository / ".git").symlink_to(repository.parent / "elsewhere")

    _refused(repository)
    (repository / ".gitignore").write_text("/docs/handoff-context.md\n")
    assert write_document(str(repository), NAME, TEXT).written


def test_a_separate_git_folder_keeps_the_document_unwritten(tmp_path):
    project = tmp_path / "proj"
    project.mkdir()
    git(project, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"))
    before = (tmp_path / "elsewhere" / "info" / "exclude").read_bytes()

    _refused(project)
    assert (tmp_path / "elsewhere" / "info" / "exclude").read_bytes() == before


@POSIX_ONLY
@pytest.mark.parametrize("name", ["a\nb", "a\n!b", "a\rb"])
def test_a_folder_with_a_line_end_in_its_name_puts_no_foreign_line_into_git(repository, name):
    before = (repository / ".git" / "info" / "exclude").read_bytes()
    (repository / name).mkdir()

    _refused(repository / name)
    assert (repository / ".git" / "info" / "exclude").read_bytes() == before
    assert not forget_document(str(repository / name), NAME)


@POSIX_ONLY
def test_where_git_is_missing_our_line_is_trusted_and_a_repository_without_one_is_left_alone(
    repository, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))

    assert write_document(str(repository), NAME, TEXT).written
    assert excluded(repository).count(LINE) == 1
    other = tmp_path / "other"
    other.mkdir()
    (other / ".git").write_text("gitdir: ../proj/.git\n")
    _refused(other)


@POSIX_ONLY
def test_no_program_and_no_variable_of_anybody_takes_part_in_asking_git(
    repository, tmp_path, monkeypatch
):
    ran = tmp_path / "ran"
    script = tmp_path / "program"
    script.write_text(f"#!/bin/sh\necho x >> {ran}\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "filter.x.clean", "core.sshCommand"):
        git(repository, "config", key, str(script))
    (repository / ".gitattributes").write_text("* filter=x\n")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))

    assert write_document(str(repository), NAME, TEXT).written
    assert not ran.exists()
    assert not (tmp_path / "trace").exists()


@POSIX_ONLY
@pytest.mark.parametrize("relative", [".", "", "docs"])
def test_a_git_of_the_project_is_not_the_one_that_is_asked(repository, monkeypatch, relative):
    mark = repository.parent / "mark"
    for folder in (repository, repository / "docs"):
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text(f"#!/bin/sh\n: >'{mark}'\nexit 0\n")
        (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{relative}:{os.environ['PATH']}")
    monkeypatch.chdir(repository)

    assert write_document(str(repository), NAME, TEXT).written
    assert not mark.exists()


def test_a_folder_that_poses_as_a_repository_answers_for_none(repository):
    """A clone may bring HEAD, objects, refs and a config beside the document; the repository around it counts."""
    write_document(str(repository), NAME, TEXT)
    git(repository, "add", "-f", NAME)
    docs = (repository / NAME).parent
    for name in ("objects", "refs", "info"):
        (docs / name).mkdir()
    (docs / "HEAD").write_text("ref: refs/heads/main\n")
    (docs / "info" / "exclude").write_text("*\n")
    (docs / "config").write_text("[core]\n\tbare = false\n\tworktree = .\n")

    assert "tracked by git" in write_document(str(repository), NAME, TEXT + "new").why
    assert (repository / NAME).read_text() == TEXT
