"""Scripts for the scripted server: one plan, from its creation to its end, with what a test wants in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]


def step(number: int, description: str, **more: Any) -> Json:
    """A step that calls a tool, unless `more` says otherwise."""
    return {
        "stepId": f"s{number}",
        "order": number,
        "description": description,
        "instruction": description,
        "activeForm": "",
        "kind": "tool_call",
        "agent": "koda",
        "tool": "write_file",
        "args": {"path": f"f{number}"},
        "dependsOn": [],
        "status": "pending",
    } | more


def plan(steps: Sequence[Json], **more: Any) -> Json:
    """A plan that waits for its review."""
    return {
        "planId": "p",
        "version": 1,
        "seq": 1,
        "status": "pending_approval",
        "steps": list(steps),
        "sequential": True,
        "overallRisk": "low",
        "author": "rules",
        "route": "plan",
        "attachments": [],
    } | more


def approval(number: int, name: str, **more: Any) -> Json:
    """An approval for a new file of step `number`."""
    file = {"uri": f"$ROOT/{name}", "change": "create", "added": 1, "removed": 0, "resolvedPath": ""}
    return {
        "approvalId": f"a{number}",
        "planId": "p",
        "stepId": f"s{number}",
        "effect": "write",
        "title": f"step {number}",
        "protected": False,
        "files": [file],
    } | more


def events(*listed: Json) -> Json:
    """The action that sends events."""
    return {"events": list(listed)}


def done(number: int, summary: str = "") -> Json:
    """The event of a step that is completed."""
    return {
        "type": "task_completed",
        "taskId": f"s{number}",
        "result": {"ok": True, "summary": summary, "durationMs": 1},
    }


COMPLETED: Json = {"type": "plan_completed", "summary": "All done.", "progress": {"total": 1, "completed": 1}}
PAUSED: Json = {"type": "plan_paused", "reason": "user"}
CANCELLED: Json = {"type": "plan_cancelled", "summary": "", "progress": {"total": 1}}


def script(
    steps: Sequence[Json],
    on_approve: Sequence[Json] = (),
    **methods: Sequence[Sequence[Json]],
) -> dict[str, Any]:
    """A plan of `steps`; `on_approve` happens after its approval, `methods` (`plan_cancel`, …) when called."""
    drafted = plan([], status="draft", version=0, seq=0)
    detection = {"planned": True, "rule": "numbered_list", "score": 50, "ambiguous": False}
    ready = events(
        {"type": "plan_start", "request": ""},
        *({"type": "task_created", "task": item} for item in steps),
        {"type": "plan_ready", "plan": plan(steps)},
    )
    turns: dict[str, Any] = {
        "planloom/plan/create": [
            [{"reply": {"plan": drafted, "detection": detection, "unresolved": []}}, ready]
        ],
        "planloom/plan/get": [[{"reply": {"plan": plan(steps), "progress": {}}}]],
        "planloom/plan/approve": [
            [
                {"reply": {"plan": plan(steps, status="approved")}},
                events({"type": "plan_executing"}),
                *on_approve,
            ]
        ],
        "planloom/plan/pause": [[events(PAUSED), {"reply": {"plan": plan(steps, status="paused")}}]],
        "planloom/plan/cancel": [[{"reply": {"plan": plan(steps, status="cancelled")}}, events(CANCELLED)]],
        "planloom/approval/diff": [[{"reply": {"uri": "$ROOT/x", "before": None, "after": "text\n"}}]],
    }
    return turns | {f"planloom/{name.replace('_', '/')}": turns_of for name, turns_of in methods.items()}
