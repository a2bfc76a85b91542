"""What docs/architecture.md and docs/extending.md point at is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from planloom.tools.registry import Registry, builtin, callable_tool
from planloom.tools.tool import Tool, ToolResult, succeeded

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs/architecture.md").read_text(encoding="utf-8")
EXTENDING = (PROJECT / "docs/extending.md").read_text(encoding="utf-8")
HOPS = re.findall(r"`([a-z_/]+\.py)` `([A-Za-z_]+)`", PAGE)
PLACES = re.findall(r"`([a-z_/]+\.py)` `([A-Za-z_]+)`", EXTENDING)
PLACES += [
    (module, name)
    for name, module in re.findall(r"`([A-Z]\w+)`(?: and `\w+`)?,? (?:of|in) `([\w/]+\.py)`", EXTENDING)
]


def test_the_journeys_have_hops() -> None:
    assert len(HOPS) > 20


@pytest.mark.parametrize(("module", "name"), HOPS)
def test_a_hop_is_a_function_or_class_of_its_module(module: str, name: str) -> None:
    text = (PROJECT / "server/planloom" / module).read_text(encoding="utf-8")
    assert re.search(rf"^\s*(?:async def|def|class) {name}\b", text, re.MULTILINE)


@pytest.mark.parametrize(("module", "name"), PLACES)
def test_a_place_where_something_is_added_is_there(module: str, name: str) -> None:
    root = PROJECT if module.startswith(("tests/", "codegen/", "bench/")) else PROJECT / "server/planloom"
    assert re.search(
        rf"^(?:async def |def |class )?{name}\b", (root / module).read_text("utf-8"), re.MULTILINE
    )


def test_a_tool_is_one_value_that_everything_reads() -> None:
    """The page's word on tools: schema, validation and calls need nothing but the value."""

    class Arguments(BaseModel):
        path: str = Field(description="A path.")

    async def run(arguments: Arguments, _: object) -> ToolResult:
        return succeeded(f"Touched {arguments.path}")

    touch = Tool("touch", "Touch a file.", Arguments, "write", run, paths=("path",), writes=("path",))
    tools = Registry([*builtin(), touch])
    assert tools.specs()[-1].parameters["required"] == ["path"]
    assert tools.rules()["touch"].writes == ("path",)
    assert callable_tool(tools, "touch", {"path": "a"}) is touch
    assert "path" in str(callable_tool(tools, "touch", {}))


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[\w/.]+?)(?:::\w+)?`", PAGE + EXTENDING))))
def test_the_tests_that_hold_a_rule_exist(path: str) -> None:
    assert (PROJECT / path).exists()


def test_every_room_is_in_the_picture() -> None:
    rooms = [each.name for each in (PROJECT / "server/planloom").iterdir() if (each / "__init__.py").exists()]
    picture = PAGE.partition("## Rooms")[2].partition("```\n\n")[0]
    assert [room for room in rooms if room not in picture] == []
