"""Folds the events of single steps, their calls and their checks."""

from __future__ import annotations

from typing import assert_never

from planloom.domain.events import catalog as ev
from planloom.domain.events.fold_calls import (
    accept_doubtful,
    close_run,
    complete_call,
    open_call,
    settle_held,
    settle_staged,
    start_command,
    with_staged,
)
from planloom.domain.events.folding import (
    IllegalTransition,
    change_step,
    reset_step,
    updated,
    with_usage,
    without_questions,
)
from planloom.domain.plans.plan import Plan, Step, StepResult
from planloom.domain.values import Instant

StepEvent = ev.TaskStarted | ev.TaskUpdate | ev.TaskCompleted | ev.TaskFailed | ev.TaskSkipped


def fold_step(plan: Plan, event: StepEvent, at: Instant) -> Plan:
    """The plan after an event that changes the status of a step. Raises IllegalTransition."""
    match event:
        case ev.TaskStarted():
            if plan.approved_version != plan.version:
                raise IllegalTransition(f"{event.task_id} started without approval of version {plan.version}")
            return change_step(
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
        case ev.TaskUpdate():
            return _fold_update(plan, event)
        case ev.TaskCompleted():
            if event.staged:
                # Older ledgers record the staging only in this event.
                plan = settle_staged(plan, event.task_id, "staged")
            done = change_step(
                accept_doubtful(close_run(plan, event.task_id), event.task_id),
                event.task_id,
                {"running", "needs_clarification", "pending"},
                lambda step: with_staged(
                    updated(step, status="completed", result=event.result, completed_at=at, progress=100)
                ),
            )
            return with_usage(done, event.usage)
        case ev.TaskFailed():
            result = StepResult(ok=False, error=event.error, duration_ms=event.duration_ms, timestamp=at)
            status = "pending" if event.will_retry else "failed"
            failed = change_step(
                close_run(plan, event.task_id),
                event.task_id,
                {"running", "pending"},
                lambda step: updated(
                    step,
                    status=status,
                    result=result,
                    completed_at=at,
                    failures=step.failures + 1,
                    calls_before=len(step.tools_executed),
                    calls_closed=len(step.tools_executed),
                ),
            )
            return with_usage(failed, event.usage)
        case ev.TaskSkipped():
            step = plan.step(event.task_id)
            reopened = step is not None and (step.staged or step.was_turned_down)
            if reopened:
                plan = settle_staged(plan, event.task_id, "denied")
            skipped = change_step(
                close_run(plan, event.task_id),
                event.task_id,
                {"pending", "failed", "running", "needs_clarification"}
                | ({"completed"} if reopened else set()),
                lambda step: updated(
                    step,
                    status="skipped",
                    staged=False,
                    completed_at=at,
                    calls_closed=len(step.tools_executed),
                ),
            )
            return without_questions(skipped, event.task_id)
        case _:
            assert_never(event)


def _fold_update(plan: Plan, event: ev.TaskUpdate) -> Plan:
    """Update a running step, or settle the staged changes of a step that no longer runs."""
    step = plan.step(event.task_id)
    is_at_rest = step is not None and step.status in ("pending", "completed")
    if step is not None and is_at_rest and (step.waits or step.is_doubtful):
        if event.status != "pending":
            return settle_staged(plan, event.task_id, "made")
        lost = settle_staged(plan, event.task_id, "lost")
        return reset_step(lost, event.task_id) if step.status == "completed" else lost
    changed = change_step(
        plan,
        event.task_id,
        {"running", "needs_clarification"},
        lambda each: updated(
            each,
            status=event.status,
            progress=each.progress if event.progress is None else event.progress,
            active_form=event.active_form or each.active_form,
        ),
    )
    if event.status == "pending":
        changed = close_run(changed, event.task_id)
    elif event.command_started:
        changed = start_command(changed, event.task_id)
    return with_usage(settle_held(changed, event), event.usage)


def fold_call(plan: Plan, event: ev.ToolStarted | ev.ToolCompleted | ev.CheckCompleted) -> Plan:
    """The plan after a call of a step started or settled, or a check ran. Raises IllegalTransition."""
    match event:
        case ev.ToolStarted():
            return open_call(plan, event)
        case ev.ToolCompleted():
            return complete_call(plan, event)
        case ev.CheckCompleted():
            key = (event.check.kind, event.check.path, event.check.text, event.check.command)

            def with_check(step: Step) -> Step:
                same = [
                    event.check if (each.kind, each.path, each.text, each.command) == key else each
                    for each in step.checks
                ]
                listed = any(each is event.check for each in same)
                return updated(step, checks=tuple(same) if listed else (*step.checks, event.check))

            return change_step(plan, event.task_id, None, with_check)
        case _:
            assert_never(event)
