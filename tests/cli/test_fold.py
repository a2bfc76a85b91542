"""What the command line keeps of a plan's events."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from planloom.cli.client.plan_state import changed_files, ending, folded
from tests.support.scripts import plan, step

STEPS = [step(1, "a"), step(2, "b")]


def after(*events: dict[str, Any]) -> Any:
    numbered = ({"seq": number, **event} for number, event in enumerate(events, 2))
    return reduce(folded, numbered, plan(STEPS))


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ({"type": "task_started", "taskId": "s2"}, "running"),
        ({"type": "task_completed", "taskId": "s2"}, "completed"),
        ({"type": "task_skipped", "taskId": "s2"}, "skipped"),
        ({"type": "task_failed", "taskId": "s2", "willRetry": False}, "failed"),
        ({"type": "task_failed", "taskId": "s2", "willRetry": True}, "pending"),
        ({"type": "tool_started", "taskId": "s2"}, "pending"),
        ({"type": "from_the_future", "taskId": "s2"}, "pending"),
    ],
)
def test_an_event_sets_the_status_of_its_step(event: dict[str, Any], status: str) -> None:
    assert [item["status"] for item in after(event)["steps"]] == ["pending", status]


def test_an_old_event_changes_nothing() -> None:
    now = plan(STEPS, seq=9)
    assert folded(now, {"seq": 9, "type": "plan_completed"}) is now


def test_nothing_that_was_given_is_changed() -> None:
    given = plan([dict(item) for item in STEPS])
    folded(given, {"seq": 5, "type": "task_started", "taskId": "s1"})
    folded(given, {"seq": 5, "type": "task_created", "task": step(3, "c")})
    assert given == plan(STEPS)


def test_steps_are_added_once_and_lists_and_plans_replace_what_was_there() -> None:
    created = {"type": "task_created", "task": step(3, "c")}
    assert [item["stepId"] for item in after(created, created)["steps"]] == ["s1", "s2", "s3"]
    assert after({"type": "tasks_list", "tasks": [step(9, "z")]})["steps"] == [step(9, "z")]
    replaced = after({"type": "plan_edited", "plan": plan([], version=7, seq=2)})
    assert (replaced["version"], replaced["steps"], replaced["seq"]) == (7, [], 2)


def test_how_a_plan_ends() -> None:
    assert ending({"type": "plan_failed"}) == "failed"
    assert ending({"type": "plan_ready"}) is None
    assert after({"type": "plan_completed"})["status"] == "completed"


def files(*events: tuple[str, list[dict[str, str]]]) -> dict[str, str]:
    start: Any = {}
    return dict(reduce(changed_files, ({"type": name, "files": listed} for name, listed in events), start))


def test_files_that_are_different_now() -> None:
    made = ("edit_applied", [{"uri": "a", "change": "create"}])
    edited = ("edit_applied", [{"uri": "a", "change": "edit"}, {"uri": "b", "change": "edit"}])
    moved = ("edit_applied", [{"uri": "b", "newUri": "c", "change": "rename"}])
    deleted = ("edit_applied", [{"uri": "a", "change": "delete"}])
    assert files(made, edited) == {"a": "create", "b": "edit"}
    assert files(moved) == {"c": "rename"}
    assert files(made, deleted) == {"a": "delete"}
    assert files(made, edited, ("edit_reverted", [{"uri": "a"}])) == {"b": "edit"}
