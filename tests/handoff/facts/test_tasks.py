from __future__ import annotations

from keepthread.handoff.facts import tasks
from tests.handoff.facts.talk import Talk


def listed(talk: Talk) -> list[tuple[str, str]]:
    return [(todo["text"], todo["status"]) for todo in tasks.todos(talk.items)]


def test_of_whole_lists_the_last_one_counts():
    talk = Talk()
    talk.call("TodoWrite", {"todos": [{"content": "a", "status": "in_progress"}]})
    talk.call(
        "TodoWrite",
        {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]},
    )

    assert listed(talk) == [("a", "completed"), ("b", "pending")]


def test_steps_are_replayed_with_the_ids_of_their_results():
    talk = Talk()
    talk.call(
        "TaskCreate", {"subject": "eins"}, "Task #7 created", task={"id": "7", "subject": "eins"}
    )
    talk.call("TaskCreate", {"subject": "zwei"}, "Task #8 created successfully: zwei")
    talk.call("TaskCreate", {"subject": "drei"}, "Task #9 created successfully: drei")
    talk.call("TaskUpdate", {"taskId": "7", "status": "completed"})
    talk.call("TaskUpdate", {"taskId": 8, "status": "in_progress", "subject": "zwei (neu)"})
    talk.call("TaskUpdate", {"taskId": "9", "status": "deleted"})
    talk.call("TaskUpdate", {"taskId": "7", "status": "pending"}, "refused", error=True)

    assert listed(talk) == [("eins", "completed"), ("zwei (neu)", "in_progress")]


def test_a_snapshot_of_the_host_replaces_what_was_replayed():
    talk = Talk()
    talk.call("TaskCreate", {"subject": "old"}, "Task #1 created")
    talk.note("tasks", tasks=[{"id": "2", "subject": "新的任务", "status": "in_progress"}])

    assert listed(talk) == [("新的任务", "in_progress")]


def test_lists_of_any_shape_do_no_harm():
    talk = Talk()
    for todos in (None, "x", [1, None, {"content": 3}, {"content": ""}], {"a": 1}):
        talk.call("TodoWrite", {"todos": todos})
    talk.call("TaskUpdate", {"taskId": None, "status": 5})
    talk.note("tasks", tasks="x")
    talk.note("todos", todos=[[]])

    assert listed(talk) == []


def test_the_accepted_plan_is_kept_and_a_refused_one_is_not():
    talk = Talk()
    talk.call("ExitPlanMode", {"plan": "# Plan A"}, "User has approved your plan.")
    talk.call("ExitPlanMode", {"plan": "# Plan B"}, "no", error=True, rejected=True)

    assert tasks.plan(talk.items) == "# Plan A"


def test_a_plan_accepted_with_cleared_context_is_kept_too_and_bounded():
    talk = Talk()
    talk.user("Implement the following plan:\n\n# Größerer Plan\n" + "step\n" * 2_000, via="plan")

    plan = tasks.plan(talk.items)

    assert plan.startswith("# Größerer Plan")
    assert len(plan) <= 4_100


def test_background_work_runs_until_it_is_reported_asked_for_or_stopped():
    talk = Talk()
    talk.bash("npm run dev", "Command running in background with ID: dev1")
    talk.bash("npm run test:watch", "", backgroundTaskId="w1")
    talk.bash("cargo build", "", backgroundTaskId="c1")
    talk.call(
        "Agent",
        {"description": "Look into wasm size"},
        "launched",
        status="async_launched",
        agentId="a9",
    )
    talk.call("Agent", {"description": "Review"}, "launched", status="async_launched", agentId="a8")
    talk.host(
        "<task-notification><task-id>w1</task-id><status>completed</status></task-notification>"
    )
    talk.call("TaskOutput", {"task_id": "c1"}, "done", task={"status": "completed"})
    talk.call("TaskStop", {"task_id": "a8"}, "stopped")

    running = tasks.background(talk.items, tasks.finished(talk.items))

    assert running == [
        {"id": "dev1", "what": "npm run dev"},
        {"id": "a9", "what": "Agent: Look into wasm size"},
    ]
