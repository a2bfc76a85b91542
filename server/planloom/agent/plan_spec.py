"""The tool `submit_plan`, by which a model gives a plan to the user, in one schema for all kinds of steps."""

from __future__ import annotations

from functools import cache

from planloom.domain.values import Json
from planloom.models.port import ToolSpec
from planloom.models.tool_lines import signature
from planloom.tools.registry import READ_ONLY, Registry
from planloom.tools.tool import Tool

SUBMIT_PLAN = "submit_plan"
LONGEST_DESCRIPTION = 300
"""The most characters of a description; a longer one is cut at a word."""
LONGEST_SUMMARY = 4_000
"""The most characters of a plan's summary; the rest is cut."""

_REVIEW = "Give the plan to the user for review. This ends your work."
_PLANNING_AND_TASKS = "Give the plan to the user for review; in a task, the steps still to come."
_TEXTS = ("id", "description", "instruction", "tool", "question", "when", "forEach", "repeatUntil")


def plan_in_words_spec() -> ToolSpec:
    """The tool in few fields, for a run without review on an engine that takes no tools."""
    step: dict[str, Json] = {"description": {"type": "string"}, "instruction": {"type": "string"}}
    return _of_steps(_REVIEW, step, ["description"])


def plan_spec(tools: Registry, *, offered: bool = False) -> ToolSpec:
    """The tool, for plans whose steps may call `tools`. What its fields are for stands in the rules of planning.

    A request lists the tools that read, so that the others are named here with their arguments; with `offered` it
    lists all of them.
    """
    if offered:
        return _spec(None, "")
    return _of_tools(tools.shown())


@cache
def _of_tools(tools: tuple[Tool, ...]) -> ToolSpec:
    writers = Registry(tool for tool in tools if tool.effect not in READ_ONLY)
    return _spec(tuple(tool.name for tool in tools), "; ".join(map(signature, writers.specs())))


@cache
def _spec(names: tuple[str, ...] | None, calls: str) -> ToolSpec:
    step: dict[str, Json] = {name: {"type": "string"} for name in _TEXTS}
    if names is not None:
        step["tool"] = {"type": "string", "enum": list(names)}
    step |= {
        "args": {"type": "object", **({"description": calls} if calls else {})},
        "agent": {"type": "string", "enum": ["koda", "devo", "chapo"]},
        "dependsOn": _list_of("string"),
        "expectedFiles": _list_of("string"),
        "repeatMost": {"type": "integer"},
        "checks": _list_of("string"),
        "kind": {"type": "string", "enum": ["check", "approval"]},
    }
    if names is None:
        step["done"] = {"type": "string"}
    return _of_steps(_REVIEW if names is not None else _PLANNING_AND_TASKS, step, ["id", "description"])


def _of_steps(description: str, step: dict[str, Json], required: list[Json]) -> ToolSpec:
    items: Json = {"type": "object", "properties": step, "required": required}
    return ToolSpec(
        name=SUBMIT_PLAN,
        description=description,
        parameters={
            "type": "object",
            "properties": {"summary": {"type": "string"}, "steps": {"type": "array", "items": items}},
            "required": ["summary", "steps"],
        },
    )


def _list_of(kind: str) -> Json:
    return {"type": "array", "items": {"type": kind}}
