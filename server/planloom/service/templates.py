"""Templates: plans to be used again, those that ship and those that the user has saved."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence

from planloom.domain.errors import InvalidParams, UnknownThing
from planloom.domain.plans.plan import Plan
from planloom.domain.plans.templates import Template, TemplateRefused, template_of
from planloom.domain.values import Json, PlanId, TemplateId
from planloom.planning.templates.builtin import builtin_templates
from planloom.storage.ledger import Ledger

log = logging.getLogger(__name__)


class Templates:
    """Every template of the user; saved ones live in the ledger."""

    def __init__(self, ledger: Ledger, plan: Callable[[PlanId], Plan]) -> None:
        self._ledger = ledger
        self._plan = plan

    def list(self) -> tuple[Template, ...]:
        """Saved ones by name, then those that ship."""
        saved = [made for body in self._ledger.templates() if (made := _read(body)) is not None]
        return (*sorted(saved, key=lambda template: template.name.casefold()), *builtin_templates())

    def get(self, template_id: TemplateId) -> Template:
        """One template. Raises UnknownThing."""
        for template in self.list():
            if template.template_id == template_id:
                return template
        raise UnknownThing("template", template_id)

    async def save(
        self, plan_id: PlanId, name: str, description: str | None, parameters: Sequence[tuple[str, str]]
    ) -> Template:
        """Keep the steps of a plan; each occurrence of a parameter's value becomes `{{name}}`.

        Raises UnknownThing, and InvalidParams for parameters that cannot be.
        """
        plan = self._plan(plan_id)
        made = template_of(
            plan.steps,
            template_id=TemplateId(uuid.uuid4().hex),
            name=name,
            description=description,
            parameters=parameters,
            sequential=plan.sequential,
        )
        if isinstance(made, TemplateRefused):
            raise refused(made)
        await self._ledger.ready()
        self._ledger.keep_template(made.template_id, made.model_dump_json())
        return made

    async def delete(self, template_id: TemplateId) -> None:
        """Forget a saved template. Raises UnknownThing, and InvalidParams for one that ships."""
        if self.get(template_id).builtin:
            problem: dict[str, Json] = {"field": "templateId", "problem": "it ships with Planloom"}
            raise InvalidParams("A template that ships cannot be deleted.", details=[problem])
        await self._ledger.ready()
        self._ledger.drop_template(template_id)


def _read(body: str) -> Template | None:
    """A saved template; None for one that is damaged or of a newer version, which the others do not suffer for."""
    try:
        return Template.model_validate_json(body)
    except ValueError as error:
        log.warning("a saved template cannot be read: %s", error)
        return None


def refused(why: TemplateRefused) -> InvalidParams:
    """The error for parameters that a template does not take."""
    details: list[Json] = [{"field": f"parameters.{name}", "problem": text} for name, text in why.problems]
    name, text = why.problems[0]
    return InvalidParams(f"{name}: {text}.", details=details)
