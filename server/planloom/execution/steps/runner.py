"""Runs one step: a literal tool call, or a task for the model, within its time and with its attachments."""

from __future__ import annotations

import logging
from typing import NamedTuple

from planloom.domain.errors import ModelFailed
from planloom.domain.plans.plan import Plan
from planloom.domain.plans.unrolling import TemplateOf
from planloom.domain.values import PlanId, StepId, Uri
from planloom.execution.commands.running import CallDenied, CancelledByUser
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.effects.unsaved import UnsavedFiles
from planloom.execution.nodes.conditions import condition
from planloom.execution.nodes.gates import ask_at_gate
from planloom.execution.nodes.loops import loop
from planloom.execution.nodes.sub_plans import run_sub_plan
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.execution.step_outcomes import (
    Asked,
    CallFailed,
    Done,
    Failed,
    Interrupted,
    Outcome,
    Rerouted,
    Skipped,
)
from planloom.execution.step_run import StepRun
from planloom.execution.steps.attached_files import StepAttachments
from planloom.execution.steps.fetches import StepFetches
from planloom.execution.steps.literal_calls import LiteralCalls
from planloom.execution.steps.model_work import ModelWork
from planloom.execution.steps.time_limits import PlanTimeBudget, StepClock, within
from planloom.execution.steps.tool_contexts import ToolContextFactory
from planloom.execution.summary import unverified
from planloom.intake.render import Rendered
from planloom.workspace.edits.verify import is_seen

log = logging.getLogger(__name__)


class Work(NamedTuple):
    """Who does the work of a step, by its kind."""

    literal_calls: LiteralCalls
    model_work: ModelWork
    gate: Gate
    template_of: TemplateOf


class Runner:
    """Runs steps for the conductor."""

    def __init__(
        self,
        session: Session,
        plan_store: PlanStore,
        staging: StagingArea,
        attachments: StepAttachments,
        work: Work,
        context_factory: ToolContextFactory,
    ) -> None:
        self._session = session
        self._plan_store = plan_store
        self.plan_time = PlanTimeBudget(session, plan_store)
        self._staging = staging
        self._attachments = attachments
        self._literal_calls, self._model_work, self._gate, self._template_of = work
        self._context_factory = context_factory

    async def run(self, plan_id: PlanId, step_id: StepId) -> Outcome:
        """Run the step to its end. Raises PlanloomError if it cannot be run."""
        await self._session.settle_trust(plan_id)
        step = self._plan_store.plan(plan_id).step(step_id)
        assert step is not None
        # A change that was given up may have been made since, and is then not made again.
        await self._session.view.unanswered.look(step.in_doubt)
        plan = self._plan_store.plan(plan_id)
        step = plan.step(step_id)
        assert step is not None
        run = StepRun(self._plan_store, self._session, plan, step)
        reading = self._context_factory.reading(plan)
        tools = self._context_factory.tools_of(run)
        decided = await condition(run, reading, tools) or await loop(run, reading, tools)
        if decided is not None:
            return decided
        if step.kind == "clarification":
            return Asked(question=step.asks, options=step.options)
        try:
            attachments = await self._attachments.of(plan, step, StepFetches(run, self._gate))
            if isinstance(attachments, Asked):
                return attachments
            return await within(self.plan_time, run, lambda clock: self._work(run, attachments, clock))
        except CancelledByUser:
            return Rerouted()
        except CallDenied as denied:
            return Skipped(reason="approval_denied", detail=denied.reason)
        except UnsavedFiles as unsaved:
            return Interrupted(reason="unsaved_files", detail=unsaved.sentence)

    async def _work(self, run: StepRun, attachments: Rendered, clock: StepClock) -> Outcome:
        """Run the literal call or the model. A call that ran and failed is a result, which the model works with."""
        if run.step.kind == "check":
            return await self._check(run)
        if run.step.kind == "approval":
            return await ask_at_gate(run, self._gate)
        if run.step.kind == "sub_plan":
            return await run_sub_plan(run, self._gate, self._template_of)
        if run.step.kind != "tool_call":
            return await self._model_work.run(run, attachments, clock)
        outcome = await self._literal_calls.run(run)
        if not isinstance(outcome, CallFailed):
            return outcome
        if not await self._model_work.is_possible():
            return outcome.failure
        try:
            taken_over = await self._model_work.run(run, attachments, clock, outcome.output)
        except ModelFailed as error:
            if error.code == "model_unavailable":
                raise
            # The person decides on the failure of the step itself, as without a model.
            log.warning("no model takes over step %s: %s", run.step_id, error.message)
            return outcome.failure
        if isinstance(taken_over, Done):
            return taken_over._replace(value=outcome.value)
        if isinstance(taken_over, Failed):
            return taken_over._replace(error=f"{taken_over.error}\n{outcome.failure.error}")
        return taken_over

    async def _check(self, run: StepRun) -> Outcome:
        """Run the checks of a step that is nothing else."""
        checks = self._context_factory.checks(run, self._context_factory.context(run))
        failed = [*await checks.staged(), *await checks.made()]
        if failed:
            return Failed(error="\n".join(failed), code="check_failed")
        return Done(summary="Nothing speaks against it")

    def leading(self, plan: Plan) -> StepId | None:
        """The step whose work a model has written ahead; no other step of a model starts before it has ended."""
        return self._model_work.threads.leading(plan)

    async def seen(self, plan: Plan) -> frozenset[Uri]:
        """The files with unverified changes that show them now, in the editor or on disk."""
        seen: set[Uri] = set()
        for each in unverified(plan):
            text = self._plan_store.store.text
            before, after = (None if digest is None else text(digest) for digest in (each.before, each.after))
            if after is not None and await is_seen(self._session.view, each.file.uri, before or "", after):
                seen.add(each.file.uri)
        return frozenset(seen)

    async def before_end(self, plan_id: PlanId) -> bool:
        """Commit what the plan has staged. False if the plan must not end yet."""
        return await self._staging.commit_at_end(plan_id)
