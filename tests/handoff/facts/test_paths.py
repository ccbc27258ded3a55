from __future__ import annotations

import pytest

from keepthread.handoff.facts.paths import Paths


@pytest.mark.parametrize(
    ("project", "cwd", "path", "shown"),
    [
        ("/home/dev/proj", "", "/home/dev/proj/src/a.py", "src/a.py"),
        ("/home/dev/proj", "", "src/./b/../a.py", "src/a.py"),
        ("/home/dev/proj", "/home/dev/proj/web", "index.ts", "web/index.ts"),
        ("/home/dev/proj", "", "/home/dev/project2/a.py", "/home/dev/project2/a.py"),
        ("/home/dev/proj", "", "../other/a.py", "/home/dev/other/a.py"),
        ("/home/dev/proj/", "", "/home/dev/proj", "."),
        ("/home/dev/proj", "", "~/notes.md", "~/notes.md"),
        ("/home/dev/proj", "", "/home/dev/proj/文档/说明.md", "文档/说明.md"),
        (r"C:\Users\Zoë\proj", "", r"c:\users\zoë\proj\src\Größe.cs", "src/Größe.cs"),
        (r"C:\proj", "", "C:/proj/src/a.go", "src/a.go"),
        (r"D:\proj", "", "/mnt/d/proj/a.go", "a.go"),
        (r"D:\proj", "", "/d/proj/a.go", "a.go"),
        (r"D:\proj", r"D:\proj\web", "src/a.ts", "web/src/a.ts"),
        (r"D:\proj", "", r"C:\temp\x.log", r"C:\temp\x.log"),
        ("/mnt/c/proj", "", "/mnt/c/proj/a.go", "a.go"),
        ("/private/tmp/proj", "", "/tmp/proj/a.go", "a.go"),
    ],
)
def test_a_path_is_shown_relative_to_the_project_when_inside_it(project, cwd, path, shown):
    assert Paths(project).show(path, cwd) == shown


@pytest.mark.parametrize("path", ["", "   ", "a\nb", "x" * 2_000])
def test_what_is_no_path_is_shown_as_nothing(path):
    assert Paths("/p").show(path) == ""


def test_inside_tells_the_project_from_the_rest():
    paths = Paths("/p")

    assert paths.inside("src/a.py")
    assert not paths.inside("/etc/passwd")
    assert not paths.inside("../a.py")
    assert not paths.inside(r"C:\a.py")
    assert not paths.inside("")
