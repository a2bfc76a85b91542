"""The requests on whole plans: create, read, edit, approve, run, stop. Long work runs in background jobs."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from planloom.domain.errors import (
    InvalidParams,
    InvalidPlan,
    PlanUnreadable,
    StaleVersion,
    StorageFailed,
    UnknownThing,
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
from planloom.domain.values import EditId, PlanId, SessionId, Sha256, StepId, Uri
from planloom.execution.conductor import Conductor
from planloom.execution.effects.gate import Gate
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.execution.step_rules import StepRules
from planloom.execution.summary import cancelled, changes_of_file
from planloom.intake.languages import language_of
from planloom.service.actions.export import as_markdown, as_raw_json
from planloom.service.actions.undo import UndoService
from planloom.service.drafts.direct import DirectRuns
from planloom.service.drafts.drafting import Drafting
from planloom.service.drafts.new_request import Intake
from planloom.service.requests import CreateRequest, CreateResult, FileDiff, UndoResult, Until
from planloom.service.running.ownership import Ownership
from planloom.service.running.states import require
from planloom.service.running.turns import Turns
from planloom.storage.ledger import Ledger, PlanRow, workspace_key
from planloom.workspace.paths.uris import display_name

LIST_LIMIT = 1_000
log = logging.getLogger(__name__)


class PlanServices(NamedTuple):
    """The collaborators of `Plans`."""

    session: Session
    plan_store: PlanStore
    ledger: Ledger
    jobs: Jobs
    conductor: Conductor
    gate: Gate
    undo_service: UndoService
    drafting: Drafting
    direct_runs: DirectRuns
    ownership: Ownership
    turns: Turns
    intake: Intake
    rules: StepRules


class Plans:
    """The requests on whole plans. Each returns the plan's state at that time; events report what follows.

    Every method for one plan but `raw` raises UnknownThing, PlanUnreadable and StorageFailed; those that change it
    also OwnedElsewhere, and WrongState if the plan's status does not allow the action.
    """

    def __init__(self, services: PlanServices) -> None:
        self._services = services
        services.gate.on_cancel(self._cancel_soon)

    def _cancel_soon(self, plan_id: PlanId) -> None:
        self._services.jobs.start(f"cancel-asked:{plan_id}", self.cancel(plan_id))

    async def create(self, request: CreateRequest) -> CreateResult:
        """Begin the plan of a request, as a draft or as a direct run.

        Raises InvalidParams for an empty text, WorkspaceRequired, ReferenceUnresolved, StorageFailed.
        """
        if not request.text.strip():
            raise InvalidParams(
                "The request is empty.", details=[{"field": "text", "problem": "it is empty"}]
            )
        new = await self._services.intake.prepare(request)
        await self._services.plan_store.ready()
        plan_id = PlanId(uuid.uuid4().hex)
        self._services.ledger.keep(plan_id, new.texts)
        plan = self._services.plan_store.open(
            plan_id, request.session_id or self._services.session.session_id, new.start
        )
        self._services.ownership.add(plan_id)
        if new.start.route == "direct":
            plan = self._run_directly(plan)
        elif new.start.route == "undecided":
            self._services.jobs.start(f"draft:{plan_id}", self._decide(plan))
        else:
            self._services.jobs.start(f"draft:{plan_id}", self._services.drafting.draft(plan_id))
        return CreateResult(plan=plan, detection=new.start.detection, unresolved=new.start.unresolved)

    async def _decide(self, plan: Plan) -> None:
        """Let the model choose the route of an ambiguous request, then follow it."""
        routed = self._services.plan_store.record(
            plan.plan_id, await self._services.intake.choose_route(plan)
        )
        if routed.route == "direct":
            self._run_directly(routed)
        else:
            await self._services.drafting.draft(plan.plan_id)

    def _run_directly(self, plan: Plan) -> Plan:
        plan = self._services.direct_runs.begin(plan)
        self._services.conductor.conduct(plan.plan_id)
        return plan

    def get(self, plan_id: PlanId | None, session_id: SessionId | None) -> Plan | None:
        """A plan, or without an id the current one of a session: the newest that has not ended, else the newest.

        None if the session has no plan.
        """
        if plan_id is not None:
            return self._services.plan_store.read(plan_id)
        found = self.list(
            session_id or self._services.session.session_id, (), LIST_LIMIT, all_workspaces=True
        )
        current = next((each for each in found if each.status not in ENDED), found[0] if found else None)
        return None if current is None else self._services.plan_store.read(current.plan_id)

    def list(
        self,
        session_id: SessionId | None,
        statuses: Sequence[PlanStatus],
        limit: int | None,
        all_workspaces: bool,
    ) -> tuple[PlanSummary, ...]:
        """Plans, the newest first, without unreadable ones. `limit` is 100 by default. Raises StorageFailed."""
        listed = self._services.ledger.summaries(
            workspace=None if all_workspaces else workspace_key(self._services.session.folders),
            session_id=session_id,
            statuses=statuses,
            limit=min(limit or 100, LIST_LIMIT),
        )
        return tuple(found for each in listed if (found := self._summary(each)) is not None)

    def _summary(self, listed: PlanRow) -> PlanSummary | None:
        """The summary stored in the ledger. If it has no progress, the plan is read for it: one that is running, or
        was written by an older version."""
        if listed.plan_id in self._services.plan_store.unreadable:
            return None
        if listed.counted:
            return listed.summary
        try:
            plan = self._services.plan_store.find(listed.plan_id)
        except PlanUnreadable:
            return None
        if plan is None:
            return None
        if plan.status not in ("draft", "executing"):
            with suppress(StorageFailed):
                self._services.ledger.keep_progress(plan.plan_id, plan.seq, progress(plan))
        return summary(plan)

    def tasks(
        self,
        plan_id: PlanId | None,
        session_id: SessionId | None,
        statuses: Sequence[StepStatus],
        agent: Agent | None,
    ) -> tuple[Plan, tuple[Step, ...]]:
        """The steps of a plan in execution order, filtered by the status shown to users and by agent if given."""
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
        """At most `limit` events with a `seq` above `after`, each with the plan after it."""
        self._services.plan_store.read(plan_id)
        return self._services.plan_store.history(plan_id, after, limit)

    async def edit(self, plan_id: PlanId, version: int, edits: Sequence[StepEdit]) -> Plan:
        """Apply all of the edits or none; revokes the approval. Raises InvalidPlan, StaleVersion."""
        async with self._services.turns.turn(plan_id, "edit", version=version, halted=True) as plan:
            steps = edit_plan(plan.steps, edits)
            if isinstance(steps, EditRefused):
                raise invalid(steps.problems)
            steps = self._services.rules.with_approvals(steps)
            self._refuse_errors(plan, steps)
            changed = ev.PlanEdited(version=plan.version + 1, edits=tuple(edits), steps=steps)
            return self._services.plan_store.record(plan_id, changed)

    def _refuse_errors(self, plan: Plan, steps: Sequence[Step]) -> None:
        errors = self._services.rules.errors(plan, steps)
        if errors:
            raise invalid(errors)

    async def regenerate(self, plan_id: PlanId, version: int, feedback: str | None) -> Plan:
        """Draft the plan again; completed steps stay. Raises StaleVersion."""
        async with self._services.turns.turn(plan_id, "regenerate", version=version, halted=True) as plan:
            feedback = feedback or plan.rejection_reason
            begun = ev.PlanDrafting(version=plan.version, feedback=feedback)
            draft = self._services.plan_store.record(plan_id, begun)
            self._services.jobs.start(f"draft:{plan_id}", self._services.drafting.redraft(plan_id, feedback))
            return draft

    async def approve(self, plan_id: PlanId, version: int, review: Review | None) -> Plan:
        """Approve exactly this version and start executing it. Raises InvalidPlan, StaleVersion."""
        async with self._services.turns.turn(plan_id, None) as plan:
            if plan.approved_version == version and plan.status in ("approved", "executing", "paused"):
                return plan
            require(plan, "approve", by="user")
            if version != plan.version:
                raise StaleVersion(plan.version, status=plan.status)
            self._refuse_errors(plan, plan.steps)
            review = review or self._services.session.settings.execution.review
            approval = ev.PlanApproved(version=version, review=review)
            approved = self._services.plan_store.record(plan_id, approval)
            self._services.conductor.conduct(plan_id)
            return approved

    async def reject(self, plan_id: PlanId, reason: str | None) -> Plan:
        """Reject the plan."""
        async with self._services.turns.turn(plan_id, "reject"):
            return self._services.plan_store.record(plan_id, ev.PlanRejected(reason=reason))

    async def direct(self, plan_id: PlanId) -> Plan:
        """Skip planning and run the request directly."""
        async with self._services.turns.turn(plan_id, "direct", halted=True) as plan:
            return self._run_directly(plan)

    async def pause(self, plan_id: PlanId) -> Plan:
        """Stop the plan: an edit in progress is finished, running steps become pending."""
        async with self._services.turns.turn(plan_id, "pause", halted=True, already="paused") as plan:
            if plan.status == "paused":
                return plan
            return self._services.plan_store.record(plan_id, ev.PlanPaused(reason="user"))

    async def resume(self, plan_id: PlanId) -> Plan:
        """Continue a paused plan."""
        async with self._services.turns.turn(plan_id, "resume"):
            plan = self._services.plan_store.record(plan_id, ev.PlanResumed())
            self._services.conductor.conduct(plan_id)
            return plan

    async def cancel(self, plan_id: PlanId) -> Plan:
        """Cancel the plan. Returns at once; `plan_cancelled` follows once an edit in progress is recorded."""
        plan = self._services.ownership.claim(plan_id)
        require(plan, "cancel")
        self._services.turns.begin_cancel(plan_id)
        self._services.jobs.start(f"cancel:{plan_id}", self._cancel(plan_id))
        return plan

    async def _cancel(self, plan_id: PlanId) -> None:
        try:
            async with self._services.turns.turn(plan_id, "cancel", halted=True) as plan:
                if plan.status == "draft" and plan.before_draft is not None:
                    self._services.drafting.restore(plan_id, "The new draft was cancelled.")
                else:
                    plan_store = self._services.plan_store
                    plan_store.record(plan_id, cancelled(plan, plan_store.store.text))
        except WrongState:
            log.info("plan %s had ended before it was cancelled", plan_id)
        finally:
            self._services.turns.end_cancel(plan_id)

    async def wait(self, plan_id: PlanId, until: Until, timeout_seconds: float | None) -> tuple[Plan, bool]:
        """Wait until the plan has reached `until`. The bool is False if the timeout came first; None waits forever."""
        plan = self._services.plan_store.read(plan_id)
        changed = asyncio.Event()

        def on_event(recorded: ev.Recorded, _: Plan) -> None:
            if recorded.plan_id == plan_id:
                changed.set()

        unsubscribe = self._services.plan_store.listen(on_event)
        try:
            async with asyncio.timeout(timeout_seconds):
                while not reached(plan, until):
                    await changed.wait()
                    changed.clear()
                    plan = self._services.plan_store.read(plan_id)
        except TimeoutError:
            return self._services.plan_store.read(plan_id), False
        finally:
            unsubscribe()
        return plan, True

    async def resolve_conflict(
        self, plan_id: PlanId, edit_id: EditId, choices: Sequence[ev.ConflictChoice]
    ) -> Plan:
        """Resolve a conflict by the user's choice for each file. Raises UnknownThing."""
        async with self._services.turns.turn(plan_id, "conflict/resolve"):
            plan = self._services.gate.conflicts.resolve(plan_id, edit_id, choices)
            self._services.conductor.conduct(plan_id)
            return plan

    async def undo(self, plan_id: PlanId, step_id: StepId | None, redo: bool) -> UndoResult:
        """Revert the applied edits of a step or of the whole plan; `redo` reverts the last undo."""
        return await self._services.undo_service.undo(plan_id, step_id, redo)

    def diff(self, plan_id: PlanId, uri: Uri, edit_id: EditId | None) -> FileDiff:
        """A file before and after all that stands of the plan, or one edit of it. Raises UnknownThing."""
        found = changes_of_file(self._services.plan_store.read(plan_id), uri, edit_id)
        if found is None:
            raise UnknownThing("edit", uri)
        before, after = (self._text(digest, uri) for digest in (found.before, found.after))
        return FileDiff(uri=uri, before=before, after=after, language_id=language_of(display_name(uri)))

    def _text(self, digest: Sha256 | None, uri: Uri) -> str | None:
        """The text with a hash; None without one. Raises UnknownThing if the text is no longer kept."""
        text = None if digest is None else self._services.ledger.text(digest)
        if digest is not None and text is None:
            raise UnknownThing("edit", uri)
        return text

    async def delete(self, plan_id: PlanId) -> None:
        """Delete an ended plan with its events and texts."""
        async with self._services.turns.turn(plan_id, "delete"):
            self._services.ledger.delete(plan_id)
            self._services.ownership.forget(plan_id)

    def markdown(self, plan_id: PlanId) -> str:
        """The plan as Markdown."""
        return as_markdown(self._services.plan_store.read(plan_id))

    def raw(self, plan_id: PlanId) -> str:
        """The events of an unreadable plan as they are in the ledger, as JSON."""
        return as_raw_json(plan_id, self._services.ledger.raw_events(plan_id))


def reached(plan: Plan, until: Until) -> bool:
    """Whether a plan has reached the state that a client waits for."""
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
    """The error for validation problems, with the fields of the wire protocol as details."""
    rows = [
        {"stepId": problem.step_id or "", "field": problem.field, "problem": problem.problem}
        for problem in problems
    ]
    return InvalidPlan(problems[0].problem if len(rows) == 1 else f"The plan has {len(rows)} problems.", rows)
