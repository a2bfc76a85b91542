"""Messages of a person to a plan after its request: each revises the plan, reaches its steps, or continues it."""

from __future__ import annotations

import logging

from planloom.domain.errors import InvalidParams, PlanloomError
from planloom.domain.events import catalog as ev
from planloom.domain.plans.attachments import additional
from planloom.domain.plans.plan import ENDED, MessageOutcome, Plan, PlanStatus
from planloom.domain.values import PlanId
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.intake.reference_sources import Requested, Resolution
from planloom.service.actions.plans import Plans
from planloom.service.drafts.drafts import Drafts
from planloom.service.models import Models
from planloom.service.requests import Attached, CreateRequest, MessageResult
from planloom.service.running.turns import Turns

_REVISED: frozenset[PlanStatus] = frozenset({"draft", "pending_approval", "rejected", "failed"})
NOTHING_ATTACHED = Attached()
log = logging.getLogger(__name__)


class Messages:
    """The request `send`. A message is in the ledger before it is answered.

    What no step has read when the plan completes continues the plan, like a message to a completed plan.
    """

    def __init__(
        self,
        plan_store: PlanStore,
        turns: Turns,
        jobs: Jobs,
        plans: Plans,
        drafts: Drafts,
        models: Models,
    ) -> None:
        self._plan_store = plan_store
        self._turns = turns
        self._jobs = jobs
        self._plans = plans
        self._drafts = drafts
        self._models = models

    async def send(self, plan_id: PlanId, text: str, attached: Attached = NOTHING_ATTACHED) -> MessageResult:
        """Say something to a plan, by its status. What the text and `attached` refer to is the plan's from then on.

        A draft or a plan under review is revised: ModelFailed if there is no model. A running or paused plan reads it
        before the next request to its model; it is never taken for the answer to a question or an approval. An ended
        plan is continued by a new one, which begins with its conversation. Raises InvalidParams for an empty text,
        what `Plans.create` raises, and what every request on a plan does.
        """
        if not text.strip():
            raise InvalidParams(
                "The message is empty.", details=[{"field": "text", "problem": "it is empty"}]
            )
        plan = self._plan_store.read(plan_id)
        sent = None if _has_ended(plan) else await self._to_open_plan(plan_id, text, attached)
        return sent or await self._continue(plan_id, text, attached)

    async def _to_open_plan(self, plan_id: PlanId, text: str, attached: Attached) -> MessageResult | None:
        """Revise the plan or queue the message; None if the plan has ended meanwhile."""
        found = await self._plans.attach(plan_id, text, attached)
        async with self._turns.turn(plan_id, "message") as plan:
            if _has_ended(plan):
                return None
            if not _is_revised(plan):
                return self._to_run(plan, text, found)
            if await self._models.current() is None:
                failure = self._models.no_model()
                failure.hint = f"{failure.hint} Or edit the steps by hand."
                raise failure
            async with self._turns.halted(plan_id, "message") as halted:
                # While the draft was being stopped, it may have become a direct run.
                if not _is_revised(halted):
                    return self._to_run(halted, text, found)
                message = ev.PlanMessage(
                    text=text, outcome="revising", attachments=additional(halted.attachments, found.plain)
                )
                revised = self._drafts.begin_again(halted, halted.rejection_reason, message)
                return MessageResult(outcome="revising", plan=revised, unresolved=found.unresolved)

    def _to_run(self, plan: Plan, text: str, found: Resolution) -> MessageResult:
        works = any(step.status == "running" and step.kind == "processing" for step in plan.steps)
        waits_for = _waits_for(plan)
        outcome: MessageOutcome = "delivered" if works and waits_for is None else "queued"
        fresh = additional(plan.attachments, found.plain)
        message = ev.PlanMessage(text=text, outcome=outcome, attachments=fresh)
        queued = self._plan_store.record(plan.plan_id, message)
        return MessageResult(outcome=outcome, plan=queued, waits_for=waits_for, unresolved=found.unresolved)

    async def _continue(self, plan_id: PlanId, text: str, attached: Attached) -> MessageResult:
        created = await self._plans.create(
            CreateRequest(
                text=text,
                follows=plan_id,
                context=attached.context,
                attachments=attached.attachments,
                confirmed=attached.confirmed,
            )
        )
        return MessageResult(outcome="continued", plan=created.plan, unresolved=created.unresolved)

    def on_event(self, _: ev.Recorded, plan: Plan) -> None:
        """Continue a plan that has ended before it has read every message."""
        if plan.unread:
            text = "\n".join(message.text for message in plan.unread)
            # References in the text are resolved again from it; images of files may not be named in it.
            images = tuple(
                Requested(uri=each.uri, label=each.label)
                for each in plan.attachments
                if each.kind == "image" and each.uri is not None and not each.of_web
            )
            said = Attached(attachments=images)
            self._jobs.start(f"continue:{plan.plan_id}", self._continue_later(plan.plan_id, text, said))

    async def _continue_later(self, plan_id: PlanId, text: str, attached: Attached) -> None:
        try:
            await self._continue(plan_id, text, attached)
        except PlanloomError as error:
            log.warning("the messages to plan %s do not continue it: %s", plan_id, error.message)


def _has_ended(plan: Plan) -> bool:
    """Whether the plan has ended. One whose draft failed, its first or one that a crash cut off, is drafted again."""
    failed_draft = plan.status == "failed" and (plan.version == 0 or plan.before_draft is not None)
    return plan.status in ENDED and not failed_draft


def _is_revised(plan: Plan) -> bool:
    """Whether a message revises the plan: it is drafted or reviewed, was kept before it ran, or its draft failed."""
    return plan.status in _REVISED or (plan.status == "paused" and plan.approved_version is None)


def _waits_for(plan: Plan) -> str | None:
    """The reason why the plan does not ask its model again yet, as a sentence; None if there is none."""
    pending = plan.pending
    if pending.questions:
        return f"The plan waits for your answer to: {pending.questions[0].question}"
    if pending.recoveries:
        step = plan.step(pending.recoveries[0].step_id)
        return f"The plan waits for your decision on a failed step: {step.title if step else ''}"
    if pending.conflicts:
        return "The plan waits for your choice between your text and that of a step."
    if pending.approvals:
        return f"The plan waits for your permission: {pending.approvals[0].title}"
    if plan.status == "paused":
        return "The plan is paused, and reads the message when it is resumed."
    return None
