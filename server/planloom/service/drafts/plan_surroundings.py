"""Gathers what a planner is shown of a plan, and what every prompt of it begins with, once for each plan."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from planloom.domain.changes import sha256
from planloom.domain.errors import StorageFailed
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.confinement_choices import standing_line
from planloom.domain.values import PlanId, Uri
from planloom.execution.session import Session
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.intake.surroundings.gathering import Place, Subject, gathered
from planloom.intake.surroundings.project_instructions import is_instruction_file
from planloom.intake.surroundings.sections import Surroundings
from planloom.planning.port import PlanningRequest
from planloom.service.drafts.followup import FollowUp
from planloom.service.memory import Memory
from planloom.service.references import WorkspaceReferences
from planloom.tools.confinement.abilities import abilities
from planloom.workspace.paths.names import listed, quoted
from planloom.workspace.snapshots import BOM

MOST_TREE_CHARACTERS = 3_000
"""The longest tree of the workspace."""
_NAMED = 5
_UNCONFIRMED = (
    "{names}: not followed, since a command may have changed it that was not seen to end. Look at it, then save it in "
    "the editor or run planloom trust."
)
_KEPT = 50
"""How many plans' surroundings are kept; those of an older plan are gathered anew."""


class PlanSurroundings:
    """The surroundings of plans. They stay the same for as long as a plan runs, so that prefix caches hit."""

    def __init__(
        self,
        session: Session,
        index: WorkspaceIndex,
        references: WorkspaceReferences,
        follow_up: FollowUp,
        memory: Memory,
        warn: Callable[[str], None],
    ) -> None:
        self._warn = warn
        self._session = session
        self._index = index
        self._references = references
        self._follow_up = follow_up
        self._memory = memory
        self._gathered: OrderedDict[tuple[PlanId, bool, bool, bool], Surroundings] = OrderedDict()
        self._gathering = asyncio.Lock()
        session.view.documents.listen(self._on_document_event)

    async def of(self, plan: Plan) -> Surroundings:
        """The surroundings as they were when they were first asked for, but for trust, which holds at once."""
        await self._session.settle_trust(plan.plan_id)
        async with self._gathering:
            place = await self._place()
            key = (plan.plan_id, place.trusted, place.instructions, place.shown)
            if key not in self._gathered:
                found = await gathered(place, _subject(plan), MOST_TREE_CHARACTERS)
                if unconfirmed := found.instructions.unconfirmed:
                    self._warn(
                        _UNCONFIRMED.format(names=listed([quoted(each) for each in unconfirmed], _NAMED))
                    )
                previous = self._follow_up.of(plan)
                remembered = self._memory.of(plan, previous.plan_id) if place.trusted and place.shown else ""
                self._gathered[key] = found._replace(earlier=previous.text, remembered=remembered)
                if len(self._gathered) > _KEPT:
                    self._gathered.popitem(last=False)
            return self._gathered[key]

    def request(self, plan: Plan) -> PlanningRequest:
        """The request for a planner, without the surroundings, which only a model is shown."""
        return PlanningRequest(
            text=plan.request,
            attachments=self._references.attached(plan.attachments),
            qualification=plan.qualification,
            finished=tuple(step for step in plan.steps if step.status == "completed"),
            previous=plan.before_draft.steps if plan.before_draft else (),
            edited=plan.before_draft.edited if plan.before_draft else frozenset(),
            perspectives=plan.perspectives,
        )

    async def request_for_model(self, plan: Plan) -> PlanningRequest:
        """The request with the surroundings, and with its images as they are now."""
        request = self.request(plan)
        return request._replace(
            surroundings=await self.of(plan),
            attachments=await self._references.with_images(request.attachments),
        )

    def _confirmed(self) -> frozenset[str] | None:
        """The hashes of the texts that count as instructions; None if no command has left others unseen."""
        decisions = self._session.decisions
        if decisions is None:
            return None
        held = [decisions.held_instructions(root.path) for root in self._session.view.roots.folders]
        known = [each for each in held if each is not None]
        return frozenset().union(*known) if known else None

    def _on_document_event(self, uri: Uri) -> None:
        """Confirm the instructions that the user saves."""
        document, decisions = self._session.view.documents.get(uri), self._session.decisions
        if document is None or decisions is None or not is_instruction_file(uri):
            return
        if document.saved.confirmed and not document.dirty:
            for root in self._session.view.roots.folders:
                with suppress(StorageFailed):
                    decisions.confirm_instructions(root.path, sha256(document.text.removeprefix(BOM)))

    async def _place(self) -> Place:
        commands = ""
        if self._session.trusted:
            has = self._session.command_abilities(await asyncio.to_thread(abilities))
            commands = standing_line(self._session.settings.commands.network, has)
        return Place(
            self._session.view,
            self._session.editor,
            self._index.current(),
            self._session.programs,
            recent=self._references.recent(),
            trusted=self._session.trusted,
            instructions=self._session.settings.context.instructions,
            confirmed=self._confirmed(),
            shown=self._session.settings.approvals.read != "deny",
            commands=commands,
        )


def _subject(plan: Plan) -> Subject:
    return Subject(
        today=plan.created_at.astimezone().date() if plan.created_at else None,
        attached=tuple(attachment.uri for attachment in plan.attachments if attachment.uri),
    )
