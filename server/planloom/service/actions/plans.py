"""The requests on whole plans: create, read, edit, approve, run, stop. Long work runs in background jobs."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator, Sequence
from typing import Literal

from planloom.domain.document.adoption import adoption
from planloom.domain.document.difference import difference
from planloom.domain.document.reader import Trouble
from planloom.domain.document.reader import read_document as read_plan_document
from planloom.domain.document.render import render
from planloom.domain.errors import InvalidParams, InvalidPlan, StaleVersion, WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.attachments import Attachment, additional
from planloom.domain.plans.editing import EditRefused, PlanWords, StepEdit, edit_plan
from planloom.domain.plans.plan import Plan, Review, Step
from planloom.domain.plans.validation import Problem
from planloom.domain.values import PlanId, StepId
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.execution.step_rules import StepRules
from planloom.execution.summary import cancelled
from planloom.intake.reference_sources import Resolution
from planloom.service.actions.moving import read_document
from planloom.service.actions.reading import PlanReader
from planloom.service.actions.undo import UndoService
from planloom.service.drafts.drafts import Drafts
from planloom.service.requests import Attached, CreateRequest, CreateResult, UndoResult
from planloom.service.running.states import require
from planloom.service.running.turns import Turns
from planloom.storage.ledger import Ledger


class Plans(PlanReader):
    """The requests on whole plans: those that read them, and those that change them, one at a time for each plan.

    Each returns the plan's state at that time; events report what follows. Those that change a plan raise what the
    reading ones raise, OwnedElsewhere, and WrongState if the plan's status does not allow the action.
    """

    def __init__(
        self,
        session: Session,
        plan_store: PlanStore,
        ledger: Ledger,
        turns: Turns,
        drafts: Drafts,
        rules: StepRules,
    ) -> None:
        super().__init__(session, plan_store, ledger)
        self._turns = turns
        self._drafts = drafts
        self._rules = rules
        self._undo = UndoService(session, plan_store, turns, ledger.compaction)

    async def create(self, request: CreateRequest) -> CreateResult:
        """Begin the plan of a request, as a draft or as a direct run.

        Raises InvalidParams for an empty text, WorkspaceRequired, ReferenceUnresolved, StorageFailed.
        """
        new = await self._drafts.requests.prepare(request)
        await self._plan_store.ready()
        plan_id = PlanId(uuid.uuid4().hex)
        self._ledger.keep(plan_id, new.texts)
        plan = self._plan_store.open(plan_id, request.session_id or self._session.session_id, new.start)
        self._turns.ownership.add(plan_id)
        if request.source is not None:
            self._plan_store.record(plan_id, ev.Log(level="info", message=request.source))
        plan = self._drafts.begin(plan)
        return CreateResult(plan=plan, detection=new.start.detection, unresolved=new.start.unresolved)

    async def attach(self, plan_id: PlanId, text: str, attached: Attached) -> Resolution:
        """The references and attachments of a message to a plan; their texts are kept. Raises StorageFailed."""
        found = await self._drafts.requests.resolve(text, attached)
        self._ledger.keep(plan_id, found.texts)
        return found

    async def adopt(self, request: str, summary: str, edits: Sequence[StepEdit]) -> Plan:
        """A new plan under review, whose steps are made by these edits out of none. Nothing of it runs.

        Raises InvalidPlan, and what `create` raises.
        """
        steps = edit_plan((), edits)
        if isinstance(steps, EditRefused):
            raise invalid(steps.problems)
        await self._session.know_tools(step.tool for step in steps)
        if problems := self._rules.errors_of_new(steps):
            raise invalid(problems)
        new = await self._drafts.requests.prepare(CreateRequest(text=request, mode="plan"))
        problem = await self._drafts.problem_of(steps)
        marked = await self._rules.for_review(steps)
        await self._plan_store.ready()
        plan_id = PlanId(uuid.uuid4().hex)
        self._ledger.keep(plan_id, new.texts)
        self._plan_store.open(plan_id, self._session.session_id, new.start)
        self._turns.ownership.add(plan_id)
        ready = ev.PlanReady(
            version=1,
            steps=marked,
            summary=summary,
            sequential=False,
            author="user",
            model_problem=problem,
        )
        return self._plan_store.record(plan_id, ev.PlanDrafting(version=0), ready, ev.PlanApprovalRequest())

    async def adopt_document(self, text: str) -> Plan:
        """A new plan under review of a plan that is written as a document (`domain/document`). Nothing of it runs.

        Raises InvalidParams for a text without steps, InvalidPlan for one with errors, and what `adopt` raises.
        """
        found = adoption(text)
        if found is None:
            problem = "it has no steps, or no line “## Steps” above them"
            raise InvalidParams(
                f"The text is no plan: {problem}.", details=[{"field": "text", "problem": problem}]
            )
        _refuse_troubles(found.troubles)
        return await self.adopt(found.request, found.summary, found.found.edits)

    async def rewrite(self, plan_id: PlanId, version: int, text: str) -> Plan:
        """Make the plan what its document says; a text that changes nothing leaves the plan as it is.

        Raises InvalidPlan for a document with errors, and what `edit` raises.
        """
        plan = self.get(plan_id, None)
        assert plan is not None, "get() with an id returns a plan or raises"
        if plan.version != version:
            raise StaleVersion(plan.version, status=plan.status)
        written = read_plan_document(text)
        found = difference(plan, written)
        _refuse_troubles((*written.troubles, *found.troubles))
        return await self.edit(plan_id, version, found.edits, found.words) if found.changes else plan

    async def restore(self, plan_id: PlanId, version: int, to: int) -> Plan:
        """Make the plan what its version `to` was; what is done stays done. Raises what `rewrite` raises."""
        now = self._plan_store.read(plan_id)
        known = (plan for _, plan in self._plan_store.history(plan_id) if plan.version == to)
        before = next((plan for plan in known if plan.status == "pending_approval"), None)
        if before is None:
            problem = "it is not known"
            raise InvalidParams(
                f"The plan has no version {to}.", details=[{"field": "to", "problem": problem}]
            )
        done = {step.step_id: step for step in now.steps if step.status == "completed"}
        steps = IndexedTuple(done.get(step.step_id, step) for step in before.steps)
        words = {"steps": steps, "request": before.request, "summary": before.summary}
        return await self.rewrite(plan_id, version, render(now.model_copy(update=words)))

    async def edit(
        self,
        plan_id: PlanId,
        version: int,
        edits: Sequence[StepEdit],
        words: PlanWords | None = None,
        by: Literal["user", "model"] = "user",
    ) -> Plan:
        """Apply all of the edits and new words or none; revokes the approval.

        Raises InvalidParams for none, InvalidPlan, StaleVersion, and for a new request what `create` raises.
        """
        words = words or PlanWords()
        asked = (
            await self._drafts.requests.prepare(CreateRequest(text=words.request, mode="plan"))
            if words.request is not None
            else None
        )
        async with self._turns.turn(plan_id, "edit", version=version, halted=True) as plan:
            if not edits and not words:
                raise InvalidParams(
                    "Nothing is to be edited.", details=[{"field": "edits", "problem": "it is empty"}]
                )
            steps = edit_plan(plan.steps, edits)
            if isinstance(steps, EditRefused):
                raise invalid(steps.problems)
            steps = await self._rules.for_review(steps)
            await self._refuse_errors(plan, steps)
            attachments: tuple[Attachment, ...] = ()
            if asked is not None:
                attachments = additional(plan.attachments, asked.start.attachments)
                self._ledger.keep(plan_id, asked.texts)
            changed = ev.PlanEdited(
                version=plan.version + 1,
                edits=tuple(edits),
                steps=steps,
                request=words.request,
                summary=words.summary,
                attachments=attachments,
                by=by,
            )
            return self._plan_store.record(plan_id, changed, ev.StepsList())

    def problems_of_new(self, edits: Sequence[StepEdit]) -> tuple[Problem, ...]:
        """Why these edits make no plan out of none; nothing is changed."""
        steps = edit_plan((), edits)
        return steps.problems if isinstance(steps, EditRefused) else self._rules.errors_of_new(steps)

    def problems_of(self, plan: Plan, edits: Sequence[StepEdit]) -> tuple[Problem, ...]:
        """Why these edits cannot be made of a plan; nothing is changed."""
        try:
            require(plan, "edit")
        except WrongState as error:
            return (Problem(step_id=None, field="status", problem=error.message),)
        steps = edit_plan(plan.steps, edits)
        return steps.problems if isinstance(steps, EditRefused) else self._rules.errors(plan, steps)

    async def _refuse_errors(self, plan: Plan, steps: Sequence[Step]) -> None:
        await self._session.know_tools(step.tool for step in steps)
        errors = self._rules.errors(plan, steps)
        if errors:
            raise invalid(errors)

    async def regenerate(self, plan_id: PlanId, version: int, feedback: str | None) -> Plan:
        """Draft the plan again; completed steps stay. Raises StaleVersion."""
        async with self._turns.turn(plan_id, "regenerate", version=version, halted=True) as plan:
            return self._drafts.begin_again(plan, feedback or plan.rejection_reason)

    async def approve(self, plan_id: PlanId, version: int, review: Review | None) -> Plan:
        """Approve exactly this version and start executing it. Raises InvalidPlan, StaleVersion."""
        async with self._turns.turn(plan_id, None) as plan:
            if plan.approved_version == version and plan.status in ("approved", "executing", "paused"):
                return plan
            require(plan, "approve", by="user")
            if version != plan.version:
                raise StaleVersion(plan.version, status=plan.status)
            await self._refuse_errors(plan, plan.steps)
            review = review or self._session.settings.execution.review
            covers = self._session.settings.approvals.plan == "literal"
            approval = ev.PlanApproved(version=version, review=review, covers=covers)
            approved = self._plan_store.record(plan_id, approval)
            self._turns.conductor.conduct(plan_id)
            return approved

    async def reject(self, plan_id: PlanId, reason: str | None) -> Plan:
        """Reject the plan."""
        async with self._turns.turn(plan_id, "reject"):
            return self._plan_store.record(plan_id, ev.PlanRejected(reason=reason))

    async def direct(self, plan_id: PlanId) -> Plan:
        """Skip planning and run the request directly."""
        async with self._turns.turn(plan_id, "direct", halted=True) as plan:
            return self._drafts.run_directly(plan)

    async def pause(self, plan_id: PlanId) -> Plan:
        """Leave the plan for later: an edit in progress is finished, running steps become pending.

        A draft stops; one of a new version gives way to the version before it. A plan under review is kept.
        """
        async with self._turns.turn(plan_id, "pause", halted=True, already="paused") as plan:
            if plan.status == "paused":
                return plan
            if plan.before_draft is not None:
                self._drafts.restore(plan_id, "The new draft was stopped.")
            return self._plan_store.record(plan_id, ev.PlanPaused(reason="user"))

    async def resume(self, plan_id: PlanId) -> Plan:
        """Take up a paused plan where it was left: it is drafted anew, reviewed, or goes on.

        What still waits for a person goes on waiting, and is named in the log.
        """
        async with self._turns.turn(plan_id, "resume") as plan:
            if plan.version == 0:
                return self._drafts.take_up(plan)
            if plan.approved_version is None:
                return self._plan_store.record(plan_id, ev.PlanResumed(), ev.PlanApprovalRequest())
            resumed = self._plan_store.record(plan_id, ev.PlanResumed(), *_still_waiting(plan))
            self._turns.conductor.conduct(plan_id)
            return resumed

    async def review(self, plan_id: PlanId) -> Plan:
        """Put a plan that runs or is paused back to review, as a new version: its approval is revoked.

        An edit in progress is finished, and what is done stays done. Raises WrongState for a plan without steps.
        """
        async with self._turns.turn(plan_id, "review", halted=True) as plan:
            if plan.version == 0:
                raise WrongState("The plan has not been drafted yet: resume it.", status=plan.status)
            if plan.status != "paused":
                self._plan_store.record(plan_id, ev.PlanPaused(reason="user"))
            again = ev.PlanEdited(version=plan.version + 1, edits=(), steps=tuple(plan.steps))
            return self._plan_store.record(plan_id, again, ev.StepsList())

    async def cancel(self, plan_id: PlanId) -> Plan:
        """Cancel the plan. Returns at once; `plan_cancelled` follows once an edit in progress is recorded."""
        return self._turns.cancel(plan_id, self._end_cancelled)

    async def _end_cancelled(self, plan: Plan) -> None:
        if plan.status == "draft" and plan.before_draft is not None:
            self._drafts.restore(plan.plan_id, "The new draft was cancelled.")
        else:
            await self._turns.conductor.end_background(plan.plan_id)
            ending = cancelled(self._plan_store.plan(plan.plan_id), self._plan_store.store.text)
            self._plan_store.record(plan.plan_id, ending)

    async def give_back(self, plan_id: PlanId) -> None:
        """Let any server take up a plan that waits for a person. Raises what `get` raises, and OwnedElsewhere."""
        await self._turns.ownership.give_back(plan_id)

    async def undo(self, plan_id: PlanId, step_id: StepId | None, redo: bool) -> UndoResult:
        """Revert the applied edits of a step or of the whole plan; `redo` reverts the last undo (of it)."""
        return await self._undo.undo(plan_id, step_id, redo)

    async def import_plan(self, text: str) -> Plan:
        """Take over a plan that `full` has written, in these workspace folders. Nothing of it runs.

        Raises InvalidParams for a document that is refused, WrongState if the ledger has the plan, StorageFailed.
        """
        moved = await asyncio.to_thread(read_document, text, self._session.folders, self._plan_store.clock())
        plan_id = moved.plan.plan_id
        await self._plan_store.ready()
        known = self._plan_store.find(plan_id)
        if known is not None:
            raise WrongState(
                f"The plan {plan_id} is here already. It was left as it is.", status=known.status
            )
        self._ledger.take_over(moved.events, moved.plan, moved.texts)
        self._plan_store.plan(plan_id)
        self._turns.ownership.add(plan_id)
        # No event of the document is published, so this one tells listeners of the plan.
        return self._plan_store.record(plan_id, ev.StepsList())

    async def delete(self, plan_id: PlanId) -> None:
        """Delete an ended plan with its events and texts."""
        async with self._turns.turn(plan_id, "delete"):
            self._ledger.delete(plan_id)
            self._turns.ownership.forget(plan_id)


def _refuse_troubles(troubles: Sequence[Trouble]) -> None:
    """Raise InvalidPlan for what cannot be read in a document."""
    if troubles:
        rows = [
            {"stepId": "", "field": f"line {each.place.line + 1}", "problem": each.text} for each in troubles
        ]
        raise InvalidPlan("The document has errors.", rows)


def _still_waiting(plan: Plan) -> Iterator[ev.Log]:
    """The things that a plan still waits for after it is resumed: a line for each step."""
    waits = [
        *((each.step_id, f"your answer: {each.question}") for each in plan.pending.questions),
        *((each.step_id, "your decision, since it has failed") for each in plan.pending.recoveries),
        *((each.step_id, "your choice in a conflict") for each in plan.pending.conflicts),
    ]
    for step_id, what in waits:
        number = (plan.index_of(step_id) or 0) + 1
        yield ev.Log(level="info", message=f"Step {number} still waits for {what}", step_id=step_id)


def invalid(problems: Sequence[Problem]) -> InvalidPlan:
    """The error for validation problems, with the fields of the wire protocol as details."""
    rows = [
        {"stepId": problem.step_id or "", "field": problem.field, "problem": problem.sentence}
        for problem in problems
    ]
    return InvalidPlan(
        problems[0].sentence if len(rows) == 1 else f"The plan has {len(rows)} problems.", rows
    )
