"""Names the resources that a step must claim: the paths it writes, the model, the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from planloom.domain.plans.outputs import NoOutput, resolved
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.safety.lexical_paths import normal_path
from planloom.execution.resources import MODEL, TERMINAL
from planloom.service.models import Models
from planloom.tools.registry import Registry


def claims_of(tools: Registry, plan: Plan, step: Step) -> Iterator[str]:
    """The names of the resources. Paths are compared as text, without resolving links."""
    if step.kind == "processing":
        yield MODEL
        yield from (_path(plan, path) for path in step.expected_files)
        return
    tool = tools.get(step.tool or "")
    if tool is None:
        return
    if tool.effect == "execute":
        yield TERMINAL
    args = resolved(plan, step.args or {}, tool.texts)
    if isinstance(args, NoOutput):
        return
    for name in tool.writes:
        value = args.get(name)
        if isinstance(value, str):
            yield _path(plan, value)


def capacity_of(models: Models, resource: str) -> int:
    """How many steps may use a resource at a time: one, but for a model that takes several requests."""
    return models.parallelism if resource == MODEL else 1


def described(resource: str) -> tuple[Literal["path", "model", "terminal"], str | None]:
    """The kind of a resource, and the path that it is."""
    if resource == MODEL:
        return "model", None
    if resource == TERMINAL:
        return "terminal", None
    return "path", resource.split(" ", 2)[2]


def _path(plan: Plan, path: str) -> str:
    folder = plan.workspace_folders[0] if plan.workspace_folders else ""
    return f"path {folder} {normal_path(path)}"
