"""The one gate for effects: every change of a file passes here, asked for, approved, applied and recorded.

An approval is bound to the exact base and result of every file, so that what a person saw is what happens.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Literal, NamedTuple

from planloom.domain.changes import Changeset
from planloom.domain.errors import UntrustedWorkspace
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Approval, Effect, Grant
from planloom.domain.safety.destructive_intent import destructive_command
from planloom.domain.values import ApprovalId, PlanId, Sha256, Uri
from planloom.execution.effects.command_approval import CommandProposal, command_question
from planloom.execution.effects.commit_results import CommitResult, Committed, Denied, NotMade, Permitted
from planloom.execution.effects.journal import EditJournal
from planloom.execution.effects.pending_approvals import ApprovalResponse, PendingApprovals
from planloom.execution.effects.pending_conflicts import PendingConflicts
from planloom.execution.effects.proposals import (
    ChangeFacts,
    ChangeProposal,
    described,
    label_of,
    narrowed,
    question,
)
from planloom.execution.plan_store import PlanStore
from planloom.settings import Settings
from planloom.workspace.editor import Editor
from planloom.workspace.edits.apply import apply_changeset
from planloom.workspace.edits.outcomes import (
    ChangesetApplied,
    ChangesetConflicted,
    ChangesetPartlyApplied,
    ChangesetRefused,
    ChangesetSuperseded,
)
from planloom.workspace.paths.uris import display_name
from planloom.workspace.view import WorkspaceView


class _Permit(NamedTuple):
    changeset: Changeset
    denied: tuple[Uri, ...]


class Gate:
    """Where effects of plans are asked for and made. `questions` and `conflicts` are what waits for a person."""

    def __init__(
        self,
        plan_store: PlanStore,
        view: WorkspaceView,
        editor: Editor,
        settings: Callable[[], Settings],
        trusted: Callable[[], bool],
        on_cancel: Callable[[PlanId], None],
    ) -> None:
        self._plan_store = plan_store
        self._view = view
        self._editor = editor
        self._settings = settings
        self._trusted = trusted
        self._on_cancel = on_cancel
        self._granted: set[tuple[PlanId, int, Effect]] = set()
        self._granted_commands: set[tuple[PlanId, int, Sha256]] = set()
        self.questions = PendingApprovals(plan_store)
        self.conflicts = PendingConflicts(plan_store, view)

    async def commit(self, proposal: ChangeProposal, grant: Grant) -> CommitResult:
        """Ask for the changes as far as the policy wants, make them, record what came of it.

        Raises UntrustedWorkspace. A cancellation supersedes the question, or waits for the edit in hand.
        """
        self._require_trust("nothing in it is changed")
        denied: tuple[Uri, ...] = ()
        asked = False
        while True:
            if not asked:
                permit = await self._permit(proposal)
                if isinstance(permit, Denied):
                    return permit
                denied = (*denied, *permit.denied)
                proposal = proposal._replace(changeset=permit.changeset)
            journal = journal_of(self._plan_store, proposal, denied)
            outcome = await apply_changeset(
                self._view, self._editor, proposal.changeset, grant, label_of(proposal), journal
            )
            match outcome:
                case ChangesetApplied():
                    return Committed(denied=denied)
                case ChangesetRefused():
                    return NotMade(reason=outcome.reason)
                case ChangesetPartlyApplied():
                    return NotMade(reason=outcome.reason)
                case ChangesetSuperseded():
                    proposal = proposal._replace(changeset=outcome.changeset)
                    asked = False
                case ChangesetConflicted():
                    settled = await self.conflicts.ask(proposal, outcome)
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
        self._require_trust("no command runs in it")
        plan = self._plan_store.plan(proposal.plan_id)
        destroys = _is_unseen(plan) and destructive_command(proposal.command.text)
        verdict = self._settings().approvals.policy().verdict("execute", protected=destroys)
        if verdict == "deny":
            return Denied(reason="The setting planloom.approvals.execute denies commands.")
        key = (plan.plan_id, plan.version, proposal.bound)
        if proposal.again is None and (verdict == "allow" or key in self._granted_commands):
            return Permitted()
        approval = command_question(proposal, ApprovalId(uuid.uuid4().hex))
        response = await self.questions.ask(approval, Changeset())
        refused = self._refused(plan.plan_id, response, "The user did not allow this command.")
        if refused is not None:
            return refused
        if response.decision == "allowForPlan":
            self._granted_commands.add(key)
        return Permitted()

    async def refusal(self, proposal: ChangeProposal) -> Denied | None:
        """What is clear before anyone is asked: that the policy denies these changes.

        Raises UntrustedWorkspace.
        """
        self._require_trust("nothing in it is changed")
        facts = await described(self._view, proposal.changeset, proposal.blind, proposal.doubtful)
        verdict = self._verdict(self._plan_store.plan(proposal.plan_id), facts)
        return verdict if isinstance(verdict, Denied) else None

    async def _permit(self, proposal: ChangeProposal) -> _Permit | Denied:
        """Decide by policy, by an earlier grant for the plan, or by asking."""
        plan = self._plan_store.plan(proposal.plan_id)
        facts = await described(self._view, proposal.changeset, proposal.blind, proposal.doubtful)
        in_doubt = _in_doubt(plan, proposal)
        verdict = self._verdict(plan, facts)
        everything = _Permit(proposal.changeset, ())
        if isinstance(verdict, Denied):
            return verdict
        granted = (plan.plan_id, plan.version, facts.effect) in self._granted
        is_free = granted and not facts.protected and facts.effect == "write"
        if not in_doubt and (verdict == "allow" or is_free):
            return everything
        facts = facts._replace(warnings=(*facts.warnings, *in_doubt))
        approval = question(proposal, facts, ApprovalId(uuid.uuid4().hex))
        response = await self.questions.ask(approval, proposal.changeset)
        return self._answered(plan, approval, proposal, response)

    def _verdict(self, plan: Plan, facts: ChangeFacts) -> Literal["allow", "ask"] | Denied:
        policy = self._settings().approvals.policy()
        verdict = policy.verdict(
            facts.effect, auto=plan.review == "auto", protected=facts.protected, unseen=_is_unseen(plan)
        )
        if verdict == "deny":
            return Denied(reason=f"The setting planloom.approvals.{facts.effect} denies this.")
        return verdict

    def _answered(
        self, plan: Plan, approval: Approval, proposal: ChangeProposal, response: ApprovalResponse
    ) -> _Permit | Denied:
        refused = self._refused(plan.plan_id, response, "You did not allow this.")
        if refused is not None:
            return refused
        if response.decision == "allowForPlan" and approval.effect == "write":
            self._granted.add((plan.plan_id, plan.version, "write"))
        if response.files is None:
            return _Permit(proposal.changeset, ())
        allowed, left_out = narrowed(proposal.changeset, frozenset(response.files))
        if not allowed.changes:
            return Denied(reason=response.reason or "You allowed none of the files.")
        return _Permit(allowed, left_out)

    def _refused(self, plan_id: PlanId, response: ApprovalResponse, otherwise: str) -> Denied | None:
        """What follows from a no, in the words of the person or `otherwise`; None if it was no no."""
        if response.decision == "cancel":
            self._on_cancel(plan_id)
            return Denied(reason="You cancelled the plan.", cancelled=True)
        if response.decision == "deny":
            return Denied(reason=response.reason or otherwise)
        return None

    def _require_trust(self, so: str) -> None:
        if not self._trusted():
            raise UntrustedWorkspace(f"The workspace is not trusted, so {so}.")


def _in_doubt(plan: Plan, proposal: ChangeProposal) -> tuple[str, ...]:
    """Warnings about files that these steps may have changed before, as far as anyone can tell."""
    ids = (proposal.step_id, *(part.step_id for part in proposal.parts))
    steps = [step for step_id in ids if step_id is not None and (step := plan.step(step_id)) is not None]
    places = {*proposal.changeset.uris()}
    names = dict.fromkeys(
        display_name(uri)
        for step in steps
        for call in step.tools_executed
        for uri, fate in call.files.items()
        if fate == "doubtful" and uri in places
    )
    return tuple(
        f"{name} was to be changed before, and its text does not tell whether it was changed:"
        " this may be the same change a second time."
        for name in names
    )


def _is_unseen(plan: Plan) -> bool:
    """Whether rules read the plan's calls out of a request that runs at once, so that nobody has reviewed them."""
    return plan.route == "direct" and plan.author == "rules"


def journal_of(plan_store: PlanStore, proposal: ChangeProposal, denied: Collection[Uri]) -> EditJournal:
    """Where the edit is written down, with the steps whose staged changes it makes."""
    parts = tuple(part for part in proposal.parts if not part.is_denied(denied))
    return EditJournal(plan_store, proposal.plan_id, proposal.step_id, parts=parts)


def grant_of(plan: Plan) -> Grant:
    """The permission that the plan's approval, or in direct mode the request itself, gives to its steps."""
    return Grant(
        plan_id=plan.plan_id, version=plan.version, source="request" if plan.route == "direct" else "approval"
    )
