"""The tool `submit_plan`, by which a model gives a plan to the user, in one schema for all kinds of steps."""

from __future__ import annotations

from functools import cache
from typing import cast

from planloom.domain.values import Json
from planloom.models.port import ToolSpec
from planloom.tools.registry import READ_ONLY, Registry, schema
from planloom.tools.tool import Tool

LONGEST_DESCRIPTION = 300
"""The most characters of a description; a longer one is cut at a word."""
LONGEST_SUMMARY = 4_000
"""The most characters of a plan's summary; the rest is cut."""

_REVIEW = "Give the plan to the user for review. This ends your work."
_PLANNING_AND_TASKS = (
    "Planning: give the plan to the user for review. This ends your work. In a task: the steps still to come, anew; "
    "known ones by their id, those left out are dropped."
)


def plan_spec(tools: Registry, *, offered: bool = False) -> ToolSpec:
    """The tool, for plans whose steps may call `tools`.

    A request lists the tools that read, so that the others are named here with their arguments; with `offered` it
    lists all of them.
    """
    if offered:
        return _spec(None, ".")
    calls = (tool_signature(tool) for tool in tools if tool.effect not in READ_ONLY)
    return _spec(tools.names(), f": {'; '.join(calls)}")


@cache
def _spec(names: tuple[str, ...] | None, arguments: str) -> ToolSpec:
    step: dict[str, Json] = {
        "id": {"type": "string"},
        "description": {"type": "string", "description": "One line for the reviewer."},
        "instruction": {"type": "string", "description": "The work, in words."},
        "tool": {
            "type": "string",
            **({"enum": cast("list[Json]", list(names))} if names is not None else {}),
            "description": "Instead of an instruction, for one call that is certain now.",
        },
        "args": {"type": "object", "description": f"Its arguments{arguments}"},
        "question": {"type": "string", "description": "Instead: what the user must say first."},
        "agent": {"type": "string", "enum": ["koda", "devo", "chapo"]},
        "dependsOn": {"type": "array", "items": {"type": "string"}, "description": "Ids of earlier steps."},
        "expectedFiles": {"type": "array", "items": {"type": "string"}},
    }
    if names is None:
        step["done"] = {"type": "string", "description": "In a task: how its work was done already."}
    steps: dict[str, Json] = {
        "type": "array",
        "items": {"type": "object", "properties": step, "required": ["id", "description"]},
    }
    return ToolSpec(
        name="submit_plan",
        description=_REVIEW if names is not None else _PLANNING_AND_TASKS,
        parameters={
            "type": "object",
            "properties": {
                "summary": {"type": "string", "description": "What it does and why so."},
                "steps": steps,
            },
            "required": ["summary", "steps"],
        },
    )


def tool_signature(tool: Tool) -> str:
    """A tool with the names of its arguments, optional ones in brackets."""
    parameters = schema(tool.arguments)
    properties, required = parameters.get("properties"), parameters.get("required")
    needed = required if isinstance(required, list) else []
    listed = properties if isinstance(properties, dict) else {}
    return f"{tool.name}({', '.join(name if name in needed else f'[{name}]' for name in listed)})"
