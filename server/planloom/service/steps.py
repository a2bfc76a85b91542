"""A person's word on single steps: answers to their questions, and what to do about those that failed."""

from __future__ import annotations

from planloom.domain import events as ev
from planloom.domain.errors import InvalidParams, UnknownThing, WrongState
from planloom.domain.plan import Plan, Proposal, RecoveryAction, Step, StepResult
from planloom.domain.values import Args, PlanId, StepId
from planloom.execution.recovery import inserted
from planloom.execution.summary import execution_summary
from planloom.service.plans import Rooms, invalid
from planloom.service.states import require
from planloom.tools.tool import shortened


class Steps:
    """Answers and recoveries."""

    def __init__(self, rooms: Rooms) -> None:
        self._at = rooms

    async def answer(self, plan_id: PlanId, step_id: StepId, answer: str) -> Plan:
        """Answer a step's question; the last answer that was waited for resumes the plan."""
        if not answer.strip():
            raise InvalidParams(
                "The answer is empty.", details=[{"field": "answer", "problem": "it is empty"}]
            )
        async with self._at.ownership.turn(plan_id):
            plan = self._at.ownership.take(plan_id)
            require(plan, "step/answer")
            step = _step(plan, step_id)
            if step.status != "needs_clarification":
                raise WrongState(
                    f"The step “{step.description}” asks nothing.", status=step.status, allowed=(), by="user"
                )
            happened: list[ev.Event] = [ev.ClarificationProvided(task_id=step_id, answer=answer)]
            if step.kind == "clarification":
                result = StepResult(
                    ok=True,
                    value=answer,
                    summary=shortened(f"Answered: {answer}"),
                    duration_ms=0,
                    timestamp=self._at.book.clock(),
                )
                happened.append(ev.TaskCompleted(task_id=step_id, result=result))
            plan = self._at.book.record(plan_id, *happened)
            self._at.conductor.conduct(plan_id)
            return plan

    async def recover(
        self, plan_id: PlanId, step_id: StepId, action: RecoveryAction, args: Args | None
    ) -> Plan:
        """Decide on a failed step. New arguments are approved by this very act."""
        async with self._at.ownership.turn(plan_id):
            plan = self._at.ownership.take(plan_id)
            require(plan, "step/recover")
            step = _step(plan, step_id)
            recovery = next((each for each in plan.pending.recoveries if each.step_id == step_id), None)
            if recovery is None or action not in recovery.options:
                raise WrongState(
                    f"The step “{step.description}” does not wait for {action}.",
                    status=step.status,
                    allowed=recovery.options if recovery else (),
                    by="user",
                )
            proposal = recovery.proposal
            if action == "accept" and proposal is not None:
                if proposal.action == "insert":
                    return await self._insert(plan, step, proposal)
                action, args = proposal.action, proposal.args
            if action == "model":
                plan = self._at.book.record(plan_id, ev.RecoveryChosen(task_id=step_id, action="model"))
                self._at.conductor.asking.propose(plan_id, step_id)
                return plan
            if action == "abort":
                return await self._abort(plan, step_id)
            plan = self._at.book.record(plan_id, *self._chosen(plan, step, action, args))
            self._at.conductor.conduct(plan_id)
            return plan

    def _chosen(
        self, plan: Plan, step: Step, action: RecoveryAction, args: Args | None
    ) -> tuple[ev.Event, ...]:
        if action == "skip":
            return (
                ev.RecoveryChosen(task_id=step.step_id, action="skip"),
                ev.TaskSkipped(task_id=step.step_id, reason="user"),
            )
        if args is None:
            return (ev.RecoveryChosen(task_id=step.step_id, action="retry"),)
        changed = step.model_copy(update={"args": args})
        others = [changed if each.step_id == step.step_id else each for each in plan.steps]
        errors = [
            each
            for each in self._at.problems(plan, others)
            if each.severity == "error" and each.step_id == step.step_id
        ]
        if errors:
            raise invalid(errors)
        return (
            ev.RecoveryChosen(task_id=step.step_id, action="retry", args=args, version=plan.version + 1),
            ev.TasksList(),
        )

    async def _insert(self, plan: Plan, step: Step, proposal: Proposal) -> Plan:
        """Put the steps of a proposal before the failed one; the new version waits for its approval."""
        plan_id = plan.plan_id
        await self._at.conductor.halt(plan_id)
        try:
            plan = self._at.ownership.take(plan_id)
            if plan.status == "executing":
                self._at.book.record(plan_id, ev.PlanPaused(reason="recovery"))
            retried = ev.RecoveryChosen(task_id=step.step_id, action="retry")
            plan = self._at.book.record(plan_id, retried)
            steps = self._at.prepared(inserted(plan, step.step_id, proposal))
            changed = ev.PlanEdited(version=plan.version + 1, edits=(), steps=steps, by="model")
            return self._at.book.record(plan_id, changed, ev.PlanApprovalRequest())
        finally:
            self._at.conductor.release(plan_id)

    async def _abort(self, plan: Plan, step_id: StepId) -> Plan:
        self._at.book.record(plan.plan_id, ev.RecoveryChosen(task_id=step_id, action="abort"))
        await self._at.conductor.halt(plan.plan_id)
        now = self._at.ownership.take(plan.plan_id)
        ended = self._at.book.record(plan.plan_id, ev.PlanCancelled(summary=execution_summary(now)))
        self._at.conductor.release(plan.plan_id)
        return ended


def _step(plan: Plan, step_id: StepId) -> Step:
    step = plan.step(step_id)
    if step is None:
        raise UnknownThing("step", step_id)
    return step
