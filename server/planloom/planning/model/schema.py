"""The JSON schema that constrains a model's plan, with one variant for each tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from planloom.agent.answer_decoder import PATH_PATTERN, bounded_number
from planloom.domain.plans.agents import EFFECTS
from planloom.domain.values import Json
from planloom.tools.registry import Registry, schema
from planloom.tools.tool import Tool

MAX_STEPS = 24
"""The most steps of a constrained plan; without a bound weak models do not stop."""

_ID = "^[a-z][a-z0-9_]{0,23}$"
_DESCRIPTION = 300
_INSTRUCTION = 2_000
_TEXT = 2_000
"""The most characters of a text argument; servers refuse grammars that grow too large with the bound."""
_PATH = 200
_ITEMS = 8


def plan_schema(tools: Registry) -> dict[str, Json]:
    """The schema of an answer: a summary, and steps that are tool calls, instructions or questions."""
    variants: list[Json] = [_tool_step(tool) for tool in tools]
    variants += [_processing_step(), _clarification_step()]
    return {
        "type": "object",
        "properties": {
            "summary": _text(_DESCRIPTION, "What the plan does, in one sentence."),
            "steps": {"type": "array", "minItems": 1, "maxItems": MAX_STEPS, "items": {"anyOf": variants}},
        },
        "required": ["summary", "steps"],
        "additionalProperties": False,
    }


def _tool_step(tool: Tool) -> Json:
    agents = [agent for agent in ("koda", "devo", "chapo") if tool.effect in EFFECTS[agent]]
    return _step(
        {
            "tool": {"type": "string", "const": tool.name},
            "args": tightened(schema(tool.arguments), tool.paths),
            "agent": {"type": "string", "enum": cast("list[Json]", agents)},
        }
    )


def _processing_step() -> Json:
    return _step(
        {
            "instruction": _text(
                _INSTRUCTION, "What is to be done, in full: it is all that the worker gets."
            ),
            "agent": {"type": "string", "enum": ["koda", "devo", "chapo"]},
        }
    )


def _clarification_step() -> Json:
    return _step(
        {"question": _text(_DESCRIPTION * 2, "One question to the user that must be answered first.")}
    )


def _step(own: Mapping[str, Json]) -> Json:
    properties: dict[str, Json] = {
        "id": {"type": "string", "pattern": _ID},
        "description": _text(_DESCRIPTION, "One line for the person who reviews the plan."),
        **own,
        "dependsOn": {
            "type": "array",
            "maxItems": _ITEMS,
            "items": {"type": "string", "pattern": _ID},
            "description": "Ids of the steps that must be over before this one.",
        },
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(most: int, description: str) -> Json:
    return {"type": "string", "minLength": 1, "maxLength": most, "description": description}


def tightened(node: Json, paths: tuple[str, ...] = (), name: str = "") -> Json:
    """An argument schema with bounds on every text, number, list and object, and a pattern for relative paths."""
    if not isinstance(node, dict):
        return node
    tight = {key: value for key, value in node.items() if key not in ("default", "examples")}
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(variants := tight.get(key), list):
            tight[key] = [tightened(variant, paths, name) for variant in variants]
    kind = tight.get("type")
    if kind == "string" and "enum" not in tight and "const" not in tight:
        if name in paths:
            tight |= {"pattern": PATH_PATTERN, "maxLength": _PATH}
        else:
            most = tight.get("maxLength")
            tight["maxLength"] = min(most, _TEXT) if isinstance(most, int) else _TEXT
    elif kind == "array":
        most = tight.get("maxItems")
        tight["maxItems"] = min(most, _ITEMS) if isinstance(most, int) else _ITEMS
        tight["items"] = tightened(tight.get("items"), paths, name)
    elif kind == "object":
        properties = tight.get("properties")
        if isinstance(properties, dict):
            tight["properties"] = {key: tightened(value, paths, key) for key, value in properties.items()}
        tight["additionalProperties"] = False
    return bounded_number(tight)
