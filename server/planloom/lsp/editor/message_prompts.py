"""Asks the user of a client without an extension, by messages with buttons and documents that it opens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from planloom.domain.document.render import ANSWER_LINE
from planloom.domain.errors import PlanloomError, UnknownThing
from planloom.domain.events import catalog as ev
from planloom.domain.plans.covered_calls import asks_again
from planloom.domain.text.counted import counted, cut
from planloom.domain.values import Uri
from planloom.lsp.editor.approval_texts import (
    MOST_FILES,
    approval_text,
    command_text,
    folder_of,
    remarks_of,
)
from planloom.lsp.editor.served_texts import show_changes
from planloom.lsp.editor.side_files import SideFiles
from planloom.lsp.transport.outgoing import LATER, ClientGone, ClientRefused, MessageKind
from planloom.view.actions import (
    ALLOW,
    ALLOW_FOLDER,
    ALLOW_PLAN,
    CONFLICT,
    DENY,
    recovery_choices,
)
from planloom.workspace.paths.uris import display_name, to_path
from planloom.workspace.scratch_files import FOLDER

if TYPE_CHECKING:
    from planloom.domain.changes import Conflict
    from planloom.domain.plans.plan import PauseReason, Plan, Question, Recovery
    from planloom.domain.safety.approvals import Approval, UserDecision
    from planloom.domain.safety.confinement_choices import ConfinementOffer
    from planloom.domain.values import PlanId
    from planloom.execution.jobs import Jobs
    from planloom.lsp.editor.capabilities import Client
    from planloom.lsp.plan_documents.shown_documents import PlanDocuments
    from planloom.lsp.transport.codec import PlanloomProtocol
    from planloom.service.application import Application
    from planloom.workspace.view import WorkspaceView

logger = logging.getLogger(__name__)

_LONG_COMMAND = 600
_LONG_DIFF = 60
"""Characters of a command, and changed lines, that a message can show, or that are seen at a glance."""
_TITLE = 80
_REVIEW, _PAUSE = "review", "pause"
_ASKED_OTHERWISE: frozenset[PauseReason | None] = frozenset({"user", "clarification", "recovery", "conflict"})
"""Why a plan is paused where the user has paused it, or is asked what it waits for."""
_OVER = frozenset({"completed", "failed", "cancelled", "rejected"})
START, SHOW_PLAN, REJECT, RESUME = "Start", "Show", "Reject", "Resume"
_MARKER = "<<<<<<< yours"
CANCEL, SHOW = "Cancel plan", "Show changes"
ALLOW_UNSEEN = "Allow unseen"
"""Allows what is too long for a message and was not shown in a document."""
OTHERWISE, BACK = "Allow otherwise…", "Back"
ALLOW_ALL, ONE_BY_ONE, DENY_ALL = "Allow all", "One by one", "Deny all"
MERGED = "Use the merged document"
_CHOICES = {title: choice for choice, title in CONFLICT.items()}
_DECISIONS: dict[str, UserDecision] = {
    ALLOW: "allow",
    ALLOW_PLAN: "allowForPlan",
    ALLOW_FOLDER: "allowInFolder",
    DENY: "deny",
    CANCEL: "cancel",
    ALLOW_ALL: "allow",
    ALLOW_UNSEEN: "allow",
    DENY_ALL: "deny",
}


@dataclass(eq=False)
class _Asked:
    """A question that waits to be shown. `about` are the ids of what is not settled of it; `ask` shows it and takes
    the answer.
    """

    plan_id: PlanId
    about: set[str]
    ask: Callable[[], Coroutine[Any, Any, None]]


class MessagePrompts:
    """Shows the questions of plans as messages, except the kinds that the client has declared to show itself.

    One message is open at a time, since some editors stand still meanwhile; a question that is answered elsewhere is
    taken back. A dismissed message is no answer: the question stays pending, and a command can answer it.
    """

    def __init__(
        self,
        protocol: PlanloomProtocol,
        client: Client,
        app: Application,
        view: WorkspaceView,
        jobs: Jobs,
        documents: PlanDocuments,
    ) -> None:
        self._protocol = protocol
        self._declared = client.declared
        self._app = app
        self._side_files = SideFiles(protocol, client, view)
        self._jobs = jobs
        self._listed: list[Approval] = []
        self._documents = documents
        self._waiting: list[_Asked] = []
        self._open: asyncio.Task[None] | None = None
        self._can_show = self._side_files.can_show

    def on_event(self, recorded: ev.Recorded, after: Plan) -> None:
        """Show the question of an event, if it has one; `after` is the plan with that event folded in."""
        client, plan_id = self._declared, recorded.plan_id
        match recorded.event:
            case ev.PlanApprovalRequest() if not client.events:
                self._take_back(plan_id, _REVIEW)
                self._ask(plan_id, _REVIEW, partial(self._review, after))
            case ev.ApprovalRequested() as event if not client.approvals:
                self._ask_approval(event.approval)
            case ev.EditConflict() as event if not client.conflicts:
                self._ask(plan_id, event.conflict.edit_id, partial(self._conflict, plan_id, event.conflict))
            case ev.RecoveryRequest() as event if not client.recovery:
                for recovery in after.pending.recoveries:
                    if recovery.step_id == event.step_id:
                        self._ask(plan_id, recovery.step_id, partial(self._recovery, after, recovery))
            case ev.ClarificationRequest() as event if not client.clarifications:
                for question in after.pending.questions:
                    if question.step_id == event.step_id:
                        self._ask(plan_id, question.step_id, partial(self._question, after, question))
            case ev.PlanPaused() as event if after.pause_reason not in _ASKED_OTHERWISE:
                if not client.recovery:
                    for recovery in after.pending.recoveries:
                        self._ask(plan_id, recovery.step_id, partial(self._recovery, after, recovery))
                if not client.events and not after.pending.recoveries:
                    self._ask(plan_id, _PAUSE, partial(self._paused, after, event.detail))
            case ev.PlanResumed():
                self._take_back(plan_id, _PAUSE)
            case ev.ApprovalResolved() as event:
                self._take_back(plan_id, event.approval_id)
            case ev.ConflictResolved() as event:
                self._take_back(plan_id, event.edit_id)
            case ev.RecoveryChosen() | ev.ClarificationProvided() as event:
                self._take_back(plan_id, event.step_id)
            case ev.PlanApproved() | ev.PlanEdited() | ev.PlanDrafting() | ev.PlanDirect():
                self._take_back(plan_id, _REVIEW)
            case _:
                pass
        if after.status in _OVER:
            self._take_back(plan_id, None)

    def _ask(
        self, plan_id: PlanId, about: str | Collection[str], ask: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        self._waiting.append(_Asked(plan_id, {about} if isinstance(about, str) else {*about}, ask))
        self._jobs.start("ask", self._ask_all())

    async def _ask_all(self) -> None:
        """Show the questions that wait, one after the other."""
        while self._waiting:
            asked = self._waiting[0]
            self._open = asyncio.ensure_future(self._report_failure(asked.ask))
            try:
                await asyncio.wait({self._open})
            finally:
                self._open.cancel()
                self._open = None
                if asked in self._waiting:
                    self._waiting.remove(asked)

    def _take_back(self, plan_id: PlanId, about: str | None) -> None:
        """Drop the questions about this, which is settled; without it all those of the plan."""
        for each in tuple(self._waiting):
            if each.plan_id != plan_id or (about is not None and about not in each.about):
                continue
            each.about.difference_update([*each.about] if about is None else [about])
            if each.about:
                continue
            if each is not self._waiting[0] or self._open is None:
                self._waiting.remove(each)
            elif self._open is not asyncio.current_task():
                self._open.cancel()

    async def _review(self, plan: Plan) -> None:
        """Show a plan that waits for its review in its document, and ask whether to start it."""
        uri = await self._documents.show(plan)
        steps = counted(len(plan.steps), "step")
        text = f"Planloom has planned {steps} for “{_first_line(plan.request)}”. {asks_again(plan)}"
        if uri is not None:
            path = f"{FOLDER}/{display_name(uri)}"
            text += f" They are in {path}, where you can change them: save it before you start."
        while True:
            chosen = await self._choose(plan.plan_id, "info", text, [START, SHOW_PLAN, REJECT])
            if chosen != SHOW_PLAN:
                break
            await self._documents.show(plan)
        if chosen == START:
            version = await self._documents.take(plan.plan_id, plan.version)
            await self._app.plans.approve(plan.plan_id, version, None)
        elif chosen == REJECT:
            await self._app.plans.reject(plan.plan_id, None)

    async def _paused(self, plan: Plan, detail: str | None) -> None:
        text = f"Planloom has paused “{_first_line(plan.request)}”. {detail or ''}".rstrip()
        chosen = await self._choose(plan.plan_id, "warning", text, [RESUME, CANCEL])
        if chosen == RESUME:
            await self._app.plans.resume(plan.plan_id)
        elif chosen == CANCEL:
            await self._app.plans.cancel(plan.plan_id)

    async def _report_failure(self, ask: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await ask()
        except PlanloomError as error:
            # The question was answered elsewhere, or the plan ended while the message was open.
            self._protocol.show_message("info", f"Planloom: {error.message}")
        except ClientGone:
            logger.info("The client disconnected before it answered")

    async def _choose(
        self, plan_id: PlanId, kind: MessageKind, text: str, buttons: Sequence[str], later: str = LATER
    ) -> str | None:
        """The button that the user presses; None if there is no answer, which can then be given in the document."""
        try:
            chosen = await self._protocol.ask_by_message(kind, text, buttons, later)
        except ClientRefused as error:
            logger.info("The client did not show a message with buttons: %s", error)
            await self._show_in_document(plan_id)
            # Some editors show only warnings by themselves, and this wants an answer.
            told: MessageKind = "warning" if kind == "info" else kind
            self._protocol.show_message(told, f"{text}\n{self._where(plan_id)}")
            return None
        is_new = chosen is None and later == LATER and await self._show_in_document(plan_id)
        if is_new and not self._can_show:
            self._protocol.show_message("info", f"Planloom: {self._where(plan_id)}")
        return chosen

    async def _show_in_document(self, plan_id: PlanId) -> bool:
        """Show the document of a plan, which has its questions, unless it was shown before."""
        plan = self._app.plans.get(plan_id, None)
        if plan is None or self._documents.shown(plan_id) is not None:
            return False
        return await self._documents.show(plan, focus=False) is not None

    def _where(self, plan_id: PlanId) -> str:
        shown = self._documents.shown(plan_id)
        if shown is None:
            return f"The commands of the plan {plan_id} answer it."
        return f"It can be answered in {FOLDER}/{display_name(shown.uri)}, by its lenses or code actions."

    def _ask_approval(self, approval: Approval) -> None:
        """Ask for an approval; for one of a list once the whole list has been requested."""
        place = approval.listed
        if place is None:
            self._ask(approval.plan_id, approval.approval_id, partial(self._approval, approval))
            return
        self._listed.append(approval)
        if place.position == place.size:
            listed, self._listed = self._listed, []
            ids = {each.approval_id for each in listed}
            self._ask(approval.plan_id, ids, partial(self._approvals, listed))

    async def _approvals(self, listed: Sequence[Approval]) -> None:
        """Ask once for commands that are asked together, or for each of them."""
        lines = [f"Planloom wants to run {counted(len(listed), 'command')}:"]
        for number, approval in enumerate(listed, 1):
            lines += [f"{number}. in {folder_of(approval)}: {approval.command}", *remarks_of(approval)]
        level: Literal["warning", "info"] = "warning" if any(each.warning for each in listed) else "info"
        all_seen = not any(map(_is_long, listed))
        buttons = [*([ALLOW_ALL] if all_seen else []), ONE_BY_ONE, DENY_ALL, CANCEL]
        chosen = await self._choose(listed[0].plan_id, level, "\n".join(lines), buttons)
        if chosen == ONE_BY_ONE:
            for approval in listed:
                await self._report_failure(partial(self._approval, approval))
        elif chosen is not None:
            for approval in listed[:1] if chosen == CANCEL else listed:
                answering = partial(
                    self._app.approvals.respond, approval.approval_id, _DECISIONS[chosen], None, None
                )
                # One may have been withdrawn meanwhile, which is no reason not to answer the others.
                await self._report_failure(answering)

    async def _approval(self, approval: Approval) -> None:
        offers = approval.confinement.offers if approval.confinement is not None else ()
        more = [SHOW] if self._can_show and (approval.files or _is_long(approval)) else []
        more += [OTHERWISE] if offers else []
        level: Literal["warning", "info"] = "warning" if approval.warning else "info"
        unseen = _is_long(approval)
        while True:
            ahead = [ALLOW_PLAN, *([ALLOW_FOLDER] if approval.rules else [])]
            allow = [ALLOW_UNSEEN] if unseen else [ALLOW, *([] if approval.only_once else ahead)]
            buttons = [*allow, DENY, CANCEL, *more]
            chosen = await self._choose(approval.plan_id, level, approval_text(approval), buttons)
            if chosen == SHOW:
                unseen = not await show_changes(self._app, self._side_files, approval)
            elif chosen == OTHERWISE:
                offer = await self._offer(approval, offers)
                if offer is not None:
                    await self._app.approvals.respond(approval.approval_id, "allow", None, None, offer.chosen)
                    return
            else:
                break
        if chosen is not None:
            await self._app.approvals.respond(approval.approval_id, _DECISIONS[chosen], None, None)

    async def _offer(self, approval: Approval, offers: Sequence[ConfinementOffer]) -> ConfinementOffer | None:
        """The confinement that the user chooses for a command; None to be asked as before."""
        by_label = {f"Run {offer.label}": offer for offer in offers}
        lines = [f"{label}: {offer.line}" for label, offer in by_label.items()]
        text = "\n".join([command_text(approval), *lines])
        chosen = await self._choose(approval.plan_id, "warning", text, [*by_label], BACK)
        return None if chosen is None else by_label[chosen]

    async def _recovery(self, plan: Plan, recovery: Recovery) -> None:
        buttons = recovery_choices(recovery)
        text = f"Planloom: the step “{_described(plan, recovery.step_id)}” failed. {recovery.error}"
        chosen = await self._choose(plan.plan_id, "error", text, list(buttons))
        if chosen is not None:
            await self._app.steps.recover(plan.plan_id, recovery.step_id, buttons[chosen], None)

    async def _question(self, plan: Plan, question: Question) -> None:
        text = f"Planloom asks: {question.question}"
        if not question.options:
            await self._show_in_document(plan.plan_id)
            shown = self._documents.shown(plan.plan_id)
            place = "" if shown is None else f" in {FOLDER}/{display_name(shown.uri)}"
            command = f'planloom.answer ["{plan.plan_id}", "{question.step_id}", "…"]'
            how = f"Write the answer{place} behind “{ANSWER_LINE}” below the step, and choose its lens or code action"
            how = f"{how}; or use the command"
            self._protocol.show_message("warning", f"{text} {how} {command}.")
            return
        chosen = await self._choose(plan.plan_id, "info", text, list(question.options))
        if chosen is not None:
            await self._app.steps.answer(plan.plan_id, question.step_id, chosen)

    async def _conflict(self, plan_id: PlanId, conflict: Conflict) -> None:
        """Ask about one file after the other; resolve the conflict only when all of them are answered."""
        choices = []
        for file in conflict.files:
            choice = await self._choice(plan_id, conflict, file.uri)
            if choice is None:
                return
            choices.append(choice)
        await self._app.approvals.resolve_conflict(plan_id, conflict.edit_id, tuple(choices))

    async def _choice(self, plan_id: PlanId, conflict: Conflict, uri: Uri) -> ev.ConflictChoice | None:
        side_file = await self._document_with_both(conflict, uri)
        text = f"Planloom: you and the plan both changed the same lines of {display_name(uri)}."
        buttons = list(_CHOICES)
        if side_file is not None:
            text += " The opened document has both versions: edit it, then use it."
            buttons.append(MERGED)
        while True:
            chosen = await self._choose(plan_id, "warning", text, buttons)
            if chosen in _CHOICES:
                return ev.ConflictChoice(uri=uri, choice=_CHOICES[chosen])
            if chosen is None or side_file is None:
                return None
            edited = await self._side_files.read(side_file)
            if edited is not None and _MARKER not in edited:
                return ev.ConflictChoice(uri=uri, choice="text", text=edited)
            text = f"Planloom: the document for {display_name(uri)} still has conflict markers."

    async def _document_with_both(self, conflict: Conflict, uri: Uri) -> Uri | None:
        if not self._can_show:
            return None
        try:
            both = self._app.approvals.conflict_texts(conflict.edit_id, uri).both
        except UnknownThing:
            return None
        name = PurePosixPath(to_path(uri) or display_name(uri))
        side_file = await self._side_files.write(
            uri, f"{name.stem}-both-{conflict.edit_id[:8]}{name.suffix}", both
        )
        return side_file if side_file is not None and await self._side_files.show(side_file) else None


def _is_long(approval: Approval) -> bool:
    """Whether it has more than a message shows."""
    lines = sum(file.added + file.removed for file in approval.files)
    return (
        len(approval.files) > MOST_FILES or lines > _LONG_DIFF or len(approval.command or "") > _LONG_COMMAND
    )


def _first_line(text: str) -> str:
    return cut(text.strip().partition("\n")[0], _TITLE)


def _described(plan: Plan, step_id: str) -> str:
    return next((step.title for step in plan.steps if step.step_id == step_id), step_id)
