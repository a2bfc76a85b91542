"""Plans for an ideal client: made, read, reviewed, carried out, stopped. Long work goes on as jobs."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from planloom.domain.errors import (
    InvalidParams,
    InvalidPlan,
    PlanUnreadable,
    StaleVersion,
    StorageFailed,
    WrongState,
)
from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import EditRefused, StepEdit, edit_plan
from planloom.domain.plans.graph import execution_order, shown_statuses
from planloom.domain.plans.perspectives import Agent
from planloom.domain.plans.plan import (
    ENDED,
    Plan,
    PlanStatus,
    PlanSummary,
    Review,
    Step,
    StepStatus,
    progress,
    summary,
)
from planloom.domain.plans.validation import Problem
from planloom.domain.values import EditId, PlanId, SessionId, StepId
from planloom.execution.conductor import Conductor
from planloom.execution.effects.gate import Gate
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.summary import execution_summary
from planloom.service.actions.export import as_markdown, as_raw_json
from planloom.service.actions.undo import UndoService
from planloom.service.drafts.direct import direct_run
from planloom.service.drafts.drafting import Drafting
from planloom.service.drafts.new_request import Intake
from planloom.service.requests import Created, CreateRequest, Undone, Until
from planloom.service.running.ownership import Ownership
from planloom.service.running.states import require
from planloom.service.running.turns import Turns
from planloom.storage.ledger import Ledger, Listed, workspace_key
from planloom.tools.registry import Registry

LIST_LIMIT = 1_000
log = logging.getLogger(__name__)


class PlanServices(NamedTuple):
    """What the plans stand on."""

    plan_store: PlanStore
    ledger: Ledger
    jobs: Jobs
    conductor: Conductor
    gate: Gate
    undo_service: UndoService
    drafting: Drafting
    ownership: Ownership
    turns: Turns
    intake: Intake
    problems: Callable[[Plan, Sequence[Step]], tuple[Problem, ...]]
    prepared: Callable[[Sequence[Step]], tuple[Step, ...]]
    review: Callable[[], Review]
    decided: Callable[[Plan], Awaitable[ev.PlanRouted]]
    tools: Registry
    session_id: SessionId


class Plans:
    """Every request on plans. Each returns the plan as it is then; what follows is told by events."""

    def __init__(self, services: PlanServices) -> None:
        self._at = services

    async def create(self, request: CreateRequest) -> Created:
        """Take a request and begin its plan: a draft, or at once a direct run.

        Raises InvalidParams for an empty text, WorkspaceRequired, ReferenceUnresolved.
        """
        if not request.text.strip():
            raise InvalidParams(
                "The request is empty.", details=[{"field": "text", "problem": "it is empty"}]
            )
        taken = await self._at.intake.take(request)
        await self._at.plan_store.ready()
        plan_id = PlanId(uuid.uuid4().hex)
        self._at.ledger.keep(plan_id, taken.texts)
        plan = self._at.plan_store.open(plan_id, request.session_id or self._at.session_id, taken.start)
        self._at.ownership.add(plan_id)
        if taken.start.route == "direct":
            plan = self._run_directly(plan)
        elif taken.start.route == "undecided":
            self._at.jobs.start(f"draft:{plan_id}", self._decide(plan))
        else:
            self._at.jobs.start(f"draft:{plan_id}", self._at.drafting.draft(plan_id))
        return Created(plan=plan, detection=taken.start.detection, unresolved=taken.start.unresolved)

    async def _decide(self, plan: Plan) -> None:
        """Ask the model where an ambiguous request goes, then go there. Nothing has run before."""
        routed = self._at.plan_store.record(plan.plan_id, await self._at.decided(plan))
        if routed.route == "direct":
            self._run_directly(routed)
        else:
            await self._at.drafting.draft(plan.plan_id)

    def _run_directly(self, plan: Plan) -> Plan:
        direct = direct_run(plan, self._at.tools, self._at.review())
        plan = self._at.plan_store.record(
            plan.plan_id, direct.model_copy(update={"steps": self._at.prepared(direct.steps)})
        )
        self._at.conductor.conduct(plan.plan_id)
        return plan

    def get(self, plan_id: PlanId | None, session_id: SessionId | None) -> Plan | None:
        """A plan, or the current one of a session: the newest that has not ended, else the newest.

        Raises UnknownThing.
        """
        if plan_id is not None:
            return self._at.ownership.see(plan_id)
        found = self.list(session_id or self._at.session_id, (), LIST_LIMIT, all_workspaces=True)
        current = next((each for each in found if each.status not in ENDED), found[0] if found else None)
        return None if current is None else self._at.ownership.see(current.plan_id)

    def list(
        self,
        session_id: SessionId | None,
        statuses: Sequence[PlanStatus],
        limit: int | None,
        all_workspaces: bool,
    ) -> tuple[PlanSummary, ...]:
        """Plans, the last one made first; one that cannot be read is left out. Raises StorageFailed."""
        listed = self._at.ledger.summaries(
            workspace=None if all_workspaces else workspace_key(self._at.intake.folders()),
            session_id=session_id,
            statuses=statuses,
            limit=min(limit or 100, LIST_LIMIT),
        )
        return tuple(found for each in listed if (found := self._summary(each)) is not None)

    def _summary(self, listed: Listed) -> PlanSummary | None:
        """The summary that the ledger keeps. A plan that moves, or of an older ledger, is read once for it."""
        if listed.plan_id in self._at.plan_store.unreadable:
            return None
        if listed.counted:
            return listed.summary
        try:
            plan = self._at.plan_store.find(listed.plan_id)
        except PlanUnreadable:
            return None
        if plan is None:
            return None
        if plan.status not in ("draft", "executing"):
            with suppress(StorageFailed):
                self._at.ledger.keep_progress(plan.plan_id, plan.seq, progress(plan))
        return summary(plan)

    def tasks(
        self,
        plan_id: PlanId | None,
        session_id: SessionId | None,
        statuses: Sequence[StepStatus],
        agent: Agent | None,
    ) -> tuple[Plan, tuple[Step, ...]]:
        """The steps of a plan in execution order, by the status people see and by agent where given."""
        plan = self.get(plan_id, session_id)
        if plan is None:
            raise InvalidParams("There is no plan yet.", details=[{"field": "planId", "problem": "no plan"}])
        shown = dict(zip((step.step_id for step in plan.steps), shown_statuses(plan), strict=True))
        return plan, tuple(
            step
            for step in execution_order(plan.steps)
            if (not statuses or shown[step.step_id] in statuses) and (agent is None or step.agent == agent)
        )

    def events(self, plan_id: PlanId, after: int, limit: int | None) -> tuple[tuple[ev.Recorded, Plan], ...]:
        """The events above `after`, each with the plan as it was after it."""
        self._at.ownership.see(plan_id)
        return self._at.plan_store.history(plan_id, after, limit)

    async def edit(self, plan_id: PlanId, version: int, edits: Sequence[StepEdit]) -> Plan:
        """Change steps, all edits or none; revokes the approval. Raises InvalidPlan, StaleVersion."""
        async with self._at.turns.turn(plan_id, "edit", version=version, halted=True) as plan:
            steps = edit_plan(plan.steps, edits)
            if isinstance(steps, EditRefused):
                raise invalid(steps.problems)
            steps = self._at.prepared(steps)
            self._refuse_errors(plan, steps)
            changed = ev.PlanEdited(version=plan.version + 1, edits=tuple(edits), steps=steps)
            return self._at.plan_store.record(plan_id, changed)

    def _refuse_errors(self, plan: Plan, steps: Sequence[Step]) -> None:
        errors = [each for each in self._at.problems(plan, steps) if each.severity == "error"]
        if errors:
            raise invalid(errors)

    async def regenerate(self, plan_id: PlanId, version: int, feedback: str | None) -> Plan:
        """Draft again; finished steps stay."""
        async with self._at.turns.turn(plan_id, "regenerate", version=version, halted=True) as plan:
            feedback = feedback or plan.rejection_reason
            begun = ev.PlanDrafting(version=plan.version, feedback=feedback)
            draft = self._at.plan_store.record(plan_id, begun)
            self._at.jobs.start(f"draft:{plan_id}", self._at.drafting.redraft(plan_id, feedback))
            return draft

    async def approve(self, plan_id: PlanId, version: int, review: Review | None) -> Plan:
        """Approve exactly this version; execution goes on by itself. Raises InvalidPlan, StaleVersion."""
        async with self._at.turns.turn(plan_id, None) as plan:
            if plan.approved_version == version and plan.status in ("approved", "executing", "paused"):
                return plan
            require(plan, "approve", by="user")
            if version != plan.version:
                raise StaleVersion(plan.version, status=plan.status)
            self._refuse_errors(plan, plan.steps)
            approved = self._at.plan_store.record(
                plan_id, ev.PlanApproved(version=version, review=review or self._at.review())
            )
            self._at.conductor.conduct(plan_id)
            return approved

    async def reject(self, plan_id: PlanId, reason: str | None) -> Plan:
        """Turn the plan down."""
        async with self._at.turns.turn(plan_id, "reject"):
            return self._at.plan_store.record(plan_id, ev.PlanRejected(reason=reason))

    async def direct(self, plan_id: PlanId) -> Plan:
        """Skip planning: the request runs as it is."""
        async with self._at.turns.turn(plan_id, "direct", halted=True) as plan:
            return self._run_directly(plan)

    async def pause(self, plan_id: PlanId) -> Plan:
        """Stop at once: an edit in hand is finished, running steps are pending again."""
        async with self._at.turns.turn(plan_id, "pause", halted=True, already="paused") as plan:
            if plan.status == "paused":
                return plan
            return self._at.plan_store.record(plan_id, ev.PlanPaused(reason="user"))

    async def resume(self, plan_id: PlanId) -> Plan:
        """Go on with a paused plan."""
        async with self._at.turns.turn(plan_id, "resume"):
            plan = self._at.plan_store.record(plan_id, ev.PlanResumed())
            self._at.conductor.conduct(plan_id)
            return plan

    async def cancel(self, plan_id: PlanId) -> Plan:
        """End the plan. Answers at once; `plan_cancelled` follows when the edit in hand is recorded."""
        plan = self._at.ownership.take(plan_id)
        require(plan, "cancel")
        self._at.turns.begin_cancel(plan_id)
        self._at.jobs.start(f"cancel:{plan_id}", self._cancel(plan_id))
        return plan

    async def _cancel(self, plan_id: PlanId) -> None:
        try:
            async with self._at.turns.turn(plan_id, "cancel", halted=True) as plan:
                if plan.status == "draft" and plan.before_draft is not None:
                    self._at.drafting.put_back(plan_id, "The new draft was cancelled.")
                else:
                    self._at.plan_store.record(plan_id, ev.PlanCancelled(summary=execution_summary(plan)))
        except WrongState:
            log.info("plan %s had ended before it was cancelled", plan_id)
        finally:
            self._at.turns.end_cancel(plan_id)

    async def wait(self, plan_id: PlanId, until: Until, timeout_seconds: float | None) -> tuple[Plan, bool]:
        """Wait until the plan is ready, wants a person, or has ended; False if the time was over first."""
        plan = self._at.ownership.see(plan_id)
        news = asyncio.Event()

        def heard(recorded: ev.Recorded, _: Plan) -> None:
            if recorded.plan_id == plan_id:
                news.set()

        quiet = self._at.plan_store.listen(heard)
        try:
            async with asyncio.timeout(timeout_seconds):
                while not reached(plan, until):
                    await news.wait()
                    news.clear()
                    plan = self._at.ownership.see(plan_id)
        except TimeoutError:
            return self._at.ownership.see(plan_id), False
        finally:
            quiet()
        return plan, True

    async def resolve_conflict(
        self, plan_id: PlanId, edit_id: EditId, choices: Sequence[ev.ConflictChoice]
    ) -> Plan:
        """A person's word on a conflict. Raises UnknownThing."""
        async with self._at.turns.turn(plan_id, "conflict/resolve"):
            plan = self._at.gate.conflicts.resolve(plan_id, edit_id, choices)
            self._at.conductor.conduct(plan_id)
            return plan

    async def undo(self, plan_id: PlanId, step_id: StepId | None, redo: bool) -> Undone:
        """Take back the applied edits of a step or of the whole plan, or the last undo."""
        return await self._at.undo_service.undo(plan_id, step_id, redo)

    async def delete(self, plan_id: PlanId) -> None:
        """Forget an ended plan, its events and its texts."""
        async with self._at.turns.turn(plan_id, "delete"):
            self._at.ledger.delete(plan_id)
            self._at.ownership.forget(plan_id)

    def markdown(self, plan_id: PlanId) -> str:
        """The plan as a text for people. Raises UnknownThing, PlanUnreadable, StorageFailed."""
        return as_markdown(self._at.ownership.see(plan_id))

    def raw(self, plan_id: PlanId) -> str:
        """What the ledger holds of a plan, as JSON, for one that cannot be read."""
        return as_raw_json(plan_id, self._at.ledger.raw_events(plan_id))


def reached(plan: Plan, until: Until) -> bool:
    """Whether a plan is where a client waits for it to be."""
    ended = plan.status in ENDED or plan.status == "rejected"
    match until:
        case "ended":
            return ended
        case "ready":
            return plan.status != "draft"
        case "attention":
            pending = plan.pending
            asks = pending.approvals or pending.questions or pending.recoveries or pending.conflicts
            return ended or plan.status in ("pending_approval", "paused") or bool(asks)


def invalid(problems: Sequence[Problem]) -> InvalidPlan:
    """The error for problems of a plan, as clients know them."""
    rows = [
        {"stepId": problem.step_id or "", "field": problem.field, "problem": problem.problem}
        for problem in problems
    ]
    return InvalidPlan(problems[0].problem if len(rows) == 1 else f"The plan has {len(rows)} problems.", rows)
