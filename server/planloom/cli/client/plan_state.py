"""Folds a plan's events into the parts of the plan that the command line shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from planloom.cli.client.messages import Json, Plan, Step

Ending = Literal["ready", "completed", "failed", "cancelled", "rejected"]
"""How a run ends; `ready` if it stops at the drafted plan."""

_STATUSES = {"task_started": "running", "task_completed": "completed", "task_skipped": "skipped"}
_ENDINGS: Mapping[str, Ending] = {
    "plan_completed": "completed",
    "plan_failed": "failed",
    "plan_cancelled": "cancelled",
    "plan_rejected": "rejected",
}
ENDED = frozenset(_ENDINGS.values())
"""The statuses of a plan that has ended."""


def folded(plan: Plan, event: Json) -> Plan:
    """The plan after an event; an event that is older than the plan changes nothing.

    Only the fields that are shown are kept up to date. For decisions the plan is fetched from the server.
    """
    seq = event.get("seq", 0)
    if seq <= plan.get("seq", 0):
        return plan
    name = event["type"]
    new: Json = {**(event.get("plan") or plan), "seq": seq}
    if name in _ENDINGS:
        new["status"] = _ENDINGS[name]
    elif name in ("plan_executing", "plan_direct"):
        new["status"] = "executing"
    elif name in ("tasks_list", "steps_unrolled"):
        new["steps"] = event["tasks"]
    elif name == "task_created":
        steps: list[Step] = new.get("steps") or []
        known = any(step["stepId"] == event["task"]["stepId"] for step in steps)
        new["steps"] = steps if known else [*steps, event["task"]]
    elif name == "plan_message":
        new["messages"] = [*(new.get("messages") or []), {"text": event.get("text", ""), "state": "open"}]
    elif name == "messages_read":
        said: list[Json] = new.get("messages") or []
        count = event["count"]
        new["messages"] = [*({**each, "state": "read"} for each in said[:count]), *said[count:]]
    elif status := _step_status(event):
        new["steps"] = _with_status(new.get("steps") or [], event.get("taskId"), status)
    return cast(Plan, new)


def has_unread(plan: Plan) -> bool:
    """Whether the person has said something that no step has read."""
    return any(message.get("state") == "open" for message in plan.get("messages") or [])


def changed_files(files: Mapping[str, str], event: Json) -> Mapping[str, str]:
    """The changed files after an event, as URI → kind of change."""
    match event["type"]:
        case "edit_applied" | "command_changed":
            new = {file.get("newUri") or file["uri"]: file["change"] for file in event.get("files") or []}
            # A file that this plan created stays new when it is edited.
            return {**files, **{uri: _combined(files.get(uri), change) for uri, change in new.items()}}
        case "edit_reverted":
            reverted = {file["uri"] for file in event.get("files") or []}
            return {uri: change for uri, change in files.items() if uri not in reverted}
    return files


def ending(event: Json) -> Ending | None:
    """How the plan ended, if this event ends it."""
    return _ENDINGS.get(event["type"])


def _with_status(steps: list[Step], step_id: str | None, status: str) -> list[Step]:
    """The steps with the status of one of them replaced."""
    index = next((index for index, step in enumerate(steps) if step["stepId"] == step_id), None)
    if index is None:
        return steps
    return [*steps[:index], cast(Step, {**steps[index], "status": status}), *steps[index + 1 :]]


def _step_status(event: Json) -> str | None:
    if event["type"] == "task_failed":
        return None if event.get("willRetry") else "failed"
    if event["type"] == "task_skipped" and event.get("reason") == "policy":
        # The step failed, and the setting leaves it so.
        return "failed"
    return _STATUSES.get(event["type"])


def _combined(before: str | None, now: str) -> str:
    return "create" if before == "create" and now == "edit" else now
