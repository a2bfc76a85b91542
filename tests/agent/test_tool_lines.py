"""A tool on one line of a prompt says all that a call of it needs."""

from __future__ import annotations

from typing import Any

import pytest

from planloom.models.port import ToolSpec
from planloom.models.tool_lines import short_line, signature, tool_line


def tool(properties: dict[str, Any], *required: str) -> ToolSpec:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name="do", description="Does it.", parameters=parameters)


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ({"type": "string"}, "a?"),
        ({"type": "integer"}, "a?: integer"),
        ({"type": "number", "default": 20}, "a?: number = 20"),
        ({"type": "string", "default": "x"}, 'a? = "x"'),
        ({"type": "string", "enum": ["high", "low"]}, 'a?: "high"|"low"'),
        ({"type": "array", "items": {"type": "string"}}, "a?: string[]"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "a?: string|integer"),
        ({"type": "object"}, "a?: object"),
        ({}, "a?: any"),
        (
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"b": {"type": "string"}, "c": {"type": "boolean"}},
                    "required": ["b"],
                },
            },
            "a?: {b, c?: boolean}[]",
        ),
    ],
)
def test_an_argument_shows_its_type(argument: dict[str, Any], shown: str) -> None:
    assert signature(tool({"a": argument})) == f"do({shown})"


def test_a_line_says_what_arguments_are_for_those_within_others_too() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string", "description": "The second."}}}
    spec = tool(
        {"a": {"type": "string", "description": "The first."}, "list": {"type": "array", "items": inner}}, "a"
    )
    assert tool_line(spec) == "- do(a, list?: {b?}[]): Does it. a: The first. b: The second."


def test_a_short_line_has_what_a_planner_needs() -> None:
    spec = tool({"a": {"type": "string"}, "n": {"type": "integer", "default": 2}}, "a")
    assert short_line(spec) == "- do(a, n?): Does it."
    told = spec.model_copy(update={"description": "Does it. What it returns is long."})
    assert short_line(told) == "- do(a, n?): Does it."
