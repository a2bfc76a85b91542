"""Which events can happen to a plan in which status: a table, and random histories."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import reduce
from typing import get_args

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from planloom.domain.events import catalog as ev
from planloom.domain.events.folding import RULES, IllegalTransition
from planloom.domain.events.lifecycle import apply
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.graph import execution_order
from planloom.domain.plans.plan import ENDED, Detection, Plan, PlanError, PlanStatus, Step, StepResult
from planloom.domain.plans.revision import is_to_come
from planloom.domain.safety.approvals import Approval
from planloom.domain.scheduling import directives as do
from planloom.domain.values import ApprovalId, PlanId, SessionId, Sha256, StepId
from tests.depth import rounds
from tests.domain.reference_directives import directives

AT = datetime(2026, 1, 1, tzinfo=UTC)
PLAN = PlanId("p")
DETECTION = Detection(planned=True, rule="numbered_list", score=50, ambiguous=False)
RESULT = StepResult(ok=True, summary="did it", duration_ms=1, timestamp=AT)
STATUSES: tuple[PlanStatus, ...] = get_args(PlanStatus)


def recorded(plan: Plan | None, event: ev.Event) -> ev.Recorded:
    seq = 1 if plan is None else plan.seq + 1
    return ev.Recorded(seq=seq, plan_id=PLAN, session_id=SessionId("s"), at=AT, event=event)


def after(*happened: ev.Event) -> Plan:
    plan: Plan | None = None
    for event in happened:
        plan = apply(plan, recorded(plan, event))
    assert plan is not None
    return plan


def step(step_id: str, *depends_on: str, **more: object) -> Step:
    return Step.model_validate(
        {
            "step_id": step_id,
            "description": step_id,
            "instruction": step_id,
            "depends_on": depends_on,
            **more,
        }
    )


START = ev.PlanStart(request="1. a 2. b", route="plan", detection=DETECTION)


def ready(*steps: Step, version: int = 1) -> ev.PlanReady:
    return ev.PlanReady(version=version, steps=steps, summary="", sequential=False, author="rules")


APPROVED = ev.PlanApproved(version=1, review="each")
RUNNING = (START, ready(step("a"), step("b", "a")), APPROVED, ev.PlanExecuting())


def test_every_event_has_a_rule() -> None:
    union = get_args(get_args(ev.Event)[0])
    assert {*RULES, ev.PlanStart} == {*union}, (
        "declare a rule by `folds(ev.…, when=…)` in a `fold_…` module of domain/events, as docs/extending.md says"
    )


@pytest.mark.parametrize("kind", sorted(RULES, key=lambda kind: kind.__name__), ids=lambda k: k.__name__)
def test_an_event_is_refused_in_each_status_that_the_table_does_not_name(kind: type) -> None:
    """It never gets through, whatever it holds."""
    event = kind.model_construct(type=kind.model_fields["type"].default)
    for status in STATUSES:
        if status not in RULES[kind].when:
            plan = after(START).model_copy(update={"status": status, "steps": (step("a"),), "version": 1})
            with pytest.raises(IllegalTransition):
                apply(plan, recorded(plan, event))


@pytest.mark.parametrize(
    ("happened", "status"),
    [
        ((START,), "draft"),
        ((START, ev.PlanDrafting(version=0), ready(step("a"))), "pending_approval"),
        ((START, ready(step("a")), ev.PlanRejected(reason="no")), "rejected"),
        ((START, ready(step("a")), APPROVED), "approved"),
        (RUNNING, "executing"),
        ((*RUNNING, ev.PlanPaused(reason="user")), "paused"),
        ((*RUNNING, ev.PlanPaused(reason="user"), ev.PlanResumed()), "executing"),
        ((*RUNNING, ev.PlanCancelled(summary="")), "cancelled"),
        ((START, ev.PlanCancelled(summary="")), "cancelled"),
        ((START, ev.PlanFailed(summary="", error=PlanError(code="x", message="y"))), "failed"),
        (
            (START, ev.PlanDirect(steps=(step("a"),), sequential=True, author="rules")),
            "executing",
        ),
        (
            (
                START,
                ready(step("a")),
                APPROVED,
                ev.PlanExecuting(),
                ev.StepStarted(step_id=StepId("a"), agent="koda"),
                ev.StepCompleted(step_id=StepId("a"), result=RESULT),
                ev.PlanCompleted(summary="1 of 1 steps done."),
            ),
            "completed",
        ),
        ((*RUNNING, ev.PlanPaused(reason="user"), ev.PlanDrafting(version=1)), "draft"),
    ],
)
def test_status_after_a_history(happened: tuple[ev.Event, ...], status: PlanStatus) -> None:
    assert after(*happened).status == status


def test_an_edit_of_a_paused_plan_revokes_the_approval() -> None:
    edited = ev.PlanEdited(version=2, edits=(), steps=(step("a"), step("b")))
    plan = after(*RUNNING, ev.PlanPaused(reason="user"), edited)
    assert (plan.status, plan.version, plan.approved_version) == ("pending_approval", 2, None)


def test_no_version_but_the_one_at_hand_can_be_approved() -> None:
    plan = after(START, ready(step("a"), version=2))
    with pytest.raises(IllegalTransition):
        apply(plan, recorded(plan, APPROVED))


def test_a_plan_does_not_complete_with_open_steps() -> None:
    plan = after(*RUNNING)
    with pytest.raises(IllegalTransition):
        apply(plan, recorded(plan, ev.PlanCompleted(summary="done")))


def test_regeneration_keeps_finished_steps_and_what_was_before() -> None:
    plan = after(
        *RUNNING,
        ev.StepStarted(step_id=StepId("a"), agent="koda"),
        ev.StepCompleted(step_id=StepId("a"), result=RESULT),
        ev.PlanPaused(reason="user"),
        ev.PlanDrafting(version=1, feedback="shorter"),
    )
    assert [each.step_id for each in plan.steps] == ["a"]
    assert plan.before_draft is not None and [s.step_id for s in plan.before_draft.steps] == ["a", "b"]


def test_an_answer_is_kept_beside_the_instruction() -> None:
    plan = after(
        *RUNNING,
        ev.StepStarted(step_id=StepId("a"), agent="koda"),
        ev.ClarificationRequest(step_id=StepId("a"), question="Which colour?"),
        ev.ClarificationProvided(step_id=StepId("a"), answer="blue"),
    )
    answered = plan.step(StepId("a"))
    assert answered is not None and answered.status == "pending"
    assert (
        plan.answers(StepId("a")) == ("Which colour?\nAnswer: blue",) and "blue" not in answered.instruction
    )
    assert plan.pending.questions == ()


def test_events_come_back_from_json_as_they_went_in() -> None:
    for event in (*RUNNING, ev.PlanEdited(version=2, edits=(), steps=(step("a"),))):
        assert ev.events.validate_json(ev.events.dump_json(event)) == event


class Histories(RuleBasedStateMachine):
    """Random plans, random people, random luck; the conductor's directives in between."""

    @initialize(
        shape=st.lists(st.sets(st.integers(0, 5), max_size=2), min_size=1, max_size=6),
        sequential=st.booleans(),
        policy=st.sampled_from(["ask", "retry", "skip", "abort"]),
        critical=st.integers(0, 8),
    )
    def begin(self, shape: list[set[int]], sequential: bool, policy: str, critical: int) -> None:
        self.log: list[ev.Recorded] = []
        self.plan: Plan | None = None
        self.limits = do.Limits(max_parallel_steps=2, on_failure=policy)  # type: ignore[arg-type]
        steps = tuple(
            step(
                f"s{n}",
                *(f"s{d}" for d in sorted(depends) if d < n),
                kind="clarification" if n == 4 else "processing",
                question="?" if n == 4 else None,
                critical=n == critical,
            )
            for n, depends in enumerate(shape)
        )
        self.happen(START)
        self.happen(ev.PlanReady(version=1, steps=steps, summary="", sequential=sequential, author="rules"))

    def happen(self, event: ev.Event) -> None:
        each = recorded(self.plan, event)
        self.plan = apply(self.plan, each)
        assert isinstance(self.plan.steps, IndexedTuple) and isinstance(self.plan.edits, IndexedTuple)
        self.log.append(each)

    @property
    def now(self) -> Plan:
        assert self.plan is not None
        return self.plan

    def running(self) -> list[StepId]:
        return [each.step_id for each in self.now.steps if each.status == "running"]

    @precondition(lambda self: self.now.status == "pending_approval")
    @rule()
    def approve(self) -> None:
        self.happen(ev.PlanApproved(version=self.now.version, review="each"))

    @precondition(lambda self: self.now.status in ("pending_approval", "paused") and not self.running())
    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        left = [s for s in self.now.steps if s.status == "completed" or data.draw(st.booleans())]
        ids = {s.step_id for s in left}
        kept = tuple(
            s.model_copy(update={"depends_on": tuple(d for d in s.depends_on if d in ids)}) for s in left
        )
        if kept:
            self.happen(ev.PlanEdited(version=self.now.version + 1, edits=(), steps=kept))

    @precondition(lambda self: self.now.status == "executing" and bool(self.running()))
    @rule(data=st.data())
    def narrow(self, data: st.DataObject) -> None:
        """A running step drops and reorders steps that have not begun."""
        stays = [s for s in self.now.steps if not is_to_come(s)]
        rest = data.draw(st.permutations([s for s in self.now.steps if is_to_come(s)]))
        kept = stays + [s for s in rest if data.draw(st.booleans())]
        ids = {s.step_id for s in kept}
        # A step that stays may have had a dependency that is dropped only if that was over.
        if any(d not in ids for s in kept for d in s.depends_on):
            return
        narrowed = ev.PlanEdited(
            version=self.now.version + 1,
            edits=(),
            steps=execution_order(kept),
            by="model",
            step_id=self.running()[0],
        )
        self.happen(narrowed)
        assert self.now.status == "executing" and self.now.approved_version == self.now.version

    @rule()
    def obey(self) -> None:
        for directive in directives(self.now, self.limits)[:1]:
            self.perform(directive)

    def perform(self, directive: do.Directive) -> None:
        match directive:
            case do.Begin():
                self.happen(ev.PlanExecuting())
            case do.RunStep():
                chosen = self.now.step(directive.step_id)
                assert chosen is not None
                assert self.now.status == "executing"
                assert self.now.approved_version == self.now.version
                for need in chosen.depends_on:
                    done = self.now.step(need)
                    assert done is not None and done.frees_dependents
                assert len(self.running()) < self.limits.max_parallel_steps
                self.happen(ev.StepStarted(step_id=directive.step_id, agent="koda"))
            case do.AskClarification():
                self.happen(ev.ClarificationRequest(step_id=directive.step_id, question="?"))
                self.happen(ev.PlanPaused(reason="clarification"))
            case do.AskRecovery():
                self.happen(
                    ev.RecoveryRequest(step_id=directive.step_id, error="e", options=("retry", "skip"))
                )
                if self.now.status == "executing":
                    self.happen(ev.PlanPaused(reason="recovery"))
            case do.Skip():
                self.happen(ev.StepSkipped(step_id=directive.step_id, reason=directive.reason))
            case do.Resume():
                self.happen(ev.PlanResumed())
            case do.Complete():
                self.happen(ev.PlanCompleted(summary=""))
            case do.Fail():
                error = PlanError(code=directive.code, message=directive.message)
                self.happen(ev.PlanFailed(summary="", error=error))

    @precondition(lambda self: self.running())
    @rule(data=st.data(), luck=st.sampled_from(["done", "failed", "pending", "asked"]))
    def settle(self, data: st.DataObject, luck: str) -> None:
        step_id = data.draw(st.sampled_from(self.running()))
        match luck:
            case "done":
                self.happen(ev.StepCompleted(step_id=step_id, result=RESULT))
            case "failed":
                chosen = self.now.step(step_id)
                assert chosen is not None
                again = do.will_retry(chosen, self.limits)
                self.happen(ev.StepFailed(step_id=step_id, error="no", will_retry=again))
            case "pending":
                self.happen(ev.StepUpdate(step_id=step_id, status="pending"))
            case _:
                self.happen(ev.ClarificationRequest(step_id=step_id, question="?"))

    @precondition(lambda self: self.now.pending.questions)
    @rule()
    def answer(self) -> None:
        question = self.now.pending.questions[0]
        asked = self.now.step(question.step_id)
        self.happen(ev.ClarificationProvided(step_id=question.step_id, answer="yes"))
        if asked is not None and asked.kind == "clarification":
            self.happen(ev.StepCompleted(step_id=question.step_id, result=RESULT))

    @precondition(lambda self: self.now.pending.recoveries)
    @rule(action=st.sampled_from(["retry", "skip", "go_on"]))
    def recover(self, action: str) -> None:
        recovery = self.now.pending.recoveries[0]
        self.happen(ev.RecoveryChosen(step_id=recovery.step_id, action=action))  # type: ignore[arg-type]
        if action != "retry":
            self.happen(ev.StepSkipped(step_id=recovery.step_id, reason="user"))

    @precondition(lambda self: self.now.status == "executing" and not self.running())
    @rule()
    def pause(self) -> None:
        self.happen(ev.PlanPaused(reason="user"))

    @precondition(lambda self: self.now.status == "paused")
    @rule()
    def resume(self) -> None:
        self.happen(ev.PlanResumed())

    @invariant()
    def the_fold_of_the_log_is_the_plan(self) -> None:
        if not hasattr(self, "log"):
            return
        assert reduce(apply, self.log, None) == self.plan

    @invariant()
    def a_plan_is_never_stuck_silently(self) -> None:
        """While it executes, something runs, or is due, or waits for a person."""
        if not hasattr(self, "log") or self.now.status != "executing":
            return
        waits = self.now.pending.questions or self.now.pending.recoveries
        assert self.running() or directives(self.now, self.limits) or waits

    def teardown(self) -> None:
        """Carried to its end by luck alone, every approved plan ends."""
        if not hasattr(self, "log"):
            return
        for _ in range(400):
            if self.now.status in ENDED or self.now.status in ("pending_approval", "draft"):
                return
            if self.now.pending.questions:
                self.answer()
            elif self.now.pending.recoveries:
                self.recover("skip")
            elif found := directives(self.now, self.limits):
                self.perform(found[0])
            elif self.running():
                self.happen(ev.StepCompleted(step_id=self.running()[0], result=RESULT))
            elif self.now.status == "paused":
                self.happen(ev.PlanResumed())
        raise AssertionError(f"the plan did not end: {self.now.status}")


