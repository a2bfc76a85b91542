"""What a person is asked about steps: their questions, and what to do about one that failed."""

from __future__ import annotations

import logging
from collections.abc import Callable

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, RecoveryProposal, Step, Usage
from planloom.domain.scheduling import directives as do
from planloom.domain.values import PlanId, StepId
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.recovery_proposals import ProposedRecovery, Proposer

log = logging.getLogger(__name__)


class StepQuestions:
    """Puts questions about steps, and pauses the plan for them where it is to. `proposer` is asked for a way out."""

    def __init__(
        self, plan_store: PlanStore, jobs: Jobs, limits: Callable[[], do.Limits], proposer: Proposer | None
    ) -> None:
        self._plan_store = plan_store
        self._jobs = jobs
        self._limits = limits
        self._proposer = proposer

    @property
    def can_propose(self) -> bool:
        """Whether a model could say what to do about a failed step."""
        return self._proposer is not None

    def clarify(self, plan: Plan, question: ev.ClarificationRequest) -> None:
        """Ask what a step wants to know."""
        happened: list[ev.Event] = [question]
        if self._limits().pause_on_clarification and plan.status == "executing":
            happened.append(ev.PlanPaused(reason="clarification", detail=question.question))
        self._plan_store.record(plan.plan_id, *happened)

    def propose(self, plan_id: PlanId, step_id: StepId) -> None:
        """Let the model propose what to do about a failed step; a person is asked with what it says."""
        self._jobs.start(f"step:{plan_id}:{step_id}:recovery", self._propose(plan_id, step_id))

    async def _propose(self, plan_id: PlanId, step_id: StepId) -> None:
        plan = self._plan_store.load(plan_id)
        step = plan.step(step_id) if plan else None
        if plan is None or step is None or self._proposer is None:
            return
        try:
            said = await self._proposer.propose(plan, step, _error(step))
        except Exception:
            log.exception("no proposal for step %s of plan %s, on a defect", step_id, plan_id)
            said = ProposedRecovery(None, note="No proposal could be made; the log has the trace.")
        now = self._plan_store.load(plan_id)
        step = now.step(step_id) if now else None
        if (
            now is None
            or step is None
            or step.status != "failed"
            or now.status not in ("executing", "paused")
        ):
            return
        if said.note is not None:
            self._plan_store.record(plan_id, ev.Log(level="warning", message=said.note, task_id=step_id))
        self.recover(now, step, said.proposal, said.usage)

    def recover(
        self, plan: Plan, step: Step, proposal: RecoveryProposal | None = None, usage: Usage | None = None
    ) -> None:
        """Ask what to do about a failed step, with what the model proposes if it was asked."""
        error = _error(step)
        options = do.RECOVERY_OPTIONS if self._proposer is None else (*do.RECOVERY_OPTIONS, "model")
        if proposal is not None:
            options = ("accept", *options)
        happened: list[ev.Event] = [
            ev.RecoveryRequest(
                task_id=step.step_id, error=error, options=options, proposal=proposal, usage=usage
            )
        ]
        if plan.status == "executing":
            happened.append(ev.PlanPaused(reason="recovery", detail=error))
        self._plan_store.record(plan.plan_id, *happened)


def _error(step: Step) -> str:
    return (step.result.error if step.result else None) or "The step failed."
