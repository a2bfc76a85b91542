"""The rules of events of single steps, their calls and their checks."""

from __future__ import annotations

from functools import reduce

from planloom.domain.events import catalog as ev
from planloom.domain.events.fold_calls import (
    accept_doubtful,
    close_run,
    complete_call,
    end_background,
    open_call,
    settle_held,
    settle_staged,
    start_background,
    start_command,
    with_staged,
)
from planloom.domain.events.folding import (
    ALIVE,
    ANY,
    DRAFT,
    REVIEW,
    IllegalTransition,
    as_plan_steps,
    change_step,
    folds,
    logged,
    reset_step,
    updated,
    with_usage,
    without_questions,
)
from planloom.domain.plans.commands import running_in_background
from planloom.domain.plans.plan import Check, LogLine, Plan, Step, StepResult, Usage
from planloom.domain.plans.unrolling import share_done
from planloom.domain.problems import Judged
from planloom.domain.values import Instant, StepId


@folds(ev.StepStarted, when={"executing"})
def task_started(plan: Plan, event: ev.StepStarted, at: Instant) -> Plan:
    """The plan with a step running, which its approved version holds."""
    if plan.approved_version != plan.version:
        raise IllegalTransition(f"{event.step_id} started without approval of version {plan.version}")
    return change_step(
        plan,
        event.step_id,
        {"pending"},
        lambda step: updated(
            step,
            status="running",
            attempts=step.attempts + 1,
            passed_over=False,
            started_at=step.started_at or at,
            run_started_at=at,
            waited_ms=0,
            waits_since=None,
            progress=share_done(plan, step),
            result=None,
            checks=_to_be_made(step),
            judged=None,
            completed_at=None,
        ),
    )


@folds(ev.StepUpdate, when=ALIVE | REVIEW)
def task_update(plan: Plan, event: ev.StepUpdate, _at: Instant) -> Plan:
    """Update a running step, or settle the staged changes of a step that no longer runs."""
    step = plan.step(event.step_id)
    is_at_rest = step is not None and step.status in ("pending", "completed")
    if step is not None and is_at_rest and (step.waits or step.is_doubtful):
        if event.status != "pending":
            return settle_staged(plan, event.step_id, "made")
        lost = settle_staged(plan, event.step_id, "lost")
        return reset_step(lost, event.step_id) if step.status == "completed" else lost
    changed = change_step(
        plan,
        event.step_id,
        {"running", "needs_clarification"},
        lambda each: updated(
            each,
            status=event.status,
            progress=each.progress if event.progress is None else event.progress,
            active_form=event.active_form or each.active_form,
            usage=each.usage if event.usage is None else event.usage.plus(each.usage or Usage()),
        ),
    )
    if event.status == "pending":
        changed = close_run(changed, event.step_id)
    elif event.command_started or event.command_process is not None:
        changed = start_command(changed, event)
    if event.progress is not None:
        changed = _with_progress_above(changed, event.step_id)
    return with_usage(settle_held(changed, event), event.usage, event.model, event.model_seconds)


@folds(ev.StepCompleted, when=ALIVE)
def task_completed(plan: Plan, event: ev.StepCompleted, at: Instant) -> Plan:
    """The plan with a step completed."""
    completed = change_step(
        accept_doubtful(close_run(plan, event.step_id), event.step_id),
        event.step_id,
        {"running", "needs_clarification", "pending"},
        lambda step: with_staged(
            updated(step, status="completed", result=event.result, completed_at=at, progress=100)
        ),
    )
    return _with_progress_above(completed, event.step_id)


def _with_progress_above(plan: Plan, step_id: StepId) -> Plan:
    """The plan with the progress of the loops and sub-plans that a step was unrolled from."""
    step = plan.step(step_id)
    loop = None if step is None or step.parent is None else plan.step(step.parent)
    if loop is None:
        return plan
    share = share_done(plan, loop)
    changed = change_step(plan, loop.step_id, None, lambda each: updated(each, progress=share))
    return _with_progress_above(changed, loop.step_id)


