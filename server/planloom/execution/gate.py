"""The one gate for effects: every change of a file passes here, asked for, approved, applied and recorded.

An approval is bound to the exact base and result of every file, so that what a person saw is what happens.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Literal, NamedTuple

from planloom.domain import events as ev
from planloom.domain.approvals import Approval, Decision, Effect, Grant
from planloom.domain.changes import Changeset, Conflict, ConflictFile
from planloom.domain.errors import UnknownThing, UntrustedWorkspace, WrongState
from planloom.domain.plan import Plan
from planloom.domain.values import ApprovalId, EditId, PlanId, Sha256, StepId, Uri, Value
from planloom.execution.book import Book
from planloom.execution.journal import EditJournal
from planloom.execution.permission import CommandProposal, command_question
from planloom.execution.proposals import Facts, both_sides, described, narrowed, question, resolve_conflicts
from planloom.settings import Settings
from planloom.workspace.apply import BATCH, apply_changeset
from planloom.workspace.editor import Editor
from planloom.workspace.outcomes import Applied, Conflicted, PartlyApplied, Refused, Superseded
from planloom.workspace.view import WorkspaceView


class Part(NamedTuple):
    """The part that one step has in the changes of a whole plan."""

    step_id: StepId
    uris: frozenset[Uri]

    def is_denied(self, denied: Collection[Uri]) -> bool:
        """Whether nothing of it may be made."""
        return bool(self.uris) and self.uris <= {*denied}


class Proposal(NamedTuple):
    """Changes that a step wants to make. `blind` are files it would replace without having read them,
    `doubtful` those whose new text seems to have lost a part.

    Those of a whole plan have no step of their own: `parts` tells which steps have staged what.
    """

    plan_id: PlanId
    step_id: StepId | None
    number: int
    title: str
    tool: str | None
    changeset: Changeset
    blind: frozenset[Uri] = frozenset()
    doubtful: frozenset[Uri] = frozenset()
    parts: tuple[Part, ...] = ()


class Committed(Value):
    """The changes are made, or `staged` for the end of the plan; `denied` are files that a person left out."""

    kind: Literal["committed"] = "committed"
    merged: bool = False
    denied: tuple[Uri, ...] = ()
    staged: bool = False
    note: str | None = None


class Denied(Value):
    """A person, or the policy, does not want the changes. `cancelled` tells that the whole plan is to end."""

    kind: Literal["denied"] = "denied"
    reason: str
    cancelled: bool = False


class NotMade(Value):
    """The changes were allowed but could not be made."""

    kind: Literal["not_made"] = "not_made"
    reason: str
    code: str | None = None


class Permitted(Value):
    """The command may run."""

    kind: Literal["permitted"] = "permitted"


Verdict = Committed | Denied | NotMade


class Response(NamedTuple):
    """A person's word on an approval."""

    decision: Literal["allow", "allowForPlan", "deny", "cancel"]
    reason: str | None = None
    files: tuple[Uri, ...] | None = None


class _Waiting(NamedTuple):
    approval: Approval
    changeset: Changeset
    answer: asyncio.Future[Response]


class _Clash(NamedTuple):
    choices: asyncio.Future[tuple[ev.ConflictChoice, ...]]
    changeset: Changeset


class _Resolved(NamedTuple):
    decision: Decision
    by: str


