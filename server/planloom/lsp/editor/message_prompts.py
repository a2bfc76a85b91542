"""Asks clients without an extension by messages with buttons, and shows them documents to look at."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Coroutine
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from lsprotocol import types
from pygls.capabilities import get_capability

from planloom.domain.errors import PlanloomError
from planloom.domain.events import catalog as ev
from planloom.lsp.transport.outgoing import ClientGone, ClientRefused
from planloom.workspace.paths.uris import display_name, to_path

if TYPE_CHECKING:
    from planloom.domain.changes import Conflict
    from planloom.domain.plans.plan import Plan, Question, Recovery
    from planloom.domain.safety.approvals import Approval
    from planloom.domain.values import PlanId, Uri
    from planloom.lsp.connection import Connection

logger = logging.getLogger(__name__)

_FILES = 10
_MARKER = "<<<<<<< yours"
ALLOW, ALLOW_PLAN, DENY, CANCEL, SHOW = "Allow", "Allow for plan", "Deny", "Cancel plan", "Show changes"
MINE, THEIRS, BOTH = "Keep mine", "Take Planloom's", "Keep both"
MERGED = "Use the merged document"
_CHOICES: dict[str, Literal["mine", "theirs", "both"]] = {MINE: "mine", THEIRS: "theirs", BOTH: "both"}
_DECISIONS: dict[str, Literal["allow", "allowForPlan", "deny", "cancel"]] = {
    ALLOW: "allow",
    ALLOW_PLAN: "allowForPlan",
    DENY: "deny",
    CANCEL: "cancel",
}


class MessagePrompts:
    """Puts what a plan asks of a person to a client that has not declared that it does so itself.

    A message that is dismissed is no answer: what it asked stays pending, for a command to answer.
    """

    def __init__(self, connection: Connection) -> None:
        self._at = connection
        self._numbers = itertools.count(1)
        self._can_show = bool(
            get_capability(connection.client.capabilities, "window.show_document.support", False)
        )

    @property
    def wanted(self) -> bool:
        """Whether there is anything that the client does not ask for itself."""
        said = self._at.client.declared
        return not (said.approvals and said.recovery and said.conflicts and said.clarifications)

    def take(self, recorded: ev.Recorded, after: Plan) -> None:
        """Hear an event, and ask what it asks."""
        said = self._at.client.declared
        match recorded.event:
            case ev.ApprovalRequested() as event if not said.approvals:
                self._start(self._approval(event.approval))
            case ev.EditConflict() as event if not said.conflicts:
                self._start(self._conflict(after.plan_id, event.conflict))
            case ev.RecoveryRequest() as event if not said.recovery:
                for recovery in after.pending.recoveries:
                    if recovery.step_id == event.task_id:
                        self._start(self._recovery(after, recovery))
            case ev.ClarificationRequest() as event if not said.clarifications:
                for question in after.pending.questions:
                    if question.step_id == event.task_id:
                        self._start(self._question(after, question))
            case ev.PlanPaused(reason="restart" | "storage") if not said.recovery:
                for recovery in after.pending.recoveries:
                    self._start(self._recovery(after, recovery))
            case _:
                pass

    def _start(self, asking: Coroutine[Any, Any, None]) -> None:
        self._at.jobs.start(f"ask:{next(self._numbers)}", self._told(asking))

    async def _told(self, asking: Coroutine[Any, Any, None]) -> None:
        try:
            await asking
        except PlanloomError as error:
            # Someone else was faster, or the plan has ended while the message stood.
            self._at.show("info", f"Planloom: {error.message}")
        except ClientRefused as error:
            logger.info("The client shows no message with buttons: %s", error)
        except ClientGone:
            logger.info("The client left before it answered")

    async def _approval(self, approval: Approval) -> None:
        once_only = approval.protected or approval.effect == "destroy"
        buttons = [ALLOW, *(() if once_only else (ALLOW_PLAN,)), DENY, CANCEL]
        if self._can_show and approval.files:
            buttons.append(SHOW)
        while True:
            chosen = await self._ask(
                "warning" if approval.warning else "info", _approval_text(approval), buttons
            )
            if chosen != SHOW:
                break
            await self._show_changes(approval)
        if chosen is not None:
            await self._at.app.approvals.respond(approval.approval_id, _DECISIONS[chosen], None, None)

    async def _show_changes(self, approval: Approval) -> None:
        from planloom.domain.text.diff import unified

        parts = []
        for file in approval.files:
            found = await self._at.app.approvals.diff(approval.approval_id, file.uri)
            name = display_name(file.uri)
            parts.append(unified(found.before, found.after, f"a/{name}", f"b/{name}"))
        uri = await self._side_file(
            approval.files[0].uri, f"changes-{approval.approval_id[:8]}.diff", "\n".join(parts)
        )
        if uri is not None:
            await self._show(uri)

    async def _recovery(self, plan: Plan, recovery: Recovery) -> None:
        words = {
            "retry": "Retry",
            "skip": "Skip",
            "abort": "End the plan",
            "accept": "Accept",
            "model": "Ask the model",
        }
        buttons = {words[action]: action for action in recovery.options}
        text = f"Planloom: the step “{_described(plan, recovery.step_id)}” failed. {recovery.error}"
        chosen = await self._ask("error", text, list(buttons))
        if chosen is not None:
            await self._at.app.steps.recover(plan.plan_id, recovery.step_id, buttons[chosen], None)

    async def _question(self, plan: Plan, question: Question) -> None:
        text = f"Planloom asks: {question.question}"
        if not question.options:
            command = f'planloom.answer ["{plan.plan_id}", "{question.step_id}", "…"]'
            self._at.show("info", f"{text} Answer with the command {command}.")
            return
        chosen = await self._ask("info", text, list(question.options))
        if chosen is not None:
            await self._at.app.steps.answer(plan.plan_id, question.step_id, chosen)

    async def _conflict(self, plan_id: PlanId, conflict: Conflict) -> None:
        """Each file in its turn; nothing is decided before every one of them is."""
        choices = []
        for file in conflict.files:
            choice = await self._choice(conflict, file.uri)
            if choice is None:
                return
            choices.append(choice)
        await self._at.app.plans.resolve_conflict(plan_id, conflict.edit_id, tuple(choices))

    async def _choice(self, conflict: Conflict, uri: Uri) -> ev.ConflictChoice | None:
        beside = await self._document_with_both(conflict, uri)
        text = f"Planloom: you and the plan both changed the same lines of {display_name(uri)}."
        buttons = list(_CHOICES)
        if beside is not None:
            text += " The document that was opened holds both: make it what you want, then use it."
            buttons.append(MERGED)
        while True:
            chosen = await self._ask("warning", text, buttons)
            if chosen in _CHOICES:
                return ev.ConflictChoice(uri=uri, choice=_CHOICES[chosen])
            if chosen is None or beside is None:
                return None
            written = await self._written(beside)
            if written is not None and _MARKER not in written:
                return ev.ConflictChoice(uri=uri, choice="text", text=written)
            text = f"Planloom: the document on {display_name(uri)} still holds both sides between markers."

    async def _document_with_both(self, conflict: Conflict, uri: Uri) -> Uri | None:
        if not self._can_show:
            return None
        both = self._at.app.approvals.both_sides(conflict.edit_id, uri)
        if both is None:
            return None
        name = PurePosixPath(to_path(uri) or display_name(uri))
        beside = await self._side_file(uri, f"{name.stem}-both-{conflict.edit_id[:8]}{name.suffix}", both)
        return beside if beside is not None and await self._show(beside) else None

    async def _side_file(self, near: Uri, name: str, text: str) -> Uri | None:
        from planloom.workspace.scratch_files import write_scratch_file

        folders = self._at.view.roots.folders
        root = next((each for each in folders if near.startswith(f"{each.uri}/")), None) or next(
            iter(folders), None
        )
        return None if root is None else await asyncio.to_thread(write_scratch_file, root, name, text)

    async def _written(self, beside: Uri) -> str | None:
        """What the user has made of a document: in its buffer, or saved and closed."""
        from planloom.workspace.scratch_files import read_scratch_file

        document = self._at.documents.get(beside)
        return document.text if document is not None else await asyncio.to_thread(read_scratch_file, beside)

    async def _show(self, uri: Uri) -> bool:
        answer = await self._at.protocol.ask(types.WINDOW_SHOW_DOCUMENT, {"uri": uri, "takeFocus": True})
        return isinstance(answer, dict) and answer.get("success") is True

    async def _ask(
        self, kind: Literal["error", "warning", "info"], text: str, buttons: list[str]
    ) -> str | None:
        """The button that was pressed; None for a message that was dismissed, or an answer that is none."""
        level = {"error": 1, "warning": 2, "info": 3}[kind]
        asked = {"type": level, "message": text, "actions": [{"title": title} for title in buttons]}
        answer = await self._at.protocol.ask(types.WINDOW_SHOW_MESSAGE_REQUEST, asked)
        chosen = answer.get("title") if isinstance(answer, dict) else None
        return chosen if chosen in buttons else None


def _approval_text(approval: Approval) -> str:
    lines = [f"Planloom wants to change: {approval.title}"]
    if approval.command is not None:
        lines = [f"Planloom wants to run in {approval.cwd}: {approval.command}"]
    for file in approval.files[:_FILES]:
        to = f" to {file.new_resolved_path or display_name(file.new_uri)}" if file.new_uri else ""
        counts = f" (+{file.added} −{file.removed})" if file.added or file.removed else ""
        lines.append(f"{file.change} {file.resolved_path}{to}{counts}")
    if len(approval.files) > _FILES:
        lines.append(f"and {len(approval.files) - _FILES} more files")
    if approval.warning:
        lines.append(approval.warning)
    return "\n".join(lines)


def _described(plan: Plan, step_id: str) -> str:
    return next((step.description for step in plan.steps if step.step_id == step_id), step_id)
