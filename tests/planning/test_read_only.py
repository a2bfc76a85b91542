"""What the read-only tool runner does with calls that fail or take too long, and what it keeps of the others."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from planloom.models.port import ToolCall
from planloom.planning.investigations.read_only import ReadOnlyToolRunner
from planloom.tools.registry import Registry, builtin
from planloom.tools.tool import Tool, ToolResult
from planloom.workspace.snapshots import Snapshot
from planloom.workspace.staged.overlay import Overlay
from planloom.workspace.view import WorkspaceView
from tests.tools.desk import Desk

READ = ToolCall(call_id="1", name="read_file", arguments={"path": "a.py"})


class _NoArguments(BaseModel):
    """The arguments of a tool that takes none."""


async def _timed_out(*_: Any) -> ToolResult:
    raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")


async def _broken(*_: Any) -> ToolResult:
    raise OSError(errno.EIO, "Input/output error")


async def _endless(*_: Any) -> ToolResult:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (_timed_out, "look could not be carried out: Connection timed out."),
        (_broken, "look could not be carried out: Input/output error."),
        (_endless, "look took longer than 0.05 seconds and was stopped."),
    ],
)
async def test_a_call_that_cannot_be_carried_out_is_a_failed_result(
    tmp_path: Path, run: Callable[[Any, Any], Awaitable[ToolResult]], text: str
) -> None:
    tools = Registry((Tool(name="look", description="", arguments=_NoArguments, effect="read", run=run),))
    runner = ReadOnlyToolRunner(tools, Desk(tmp_path).context, 0.05, lambda call, result: None)
    result = await runner.call(ToolCall(call_id="1", name="look", arguments={}))
    assert (result.ok, result.text) == (False, text)


class _LostOverlay(Overlay):
    """An overlay that gives a file once and then fails."""

    def __init__(self, under: WorkspaceView, fails: Callable[[], Awaitable[Any]]) -> None:
        super().__init__(under)
        self._fails = fails
        self._peeked = False

    async def peek(self, uri: str) -> Snapshot:
        if self._peeked:
            await self._fails()
        self._peeked = True
        return await super().peek(uri)


@pytest.mark.parametrize("fails", [_timed_out, _broken, _endless])
async def test_a_result_counts_though_what_it_read_is_not_kept(
    tmp_path: Path, fails: Callable[[], Awaitable[Any]]
) -> None:
    desk = Desk(tmp_path, {"a.py": "x = 1\n"})
    desk.context.files = _LostOverlay(desk.view, fails)
    runner = ReadOnlyToolRunner(builtin(), desk.context, 0.2, lambda call, result: None)
    result = await runner.call(READ)
    assert result.ok and "x = 1" in result.text
    assert runner.reads == []


async def test_what_a_call_has_read_is_kept(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a.py": "x = 1\n"})
    runner = ReadOnlyToolRunner(builtin(), desk.context, 5, lambda call, result: None)
    assert (await runner.call(READ)).ok
    assert [(read.path, read.lines) for read in runner.reads] == [("a.py", ())]
