"""Asks the user about steps: a step's own questions, and how to recover from a failed one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

from planloom.domain.errors import UntrustedWorkspace
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, RecoveryProposal, Step
from planloom.domain.scheduling import directives as do
from planloom.domain.values import PlanId, StepId
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.tools.tool import SEVERAL_MATCHES

log = logging.getLogger(__name__)


class ProposedRecovery(NamedTuple):
    """A proposal, or None and a `note` that says why there is none; `used` is what was asked of the model for it."""

    proposal: RecoveryProposal | None
    used: ev.ModelUsed | None = None
    note: str | None = None


class Proposer(Protocol):
    """Asks a model how to recover from a failed step."""

    async def propose(self, plan: Plan, step: Step, error: str) -> ProposedRecovery:
        """One proposal that can be carried out as it is, or a note that says why there is none."""
        ...


class StepQuestions:
    """Records questions about steps and pauses the plan for them. `proposer` proposes recoveries."""

    def __init__(
        self,
        plan_store: PlanStore,
        jobs: Jobs,
        limits: Callable[[], do.Limits],
        proposer: Proposer | None,
    ) -> None:
        self._plan_store = plan_store
        self._jobs = jobs
        self._limits = limits
        self._proposer = proposer

    @property
    def can_propose(self) -> bool:
        """Whether a recovery can be proposed by the model."""
        return self._proposer is not None

    def clarify(self, plan: Plan, question: ev.ClarificationRequest) -> None:
        """Ask a step's question."""
        happened: list[ev.Event] = [question]
        if self._limits().pause_on_clarification and plan.status == "executing":
            happened.append(ev.PlanPaused(reason="clarification", detail=question.question))
        self._plan_store.record(plan.plan_id, *happened)

    def propose(self, plan_id: PlanId, step_id: StepId) -> None:
        """Let the model propose a recovery from a failed step, then ask the user with its proposal."""
        self._jobs.start(f"step:{plan_id}:{step_id}:recovery", self._propose(plan_id, step_id))

    async def _propose(self, plan_id: PlanId, step_id: StepId) -> None:
        plan = self._plan_store.load(plan_id)
        step = plan.step(step_id) if plan else None
        if plan is None or step is None or self._proposer is None:
            return
        try:
            proposed = await self._proposer.propose(plan, step, _error(step))
        except Exception:
            log.exception("no proposal for step %s of plan %s because of a defect", step_id, plan_id)
            proposed = ProposedRecovery(
                None, note="No recovery could be proposed; the log has the traceback."
            )
        now = self._plan_store.load(plan_id)
        if now is not None and proposed.used is not None:
            now = self._plan_store.record(plan_id, proposed.used)
        step = now.step(step_id) if now else None
        if (
            now is None
            or step is None
            or step.status != "failed"
            or now.status not in ("executing", "paused")
        ):
            return
        if proposed.note is not None:
            self._plan_store.record(plan_id, ev.Log(level="warning", message=proposed.note, step_id=step_id))
        self.recover(now, step, proposed.proposal)

    def recover(self, plan: Plan, step: Step, proposal: RecoveryProposal | None = None) -> None:
        """Ask the user how to recover from a failed step, with the proposal if there is one."""
        error = _error(step)
        if proposal is None and step.result is not None and step.result.code == SEVERAL_MATCHES:
            every = {**(step.args or {}), "replace_all": True}
            proposal = RecoveryProposal(action="retry", args=every, why="Replace all of them.")
        options = do.recovery_options(step)
        if step.result is not None and step.result.code == UntrustedWorkspace.code:
            # Until the folder is trusted, every step and every model meets the same refusal.
            options = ("retry", "abort")
        elif self._proposer is not None:
            options = (*options, "model")
        if proposal is not None:
            options = ("accept", *options)
        happened: list[ev.Event] = [
            ev.RecoveryRequest(
                step_id=step.step_id,
                error=error,
                code=step.result.code if step.result else None,
                options=options,
                proposal=proposal,
            )
        ]
        if plan.status == "executing":
            happened.append(ev.PlanPaused(reason="recovery", detail=error))
        self._plan_store.record(plan.plan_id, *happened)


def _error(step: Step) -> str:
    return (step.result.error if step.result else None) or "The step failed."
