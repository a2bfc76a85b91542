"""The requests on single steps: answer a step's question, and decide how to recover from a failure."""

from __future__ import annotations

from typing import Literal

from planloom.domain.errors import InvalidParams, UnknownThing, WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, RecoveryAction, RecoveryProposal, Step, StepResult
from planloom.domain.values import Args, PlanId, StepId
from planloom.execution.conductor import Conductor
from planloom.execution.plan_store import PlanStore
from planloom.execution.recovery_proposals import inserted
from planloom.execution.step_rules import StepRules
from planloom.execution.summary import cancelled
from planloom.service.actions.plans import invalid
from planloom.service.running.turns import Turns
from planloom.tools.tool import SEVERAL_MATCHES, shortened


class Steps:
    """The requests on single steps. They raise what those of `Plans` raise."""

    def __init__(self, plan_store: PlanStore, turns: Turns, conductor: Conductor, rules: StepRules) -> None:
        self._plan_store = plan_store
        self._turns = turns
        self._conductor = conductor
        self._rules = rules

    async def answer(self, plan_id: PlanId, step_id: StepId, answer: str) -> Plan:
        """Answer a step's question; the plan resumes once no question is open."""
        if not answer.strip():
            raise InvalidParams(
                "The answer is empty.", details=[{"field": "answer", "problem": "it is empty"}]
            )
        async with self._turns.turn(plan_id, "step/answer") as plan:
            step = _step(plan, step_id)
            if step.status != "needs_clarification":
                raise WrongState(
                    f"The step “{step.title}” asks nothing.", status=step.status, allowed=(), by="user"
                )
            happened: list[ev.Event] = [ev.ClarificationProvided(step_id=step_id, answer=answer)]
            if step.kind == "clarification":
                result = StepResult(
                    ok=True,
                    value=answer,
                    summary=shortened(f"Answered: {answer}"),
                    duration_ms=0,
                    timestamp=self._plan_store.clock(),
                )
                happened.append(ev.StepCompleted(step_id=step_id, result=result))
            answered = self._plan_store.record(plan_id, *happened)
            self._conductor.conduct(plan_id)
            return answered

    async def recover(
        self, plan_id: PlanId, step_id: StepId, action: RecoveryAction, args: Args | None
    ) -> Plan:
        """Recover from a failed step by `action`. New arguments are thereby approved. Raises InvalidPlan."""
        async with self._turns.turn(plan_id, "step/recover") as plan:
            step = _step(plan, step_id)
            recovery = next((each for each in plan.pending.recoveries if each.step_id == step_id), None)
            if recovery is None or action not in recovery.options:
                raise WrongState(
                    f"The step “{step.title}” does not wait for {action}.",
                    status=step.status,
                    allowed=recovery.options if recovery else (),
                    by="user",
                )
            proposal = recovery.proposal
            by: Literal["user", "model"] = (
                "model" if action == "accept" and recovery.code != SEVERAL_MATCHES else "user"
            )
            if action == "accept" and proposal is not None:
                if proposal.action == "insert":
                    return await self._insert(plan_id, step, proposal)
                action, args = proposal.action, proposal.args
            if action == "model":
                asked = self._plan_store.record(plan_id, ev.RecoveryChosen(step_id=step_id, action="model"))
                self._conductor.questions.propose(plan_id, step_id)
                return asked
            if action == "abort":
                return await self._abort(plan_id, step_id, by)
            decided = self._plan_store.record(
                plan_id,
                *self._chosen(
                    plan, step, ev.RecoveryChosen(step_id=step_id, action=action, args=args, by=by)
                ),
            )
            self._conductor.conduct(plan_id)
            return decided

    def _chosen(self, plan: Plan, step: Step, chosen: ev.RecoveryChosen) -> tuple[ev.Event, ...]:
        """The events of a decision to skip or retry the step. Raises InvalidPlan if its new arguments are invalid."""
        if chosen.action in ("skip", "go_on"):
            return chosen.model_copy(update={"args": None}), ev.StepSkipped(
                step_id=step.step_id, reason="user"
            )
        if chosen.args is None:
            return (chosen,)
        changed = step.model_copy(update={"args": chosen.args})
        others = [changed if each.step_id == step.step_id else each for each in plan.steps]
        errors = [each for each in self._rules.errors(plan, others) if each.step_id == step.step_id]
        if errors:
            raise invalid(errors)
        return chosen.model_copy(update={"version": plan.version + 1}), ev.StepsList()

    async def _insert(self, plan_id: PlanId, step: Step, proposal: RecoveryProposal) -> Plan:
        """Insert the proposed steps before the failed one; the new version needs an approval."""
        async with self._turns.halted(plan_id, "step/recover") as plan:
            if plan.status == "executing":
                self._plan_store.record(plan_id, ev.PlanPaused(reason="recovery"))
            retried = self._plan_store.record(
                plan_id, ev.RecoveryChosen(step_id=step.step_id, action="retry", by="model")
            )
            steps = await self._rules.for_review(inserted(retried, step.step_id, proposal))
            changed = ev.PlanEdited(version=plan.version + 1, edits=(), steps=steps, by="model")
            return self._plan_store.record(plan_id, changed, ev.StepsList(), ev.PlanApprovalRequest())

    async def _abort(self, plan_id: PlanId, step_id: StepId, by: Literal["user", "model"]) -> Plan:
        async with self._turns.halted(plan_id, "step/recover") as plan:
            chosen = ev.RecoveryChosen(step_id=step_id, action="abort", by=by)
            ended = cancelled(plan, self._plan_store.store.text)
            return self._plan_store.record(plan_id, chosen, ended)


def _step(plan: Plan, step_id: StepId) -> Step:
    step = plan.step(step_id)
    if step is None:
        raise UnknownThing("step", step_id)
    return step
