"""Prepares a new request: resolves its references, runs detection, and chooses its route."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planloom.domain.errors import InvalidParams, ReferenceUnresolved, WorkspaceRequired
from planloom.domain.events import catalog as ev
from planloom.domain.plans.attachments import Attachment, Unresolved
from planloom.domain.plans.plan import Detection, Plan
from planloom.domain.values import Sha256
from planloom.execution.session import Session
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.intake.reference_sources import Resolution
from planloom.intake.routing.classifier import classify
from planloom.intake.routing.detection import detect
from planloom.intake.routing.qualification import Mode, Routing, qualify, refine, route
from planloom.models.one_question import Cost
from planloom.service.models import Models
from planloom.service.references import WorkspaceReferences
from planloom.service.requests import Attached, CreateRequest
from planloom.service.templates import Templates


class NewRequest(NamedTuple):
    """The first event of a plan, and the attached texts by hash."""

    start: ev.PlanStart
    texts: tuple[tuple[Sha256, str], ...]


class NewRequests:
    """Prepares new requests."""

    def __init__(
        self,
        session: Session,
        index: WorkspaceIndex,
        references: WorkspaceReferences,
        models: Models,
        templates: Templates,
    ) -> None:
        self._session = session
        self._index = index
        self._references = references
        self._models = models
        self._templates = templates

    def detect(self, text: str) -> Detection:
        """Whether the text, without what is attached to it, will be planned; ambiguous if the model will decide."""
        return self._routed(text, (), "auto").detection

    async def prepare(self, request: CreateRequest) -> NewRequest:
        """Resolve, detect, route.

        Raises InvalidParams for an empty text, WorkspaceRequired, ReferenceUnresolved if every reference failed, and
        UnknownThing and InvalidParams for a template that there is not, or that does not take these values.
        """
        if not request.text.strip():
            raise InvalidParams(
                "The request is empty.", details=[{"field": "text", "problem": "it is empty"}]
            )
        if not self._session.folders:
            raise WorkspaceRequired(
                "No folder is open.", hint="Open the folder that the request is about, then ask again."
            )
        if request.template_id is not None:
            await self._templates.filled(request.template_id, request.parameters)
        # A request that runs at once is read by rules, which then know whether symbols can be renamed.
        await self._index.find_language()
        resolution = await self.resolve(request.text, request)
        if resolution.unresolved and not resolution.attachments:
            raise _none_resolved(resolution.unresolved)
        attachments = resolution.plain
        routing = self._routed(request.text, attachments, request.mode)
        start = ev.PlanStart(
            request=request.text,
            # A request for a template is a request for its plan.
            route="plan" if request.template_id is not None else routing.route,
            detection=routing.detection,
            qualification=routing.qualification,
            attachments=attachments,
            unresolved=resolution.unresolved,
            workspace_folders=self._session.folders,
            follows=request.follows,
            template_id=request.template_id,
            template_parameters=dict(request.parameters),
        )
        return NewRequest(start, resolution.texts)

    async def resolve(self, text: str, attached: Attached) -> Resolution:
        """The references of a text, and the client's own attachments."""
        return await self._references.resolve(
            text, attached.context, attached.confirmed, attached.attachments
        )

    def _routed(self, text: str, attachments: Sequence[Attachment], mode: Mode) -> Routing:
        settings = self._session.settings
        detection = detect(text, enabled=settings.enable_task_planning)
        return route(
            mode,
            detection,
            qualify(text, attachments, detection),
            settings.planning,
            model_at_hand=self._models.at_hand,
        )

    async def choose_route(self, plan: Plan) -> tuple[ev.Event, ...]:
        """The route of an undecided request, then what a model has used for choosing it.

        A model that takes tools begins to work, and can submit a plan. Another classifies the request; if it does not,
        the rules decide.
        """
        assert plan.detection is not None and plan.qualification is not None
        undecided = Routing(route="undecided", detection=plan.detection, qualification=plan.qualification)
        model = await self._models.for_work(plan.plan_id)
        cost = Cost()
        answer = None
        if model is not None:
            can = await model.capabilities()
            if can.tools and not can.lean:
                detection = plan.detection.model_copy(update={"rule": "model", "ambiguous": False})
                return (ev.PlanRouted(detection=detection, qualification=plan.qualification, route="direct"),)
            answer = await classify(model, plan.request, plan.qualification, cost=cost)
        routing = refine(undecided, self._session.settings.planning, answer)
        routed = ev.PlanRouted(
            detection=routing.detection, qualification=routing.qualification, route=routing.route
        )
        if model is None or not cost.usage.requests:
            return (routed,)
        return routed, ev.ModelUsed(usage=cost.usage, model=model.identity.label)


def _none_resolved(unresolved: tuple[Unresolved, ...]) -> ReferenceUnresolved:
    return ReferenceUnresolved(
        " ".join(each.message for each in unresolved),
        details=[
            {"reference": each.reference, "code": each.code, "message": each.message} for each in unresolved
        ],
    )
