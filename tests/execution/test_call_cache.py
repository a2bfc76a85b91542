"""Which calls count as repeats of a recent one, and what ends that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from planloom.domain.safety.approvals import Effect
from planloom.execution.steps.call_cache import CallCache, DedupWindow, Signature, signature
from planloom.tools.tool import Tool, ToolResult, failed, succeeded
from tests.tools.desk import Desk


async def _never(_args: Any, _context: Any) -> ToolResult:
    raise AssertionError


def tool(name: str, effect: Effect) -> Tool:
    return Tool(name=name, description="", arguments=BaseModel, effect=effect, run=_never, paths=("path",))


def signed(name: str, effect: Effect = "read", **args: Any) -> Signature:
    places: Mapping[str, str] = {"path": f"file:///w/{args['path']}"} if "path" in args else {}
    found = signature(tool(name, effect), args, places)
    assert found is not None
    return found


READ_A = signed("read_file", path="a")
WRITE_A = signed("write_file", "write", path="a", content="1")
OTHER_WRITE_A = signed("write_file", "write", path="a", content="2")
WRITE_B = signed("write_file", "write", path="b", content="1")
LIST = signed("list_files", path="")
SEARCH = signed("search_text", query="x")
GOOD = succeeded("first")


def test_commands_are_never_the_same() -> None:
    assert signature(tool("run_command", "execute"), {"command": "ls"}, {}) is None


@pytest.mark.parametrize(
    ("first", "between", "again", "after", "found"),
    [
        (READ_A, [], READ_A, 1.9, True),
        (READ_A, [], READ_A, 2.0, False),
        (READ_A, [], signed("read_file", path="a", start_line=2), 0.1, False),
        (READ_A, [WRITE_A], READ_A, 0.1, False),
        (READ_A, [WRITE_B], READ_A, 0.1, True),
        (WRITE_A, [], WRITE_A, 4.9, True),
        (WRITE_A, [], WRITE_A, 5.0, False),
        (WRITE_A, [], OTHER_WRITE_A, 0.1, False),
        (WRITE_A, [OTHER_WRITE_A], WRITE_A, 0.1, False),
        (WRITE_A, [WRITE_B], WRITE_A, 0.1, True),
        (WRITE_A, [READ_A], WRITE_A, 0.1, True),
        (LIST, [WRITE_B], LIST, 0.1, False),
        (SEARCH, [WRITE_B], SEARCH, 0.1, False),
        (SEARCH, [READ_A], SEARCH, 0.1, True),
    ],
)
def test_windows(
    first: Signature, between: list[Signature], again: Signature, after: float, found: bool
) -> None:
    recent = DedupWindow(5.0)
    recent.ran(first, GOOD, 0.0)
    for each in between:
        recent.ran(each, succeeded("between"), 0.0)
    assert (recent.find(again, after) is GOOD) is found


@pytest.mark.parametrize(
    ("changed", "found"),
    [("file:///w/a", False), ("file:///w", False), ("file:///w/ab", True), ("file:///w/b", True)],
)
def test_a_change_by_anyone_ends_the_windows_on_its_place(changed: str, found: bool) -> None:
    recent = DedupWindow(5.0)
    recent.ran(WRITE_A, GOOD, 0.0)
    recent.ran(READ_A, GOOD, 0.0)
    recent.changed(changed)
    assert (recent.find(READ_A, 0.1) is not None) is found
    assert (recent.find(WRITE_A, 0.1) is not None) is found


def test_a_failed_call_is_never_given_again_and_a_failed_write_ends_windows_too() -> None:
    recent = DedupWindow(5.0)
    recent.ran(READ_A, failed("no"), 0.0)
    assert recent.find(READ_A, 0.1) is None
    recent.ran(READ_A, GOOD, 0.2)
    recent.ran(WRITE_A, failed("no"), 0.3)
    assert recent.find(READ_A, 0.4) is None and recent.find(WRITE_A, 0.4) is None


def test_arguments_in_another_order_are_the_same() -> None:
    one = signed("edit_file", "write", path="a", old_text="x", new_text="y")
    other = signed("edit_file", "write", new_text="y", old_text="x", path="a")
    assert one == other


async def test_a_file_that_was_read_before_counts_only_as_the_call_itself_has_found_it(
    tmp_path: Path,
) -> None:
    """A call that does not read its file is not judged by what an earlier call has read of it."""
    desk = Desk(tmp_path, {"a.txt": "one\n"})
    cache, args = CallCache(60), {"path": "a.txt"}

    async def call(name: str, tool: Tool, *, reads: bool) -> bool:
        """Whether the call was answered from the cache."""
        if await cache.earlier(tool, args, desk.context) is not None:
            return True
        if reads:
            await desk.context.files.read(desk.uri("a.txt"))
        await cache.ran(desk.context, succeeded(name))
        return False

    reading, looking = tool("read_file", "read"), tool("look_at", "read")
    assert not await call("first", reading, reads=True)
    assert await call("again", reading, reads=True)
    desk.path("a.txt").write_text("two\n")
    assert not await call("changed", reading, reads=True)
    desk.path("a.txt").write_text("three\n")
    assert not await call("looked", looking, reads=False)
    desk.path("a.txt").write_text("two\n")
    assert not await call("looked anew", looking, reads=False)
