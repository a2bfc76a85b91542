"""Builds what a planner is shown: the request, its attachments, and a snapshot of the workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from planloom.domain.plans.attachments import ResolvedAttachment
from planloom.domain.plans.plan import Plan
from planloom.execution.session import Session
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.models.port import Model
from planloom.planning.model.prompt_budget import snapshot_characters
from planloom.planning.model.snapshot import snapshot
from planloom.planning.port import PlanningRequest
from planloom.service.references import WorkspaceReferences

SNAPSHOT_PATHS = 20_000
"""The most paths of the workspace that a planner's snapshot is made from."""
INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md")
"""Files with a workspace's instructions for agents; the first that exists is used."""


class PlanningRequests:
    """Builds the planners' requests. `earlier` describes the previous plan of a plan's session."""

    def __init__(
        self,
        session: Session,
        index: WorkspaceIndex,
        references: WorkspaceReferences,
        earlier: Callable[[Plan], str],
    ) -> None:
        self._session = session
        self._index = index
        self._references = references
        self._earlier = earlier

    def request(self, plan: Plan) -> PlanningRequest:
        """The request without the workspace, which only a model is shown."""
        return PlanningRequest(
            text=plan.request,
            attachments=self._references.attached(plan.attachments),
            qualification=plan.qualification,
            finished=tuple(step for step in plan.steps if step.status == "completed"),
            previous=plan.before_draft.steps if plan.before_draft else (),
            earlier=self._earlier(plan),
            perspectives=plan.perspectives,
        )

    async def request_for(self, model: Model, plan: Plan) -> PlanningRequest:
        """The request with as much of the workspace as fits into the model's context."""
        context = {"snapshot": await self._snapshot(model), "instructions": await self._instructions()}
        return self.request(plan).model_copy(update=context)

    async def _snapshot(self, model: Model) -> str:
        """The tree of the workspace, as much as fits into the model's context."""
        index = self._index.current()
        await index.wait_until_listed(2.0)
        paths = await index.below("", SNAPSHOT_PATHS + 1)
        whole = len(paths) <= SNAPSHOT_PATHS
        characters = snapshot_characters((await model.capabilities()).context_tokens)
        return await asyncio.to_thread(snapshot, paths[:SNAPSHOT_PATHS], characters, whole=whole)

    async def _instructions(self) -> ResolvedAttachment | None:
        """The instruction file of a trusted workspace, as data; None if there is none."""
        if not self._session.trusted or not self._session.settings.context.instructions:
            return None
        for name in INSTRUCTION_FILES:
            for attachment in await self._references.find(f"@{name}"):
                if attachment.attachment.label == name:
                    return attachment
        return None
