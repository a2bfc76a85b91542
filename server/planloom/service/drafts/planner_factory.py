"""Picks the planner for a plan and builds its request: the text, attachments, and a snapshot of the workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from planloom.domain.plans.attachments import ResolvedAttachment
from planloom.domain.plans.plan import Plan
from planloom.domain.plans.templates import Template, TemplateRefused, applied
from planloom.domain.values import Instant, Sha256
from planloom.models.port import Model
from planloom.planning.model.planner import ModelPlanner
from planloom.planning.model.prompt_budget import snapshot_characters
from planloom.planning.model.snapshot import snapshot
from planloom.planning.perspectives.planner import Limits, PerspectivesPlanner
from planloom.planning.port import Planner, PlanningRequest
from planloom.planning.rules.planner import RulesPlanner
from planloom.planning.templates.planner import TemplatePlanner
from planloom.service.models import Models
from planloom.service.references import WorkspaceReferences
from planloom.service.templates import Templates, refused
from planloom.settings import Settings
from planloom.tools.context import ToolContext
from planloom.tools.registry import Registry

SNAPSHOT_PATHS = 20_000
"""The most paths of the workspace that a planner's snapshot is made from."""
RULES_ONLY = "Perspectives need a language model, so rules alone have written this plan."
INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md")
"""Files with a workspace's instructions for agents; the first that exists is used."""


class PlannerFactory:
    """Picks the planner for a plan: the requested template, else the model, else the rules."""

    def __init__(
        self,
        models: Models,
        templates: Templates,
        references: WorkspaceReferences,
        tools: Registry,
        settings: Callable[[], Settings],
        trusted: Callable[[], bool],
        text_of: Callable[[Sha256], str | None],
        earlier: Callable[[Plan], str],
        reading: Callable[[Plan], ToolContext],
        clock: Callable[[], Instant],
    ) -> None:
        """`reading` makes a read-only tool context for a plan; `earlier` describes its session's previous plan."""
        self._models = models
        self._templates = templates
        self._references = references
        self._tools = tools
        self._settings = settings
        self._trusted = trusted
        self._text_of = text_of
        self._earlier = earlier
        self._reading = reading
        self._clock = clock

    async def author(self, plan: Plan) -> tuple[Planner, PlanningRequest]:
        """The planner and its request. Raises UnknownThing and InvalidParams for a template."""
        previous = plan.before_draft.steps if plan.before_draft else ()
        request = PlanningRequest(
            text=plan.request,
            attachments=self._references.attached(plan.attachments, self._text_of),
            qualification=plan.qualification,
            finished=tuple(step for step in plan.steps if step.status == "completed"),
            previous=previous,
            earlier=self._earlier(plan),
            perspectives=plan.perspectives,
        )
        if plan.template_id is not None:
            template = self._templates.get(plan.template_id)
            return self._from(template, plan), request
        model = await self._models.current()
        if model is None:
            note = RULES_ONLY if plan.route == "perspectives" else ""
            return RulesPlanner(self._tools, note=note), request
        planner = self._with_model(model, plan)
        context = {"snapshot": await self._snapshot(model), "instructions": await self._instructions()}
        return planner, request.model_copy(update=context)

    def _with_model(self, model: Model, plan: Plan) -> Planner:
        settings = self._settings()
        several = plan.route == "perspectives"
        planner = ModelPlanner(
            model,
            self._tools,
            style=settings.planning.format,
            extra=settings.planning.system_prompt,
            temperature=settings.model.temperature,
            parallel=settings.execution.max_parallel_steps,
            synthesis=several,
        )
        if not several:
            return planner
        limits = Limits(
            calls=settings.execution.max_tool_calls_per_step,
            seconds=settings.execution.step_timeout_seconds,
            call_seconds=settings.execution.completion_timeout_seconds,
            requests=settings.budget.max_requests,
            tokens=settings.budget.max_tokens,
        )
        # Without tools the agents still see the attachments.
        denied = settings.approvals.read == "deny"
        return PerspectivesPlanner(
            model,
            Registry(()) if denied else self._tools,
            planner,
            lambda: self._reading(plan),
            self._clock,
            limits=limits,
            fallback=settings.enable_fallback_function_parsing,
            extra=settings.planning.system_prompt,
        )

    def _from(self, template: Template, plan: Plan) -> Planner:
        steps = applied(template, plan.template_parameters)
        if isinstance(steps, TemplateRefused):
            raise refused(steps)
        return TemplatePlanner(template.name, steps, self._tools, sequential=template.sequential)

    async def _snapshot(self, model: Model) -> str:
        """The tree of the workspace, as much as fits into the model's context."""
        index = self._references.index()
        await index.built(2.0)
        paths = await index.below("", SNAPSHOT_PATHS + 1)
        whole = len(paths) <= SNAPSHOT_PATHS
        characters = snapshot_characters((await model.capabilities()).context_tokens)
        return await asyncio.to_thread(snapshot, paths[:SNAPSHOT_PATHS], characters, whole=whole)

    async def _instructions(self) -> ResolvedAttachment | None:
        """The instruction file of a trusted workspace, as data; None if there is none."""
        if not self._trusted() or not self._settings().context.instructions:
            return None
        for name in INSTRUCTION_FILES:
            found = await self._references.resolve(f"@{name}", None)
            for attachment in found.attachments:
                if attachment.attachment.label == name:
                    return attachment
        return None