Histories.TestCase.settings = hypothesis_settings(max_examples=rounds(40, 1_000), stateful_step_count=40)
TestHistories = Histories.TestCase


def test_an_approval_is_pending_until_it_is_resolved() -> None:
    approval = Approval(
        approval_id=ApprovalId("x"),
        plan_id=PLAN,
        step_id=StepId("a"),
        proposal=Sha256("0" * 64),
        effect="write",
        title="Create a",
    )
    asked = after(*RUNNING, ev.ApprovalRequested(approval=approval))
    assert asked.pending.approvals == (approval,)
    answered = apply(
        asked,
        recorded(asked, ev.ApprovalResolved(approval_id=approval.approval_id, decision="allow", by="user")),
    )
    assert answered.pending.approvals == ()


@pytest.mark.parametrize("approval", [None, ApprovalId("a1")])
def test_a_running_plan_is_not_widened_without_an_approval(approval: ApprovalId | None) -> None:
    first, second = (Step(step_id=StepId(name), description=name, instruction=name) for name in "ab")
    plan = Plan(
        plan_id=PlanId("p"),
        session_id=SessionId("s"),
        version=1,
        approved_version=1,
        status="executing",
        steps=IndexedTuple((first.model_copy(update={"status": "running"}), second)),
    )
    steps = (plan.steps[0], second.model_copy(update={"instruction": "Delete all."}))
    widened = ev.PlanEdited(
        version=2, edits=(), steps=steps, by="model", step_id=StepId("a"), approval_id=approval
    )
    recorded = ev.Recorded(
        seq=1,
        plan_id=plan.plan_id,
        session_id=plan.session_id,
        at=datetime(2026, 1, 5, tzinfo=UTC),
        event=widened,
    )
    if approval is None:
        with pytest.raises(IllegalTransition):
            apply(plan, recorded)
    else:
        assert apply(plan, recorded).approved_version == 2