@folds(ev.StepFailed, when=ALIVE)
def task_failed(plan: Plan, event: ev.StepFailed, at: Instant) -> Plan:
    """The plan with a step failed, or pending if it is retried."""
    result = StepResult(
        ok=False, error=event.error, code=event.code, duration_ms=event.duration_ms, timestamp=at
    )
    status = "pending" if event.will_retry else "failed"
    failed = change_step(
        close_run(plan, event.step_id),
        event.step_id,
        {"running", "pending"},
        lambda step: updated(
            step,
            status=status,
            skip_reason=None,
            result=result,
            completed_at=at,
            failures=step.failures + 1,
            calls_before=len(step.tools_executed),
            calls_closed=len(step.tools_executed),
        ),
    )
    return _with_progress_above(failed, event.step_id)


@folds(ev.StepSkipped, when=ALIVE)
def task_skipped(plan: Plan, event: ev.StepSkipped, at: Instant) -> Plan:
    """The plan with a step skipped; a completed one only if none of its changes is made.

    A step that failed and is left so by the setting stays failed.
    """
    step = plan.step(event.step_id)
    reopened = step is not None and (step.staged or step.was_turned_down)
    if reopened:
        plan = settle_staged(plan, event.step_id, "denied")
    skipped = change_step(
        close_run(plan, event.step_id),
        event.step_id,
        {"pending", "failed", "running", "needs_clarification"} | ({"completed"} if reopened else set()),
        lambda step: updated(
            step,
            status="failed" if event.reason == "policy" else "skipped",
            skip_reason=event.reason,
            result=_denial(event, at) if event.reason == "approval_denied" else step.result,
            staged=False,
            completed_at=at,
            calls_closed=len(step.tools_executed),
        ),
    )
    return _with_progress_above(without_questions(skipped, event.step_id), event.step_id)


@folds(ev.ConditionEvaluated, when=ALIVE)
def condition_evaluated(plan: Plan, event: ev.ConditionEvaluated, _at: Instant) -> Plan:
    """The plan with what became of the condition of a running step."""
    return change_step(
        plan, event.step_id, {"running"}, lambda step: updated(step, condition_held=event.holds)
    )


@folds(ev.StepsUnrolled, when=ALIVE)
def steps_unrolled(plan: Plan, event: ev.StepsUnrolled, at: Instant) -> Plan:
    """The plan with the new steps behind those there are; what was unrolled is pending until they have ended."""
    index = plan.index_of(event.step_id)
    ids = tuple(step.step_id for step in event.steps)
    if index is None or not ids or any(plan.step(step_id) is not None for step_id in ids):
        raise IllegalTransition(f"{event.step_id} cannot be unrolled into {', '.join(ids)}")
    waiting = change_step(
        close_run(plan, event.step_id),
        event.step_id,
        {"running"},
        lambda step: updated(step, status="pending", children=(*step.children, *ids)),
    )
    places = map(plan.index_of, plan.made_of(event.step_id))
    end = 1 + max((place for place in places if place is not None), default=index)
    steps = (*waiting.steps[:end], *event.steps, *waiting.steps[end:])
    return _with_progress_above(updated(waiting, steps=as_plan_steps(steps, at)), ids[0])


@folds(ev.StepsList, when=ANY)
def tasks_list(plan: Plan, event: ev.StepsList, _at: Instant) -> Plan:
    """The plan with the staged changes of the named steps settled."""
    return reduce(lambda now, step_id: settle_staged(now, step_id, event.staged), event.settled, plan)


@folds(ev.ToolStarted, when=ALIVE | DRAFT)
def tool_started(plan: Plan, event: ev.ToolStarted, _at: Instant) -> Plan:
    """The plan with one more open call."""
    return open_call(plan, event)


@folds(ev.ToolCompleted, when=ALIVE | DRAFT)
def tool_completed(plan: Plan, event: ev.ToolCompleted, _at: Instant) -> Plan:
    """The plan with a call closed and kept by its step."""
    return complete_call(plan, event)


@folds(ev.BackgroundStarted, when=ALIVE)
def background_started(plan: Plan, event: ev.BackgroundStarted, _at: Instant) -> Plan:
    """The plan with a command in the background."""
    return start_background(plan, event)


