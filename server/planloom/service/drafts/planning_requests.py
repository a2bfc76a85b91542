"""Builds what a planner is shown: the request, its attachments, and the surroundings of the work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from planloom.domain.plans.plan import Plan
from planloom.planning.port import PlanningRequest
from planloom.service.references import WorkspaceReferences

if TYPE_CHECKING:
    from planloom.intake.surroundings.sections import Surroundings


class PlanningRequests:
    """Builds the planners' requests. `surroundings` gathers what only a model is shown."""

    def __init__(
        self, references: WorkspaceReferences, surroundings: Callable[[Plan], Awaitable[Surroundings]]
    ) -> None:
        self._references = references
        self._surroundings = surroundings

    def request(self, plan: Plan) -> PlanningRequest:
        """The request without the surroundings, which only a model is shown."""
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
            surroundings=await self._surroundings(plan),
            attachments=await self._references.with_images(request.attachments),
        )
