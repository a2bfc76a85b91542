"""Who writes a plan, and what the author is told: the request, its attachments, the workspace around it."""

from __future__ import annotations

from collections.abc import Callable

from planloom.domain.attachments import ResolvedAttachment
from planloom.domain.plan import Plan
from planloom.domain.templates import Template, TemplateRefused, applied
from planloom.domain.values import Sha256
from planloom.intake.contents import tree_of
from planloom.planning.model_planner import ModelPlanner
from planloom.planning.port import Planner, PlanningRequest
from planloom.planning.rules_planner import RulesPlanner
from planloom.planning.templates import TemplatePlanner
from planloom.service.models import Models
from planloom.service.references import WorkspaceReferences
from planloom.service.templates import Templates, refused
from planloom.settings import Settings
from planloom.tools.registry import Registry

SNAPSHOT_PATHS = 400
"""How many paths of the workspace an author is shown."""
SNAPSHOT_CHARACTERS = 8_000
INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md")
"""Where a workspace tells agents how it is to be worked in; the first that is there counts."""


class Authors:
    """Picks the author for a plan: a template that was asked for, the model if there is one, else the rules."""

    def __init__(
        self,
        models: Models,
        templates: Templates,
        references: WorkspaceReferences,
        tools: Registry,
        settings: Callable[[], Settings],
        trusted: Callable[[], bool],
        text_of: Callable[[Sha256], str | None],
        earlier: Callable[[Plan], str] = lambda _: "",
    ) -> None:
        self._models = models
        self._templates = templates
        self._references = references
        self._tools = tools
        self._settings = settings
        self._trusted = trusted
        self._text_of = text_of
        self._earlier = earlier

    async def author(self, plan: Plan) -> tuple[Planner, PlanningRequest]:
        """The author, and what it is told. Raises UnknownThing and InvalidParams for a template."""
        previous = plan.before_draft.steps if plan.before_draft else ()
        request = PlanningRequest(
            text=plan.request,
            attachments=self._references.attached(plan.attachments, self._text_of),
            qualification=plan.qualification,
            finished=tuple(step for step in plan.steps if step.status == "completed"),
            previous=previous,
            earlier=self._earlier(plan),
        )
        if plan.template_id is not None:
            template = self._templates.get(plan.template_id)
            return self._from(template, plan), request
        model = await self._models.current()
        if model is None:
            return RulesPlanner(self._tools), request
        settings = self._settings()
        planner = ModelPlanner(
            model,
            self._tools,
            style=settings.planning.format,
            extra=settings.planning.system_prompt,
            temperature=settings.model.temperature,
            parallel=settings.execution.max_parallel_steps,
        )
        told = {"snapshot": await self._snapshot(), "instructions": await self._instructions()}
        return planner, request.model_copy(update=told)

    def _from(self, template: Template, plan: Plan) -> Planner:
        steps = applied(template, plan.template_parameters)
        if isinstance(steps, TemplateRefused):
            raise refused(steps)
        return TemplatePlanner(template.name, steps, self._tools, sequential=template.sequential)

    async def _snapshot(self) -> str:
        """The workspace as a tree, as far as it fits; what is left out is said."""
        index = self._references.index()
        await index.built(2.0)
        paths = await index.below("", SNAPSHOT_PATHS + 1)
        tree = tree_of("", paths[:SNAPSHOT_PATHS])
        if len(tree) > SNAPSHOT_CHARACTERS:
            tree = tree[: tree.rfind("\n", 0, SNAPSHOT_CHARACTERS) + 1]
            return f"{tree}… and more\n"
        return f"{tree}… and more\n" if len(paths) > SNAPSHOT_PATHS else tree

    async def _instructions(self) -> ResolvedAttachment | None:
        """What a trusted workspace tells agents, as data."""
        if not self._trusted() or not self._settings().context.instructions:
            return None
        for name in INSTRUCTION_FILES:
            found = await self._references.resolve(f"@{name}", None)
            for attachment in found.attachments:
                if attachment.attachment.label == name:
                    return attachment
        return None