@folds(ev.BackgroundEnded, when=ANY)
def background_ended(plan: Plan, event: ev.BackgroundEnded, at: Instant) -> Plan:
    """The plan with a background command ended, and a log line for it unless it was stopped."""
    ended = end_background(plan, event)
    running = (command for _, command in running_in_background(plan))
    command = next((each.command for each in running if each.command_id == event.command_id), None)
    if command is None or event.reason == "stopped":
        return ended
    message, level = (
        "{0}: {1}" if event.line else "{0}: ended",
        "info" if event.reason == "exit" else "warning",
    )
    return logged(ended, LogLine(level=level, message=message, values=(command, event.line), at=at))


@folds(ev.CheckCompleted, when=ALIVE)
def check_completed(plan: Plan, event: ev.CheckCompleted, _at: Instant) -> Plan:
    """The plan with the outcome of a check, in the place of that check's last one."""
    key = (event.check.kind, event.check.path, event.check.text, event.check.command)

    def with_check(step: Step) -> Step:
        if event.judged is not None:
            step = _judged(step, event.judged)
        if event.implied:
            return step
        same = [
            event.check if (each.kind, each.path, each.text, each.command) == key else each
            for each in step.checks
        ]
        listed = any(each is event.check for each in same)
        checked = updated(step, checks=tuple(same) if listed else (*step.checks, event.check))
        return updated(checked, progress=_share_checked(checked)) if step.kind == "check" else checked

    changed = change_step(plan, event.step_id, None, with_check)
    return _with_progress_above(changed, event.step_id)


def _judged(step: Step, judged: Judged) -> Step:
    """A step with a judgement of its changes. One that ended with errors alone is done once another has mended them."""
    result = step.result
    if result is not None and result.caveat == "unchecked" and not step.checks and not judged.errors:
        result = result.model_copy(update={"caveat": None})
    return updated(step, judged=judged, result=result)


def _to_be_made(step: Step) -> tuple[Check, ...]:
    """The checks of a step that starts: a check step makes them anew; another keeps what its earlier run has broken."""
    return step.as_written().checks if step.kind == "check" else step.checks


def _share_checked(step: Step) -> int:
    """How many of the checks of a step have been made, in percent."""
    return 100 * sum(check.outcome is not None for check in step.checks) // len(step.checks)


@folds(ev.ContextCompacted, when=ALIVE)
def context_compacted(plan: Plan, event: ev.ContextCompacted, at: Instant) -> Plan:
    """The plan with the summary that replaces the results of these steps in prompts."""
    summarized = plan.summarized.union(event.steps)
    tokens = (event.before_tokens, event.after_tokens)
    line = LogLine(level="info", message="Context compacted from {0} to {1} tokens.", values=tokens, at=at)
    return updated(logged(plan, line), context_summary=event.summary, summarized=summarized)


@folds(ev.Answer, when=ALIVE)
def answer(plan: Plan, event: ev.Answer, _at: Instant) -> Plan:
    """The plan with the model's final answer."""
    return updated(plan, answer=event.text, confidence=event.confidence)


@folds(ev.ModelUsed, when=ANY)
def model_used(plan: Plan, event: ev.ModelUsed, _at: Instant) -> Plan:
    """The plan with more used of a model."""
    return with_usage(plan, event.usage, event.model)


LOOKED = 8
"""How much of what a draft has looked at is shown."""


@folds(ev.Log, when=ANY)
def log(plan: Plan, event: ev.Log, at: Instant) -> Plan:
    """The plan with a message for the user; one before the plan is approved is about its draft."""
    with_line = logged(plan, LogLine(level=event.level, message="{0}", values=(event.message,), at=at))
    draft = plan.last_draft
    if draft is None or event.level == "debug" or plan.status not in ("draft", "pending_approval"):
        return with_line
    if event.level == "info":
        looked = (*draft.looked, event.message)[-LOOKED:]
        return updated(with_line, last_draft=updated(draft, looked=looked))
    return updated(with_line, last_draft=updated(draft, warnings=(*draft.warnings, event.message)))


def _denial(event: ev.StepSkipped, at: Instant) -> StepResult:
    """The result of a step that was not allowed, so that its reason stays with it."""
    return StepResult(ok=False, error=event.detail or "It was not allowed.", duration_ms=0, timestamp=at)
