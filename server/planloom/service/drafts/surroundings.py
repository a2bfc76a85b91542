"""Gathers what every prompt of a plan begins with, once for each plan."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from planloom.domain.plans.plan import Plan
from planloom.domain.safety.confinement_choices import standing_line
from planloom.domain.values import PlanId
from planloom.execution.session import Session
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.intake.surroundings.gathering import Place, Subject, gathered
from planloom.intake.surroundings.sections import Surroundings
from planloom.service.drafts.followup import FollowUp
from planloom.service.memory import Memory
from planloom.service.references import WorkspaceReferences
from planloom.tools.confinement.abilities import abilities

MOST_TREE_CHARACTERS = 3_000
"""The longest tree of the workspace."""
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
    ) -> None:
        self._session = session
        self._index = index
        self._references = references
        self._follow_up = follow_up
        self._memory = memory
        self._gathered: OrderedDict[tuple[PlanId, bool, bool, bool], Surroundings] = OrderedDict()
        self._gathering = asyncio.Lock()

    async def of(self, plan: Plan) -> Surroundings:
        """The surroundings as they were when they were first asked for, but for trust, which holds at once."""
        await self._session.settle_trust(plan.plan_id)
        async with self._gathering:
            place = await self._place()
            key = (plan.plan_id, place.trusted, place.instructions, place.shown)
            if key not in self._gathered:
                found = await gathered(place, _subject(plan), MOST_TREE_CHARACTERS)
                previous = self._follow_up.of(plan)
                remembered = self._memory.of(plan, previous.plan_id) if place.trusted and place.shown else ""
                self._gathered[key] = found._replace(earlier=previous.text, remembered=remembered)
                if len(self._gathered) > _KEPT:
                    self._gathered.popitem(last=False)
            return self._gathered[key]

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
            shown=self._session.settings.approvals.read != "deny",
            commands=commands,
        )


def _subject(plan: Plan) -> Subject:
    return Subject(
        today=plan.created_at.astimezone().date() if plan.created_at else None,
        attached=tuple(attachment.uri for attachment in plan.attachments if attachment.uri),
    )