class Gate:
    """Where effects of plans are asked for and made."""

    def __init__(
        self,
        book: Book,
        view: WorkspaceView,
        editor: Editor,
        settings: Callable[[], Settings],
        trusted: Callable[[], bool],
        on_cancel: Callable[[PlanId], None],
    ) -> None:
        self._book = book
        self._view = view
        self._editor = editor
        self._settings = settings
        self._trusted = trusted
        self._on_cancel = on_cancel
        self._waiting: dict[ApprovalId, _Waiting] = {}
        self._resolved: dict[ApprovalId, _Resolved] = {}
        self._granted: set[tuple[PlanId, int, Effect]] = set()
        self._granted_commands: set[tuple[PlanId, int, Sha256]] = set()
        self._conflicts: dict[EditId, _Clash] = {}

    async def commit(self, proposal: Proposal, grant: Grant) -> Verdict:
        """Ask for the changes as far as the policy wants, make them, record what came of it.

        Raises UntrustedWorkspace. A cancellation supersedes the question, or waits for the edit in hand.
        """
        if not self._trusted():
            raise UntrustedWorkspace("The workspace is not trusted, so nothing in it is changed.")
        denied: tuple[Uri, ...] = ()
        asked = False
        while True:
            if not asked:
                permit = await self._permit(proposal)
                if isinstance(permit, Denied):
                    return permit
                denied = (*denied, *permit.denied)
                proposal = proposal._replace(changeset=permit.changeset)
            journal = journal_of(self._book, proposal, denied)
            outcome = await apply_changeset(
                self._view, self._editor, proposal.changeset, grant, label_of(proposal), journal
            )
            match outcome:
                case Applied():
                    return Committed(merged=outcome.merged, denied=denied)
                case Refused():
                    return NotMade(reason=outcome.reason)
                case PartlyApplied():
                    return NotMade(reason=outcome.reason)
                case Superseded():
                    proposal = proposal._replace(changeset=outcome.changeset)
                    asked = False
                case Conflicted():
                    settled = await self._conflict(proposal, outcome.files)
                    if not settled.changes:
                        return Denied(reason="You kept your own text where both had changed it.")
                    proposal = proposal._replace(changeset=settled)
                    asked = True

    def folders(self) -> tuple[Path, ...]:
        """The workspace folders, in which a command may run."""
        return tuple(root.path for root in self._view.roots.folders)

    async def permit_command(self, proposal: CommandProposal) -> Permitted | Denied:
        """Ask whether a command may run, as far as the policy wants; only its exact repeat is granted ahead.

        Raises UntrustedWorkspace. A cancellation supersedes the question.
        """
        if not self._trusted():
            raise UntrustedWorkspace("The workspace is not trusted, so no command runs in it.")
        plan = self._plan(proposal.plan_id)
        verdict = self._settings().approvals.policy().verdict("execute")
        if verdict == "deny":
            return Denied(reason="The setting planloom.approvals.execute denies commands.")
        key = (plan.plan_id, plan.version, proposal.bound)
        if proposal.again is None and (verdict == "allow" or key in self._granted_commands):
            return Permitted()
        approval = command_question(proposal, ApprovalId(uuid.uuid4().hex))
        response = await self._ask(plan, approval, Changeset())
        if response.decision == "cancel":
            self._on_cancel(plan.plan_id)
            return Denied(reason="You cancelled the plan.", cancelled=True)
        if response.decision == "deny":
            return Denied(reason=response.reason or "The user did not allow this command.")
        if response.decision == "allowForPlan":
            self._granted_commands.add(key)
        return Permitted()

    async def _permit(self, proposal: Proposal) -> _Permit | Denied:
        """Decide by policy, by an earlier grant for the plan, or by asking."""
        plan = self._plan(proposal.plan_id)
        facts = await described(self._view, proposal.changeset, proposal.blind, proposal.doubtful)
        verdict = self._verdict(plan, facts)
        everything = _Permit(proposal.changeset, ())
        if isinstance(verdict, Denied):
            return verdict
        granted = (plan.plan_id, plan.version, facts.effect) in self._granted
        if verdict == "allow" or (granted and not facts.protected and facts.effect == "write"):
            return everything
        approval = question(proposal, facts, ApprovalId(uuid.uuid4().hex))
        response = await self._ask(plan, approval, proposal.changeset)
        return self._answered(plan, approval, proposal, response)

    def _verdict(self, plan: Plan, facts: Facts) -> Literal["allow", "ask"] | Denied:
        policy = self._settings().approvals.policy()
        verdict = policy.verdict(facts.effect, auto=plan.review == "auto", protected=facts.protected)
        if verdict == "deny":
            return Denied(reason=f"The setting planloom.approvals.{facts.effect} denies this.")
        return verdict

    async def refusal(self, proposal: Proposal) -> Denied | None:
        """What is clear before anyone is asked: that the policy denies these changes.

        Raises UntrustedWorkspace.
        """
        if not self._trusted():
            raise UntrustedWorkspace("The workspace is not trusted, so nothing in it is changed.")
        facts = await described(self._view, proposal.changeset, proposal.blind, proposal.doubtful)
        verdict = self._verdict(self._plan(proposal.plan_id), facts)
        return verdict if isinstance(verdict, Denied) else None

    def _answered(
        self, plan: Plan, approval: Approval, proposal: Proposal, response: Response
    ) -> _Permit | Denied:
        if response.decision == "cancel":
            self._on_cancel(plan.plan_id)
            return Denied(reason="You cancelled the plan.", cancelled=True)
        if response.decision == "deny":
            return Denied(reason=response.reason or "You did not allow this.")
        if response.decision == "allowForPlan" and approval.effect == "write":
            self._granted.add((plan.plan_id, plan.version, "write"))
        if response.files is None:
            return _Permit(proposal.changeset, ())
        allowed, left_out = narrowed(proposal.changeset, frozenset(response.files))
        if not allowed.changes:
            return Denied(reason=response.reason or "You allowed none of the files.")
        return _Permit(allowed, left_out)

    async def _ask(self, plan: Plan, approval: Approval, changeset: Changeset) -> Response:
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting[approval.approval_id] = _Waiting(approval, changeset, future)
        self._book.record(plan.plan_id, ev.ApprovalRequested(approval=approval))
        try:
            return await future
        except asyncio.CancelledError:
            if approval.approval_id in self._waiting:
                self._record(approval, "superseded", "server", None, None)
            raise
        finally:
            self._waiting.pop(approval.approval_id, None)

    def _record(
        self,
        approval: Approval,
        decision: Decision,
        by: Literal["user", "policy", "server"],
        reason: str | None,
        files: tuple[Uri, ...] | None,
    ) -> None:
        self._resolved[approval.approval_id] = _Resolved(decision, by)
        plan = self._plan(approval.plan_id)
        if plan.status in ("executing", "paused"):
            happened = ev.ApprovalResolved(
                approval_id=approval.approval_id, decision=decision, by=by, reason=reason, files=files
            )
            self._book.record(approval.plan_id, happened)

    def respond(self, approval_id: ApprovalId, response: Response) -> None:
        """A person's word. Raises UnknownThing, and WrongState if another word was taken before.

        The word is durable before anything follows from it.
        """
        waiting = self._waiting.get(approval_id)
        if waiting is None or waiting.answer.done():
            before = self._resolved.get(approval_id)
            if before is None:
                raise UnknownThing("approval", approval_id)
            if before.decision == response.decision:
                return
            raise WrongState(
                f"This was answered already: {before.decision}.",
                status="resolved",
                by=before.by,
                decision=before.decision,
            )
        self._record(waiting.approval, response.decision, "user", response.reason, response.files)
        waiting.answer.set_result(response)

    def asked(self, approval_id: ApprovalId) -> tuple[Approval, Changeset]:
        """What a pending approval is about. Raises UnknownThing."""
        waiting = self._waiting.get(approval_id)
        if waiting is None:
            raise UnknownThing("approval", approval_id)
        return waiting.approval, waiting.changeset

    async def _conflict(self, proposal: Proposal, files: tuple[ConflictFile, ...]) -> Changeset:
        """Show both sides and wait for a person; nothing is resolved by guessing."""
        # A conflict of a whole plan is told as one of the last step that has a part in it.
        step_id = proposal.step_id or proposal.parts[-1].step_id
        edit_id = EditId(uuid.uuid4().hex)
        conflict = Conflict(edit_id=edit_id, step_id=step_id, files=files)
        future: asyncio.Future[tuple[ev.ConflictChoice, ...]] = asyncio.get_running_loop().create_future()
        self._conflicts[edit_id] = _Clash(future, proposal.changeset)
        happened: list[ev.Event] = [ev.EditConflict(task_id=step_id, conflict=conflict)]
        if self._plan(proposal.plan_id).status == "executing":
            names = ", ".join(file.uri.rpartition("/")[2] for file in files)
            happened.append(
                ev.PlanPaused(reason="conflict", detail=f"You and the step both changed {names}.")
            )
        self._book.record(proposal.plan_id, *happened)
        try:
            choices = await future
        finally:
            self._conflicts.pop(edit_id, None)
        return await resolve_conflicts(self._view, proposal.changeset, files, choices)

    def resolve_conflict(
        self, plan_id: PlanId, edit_id: EditId, choices: Collection[ev.ConflictChoice]
    ) -> Plan:
        """A person's word on a conflict. Raises UnknownThing."""
        clash = self._conflicts.get(edit_id)
        plan = self._plan(plan_id)
        conflict = next((each for each in plan.pending.conflicts if each.edit_id == edit_id), None)
        if clash is None or clash.choices.done() or conflict is None:
            raise UnknownThing("edit", edit_id)
        taken = tuple(choices)
        plan = self._book.record(
            plan_id, ev.ConflictResolved(task_id=conflict.step_id, edit_id=edit_id, files=taken)
        )
        clash.choices.set_result(taken)
        return plan

    async def both_sides(self, edit_id: EditId, uri: Uri) -> str | None:
        """A conflicted file as it is now, with both sides between markers; None if it is in no conflict."""
        clash = self._conflicts.get(edit_id)
        return None if clash is None else await both_sides(self._view, clash.changeset, uri)

    def _plan(self, plan_id: PlanId) -> Plan:
        plan = self._book.load(plan_id)
        assert plan is not None
        return plan


class _Permit(NamedTuple):
    changeset: Changeset
    denied: tuple[Uri, ...]


def label_of(proposal: Proposal) -> str:
    """What the editor calls the edit, in its list of what can be undone."""
    if proposal.step_id is None:
        return f"Planloom: {proposal.title}"[:200]
    return f"Planloom: step {proposal.number} – {proposal.title}"[:200]


def journal_of(book: Book, proposal: Proposal, denied: Collection[Uri]) -> EditJournal:
    """Where the edit is written down. Only one that is made in one piece settles its steps as it is made."""
    whole = len(proposal.changeset.changes) <= BATCH
    settles = tuple(part.step_id for part in proposal.parts if whole and not part.is_denied(denied))
    return EditJournal(book, proposal.plan_id, proposal.step_id, settles=settles)


def grant_of(plan: Plan) -> Grant:
    """The permission that the plan's approval, or in direct mode the request itself, gives to its steps."""
    return Grant(
        plan_id=plan.plan_id, version=plan.version, source="request" if plan.route == "direct" else "approval"
    )
