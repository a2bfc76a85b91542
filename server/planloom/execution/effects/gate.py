"""The one gate for effects: every change of a file, command, fetch and call of a server's tool is approved,
and changes are made.

An approval is bound to the exact base and result of every file, so that only what the user saw can happen.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Literal, NamedTuple, TypeVar

from planloom.domain.changes import Changeset
from planloom.domain.errors import PlanloomError
from planloom.domain.plans.plan import Plan
from planloom.domain.problems import NOT_YET, Judged
from planloom.domain.safety.approvals import Approval, Effect, Grant
from planloom.domain.safety.command_rules import CommandRule, covering, offered_words
from planloom.domain.safety.confinement import Confinement
from planloom.domain.safety.destructive_intent import destructive_command
from planloom.domain.values import ApprovalId, PlanId, Sha256, Uri
from planloom.execution.effects.command_approval import (
    CommandProposal,
    command_approval,
    is_covered_command,
)
from planloom.execution.effects.command_scripts import Script
from planloom.execution.effects.edited_proposals import edit_notes, edited_proposals
from planloom.execution.effects.external_approval import ExternalProposal, external_approval
from planloom.execution.effects.fetch_approval import FetchProposal, fetch_approval
from planloom.execution.effects.journal import EditJournal
from planloom.execution.effects.pending_approvals import (
    ApprovalResponse,
    Covered,
    PendingApprovals,
    Question,
    chosen_confinement,
)
from planloom.execution.effects.pending_conflicts import PendingConflicts
from planloom.execution.effects.proposals import (
    ChangeFacts,
    ChangeProposal,
    CommandPermitted,
    CommitResult,
    Committed,
    Denied,
    NotMade,
    Permitted,
    change_approval,
    facts_of,
    is_covered_change,
    label_of,
    restricted,
)
from planloom.execution.effects.unsaved import save_own, taken_away_later
from planloom.execution.judging import ASK_SECONDS, JUDGE_SECONDS, is_judged, judged
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.workspace.disk import FolderId
from planloom.workspace.edits.apply import apply_changeset
from planloom.workspace.edits.batch import Edit
from planloom.workspace.edits.late import over_unanswered
from planloom.workspace.edits.outcomes import (
    ChangesetApplied,
    ChangesetConflicted,
    ChangesetPartlyApplied,
    ChangesetRefused,
    ChangesetSuperseded,
)
from planloom.workspace.edits.touched_places import Look, Touches
from planloom.workspace.paths.uris import display_name, normalized
from planloom.workspace.staged.order import in_order


class _Permit(NamedTuple):
    """The changes that may be made. `look` is how the files were found, if nobody had to be asked since.

    `covered`: the approval of the plan permits it.
    """

    changeset: Changeset
    touches: Touches
    denied: tuple[Uri, ...] = ()
    edited: tuple[str, ...] = ()
    look: Look | None = None
    covered: bool = False


class _GrantedCommand(NamedTuple):
    """A command as it was proposed, what the user has chosen for it, and the rules that were shown with it.

    By the rules other commands are covered, too, in the same folder, if they run no script but those that this one
    runs.
    """

    proposed: Sha256
    chosen: Confinement
    rules: tuple[CommandRule, ...]
    folder_id: FolderId | None
    scripts: frozenset[Script]

    def allows(self, proposal: CommandProposal) -> Confinement | None:
        """The confinement in which this allows a command; None if it does not."""
        if self.proposed == proposal.digest:
            return self.chosen if proposal.lacked is None or self.chosen.includes(proposal.needed) else None
        if self.folder_id != proposal.folder_id or not self.scripts.issuperset(proposal.scripts.files):
            return None
        return covering(proposal.parts, self.rules, proposal.needed)


_INTERRUPTED: Final = (
    "An earlier change of {name} was interrupted, and its text does not show whether the change was made:"
    " this may be the same change a second time."
)
_STILL_OUT: Final = (
    "The editor has not answered an earlier change of {name}, and may still make it:"
    " this may be the same change a second time."
)
_NOT_HELD: Final = (
    "The setting planloom.approvals.execute is “{}”, but this machine cannot confine commands: each is asked."
)
_MOVED_ON: Final = "The files have changed since these changes were last compared with them."
_SET_ASIDE: Final = "It has been set aside: allowed, it is put back; denied, it stays aside."
_EDITED: Final = "As you have changed it, this is more than what you were asked before."
_ALLOW: Final = ApprovalResponse("allow")
_K = TypeVar("_K", Effect, _GrantedCommand, str)


class Gate:
    """Asks for and makes the effects of plans. `approvals` and `conflicts` hold what waits for the user."""

    def __init__(
        self, session: Session, plan_store: PlanStore, notice: Callable[[str], None] = lambda _: None
    ) -> None:
        """`notice` tells the user what concerns no plan alone."""
        self._notice = notice
        self._has_said_not_held = False
        self._session = session
        self._plan_store = plan_store
        self._cancel_listeners: list[Callable[[PlanId], None]] = []
        self._granted: set[tuple[PlanId, int, Effect]] = set()
        self._granted_commands: set[tuple[PlanId, int, _GrantedCommand]] = set()
        self._granted_origins: set[tuple[PlanId, int, str]] = set()
        self._granted_tools: set[tuple[PlanId, int, str]] = set()
        self.approvals = PendingApprovals(plan_store)
        self.conflicts = PendingConflicts(plan_store, session.view)

    def on_cancel(self, listener: Callable[[PlanId], None]) -> None:
        """Call `listener` with each plan that the user cancels by the answer to an approval."""
        self._cancel_listeners.append(listener)

    async def commit(self, proposal: ChangeProposal, grant: Grant) -> CommitResult:
        """Get the changes approved if the policy requires it, make them, and record the outcome.

        Raises UntrustedWorkspace. A cancellation withdraws a pending approval; an edit in progress is finished.
        """
        self._session.require_trust("nothing in it is changed")
        denied: tuple[Uri, ...] = ()
        edited: tuple[str, ...] = ()
        permit: _Permit | None = None
        news: tuple[str, ...] = ()
        moves = self._session.view.moves
        followed = len(moves)
        while True:
            if followed < len(moves):
                proposal, followed = proposal.after(moves[followed:]), len(moves)
                permit, news = None, (_MOVED_ON,)
            may_repeat = False
            look: Look | None = None
            if await self._session.view.unanswered.wait(proposal.changeset.uris()):
                # Without versions the editor could not refuse the earlier edit, so a person decides.
                can = self._session.editor.capabilities
                may_repeat = not can.document_changes
                why = over_unanswered(self._session.view, can, proposal.changeset)
                if why is not None and not may_repeat:
                    return NotMade(reason=why)
            if permit is None:
                verdict = await self._permit(proposal, news)
                if isinstance(verdict, Denied):
                    return verdict
                permit, look = verdict, verdict.look
                denied = (*denied, *permit.denied)
                edited = (*edited, *permit.edited)
                proposal = proposal._replace(changeset=permit.changeset)
                # What the editor has made while a person was asked is claimed first.
                await self._session.view.unanswered.look(proposal.changeset.uris())
                if followed < len(moves):
                    continue
            journal = EditJournal(self._plan_store, proposal.plan_id, proposal.step_id)
            edit = Edit(
                self._session.view,
                self._session.editor,
                grant._replace(covers=permit.covered),
                label_of(proposal),
                journal,
                approved=permit.touches,
                may_repeat=may_repeat,
                new_files=self._session.settings.edits.new_files,
            )
            # The sets behind it are compared with the files once it is made.
            part, *_ = in_order(proposal.changeset.changes) or (proposal.changeset,)
            await save_own(self._session, self._plan_store, part)
            is_whole = part.changes == proposal.changeset.changes
            coming = await taken_away_later(self._session, self._plan_store.plan(proposal.plan_id))
            outcome = await apply_changeset(edit, part.before(coming), look if is_whole else None)
            match outcome:
                case ChangesetApplied():
                    if not part.later:
                        return Committed(denied=denied, edited=edited)
                    proposal = proposal._replace(changeset=Changeset(changes=part.later))
                case ChangesetRefused():
                    return NotMade(reason=outcome.reason, unsaved=outcome.unsaved)
                case ChangesetPartlyApplied():
                    return NotMade(reason=outcome.reason)
                case ChangesetSuperseded():
                    now = Changeset(changes=(*outcome.changeset.changes, *part.later))
                    proposal = proposal._replace(changeset=now)
                    permit, news = None, (_MOVED_ON,)
                case ChangesetConflicted():
                    resolved = await self.conflicts.ask(proposal._replace(changeset=part), outcome)
                    if not (resolved.changes or part.later):
                        return Denied(reason="The user kept their own text where both had changed it.")
                    # The user has just seen and chosen this very text, so the permission holds.
                    proposal = proposal._replace(
                        changeset=Changeset(changes=(*resolved.changes, *part.later))
                    )

    async def permit_command(
        self, proposal: CommandProposal, following: Sequence[CommandProposal] = ()
    ) -> CommandPermitted | Denied:
        """Get a command approved if the policy requires it. "Allow for plan" covers an identical command, and those
        that the rules of the approval cover; "allow in this folder" covers the latter in every plan of the folder.

        Of the commands `following` it in the same answer, those that need approval are asked with it, as one list.

        What the machine cannot confine is always asked, and never covered by an earlier answer; a command whose scripts
        cannot be told is covered by a rule of its folder alone.

        Raises UntrustedWorkspace. A cancellation withdraws the pending approval.
        """
        self._session.require_trust("no command runs in it")
        plan = self._plan_store.plan(proposal.plan_id)
        approval = command_approval(proposal, ApprovalId(uuid.uuid4().hex))
        decided = self._decided(plan, proposal)
        if decided is not None and not self.approvals.settled_ahead(approval):
            return decided
        others = [
            Question(command_approval(each, ApprovalId(uuid.uuid4().hex)), self._covered_command(each))
            for each in following
            if self._decided(plan, each) is None
        ]
        covered = self._covered_command(proposal)
        response = await self.approvals.ask(approval, Changeset(), others, covered)
        denied = self._denied(plan.plan_id, response, "The user did not allow this command.")
        if denied is not None:
            return denied
        chosen = chosen_confinement(approval, response) or proposal.command.confinement
        if response.decision != "allow" and proposal.abilities.hold(chosen):
            self._remember(plan, proposal, chosen, in_folder=response.decision == "allowInFolder")
        return CommandPermitted(confinement=chosen)

    def _remember(
        self, plan: Plan, proposal: CommandProposal, chosen: Confinement, *, in_folder: bool
    ) -> None:
        """Let a command be covered in the rest of the plan, and by its rules in every plan of the folder."""
        words = offered_words(proposal.parts)
        if proposal.scripts.is_whole:
            rules = tuple(CommandRule(each, chosen) for each in words)
            scripts = frozenset(proposal.scripts.files)
            grant = _GrantedCommand(proposal.digest, chosen, rules, proposal.folder_id, scripts)
            self._granted_commands.add((plan.plan_id, plan.version, grant))
        if in_folder:
            # Credentials and folders elsewhere are given to a plan alone.
            lasting = Confinement(network=chosen.network, git=chosen.git)
            self._session.keep_rules(proposal.command.cwd, [CommandRule(each, lasting) for each in words])
        self.approvals.settle_covered(plan.plan_id)

    def _covered_command(self, proposal: CommandProposal) -> Covered:
        """What answers the request for a command once an answer to another one covers it."""

        def covered() -> ApprovalResponse | None:
            decided = self._decided(self._plan_store.plan(proposal.plan_id), proposal)
            if isinstance(decided, CommandPermitted):
                return ApprovalResponse("allow", confinement=decided.confinement)
            return None

        return covered

    async def permit_fetch(self, proposal: FetchProposal) -> Permitted | Denied:
        """Get a fetch approved if the policy requires it. "Allow for plan" covers the same scheme, host and port.

        Raises UntrustedWorkspace. A cancellation withdraws the pending approval.
        """
        self._session.require_trust("nothing is fetched for it")
        plan = self._plan_store.plan(proposal.plan_id)
        verdict = self._session.settings.approvals.policy().verdict("fetch")
        if verdict == "deny":
            return Denied(reason="The setting planloom.approvals.fetch denies fetching.")
        key = (plan.plan_id, plan.version, proposal.address.origin)
        if verdict == "allow" or key in self._granted_origins:
            return Permitted()
        approval = fetch_approval(proposal, ApprovalId(uuid.uuid4().hex))
        response = await self.approvals.ask(
            approval, Changeset(), covered=lambda: _ALLOW if key in self._granted_origins else None
        )
        denied = self._denied(plan.plan_id, response, "The user did not allow this fetch.")
        if denied is not None:
            return denied
        if response.decision == "allowForPlan":
            self._granted_origins.add(key)
            self.approvals.settle_covered(plan.plan_id)
        return Permitted()

    async def permit_external(self, proposal: ExternalProposal) -> Permitted | Denied:
        """Get the call of a server's or a package's tool approved. "Allow for plan" covers the same tool.

        What the tool does is not known, so no policy allows it without asking, and one that denies commands denies it.

        Raises UntrustedWorkspace. A cancellation withdraws the pending approval.
        """
        self._session.require_trust("no tool that is not ours is called for it")
        plan = self._plan_store.plan(proposal.plan_id)
        if self._session.settings.approvals.policy().execute == "deny":
            return Denied(
                reason="The setting planloom.approvals.execute denies calls of tools that may do anything."
            )
        key = (plan.plan_id, plan.version, proposal.tool.name)
        may_cover = proposal.again is None

        def covered() -> ApprovalResponse | None:
            return _ALLOW if may_cover and key in self._granted_tools else None

        if covered() is not None:
            return Permitted()
        approval = external_approval(proposal, ApprovalId(uuid.uuid4().hex))
        response = await self.approvals.ask(approval, Changeset(), covered=covered)
        denied = self._denied(plan.plan_id, response, "The user did not allow this call.")
        if denied is not None:
            return denied
        if response.decision == "allowForPlan":
            self._granted_tools.add(key)
            self.approvals.settle_covered(plan.plan_id)
        return Permitted()

    async def permit_kept(self, proposal: ChangeProposal) -> frozenset[Uri] | Denied:
        """Ask which of the changes of a command in protected names stay. No policy allows one without asking.

        One that the user has edited does not: it is what the command has written, or nothing.
        """
        if self._session.settings.approvals.policy().write == "deny":
            return Denied(reason="The setting planloom.approvals.write denies this.")
        facts = (await facts_of(self._session.view, proposal))._replace(effect="write", protected=True)
        facts = facts._replace(warnings=(_SET_ASIDE, *facts.warnings))
        approval = change_approval(proposal, facts, ApprovalId(uuid.uuid4().hex))
        response = await self.approvals.ask(approval, proposal.changeset)
        denied = self._denied(approval.plan_id, response, "The user did not keep this.")
        if denied is not None:
            return denied
        chosen = proposal.changeset if response.changeset is None else response.changeset
        same = {each.uri for each in chosen.changes if each in proposal.changeset.changes}
        return frozenset(same if response.files is None else same.intersection(response.files))

    async def permit_revision(self, approval: Approval) -> Permitted | Denied:
        """Ask for a change of the steps still to come that widens the plan. No policy allows it without asking."""
        response = await self.approvals.ask(approval, Changeset())
        denied = self._denied(approval.plan_id, response, "The user did not allow this change of the plan.")
        return denied if denied is not None else Permitted()

    async def permit_going_on(self, approval: Approval) -> Permitted | Denied:
        """Ask whether the plan goes on. No policy allows it without asking."""
        response = await self.approvals.ask(approval, Changeset())
        denied = self._denied(approval.plan_id, response, "The user did not allow the plan to go on.")
        return denied if denied is not None else Permitted()

    def keep_grants(self, plan_id: PlanId, version: int, narrowed: int) -> None:
        """Let what was allowed for a version of a plan hold for the next one, which only narrows it."""
        _carry(self._granted, plan_id, version, narrowed)
        _carry(self._granted_commands, plan_id, version, narrowed)
        _carry(self._granted_origins, plan_id, version, narrowed)
        _carry(self._granted_tools, plan_id, version, narrowed)

    async def denied_by_policy(self, proposal: ChangeProposal) -> Denied | None:
        """The denial if the policy denies these changes without asking.

        Raises UntrustedWorkspace.
        """
        self._session.require_trust("nothing in it is changed")
        facts = await facts_of(self._session.view, proposal)
        verdict = self._verdict(self._plan_store.plan(proposal.plan_id), facts)
        return verdict if isinstance(verdict, Denied) else None

    async def _permit(self, proposal: ChangeProposal, news: tuple[str, ...]) -> _Permit | Denied:
        """Decide by policy, by an earlier "allow for plan", or by asking; a question also shows the `news`."""
        plan = self._plan_store.plan(proposal.plan_id)
        facts = await facts_of(self._session.view, proposal)
        repeats = self._possible_repeats(plan, proposal)
        counts = self._session.settings.approvals.plan == "literal"
        covered = counts and not repeats and is_covered_change(plan, proposal, facts)
        verdict = self._verdict(plan, facts, covered=covered)
        if isinstance(verdict, Denied):
            return verdict
        key = (plan.plan_id, plan.version, facts.effect)
        can_be_covered = not repeats and not facts.protected and facts.effect == "write"
        if (verdict == "allow" and not repeats) or (can_be_covered and key in self._granted):
            return _Permit(proposal.changeset, facts.touches, look=facts.look, covered=covered)
        facts = facts._replace(warnings=(*facts.warnings, *repeats, *news))
        approval = change_approval(proposal, facts, ApprovalId(uuid.uuid4().hex))
        response = await self._asked_judged(
            approval,
            proposal.changeset,
            lambda: _ALLOW if can_be_covered and key in self._granted else None,
        )
        if response.changeset is None:
            return self._permitted(plan, proposal, facts, response)
        return await self._permit_edited(proposal, facts, response, response.changeset)

    async def _asked_judged(
        self, approval: Approval, changeset: Changeset, covered: Covered
    ) -> ApprovalResponse:
        """Ask for changes with what language servers say of them, or before they have: the answer waits for nothing."""
        language = self._session.language
        if not is_judged(language, changeset):
            return await self.approvals.ask(approval, changeset, covered=covered)
        judging = asyncio.create_task(judged(language, changeset, {}, ASK_SECONDS + JUDGE_SECONDS))
        telling: asyncio.Task[None] | None = None
        try:
            await asyncio.wait([judging], timeout=ASK_SECONDS)
            if (response := covered()) is not None:
                return response
            found = judging.result() if judging.done() else NOT_YET
            approval = approval.model_copy(update={"judged": found})
            if not judging.done():
                telling = asyncio.create_task(self._tell_late(approval.approval_id, judging))
            return await self.approvals.ask(approval, changeset, covered=covered)
        finally:
            judging.cancel()
            if telling is not None:
                telling.cancel()

    async def _tell_late(self, approval_id: ApprovalId, judging: asyncio.Task[Judged | None]) -> None:
        found = await judging
        await self._plan_store.wait_unlocked()
        # A ledger that fails is told by whoever records something that matters.
        with suppress(PlanloomError):
            self.approvals.judged(approval_id, found)

    async def _permit_edited(
        self, proposal: ChangeProposal, facts: ChangeFacts, response: ApprovalResponse, approved: Changeset
    ) -> _Permit | Denied:
        """Judge the changes as the user has edited them; what would be worse than what was shown is asked anew."""
        if not approved.changes:
            return Denied(reason=response.reason or "The user left out all of the changes.")
        edited = proposal._replace(
            changeset=approved,
            incomplete=proposal.incomplete
            - {file.uri for file in edited_proposals(proposal.changeset, approved)},
        )
        now = await facts_of(self._session.view, edited)
        is_worse = (now.effect == "destroy" and facts.effect != "destroy") or (
            now.protected and not facts.protected
        )
        notes = edit_notes(proposal.changeset, approved, self._session.folders)
        if is_worse or {*now.warnings} - {*facts.warnings}:
            permit = await self._permit(edited, (_EDITED,))
        else:
            plan = self._plan_store.plan(proposal.plan_id)
            verdict = self._verdict(plan, now)
            permit = verdict if isinstance(verdict, Denied) else self._permitted(plan, edited, now, response)
        if isinstance(permit, Denied):
            return permit
        gone = tuple(
            change.uri for change in proposal.changeset.changes if change.uri not in {*approved.uris()}
        )
        return permit._replace(denied=(*permit.denied, *gone), edited=(*notes, *permit.edited))

    def _decided(self, plan: Plan, proposal: CommandProposal) -> CommandPermitted | Denied | None:
        """The verdict of the policy or an earlier permission on a command; None if the user is to be asked."""
        unasked = proposal.unasked
        is_held = proposal.abilities.hold(unasked)
        destroys = _is_unreviewed(plan) and destructive_command(proposal.command.text)
        policy = self._session.settings.approvals.policy()
        # Where the plan's own changes are not asked about, nobody has seen what a command that names them would run.
        unseen = bool(proposal.changed) and policy.verdict("write", auto=plan.review == "auto") == "allow"
        covered = policy.plan == "literal" and not unseen and is_covered_command(plan, proposal)
        verdict = policy.verdict(
            "execute", covered=covered, protected=destroys or not is_held, asks_more=proposal.asks_more
        )
        if policy.execute in ("allow", "confined") and not is_held and not self._has_said_not_held:
            self._has_said_not_held = True
            self._notice(_NOT_HELD.format(policy.execute))
        if verdict == "deny":
            return Denied(reason="The setting planloom.approvals.execute denies commands.")
        if proposal.again is not None:
            return None
        if verdict == "allow":
            return CommandPermitted(unasked, plan.version if covered else None)
        earlier = self._granted_for(plan, proposal)
        return CommandPermitted(confinement=earlier) if earlier is not None else None

    def _granted_for(self, plan: Plan, proposal: CommandProposal) -> Confinement | None:
        """The confinement of a command by what the user has allowed for this version of the plan, or in its folder."""
        grants = (
            grant
            for plan_id, version, grant in self._granted_commands
            if (plan_id, version) == (plan.plan_id, plan.version)
        )
        by_plan = (given for grant in grants if (given := grant.allows(proposal)) is not None)
        if (found := next(by_plan, None)) is not None:
            return found
        found = covering(proposal.parts, self._session.rules(proposal.command.cwd), proposal.needed)
        given = None if found is None else proposal.command.confinement.with_more(found)
        return given if given is not None and proposal.abilities.hold(given) else None

    def _possible_repeats(self, plan: Plan, proposal: ChangeProposal) -> tuple[str, ...]:
        """A warning for each file in which an earlier change by these steps may have been made, and may not, or in
        which the editor may still make one."""
        out = self._session.view.unanswered.over(proposal.changeset.uris())
        unversioned = {uri for edit in out for uri in edit.unversioned}
        versioned = {uri for edit in out for uri in edit.uris} - unversioned
        ids = (proposal.step_id, *proposal.steps)
        steps = [step for step_id in ids if step_id is not None and (step := plan.step(step_id)) is not None]
        doubtful = {uri for step in steps for uri in step.in_doubt}
        warnings = {}
        for uri in proposal.changeset.uris():
            if normalized(uri) in unversioned:
                warnings[uri] = _STILL_OUT
            elif uri in doubtful and normalized(uri) not in versioned:
                warnings[uri] = _INTERRUPTED
        return tuple(warning.format(name=display_name(uri)) for uri, warning in warnings.items())

    def _verdict(
        self, plan: Plan, facts: ChangeFacts, *, covered: bool = False
    ) -> Literal["allow", "ask"] | Denied:
        policy = self._session.settings.approvals.policy()
        verdict = policy.verdict(
            facts.effect,
            auto=plan.review == "auto",
            covered=covered,
            protected=facts.protected,
            unseen=_is_unreviewed(plan),
        )
        if verdict == "deny":
            return Denied(reason=f"The setting planloom.approvals.{facts.effect} denies this.")
        return verdict

    def _permitted(
        self, plan: Plan, proposal: ChangeProposal, facts: ChangeFacts, response: ApprovalResponse
    ) -> _Permit | Denied:
        denied = self._denied(plan.plan_id, response, "The user did not allow this.")
        if denied is not None:
            return denied
        if response.decision == "allowForPlan" and facts.effect == "write":
            self._granted.add((plan.plan_id, plan.version, "write"))
            self.approvals.settle_covered(plan.plan_id)
        if response.files is None:
            return _Permit(proposal.changeset, facts.touches)
        allowed, left_out = restricted(proposal.changeset, frozenset(response.files))
        if not allowed.changes:
            return Denied(reason=response.reason or "The user allowed none of the files.")
        return _Permit(allowed, facts.touches, left_out)

    def _denied(self, plan_id: PlanId, response: ApprovalResponse, default_reason: str) -> Denied | None:
        """The denial in a response, with the user's reason or the default; None if it allows the effect."""
        if response.decision == "cancel":
            for listener in self._cancel_listeners:
                listener(plan_id)
            return Denied(reason="The user cancelled the plan.", cancelled=True)
        if response.decision == "deny":
            return Denied(reason=response.reason or default_reason)
        return None


def _carry(grants: set[tuple[PlanId, int, _K]], plan_id: PlanId, version: int, narrowed: int) -> None:
    kept = [key for plan, of, key in grants if (plan, of) == (plan_id, version)]
    grants.update((plan_id, narrowed, key) for key in kept)


def _is_unreviewed(plan: Plan) -> bool:
    """Whether the plan's calls were derived by rules from a direct request, so that nobody has reviewed them."""
    return plan.route == "direct" and plan.author == "rules"


def grant_of(plan: Plan) -> Grant:
    """The permission that the plan's approval, or a direct request itself, gives to its steps."""
    return Grant(
        plan_id=plan.plan_id, version=plan.version, source="request" if plan.route == "direct" else "approval"
    )
