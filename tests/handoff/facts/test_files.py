from __future__ import annotations

import pytest

from keepthread.handoff.facts.files import described, touched
from keepthread.handoff.facts.paths import Paths
from tests.handoff.facts.talk import PROJECT, Talk


def files_of(talk: Talk, project: str = PROJECT) -> dict[str, str]:
    return {entry.path: entry.status for entry in touched(talk.items, Paths(project, talk.cwd))}


def test_edited_files_come_before_read_ones_each_latest_first():
    talk = Talk()
    talk.read("/home/dev/proj/README.md")
    talk.edit("/home/dev/proj/src/old.py")
    talk.read("/home/dev/proj/src/late.py")
    talk.write("/home/dev/proj/src/new.py")

    assert list(files_of(talk).items()) == [
        ("src/new.py", "created"),
        ("src/old.py", "modified"),
        ("src/late.py", "read"),
        ("README.md", "read"),
    ]


def test_a_file_that_was_read_and_then_edited_counts_as_edited():
    talk = Talk()
    talk.read("/home/dev/proj/a.py")
    talk.edit("/home/dev/proj/a.py")
    talk.read("/home/dev/proj/a.py")

    assert files_of(talk) == {"a.py": "modified"}


def test_what_was_refused_or_failed_or_never_answered_is_no_work():
    talk = Talk()
    talk.edit("/home/dev/proj/refused.py", rejected=True, error=True, words="no")
    talk.call("Edit", {"file_path": "/home/dev/proj/failed.py"}, "not found", error=True)
    talk.call("Write", {"file_path": "/home/dev/proj/open.py", "content": "x"}, None)
    talk.fail("rm src/failed.py", "no such file")

    assert files_of(talk) == {}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm -f src/a.py", {"src/a.py": "deleted"}),
        ("mv src/a.py src/b.py", {"src/b.py": "renamed"}),
        ("mv src/a.py lib/", {"lib/a.py": "renamed"}),
        ("git mv a.py b.py && git rm c.py", {"b.py": "renamed", "c.py": "deleted"}),
        ("git rm --cached secret.env", {}),
        ("cp a.py b.py", {"b.py": "created"}),
        ("touch a b", {"a": "created", "b": "created"}),
        ("echo hi > out.txt", {"out.txt": "created"}),
        ("echo hi >> log.txt", {"log.txt": "modified"}),
        ("cat <<'EOF' > conf/app.yml\nname: x\nEOF", {"conf/app.yml": "created"}),
        ("make 2>&1 | tee build.log", {"build.log": "created"}),
        ("sed -i 's/a/b/' src/x.py", {"src/x.py": "modified"}),
        ("sed -i '' -e 's/a/b/' src/x.py", {"src/x.py": "modified"}),
        ("cd web && rm old.ts", {"web/old.ts": "deleted"}),
        ("mkdir -p docs/adr", {"docs/adr/": "created"}),
        ("mkdir -p docs && touch docs/a.md", {"docs/a.md": "created"}),
        ("cat src/a.py | head -5", {"src/a.py": "read"}),
        ("rm -rf $DIR *.tmp", {}),
        ("echo x > /dev/null", {}),
        ("curl -s https://x.y/z -o /tmp/z.json", {}),
        ("python -c \"open('x','w').write('>')\"", {}),
        ("git checkout -- src/a.py", {"src/a.py": "modified"}),
    ],
)
def test_shell_commands_tell_what_they_did_to_files(command, expected):
    talk = Talk()
    talk.bash(command)

    assert files_of(talk) == expected


def test_powershell_commands_tell_it_too():
    talk = Talk(r"D:\proj")
    for command in (
        r"Remove-Item -Path 'src\old.cs' -Force",
        r"Move-Item src\a.cs src\b.cs",
        r"Rename-Item -Path src\c.cs -NewName d.cs",
        r"New-Item -ItemType File -Path docs\n.md",
        r"'x' | Out-File -FilePath out.txt",
        "Remove-Item Env:\\TOKEN",
    ):
        talk.call("PowerShell", {"command": command}, "")

    assert files_of(talk, r"D:\proj") == {
        "out.txt": "created",
        "docs/n.md": "created",
        "src/d.cs": "renamed",
        "src/b.cs": "renamed",
        "src/old.cs": "deleted",
    }


def test_a_rename_takes_the_history_along_and_names_the_first_name():
    talk = Talk()
    talk.edit("/home/dev/proj/a.py", new="def kept():\n    pass")
    talk.bash("git mv a.py b.py")
    talk.bash("git mv b.py c.py")

    [entry] = touched(talk.items, Paths(PROJECT))
    [document] = described([entry], {}, {})

    assert document["path"] == "c.py"
    assert document["from"] == "a.py"
    assert document["summary"] == "1 edit: kept"


def test_removing_a_folder_removes_what_was_known_below_it():
    talk = Talk()
    talk.write("/home/dev/proj/gen/a.py")
    talk.write("/home/dev/proj/gen/b.py")
    talk.bash("rm -rf gen/")

    assert files_of(talk) == {"gen/a.py": "deleted", "gen/b.py": "deleted"}


def test_the_hosts_snapshots_tell_new_files_and_files_edited_before():
    talk = Talk()
    talk.edit("/home/dev/proj/new.py")
    talk.note("file_history", files={"new.py": False, "before.py": True})

    found = touched(talk.items, Paths(PROJECT))

    assert [(entry.path, entry.status) for entry in found] == [
        ("new.py", "created"),
        ("before.py", "modified"),
    ]
    assert found[1].note == "edited earlier in the session"


def test_a_file_changed_by_somebody_else_is_named_with_that():
    talk = Talk()
    talk.note("edited_file", path="/home/dev/proj/fmt.py")

    [document] = described(touched(talk.items, Paths(PROJECT)), {}, {})

    assert (document["status"], document["summary"]) == ("modified", "changed outside the session")


def test_the_summary_counts_edits_and_names_what_they_touched():
    talk = Talk()
    talk.edit("/home/dev/proj/a.py", "def old_name():", "class Reader:\n    def read_all(self):")
    talk.edit(
        "/home/dev/proj/a.py", "x", "y", structuredPatch=[{"lines": [" def around():", "+x"]}]
    )
    talk.write("/home/dev/proj/b.md", "# Übersicht\n\n## Plan\ntext\n")

    found = described(touched(talk.items, Paths(PROJECT)), {"read_all": 2.0}, {})

    assert found[0]["summary"] == "5 lines: Übersicht, Plan"
    assert found[1]["summary"] == "2 edits: read_all, Reader, old_name, around"


def test_the_shell_may_stand_in_another_folder_than_the_transcript_says():
    talk = Talk()
    talk.edit("/home/dev/proj/src/prompt/run.go")
    talk.bash("sed -i 's/a/b/' prompt/run.go")

    assert files_of(talk) == {"src/prompt/run.go": "modified"}


def test_inputs_of_any_type_do_no_harm():
    talk = Talk()
    for given in ({"file_path": 5}, {"file_path": None}, {"file_path": ["a"]}, {"edits": "x"}, {}):
        talk.call("Edit", given)
        talk.call("Write", given)
        talk.call("Read", given)
        talk.call("Bash", {"command": given})
    talk.call("Edit", {"file_path": "/home/dev/proj/a.py", "edits": [1, None, {"new_string": 3}]})
    talk.call("Edit", {"file_path": "/home/dev/proj/a.py"}, structuredPatch=[1, {"lines": [2]}])

    assert files_of(talk) == {"a.py": "modified"}
