"""Picks the planner for a plan: the requested template, else that of a package if it is set, the model, the rules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from planloom.domain.errors import PlannerFailed
from planloom.domain.plans.attachments import images_of
from planloom.domain.plans.plan import Plan
from planloom.execution.session import Session
from planloom.models.port import Capabilities, Model
from planloom.planning.investigations.draft_investigations import DraftInvestigations, InvestigationOptions
from planloom.planning.investigations.planner import InvestigatingPlanner
from planloom.planning.model.planner import DraftOptions, ModelPlanner
from planloom.planning.model.prompt_budget import SMALL_CONTEXT
from planloom.planning.model.prompts import told_templates
from planloom.planning.package_planner import MakePlanner, PackagePlanner, PlannerParts
from planloom.planning.perspectives.planner import PerspectivesPlanner
from planloom.planning.port import Planner, PlanningRequest
from planloom.planning.rules.planner import RulesPlanner
from planloom.planning.templates.planner import TemplatePlanner
from planloom.service.drafts.plan_surroundings import PlanSurroundings
from planloom.service.models import Models, Outlook
from planloom.service.templates import Templates
from planloom.tools.registry import Registry

if TYPE_CHECKING:
    from planloom.service.drafts.planning_conversations import PlanningConversations

RULES_ONLY = "Perspectives need a language model, so rules alone have written this plan."


class PlannerFactory:
    """Picks planners, each with the request that it is to plan."""

    def __init__(
        self,
        session: Session,
        tools: Registry,
        models: Models,
        templates: Templates,
        surroundings: PlanSurroundings,
        conversations: PlanningConversations,
    ) -> None:
        self._session = session
        self._tools = tools
        self._models = models
        self._templates = templates
        self._surroundings = surroundings
        self._conversations = conversations
        self._of_packages: Mapping[str, MakePlanner] = {}

    def add(self, planners: Mapping[str, MakePlanner]) -> None:
        """Know the planners of packages, each of which is used where the settings name it."""
        self._of_packages = planners

    async def planner_for(self, plan: Plan) -> tuple[Planner, PlanningRequest]:
        """The planner and its request. A template cannot follow feedback, so a message is for the model.

        Raises UnknownThing and InvalidParams for a template, PlannerFailed if no package brings the one that is set.
        """
        if plan.template_id is not None and not plan.unread:
            template, steps = await self._templates.filled(plan.template_id, plan.template_parameters)
            planner: Planner = TemplatePlanner(
                template.name, steps, self._tools, sequential=template.sequential
            )
            return planner, self._surroundings.request(plan)
        model = await self._models.for_work(plan.plan_id)
        if name := self._session.settings.planning.planner:
            return await self._of_package(name, plan, model)
        if model is None:
            note = RULES_ONLY if plan.route == "perspectives" else ""
            tools = await self._conversations.for_models(plan, self._tools)
            planner = RulesPlanner(tools, self._session.view.has, note=note)
            return planner, self._surroundings.request(plan)
        request = await self._surroundings.request_for_model(plan)
        can = await model.capabilities()
        unseen = () if can.images else images_of(request.attachments)
        planner = await self._with_model(model, can, plan, request)
        return planner, request._replace(unseen=unseen, model=model.identity.label)

    async def _of_package(
        self, name: str, plan: Plan, model: Model | None
    ) -> tuple[Planner, PlanningRequest]:
        make = self._of_packages.get(name)
        if make is None:
            hint = "`planloom doctor` says how each package of `planloom.extensions.enabled` is."
            raise PlannerFailed(f"No enabled package brings the planner {name}.", hint=hint)
        tools = await self._conversations.for_models(plan, self._tools)
        request = self._surroundings.request(plan)
        if model is not None:
            request = (await self._surroundings.request_for_model(plan))._replace(model=model.identity.label)
        return PackagePlanner(name, make, PlannerParts(tools, model)), request

    async def outlook(self) -> Outlook:
        """What the plan can expect of models."""
        return await self._models.outlook()

    async def _with_model(
        self, model: Model, can: Capabilities, plan: Plan, request: PlanningRequest
    ) -> Planner:
        """An investigation if the model takes tools and has the room, else a single request."""
        settings = self._session.settings
        small = can.context_tokens is not None and can.context_tokens < SMALL_CONTEXT
        options = DraftOptions(
            style=settings.planning.format,
            extra=settings.planning.system_prompt,
            temperature=settings.model.temperature,
            parallel=settings.execution.max_parallel_steps,
            template_of=self._templates.find,
            templates=() if small else told_templates(self._templates.saved()),
        )
        tools = await self._conversations.for_models(plan, self._tools)
        several = plan.route == "perspectives"
        opening = None
        if can.tools and not small and not several and options.style == "auto":
            opening = await self._conversations.opening(model, plan, request, options.templates)
        investigations = self._investigations(model, plan, tools, () if opening is None else opening.runs)
        planner: Planner
        if can.tools and not small and options.style == "auto":
            planner = InvestigatingPlanner(investigations, tools, options, synthesis=several, opening=opening)
        else:
            planner = ModelPlanner(model, tools, options, synthesis=several)
        if not several:
            return planner
        return PerspectivesPlanner(investigations, planner, self._session.clock, extra=options.extra)

    def _investigations(
        self, model: Model, plan: Plan, tools: Registry, runs: tuple[str, ...]
    ) -> DraftInvestigations:
        settings = self._session.settings
        # Without tools a model still sees the attachments.
        tools = Registry(()) if settings.approvals.read == "deny" else tools
        options = InvestigationOptions(
            calls=settings.execution.max_tool_calls_per_step,
            seconds=settings.execution.step_timeout_seconds,
            call_seconds=settings.execution.completion_timeout_seconds,
            requests=settings.budget.max_requests,
            tokens=settings.budget.max_tokens,
            fallback=settings.enable_fallback_function_parsing,
        )
        context = partial(self._conversations.context, plan, runs)
        return DraftInvestigations(model, tools, context, options, plan.before_draft)
