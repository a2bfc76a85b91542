"""The schema that constrains a plan is tight everywhere, and says each thing once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from planloom.planning.formats.draft import PlanText
from planloom.planning.formats.reader import read_plan
from planloom.planning.model.schema import plan_schema
from planloom.tools.registry import builtin
from tests.support.small_tools import small_tools


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes(value)


def kinds(*, brief: bool = False) -> list[set[str]]:
    schema: Any = plan_schema(small_tools(), brief=brief)
    return [set(each["properties"]) for each in schema["properties"]["steps"]["items"]["anyOf"]]


def names(call: dict[str, Any]) -> list[str]:
    """The tools that a variant of a call is for."""
    name = call["properties"]["name"]
    return [name["const"]] if "const" in name else name["enum"]


def test_every_text_list_and_object_is_bounded() -> None:
    for tools in (small_tools(), builtin()):
        schema = plan_schema(tools)
        for node in nodes(schema):
            kind = node.get("type")
            if kind == "string":
                assert node.keys() & {"maxLength", "enum", "const", "pattern"}, node
                assert node.get("maxLength", 0) <= 2_000
            if kind == "array":
                assert node["maxItems"] <= 24
            if kind == "object":
                assert node["additionalProperties"] is False
                assert set(node.get("required", ())) <= set(node["properties"])


def test_every_reference_has_its_definition() -> None:
    schema = plan_schema(builtin())
    named = {node["$ref"] for node in nodes(schema) if "$ref" in node}
    assert named == {f"#/$defs/{name}" for name in schema["$defs"]}  # type: ignore[union-attr]


def test_there_is_one_call_for_each_tool_and_a_kind_of_step_for_each_way_to_work() -> None:
    schema: Any = plan_schema(small_tools())
    calls = schema["$defs"]["call"]["anyOf"]
    assert [name for call in calls for name in names(call)] == list(small_tools().names())
    common = {"id", "description", "dependsOn"}
    assert kinds() == [
        common | {"instruction", "agent", "when", "forEach", "repeatUntil", "repeatMost", "checks"},
        common | {"call", "when", "forEach"},
        common | {"question", "kind"},
        common | {"kind", "checks"},
    ]
    assert kinds(brief=True) == [common | {"instruction", "agent"}, common | {"call"}, common | {"question"}]


def test_tools_with_the_same_arguments_share_one_call() -> None:
    schema: Any = plan_schema(builtin())
    calls = schema["$defs"]["call"]["anyOf"]
    assert any({"create_folder", "delete_path"} <= set(names(call)) for call in calls)
    rests = [json.dumps([{**call["properties"], "name": {}}, call["required"]]) for call in calls]
    assert len(rests) == len(set(rests))
    assert sorted(name for call in calls for name in names(call)) == sorted(builtin().names())


def test_paths_stay_in_the_workspace() -> None:
    schema: Any = plan_schema(small_tools())
    call = schema["$defs"]["call"]["anyOf"][0]
    assert call["properties"]["path"] == {"$ref": "#/$defs/path"}
    assert schema["$defs"]["path"]["pattern"].startswith("^[^/~")


def test_the_schema_of_all_tools_stays_small_since_every_plan_request_holds_it() -> None:
    size = len(json.dumps(plan_schema(builtin().before_commands()), separators=(",", ":")))
    assert size < 5_700, "shorten the arguments of the tools in tools/catalog.py, or raise the bound here"


@pytest.mark.parametrize(
    "call",
    [
        {"call": {"name": "write_file", "path": "a.txt", "content": "x"}},
        {"call": {"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}},
        {"tool": {"name": "write_file", "args": {"path": "a.txt", "content": "x"}}},
        {"tool_call": {"tool": "write_file", "path": "a.txt", "content": "x"}},
        {"tool": "write_file", "args": {"path": "a.txt", "content": "x"}},
    ],
)
def test_a_call_is_read_in_the_form_of_the_schema_and_in_others(call: dict[str, Any]) -> None:
    plan = {"summary": "S.", "steps": [{"id": "a", "description": "Write", **call, "dependsOn": []}]}
    read = read_plan(json.dumps(plan), builtin().names())
    assert isinstance(read, PlanText)
    (step,) = read.steps
    assert (step.tool, step.args) == ("write_file", {"path": "a.txt", "content": "x"})


def test_conditions_loops_and_sub_plans_are_read() -> None:
    loop = {"id": "a", "description": "Mend", "instruction": "Mend it.", "when": "exists('a')"}
    steps = [
        {**loop, "repeatUntil": "last.ok", "repeatMost": 3},
        {"id": "b", "description": "Release", "kind": "sub_plan", "templateId": "release", "args": {"n": 2}},
    ]
    read = read_plan(json.dumps({"summary": "S.", "steps": steps}), builtin().names())
    assert isinstance(read, PlanText)
    mend, release = read.steps
    assert (mend.when, mend.repeat_until, mend.repeat_most) == ("exists('a')", "last.ok", 3)
    assert (release.kind, release.template, release.args) == ("sub_plan", "release", {"n": 2})
