"""Lists, saves and deletes plan templates: bundled ones, and those that the user has saved."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence

from planloom.domain.errors import InvalidParams, UnknownThing
from planloom.domain.plans.plan import Step
from planloom.domain.plans.templates import (
    Template,
    TemplatePreview,
    TemplateRefused,
    preview,
    template_of,
)
from planloom.domain.values import Json, PlanId, TemplateId
from planloom.execution.plan_store import PlanStore
from planloom.planning.templates.builtin import builtin_templates
from planloom.service.server_prompts import ServerPrompts, is_of_server
from planloom.storage.ledger import Ledger

log = logging.getLogger(__name__)


class Templates:
    """The templates; saved ones are stored in the ledger. Prompts of servers are among them."""

    def __init__(self, ledger: Ledger, plan_store: PlanStore, prompts: ServerPrompts) -> None:
        self._ledger = ledger
        self._plan_store = plan_store
        self._prompts = prompts

    async def offered(self) -> tuple[Template, ...]:
        """The templates that there are, then the prompts of servers, which may have to start. Raises StorageFailed."""
        return (*self.list(), *await self._prompts.templates())

    def list(self) -> tuple[Template, ...]:
        """The saved templates by name, then the bundled ones. Raises StorageFailed."""
        return (*self.saved(), *builtin_templates())

    def saved(self) -> tuple[Template, ...]:
        """The saved templates by name. Raises StorageFailed."""
        saved = [each for body in self._ledger.templates() if (each := _read(body)) is not None]
        return tuple(sorted(saved, key=lambda template: template.name.casefold()))

    def find(self, name: str) -> Template | None:
        """The template with this id, else that of this name in letters of any case. Raises StorageFailed."""
        return _of_name(self.list(), name)

    async def get(self, template_id: TemplateId) -> Template:
        """The template with this id. Raises UnknownThing, StorageFailed."""
        listed = await self._prompts.templates() if is_of_server(template_id) else self.list()
        for template in listed:
            if template.template_id == template_id:
                return template
        raise UnknownThing("template", template_id)

    async def named(self, name: str) -> Template:
        """The template of this name, in letters of any case, or with this id. Raises UnknownThing."""
        template = self.find(name) or _of_name(await self._prompts.templates(), name)
        if template is None:
            raise UnknownThing("template", name)
        return template

    async def preview(self, template_id: TemplateId, values: Mapping[str, str]) -> TemplatePreview:
        """A template as these values fill it in. Raises UnknownThing, and InvalidParams for a prompt of a server."""
        return await self._preview(await self.get(template_id), values)

    async def _preview(self, template: Template, values: Mapping[str, str]) -> TemplatePreview:
        filled = preview(template, values)
        if is_of_server(template.template_id) and not filled.problems:
            return filled.model_copy(update={"steps": (await self._prompts.step(template, values),)})
        return filled

    async def filled(
        self, template_id: TemplateId, values: Mapping[str, str]
    ) -> tuple[Template, tuple[Step, ...]]:
        """A template and its steps, filled in whole. Raises UnknownThing, and InvalidParams for the values."""
        template = await self.get(template_id)
        found = await self._preview(template, values)
        if found.problems:
            raise refused(TemplateRefused(problems=found.problems))
        return template, found.steps

    async def save(
        self, plan_id: PlanId, name: str, description: str | None, parameters: Sequence[tuple[str, str]]
    ) -> Template:
        """Save the steps of a plan as a template; each occurrence of a parameter's value becomes `{{name}}`.

        Raises UnknownThing, StorageFailed, and InvalidParams for invalid parameters.
        """
        plan = self._plan_store.read(plan_id)
        template = template_of(
            plan.steps,
            template_id=TemplateId(uuid.uuid4().hex),
            name=name,
            description=description,
            parameters=parameters,
            sequential=plan.sequential,
        )
        if isinstance(template, TemplateRefused):
            raise refused(template)
        await self._ledger.ready()
        self._ledger.keep_template(template.template_id, template.model_dump_json())
        return template

    async def delete(self, template_id: TemplateId) -> None:
        """Delete a saved template. Raises UnknownThing, StorageFailed, and InvalidParams for a bundled one."""
        if (await self.get(template_id)).builtin:
            problem: dict[str, Json] = {"field": "templateId", "problem": "it is not one of yours"}
            raise InvalidParams("Only templates that you have saved can be deleted.", details=[problem])
        await self._ledger.ready()
        self._ledger.drop_template(template_id)


def _of_name(templates: Sequence[Template], name: str) -> Template | None:
    """The template with this id, else that of this name in letters of any case."""
    by_id = next((each for each in templates if each.template_id == name), None)
    return by_id or next((each for each in templates if each.name.casefold() == name.casefold()), None)


def _read(body: str) -> Template | None:
    """A saved template; None if it is damaged or of a newer version, so that the others can still be used."""
    try:
        return Template.model_validate_json(body)
    except ValueError as error:
        log.warning("a saved template cannot be read: %s", error)
        return None


def refused(why: TemplateRefused) -> InvalidParams:
    """The error for parameters that a template does not accept."""
    details: list[Json] = [{"field": f"parameters.{name}", "problem": text} for name, text in why.problems]
    name, text = why.problems[0]
    return InvalidParams(f"{name}: {text}.", details=details)
