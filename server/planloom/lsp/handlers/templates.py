"""Requests on what plans are made of: templates, which are reusable plans, and the tools that steps call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.values import PlanId, TemplateId
from planloom.lsp.wire import to_wire
from planloom.lsp.wire.base import Empty, NoParams
from planloom.lsp.wire.methods import templates as wire
from planloom.tools.registry import builtin

if TYPE_CHECKING:
    from planloom.lsp.connection import Connection


async def list_templates(
    connection: Connection,
    params: NoParams,  # noqa: ARG001
) -> wire.TemplatesResult:
    """The built-in templates, the user's own, and the prompts of MCP servers."""
    return wire.TemplatesResult(
        templates=tuple(map(to_wire.template, await connection.app.templates.offered()))
    )


async def list_tools(
    connection: Connection,  # noqa: ARG001
    params: NoParams,  # noqa: ARG001
) -> wire.ToolsResult:
    """The tools that a step can call."""
    tools = builtin().before_commands().specs()
    return wire.ToolsResult(tools=tuple(map(wire.ToolInfo.of, tools)))


async def preview(connection: Connection, params: wire.PreviewTemplateParams) -> wire.TemplatePreviewResult:
    """A template's steps with some of its values; nothing is planned."""
    filled = await connection.app.templates.preview(TemplateId(params.template_id), params.parameters or {})
    return wire.TemplatePreviewResult(
        steps=to_wire.template_steps(filled.steps),
        problems=tuple(
            wire.ParameterProblem(name=name, problem=problem) for name, problem in filled.problems
        ),
    )


async def save(connection: Connection, params: wire.SaveTemplateParams) -> wire.TemplateResult:
    """Save a plan as a template: each occurrence of a parameter's value becomes `{{name}}`."""
    named = tuple((each.name, each.value) for each in params.parameters or ())
    saved = await connection.app.templates.save(
        PlanId(params.plan_id), params.name, params.description, named
    )
    return wire.TemplateResult(template=to_wire.template(saved))


async def delete(connection: Connection, params: wire.TemplateParams) -> Empty:
    """Delete a template of the user."""
    await connection.app.templates.delete(TemplateId(params.template_id))
    return Empty()
