"""The schema that constrains a plan is tight everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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


def test_every_text_list_and_object_is_bounded() -> None:
    for tools in (small_tools(), builtin()):
        for node in nodes(plan_schema(tools)):
            kind = node.get("type")
            if kind == "string":
                assert node.keys() & {"maxLength", "enum", "const", "pattern"}, node
                assert node.get("maxLength", 0) <= 2_000
            if kind == "array":
                assert node["maxItems"] <= 24
            if kind == "object":
                assert node["additionalProperties"] is False
                assert set(node.get("required", ())) <= set(node["properties"])


def test_there_is_one_variant_a_tool_with_the_agents_that_may_use_it() -> None:
    variants = plan_schema(small_tools())["properties"]["steps"]["items"]["anyOf"]  # type: ignore[index,call-overload]
    agents = {
        variant["properties"]["tool"]["const"]: variant["properties"]["agent"]["enum"]
        for variant in variants
        if "tool" in variant["properties"]
    }
    assert agents == {
        "read_file": ["koda", "devo", "chapo"],
        "write_file": ["koda", "devo"],
        "create_folder": ["koda", "devo"],
        "delete_path": ["koda", "devo"],
        "run_command": ["koda", "devo", "chapo"],
    }
    assert len(variants) == 7


def test_paths_stay_in_the_workspace() -> None:
    variants = plan_schema(small_tools())["properties"]["steps"]["items"]["anyOf"]  # type: ignore[index,call-overload]
    path = variants[0]["properties"]["args"]["properties"]["path"]
    assert path["maxLength"] == 200
    assert path["pattern"].startswith("^[^/~")
