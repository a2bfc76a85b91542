"""Folds what happens to single steps, and to their calls and checks."""

from __future__ import annotations

from typing import assert_never

from planloom.domain.events import catalog as ev
from planloom.domain.events.fold_calls import (
    believed,
    closed,
    command_started,
    completed,
    held_became,
    staged_became,
    started,
    with_staged,
)
from planloom.domain.events.folding import IllegalTransition, again, change, spent, updated, without_questions
from planloom.domain.plans.plan import Plan, Step, StepResult
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
        case ev.TaskUpdate():
            return _stepped(plan, event)
        case ev.TaskCompleted():
            if event.staged:
                # An older ledger does not say it before.
                plan = staged_became(plan, event.task_id, "staged")
            done = change(
                believed(closed(plan, event.task_id), event.task_id),
                event.task_id,
                {"running", "needs_clarification", "pending"},
                lambda step: with_staged(
                    updated(step, status="completed", result=event.result, completed_at=at, progress=100)
                ),
            )
            return spent(done, event.usage)
        case ev.TaskFailed():
            result = StepResult(ok=False, error=event.error, duration_ms=event.duration_ms, timestamp=at)
            status = "pending" if event.will_retry else "failed"
            fallen = change(
                closed(plan, event.task_id),
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
            return spent(fallen, event.usage)
        case ev.TaskSkipped():
            known = plan.step(event.task_id)
            undone = known is not None and (known.staged or known.was_turned_down)
            if undone:
                plan = staged_became(plan, event.task_id, "denied")
            left = change(
                closed(plan, event.task_id),
                event.task_id,
                {"pending", "failed", "running", "needs_clarification"}
                | ({"completed"} if undone else set()),
                lambda step: updated(
                    step,
                    status="skipped",
                    staged=False,
                    completed_at=at,
                    calls_closed=len(step.tools_executed),
                ),
            )
            return without_questions(left, event.task_id)
        case _:
            assert_never(event)


def _stepped(plan: Plan, event: ev.TaskUpdate) -> Plan:
    """Updates a running step, or settles the staged changes of a step that no longer runs."""
    step = plan.step(event.task_id)
    is_at_rest = step is not None and step.status in ("pending", "completed")
    if step is not None and is_at_rest and (step.waits or step.is_doubtful):
        if event.status != "pending":
            return staged_became(plan, event.task_id, "made")
        lost = staged_became(plan, event.task_id, "lost")
        return again(lost, event.task_id) if step.status == "completed" else lost
    changed = change(
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
        changed = closed(changed, event.task_id)
    elif event.command_started:
        changed = command_started(changed, event.task_id)
    return spent(held_became(changed, event), event.usage)


def fold_call(plan: Plan, event: ev.ToolStarted | ev.ToolCompleted | ev.CheckCompleted) -> Plan:
    """The plan after a call of a step has begun or ended, or a check came out. Raises IllegalTransition."""
    match event:
        case ev.ToolStarted():
            return started(plan, event)
        case ev.ToolCompleted():
            return completed(plan, event)
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
