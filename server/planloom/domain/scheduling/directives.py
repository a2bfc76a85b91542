"""The directives that a plan can call for next, and the rules of failures and of waiting that decide it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from planloom.domain.plans.plan import SETTLED, PauseReason, Plan, RecoveryAction, SkipReason, Step
from planloom.domain.values import StepId

RETRY_ATTEMPTS = 3
"""The greatest number of attempts of a step under the policy `retry`."""
_ENDS_WITH_ANSWER: frozenset[PauseReason] = frozenset({"clarification", "recovery", "conflict"})


class Limits(NamedTuple):
    """The settings that decide what may happen next."""

    max_parallel_steps: int = 4
    on_failure: Literal["ask", "retry", "skip", "model", "abort"] = "ask"
    pause_on_clarification: bool = True


class Begin(NamedTuple):
    """Start executing the approved plan."""

    kind: Literal["begin"] = "begin"


class RunStep(NamedTuple):
    """Run a step."""

    step_id: StepId
    kind: Literal["run_step"] = "run_step"


class AskClarification(NamedTuple):
    """Ask the user the question of a step."""

    step_id: StepId
    kind: Literal["ask_clarification"] = "ask_clarification"


class AskRecovery(NamedTuple):
    """Ask the user, or first the model, what to do about a failed step."""

    step_id: StepId
    of: Literal["user", "model"]
    kind: Literal["ask_recovery"] = "ask_recovery"


class Skip(NamedTuple):
    """Skip a step."""

    step_id: StepId
    reason: SkipReason
    kind: Literal["skip"] = "skip"


class Resume(NamedTuple):
    """Resume: what the plan was paused for has been answered."""

    kind: Literal["resume"] = "resume"


class Complete(NamedTuple):
    """End the plan as completed."""

    kind: Literal["complete"] = "complete"


class Fail(NamedTuple):
    """End the plan as failed."""

    code: str
    message: str
    kind: Literal["fail"] = "fail"


Directive = Begin | RunStep | AskClarification | AskRecovery | Skip | Resume | Complete | Fail


def recovery_options(step: Step) -> tuple[RecoveryAction, ...]:
    """The decisions on a failed step that need no model. Without a critical step no plan goes on."""
    return ("retry", "skip", "abort") if step.is_critical else ("retry", "skip", "go_on", "abort")


def will_retry(step: Step, limits: Limits) -> bool:
    """Whether a step that fails now is retried automatically."""
    return limits.on_failure == "retry" and step.failures + 1 < RETRY_ATTEMPTS


def is_round(plan: Plan, step: Step) -> bool:
    """Whether the step is, or belongs to, a round of a loop. It may fail: the condition of the loop decides then."""
    loop = None if step.parent is None else plan.step(step.parent)
    return loop is not None and (loop.repeat_until is not None or is_round(plan, loop))


def after_failures(plan: Plan, steps: Sequence[Step], limits: Limits) -> Iterator[Directive]:
    """The directives for failed steps: the end of the plan if one demands it, else a decision on each."""
    undecided = {recovery.step_id for recovery in plan.pending.recoveries}
    for step in steps:
        final = step.is_undecided and limits.on_failure in ("retry", "abort")
        abandoned = step.is_left and step.attempts > 0 and step.has_failed
        if step.is_critical and not step.passed_over and (final or abandoned):
            yield Fail(code="step_failed", message=f"The step “{step.title}” is critical and failed.")
            return
        if step.is_undecided and limits.on_failure == "abort":
            yield Fail(code="step_failed", message=f"The step “{step.title}” failed.")
            return
    for step in steps:
        if not step.is_undecided or step.step_id in undecided:
            continue
        if limits.on_failure == "skip":
            yield Skip(step_id=step.step_id, reason="policy")
        elif limits.on_failure in ("ask", "model"):
            yield AskRecovery(step_id=step.step_id, of="model" if limits.on_failure == "model" else "user")


def is_answered(plan: Plan) -> bool:
    """Whether what the plan was paused for has been answered."""
    waits = plan.pending.questions or plan.pending.recoveries or plan.pending.conflicts
    return plan.pause_reason in _ENDS_WITH_ANSWER and not waits


def when_idle(plan: Plan) -> tuple[Directive, ...]:
    """The directives when no step runs and none is ready: the plan waits, is complete, or is deadlocked."""
    open_steps = [step for step in plan.steps if step.status not in SETTLED]
    if not open_steps:
        return (Complete(),)
    if plan.pending.questions or plan.pending.recoveries or plan.pending.conflicts:
        return ()
    names = ", ".join(f"“{step.title}”" for step in open_steps[:5])
    return (Fail(code="deadlock", message=f"No step can start any more, but these are open: {names}."),)
