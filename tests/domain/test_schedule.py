"""The incremental schedule gives the same directives as the rule that examines every step."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planloom.domain.events import catalog as ev
from planloom.domain.events.lifecycle import apply
from planloom.domain.plans.plan import Detection, Plan, Step, StepResult
from planloom.domain.scheduling import directives as do
from planloom.domain.scheduling.schedule import Schedule
from planloom.domain.values import PlanId, SessionId, StepId
from tests.depth import rounds
from tests.domain.reference_directives import directives

AT = datetime(2026, 1, 1, tzinfo=UTC)
DETECTION = Detection(planned=True, rule="numbered_list", score=50, ambiguous=False)

STAGED = {
    "call_id": "c",
    "tool": "write_file",
    "args": {},
    "ok": True,
    "deduplicated": False,
    "summary": "",
    "duration_ms": 1,
    "files": {"file:///x": "staged"},
}
"""A call whose change a restart loses, so that its step goes back to pending."""


class Run:
    """One plan with the schedule that follows it."""

    def __init__(self, steps: tuple[Step, ...], sequential: bool) -> None:
        self.plan: Plan | None = None
        self.schedule: Schedule | None = None
        self.add(ev.PlanStart(request="r", route="plan", detection=DETECTION))
        ready = ev.PlanReady(version=1, steps=steps, summary="", sequential=sequential, author="rules")
        self.add(ready)
        self.add(ev.PlanApproved(version=1, review="each"))
        self.add(ev.PlanExecuting())
        assert self.plan is not None
        self.schedule = Schedule(self.plan)

    def add(self, event: ev.Event) -> None:
        seq = 1 if self.plan is None else self.plan.seq + 1
        recorded = ev.Recorded(seq=seq, plan_id=PlanId("p"), session_id=SessionId("s"), at=AT, event=event)
        self.plan = apply(self.plan, recorded)
        if self.schedule is not None:
            self.schedule.update(event, self.plan)


def steps_of(chance: random.Random, count: int) -> tuple[Step, ...]:
    made = []
    for n in range(count):
        dependencies = [StepId(f"s{m}") for m in range(n) if chance.random() < 0.25]
        made.append(
            Step.model_validate(
                {
                    "step_id": f"s{n}",
                    "description": f"s{n}",
                    "instruction": "",
                    "depends_on": tuple(dependencies),
                    "kind": "clarification" if chance.random() < 0.1 else "processing",
                    "priority": chance.choice(("critical", "high", "normal", "low")),
                    "critical": chance.random() < 0.1,
                    "status": "skipped" if chance.random() < 0.05 else "pending",
                    "tools_executed": (STAGED,) if chance.random() < 0.3 else (),
                }
            )
        )
    return tuple(made)


def happens(chance: random.Random, run: Run, due: tuple[do.Directive, ...]) -> list[ev.Event]:
    """Something that may follow: a directive done, or the end of a running step."""
    assert run.plan is not None
    choices: list[ev.Event] = []
    for directive in due:
        match directive:
            case do.RunStep():
                choices.append(ev.StepStarted(step_id=directive.step_id, agent="koda"))
            case do.Skip():
                choices.append(ev.StepSkipped(step_id=directive.step_id, reason=directive.reason))
            case do.AskClarification():
                choices.append(ev.ClarificationRequest(step_id=directive.step_id, question="?"))
            case do.AskRecovery():
                choices.append(ev.RecoveryRequest(step_id=directive.step_id, error="e", options=("retry",)))
            case do.Resume():
                choices.append(ev.PlanResumed())
            case _:
                continue
    result = StepResult(ok=True, duration_ms=1, timestamp=AT)
    for step in run.plan.steps:
        if step.status == "running":
            choices += [
                ev.StepCompleted(step_id=step.step_id, result=result),
                ev.StepFailed(step_id=step.step_id, error="e", will_retry=chance.random() < 0.3),
                ev.StepUpdate(step_id=step.step_id, status="pending"),
            ]
        elif step.status == "completed" and step.staged:
            choices.append(ev.StepUpdate(step_id=step.step_id, status="pending"))
        elif step.status == "needs_clarification":
            choices.append(ev.ClarificationProvided(step_id=step.step_id, answer="a"))
    for recovery in run.plan.pending.recoveries:
        choices.append(ev.RecoveryChosen(step_id=recovery.step_id, action="retry"))
        choices.append(ev.RecoveryChosen(step_id=recovery.step_id, action="go_on"))
        choices.append(ev.StepSkipped(step_id=recovery.step_id, reason="user"))
    if run.plan.status == "executing" and chance.random() < 0.1:
        choices.append(ev.PlanPaused(reason="recovery"))
    return choices


@settings(max_examples=rounds(40, 2_000))
@given(seed=st.integers(0, 10**9), sequential=st.booleans())
def test_counting_and_looking_agree(seed: int, sequential: bool) -> None:
    chance = random.Random(seed)
    run = Run(steps_of(chance, chance.randrange(1, 14)), sequential)
    limits = do.Limits(
        max_parallel_steps=chance.randrange(1, 5),
        on_failure=chance.choice(("ask", "retry", "skip", "model", "abort")),
    )
    for _ in range(40):
        assert run.plan is not None and run.schedule is not None
        due = directives(run.plan, limits)
        assert run.schedule.directives(run.plan, limits) == due
        choices = happens(chance, run, due)
        if not choices:
            break
        run.add(chance.choice(choices))


def test_a_step_that_must_wait_for_a_thing_in_use_lets_others_pass() -> None:
    steps = tuple(
        Step(step_id=StepId(name), description=name, instruction="") for name in ("m1", "m2", "m3", "t1")
    )
    run = Run(steps, sequential=False)
    assert run.plan is not None and run.schedule is not None
    due = run.schedule.directives(
        run.plan, do.Limits(max_parallel_steps=2), lambda step: not step.step_id.startswith("m")
    )
    assert due == (do.RunStep(step_id=StepId("t1")),)


@pytest.mark.parametrize("sequential", [False, True])
def test_nothing_free_and_nothing_running_is_no_deadlock(sequential: bool) -> None:
    run = Run((Step(step_id=StepId("a"), description="a", instruction=""),), sequential)
    assert run.plan is not None and run.schedule is not None
    assert run.schedule.directives(run.plan, do.Limits(), lambda _: False) == ()


def test_a_step_waits_for_one_that_went_back_behind_a_completed_one() -> None:
    def step(name: str, *needs: str, **more: object) -> Step:
        return Step.model_validate(
            {"step_id": name, "description": name, "instruction": "", "depends_on": needs, **more}
        )

    run = Run((step("s1", tools_executed=(STAGED,)), step("s2", "s1"), step("s3", "s2")), sequential=False)
    result = StepResult(ok=True, duration_ms=1, timestamp=AT)
    for name in ("s1", "s2"):
        run.add(ev.StepStarted(step_id=StepId(name), agent="koda"))
        run.add(ev.StepCompleted(step_id=StepId(name), result=result))
    run.add(ev.StepUpdate(step_id=StepId("s1"), status="pending"))
    assert run.plan is not None and run.schedule is not None
    assert run.schedule.directives(run.plan, do.Limits()) == (do.RunStep(step_id=StepId("s1")),)
    run.add(ev.StepStarted(step_id=StepId("s1"), agent="koda"))
    assert run.schedule.directives(run.plan, do.Limits()) == ()
    run.add(ev.StepCompleted(step_id=StepId("s1"), result=result))
    assert run.schedule.directives(run.plan, do.Limits()) == (do.RunStep(step_id=StepId("s3")),)
