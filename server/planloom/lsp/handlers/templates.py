"""Requests on templates: plans to be used again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.values import PlanId, TemplateId
from planloom.lsp import to_wire
from planloom.lsp import wire_params as take
from planloom.lsp import wire_results as give
from planloom.lsp.wire_base import Empty

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def list_templates(at: Connection, params: take.NoParams) -> give.TemplatesResult:  # noqa: ARG001
    """The built-in templates and the user's own."""
    return give.TemplatesResult(templates=tuple(to_wire.template(each) for each in at.app.templates.list()))


async def save(at: Connection, params: take.SaveTemplateParams) -> give.TemplateResult:
    """Keep a plan as a template: each occurrence of a parameter's value becomes `{{name}}`."""
    named = tuple((each.name, each.value) for each in params.parameters or ())
    saved = await at.app.templates.save(PlanId(params.plan_id), params.name, params.description, named)
    return give.TemplateResult(template=to_wire.template(saved))


async def delete(at: Connection, params: take.TemplateParams) -> Empty:
    """Remove a template of the user."""
    await at.app.templates.delete(TemplateId(params.template_id))
    return Empty()
