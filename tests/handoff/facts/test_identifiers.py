from __future__ import annotations

from keepthread.handoff.facts.files import touched
from keepthread.handoff.facts.identifiers import MOST, rank
from keepthread.handoff.facts.paths import Paths
from tests.handoff.facts.talk import PROJECT, Talk


def ranking(talk: Talk):
    paths = Paths(PROJECT)
    return rank(talk.items, touched(talk.items, paths), paths)


def best(talk: Talk) -> list[str]:
    return [entry["text"] for entry in ranking(talk).best]


def near(talk: Talk) -> dict[str, str]:
    return {entry["text"]: entry["near"] for entry in ranking(talk).best}


def test_what_the_user_says_stands_before_what_a_tool_printed():
    talk = Talk()
    talk.bash("make", "printed_name other_name")
    talk.user("please fix spoken_name")

    assert best(talk)[0] == "spoken_name"


def test_recent_and_frequent_names_stand_first():
    talk = Talk()
    talk.reply("old_name is broken")
    for _ in range(300):
        talk.reply("nothing to see")
    talk.reply("new_name is broken, frequent_name too")
    talk.reply("frequent_name again")

    assert best(talk) == ["frequent_name", "new_name", "old_name"]


def test_a_name_lies_by_the_file_that_declares_or_edits_it():
    talk = Talk()
    talk.read("/home/dev/proj/src/read.py", "1\tdef helper_one(): ...")
    talk.edit("/home/dev/proj/src/a.py", "def main_loop():", "def main_loop(): helper_one()")

    assert near(talk) == {"main_loop": "src/a.py", "helper_one": "src/read.py"}


def test_names_from_commands_lie_by_what_the_command_does():
    talk = Talk()
    talk.bash("docker compose up payment_db", "Started")

    assert near(talk) == {"payment_db": "docker compose up"}


def test_a_piece_of_a_script_is_no_place_for_a_name():
    talk = Talk()
    talk.bash("for d in one_dir; do run_all $d; done", "")
    talk.bash("perl s/old_name/new_name/ x", "")

    assert set(near(talk).values()) == {""}


def test_a_few_lines_that_were_asked_for_say_more_than_a_whole_file():
    talk = Talk()
    whole = {"file_path": "/home/dev/proj/a.py"}
    talk.call("Read", {**whole, "limit": 20, "offset": 400}, "401\tx = narrow_name")
    talk.call("Read", whole, "1\tx = broad_name")

    assert best(talk)[:2] == ["narrow_name", "broad_name"]


def test_the_hosts_own_words_are_no_names():
    talk = Talk()
    talk.host('{"task_id":"b1","task_type":"local_bash","description":"seed_tables"}')
    talk.call("TaskOutput", {"task_id": "b1"}, "<retrieval_status>not_ready</retrieval_status>")

    assert best(talk) == ["seed_tables"]


def test_touched_files_are_not_named_again_other_paths_are():
    talk = Talk()
    talk.edit("/home/dev/proj/src/a.py")
    talk.user("compare src/a.py, a.py and /home/dev/proj/docs/spec.md")

    assert best(talk) == ["docs/spec.md"]


def test_what_a_file_read_holds_is_ranked_too():
    talk = Talk()
    talk.read("/home/dev/proj/a.ts", "1\tconst cfg = loadSettings(userProfile)")

    assert set(best(talk)) == {"loadSettings", "userProfile"}


def test_colours_in_style_sheets_are_no_issues():
    talk = Talk()
    talk.edit("/home/dev/proj/a.css", "color: #888", "color: #123456")
    talk.user("see #42")

    assert best(talk) == ["#42"]


def test_a_refused_edit_leaves_no_new_names():
    talk = Talk()
    talk.edit("/home/dev/proj/a.py", "x", "new_name = 1", rejected=True, error=True)

    assert best(talk) == ["a.py"]


def test_a_dotted_name_makes_its_part_needless_and_the_other_way_round():
    talk = Talk()
    talk.reply("AshSqlite.DataLayer is used, fs.readFileSync too")

    assert best(talk) == ["AshSqlite.DataLayer", "readFileSync"]


def test_exact_things_of_every_kind_that_the_user_named_are_kept():
    talk = Talk()
    talk.user(
        "Bug #512 on https://shop.example/cart, commit 9fceb02d, order 550e8400-e29b-41d4-a716-446655440000, "
        "port localhost:5433, flag --no-cache, v2.14.3, ÜBER_LIMIT in größe_prüfen()"
    )

    kinds = {entry["text"]: entry["kind"] for entry in ranking(talk).best}

    assert kinds["#512"] == "issue"
    assert kinds["https://shop.example/cart"] == "url"
    assert kinds["9fceb02d"] == "hash"
    assert kinds["550e8400-e29b-41d4-a716-446655440000"] == "uuid"
    assert kinds["localhost:5433"] == "number"
    assert kinds["--no-cache"] == "flag"
    assert kinds["v2.14.3"] == "number"
    assert kinds["größe_prüfen"] == "name"


def test_the_list_is_bounded_and_the_same_in_every_run():
    talk = Talk()
    talk.read("/home/dev/proj/a.py", " ".join(f"name_{number}" for number in range(3_000)))

    first, second = best(talk), best(talk)

    assert first == second
    assert len(first) == MOST


def test_inputs_of_any_type_do_no_harm():
    talk = Talk()
    for value in (None, 5, ["a_b"], {"x": "y_z"}):
        talk.call("Grep", {"pattern": value, "path": value})
        talk.call("Task", {"prompt": value, "description": value})
        talk.call("WebFetch", {"url": value})
        talk.call("Bash", {"command": value})
        talk.note("mentioned_file", path=value)

    assert best(talk) == []
