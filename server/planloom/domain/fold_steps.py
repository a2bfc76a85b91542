"""Folds what happens to single steps, and to their calls and checks."""

from __future__ import annotations

from typing import assert_never

from planloom.domain import events as ev
from planloom.domain.folding import (
    IllegalTransition,
    change,
    is_staged,
    settled,
    spent,
    updated,
    without_calls,
    without_questions,
)
from planloom.domain.plan import ExecutedTool, OpenCall, Plan, Step, StepResult
from planloom.domain.values import Instant

Stepping = ev.TaskStarted | ev.TaskUpdate | ev.TaskCompleted | ev.TaskFailed | ev.TaskSkipped


def fold_step(plan: Plan, event: Stepping, at: Instant) -> Plan:
    """The plan after a step has moved. Raises IllegalTransition."""
    match event:
        case ev.TaskStarted():
            if plan.approved_version != plan.version:
                raise IllegalTransition(f"{event.task_id} started without approval of version {plan.version}")
            return change(
                plan,
                event.task_id,
                {"pending"},
                lambda step: updated(
                    step,
                    status="running",
                    attempts=step.attempts + 1,
                    started_at=step.started_at or at,
                    progress=None,
                    result=None,
                    completed_at=None,
                ),
            )
        case ev.TaskUpdate() if is_staged(plan, event.task_id):
            return settled(plan, (event.task_id,), lost=event.status == "pending")
        case ev.TaskUpdate():
            changed = change(
                plan,
                event.task_id,
                {"running", "needs_clarification"},
                lambda step: updated(
                    step,
                    status=event.status,
                    progress=step.progress if event.progress is None else event.progress,
                    active_form=event.active_form or step.active_form,
                ),
            )
            if event.status == "pending":
                changed = without_calls(changed, event.task_id)
            return spent(changed, event.usage)
        case ev.TaskCompleted():
            done = change(
                plan,
                event.task_id,
                {"running", "needs_clarification", "pending"},
                lambda step: updated(
                    step,
                    status="completed",
                    result=event.result,
                    staged=event.staged,
                    completed_at=at,
                    progress=100,
                ),
            )
            return spent(without_calls(done, event.task_id), event.usage)
        case ev.TaskFailed():
            result = StepResult(ok=False, error=event.error, duration_ms=event.duration_ms, timestamp=at)
            status = "pending" if event.will_retry else "failed"
            fallen = change(
                plan,
                event.task_id,
                {"running", "pending"},
                lambda step: updated(
                    step,
                    status=status,
                    result=result,
                    completed_at=at,
                    failures=step.failures + 1,
                    calls_before=len(step.tools_executed),
                ),
            )
            return spent(without_calls(fallen, event.task_id), event.usage)
        case ev.TaskSkipped():
            left = change(
                plan,
                event.task_id,
                {"pending", "failed", "running", "needs_clarification"}
                | ({"completed"} if is_staged(plan, event.task_id) else set()),
                lambda step: updated(step, status="skipped", staged=False, completed_at=at),
            )
            return without_questions(without_calls(left, event.task_id), event.task_id)
        case _:
            assert_never(event)


def fold_call(plan: Plan, event: ev.ToolStarted | ev.ToolCompleted | ev.CheckCompleted) -> Plan:
    """The plan after a call of a step has begun or ended, or a check came out. Raises IllegalTransition."""
    match event:
        case ev.ToolStarted():
            call = OpenCall(call_id=event.call_id, step_id=event.task_id, tool=event.tool, args=event.args)
            return updated(plan, open_calls=(*plan.open_calls, call))
        case ev.ToolCompleted():
            return _settled_call(plan, event)
        case ev.CheckCompleted():
            key = (event.check.kind, event.check.path, event.check.text, event.check.command)

            def with_check(step: Step) -> Step:
                same = [
                    event.check if (each.kind, each.path, each.text, each.command) == key else each
                    for each in step.checks
                ]
                known = any(each is event.check for each in same)
                return updated(step, checks=tuple(same) if known else (*step.checks, event.check))

            return change(plan, event.task_id, None, with_check)
        case _:
            assert_never(event)


def _settled_call(plan: Plan, event: ev.ToolCompleted) -> Plan:
    call = next((each for each in plan.open_calls if each.call_id == event.call_id), None)
    if call is None:
        raise IllegalTransition(f"call {event.call_id} settled but never started")
    executed = ExecutedTool(
        tool=call.tool,
        args=call.args,
        ok=event.ok,
        deduplicated=event.deduplicated,
        summary=event.summary,
        duration_ms=event.duration_ms,
    )
    open_calls = tuple(each for each in plan.open_calls if each.call_id != event.call_id)
    closed = updated(plan, open_calls=open_calls)
    if closed.step(call.step_id) is None:
        return closed
    return change(
        closed,
        call.step_id,
        None,
        lambda step: updated(step, tools_executed=(*step.tools_executed, executed)),
    )
