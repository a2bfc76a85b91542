"""Params and results of the requests about templates."""

from typing import Annotated

from pydantic import Field

from planloom.lsp.wire.base import Maybe, Wire
from planloom.lsp.wire.plan import Args, Step, Template


class NamedValue(Wire):
    """A value of a plan that becomes a parameter of its template."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    value: Annotated[str, Field(min_length=1)]


class SaveTemplateParams(Wire):
    """`planloom/template/save`."""

    plan_id: str
    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Maybe[str] = None
    parameters: Maybe[tuple[NamedValue, ...]] = None


class TemplateParams(Wire):
    """`planloom/template/delete`."""

    template_id: str


class PreviewTemplateParams(Wire):
    """`planloom/template/preview`: the values that are known so far."""

    template_id: str
    parameters: Maybe[dict[str, str]] = None


class TemplatesResult(Wire):
    """Every template."""

    templates: tuple[Template, ...]


class TemplateResult(Wire):
    """The template that was saved."""

    template: Template


class ParameterProblem(Wire):
    """Why the value of a template's parameter cannot be taken."""

    name: str
    problem: str


class TemplatePreviewResult(Wire):
    """The steps of a template with the values that are known; it can be planned if there are no problems."""

    steps: tuple[Step, ...]
    problems: tuple[ParameterProblem, ...]


class ToolInfo(Wire):
    """A tool that a step can call: what it does, and the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Args


class ToolsResult(Wire):
    """Every tool that a step can call."""

    tools: tuple[ToolInfo, ...]
