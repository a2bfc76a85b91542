"""A tool runner for planning: read-only tools and, where its context has them, commands; it keeps what they found."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Sequence

from planloom.agent.findings import file_read
from planloom.agent.result_budget import head_and_tail
from planloom.domain.plans.plan import CommandRun, FileRead
from planloom.models.port import ToolCall
from planloom.tools.catalog import ReadFile, RunCommand
from planloom.tools.context import ToolContext
from planloom.tools.external_tools import unwrapped
from planloom.tools.registry import READ_ONLY, Registry, callable_tool, run_tool
from planloom.tools.tool import ToolResult, refused

_MOST_OUTPUT = 8_000
OnResult = Callable[[ToolCall, ToolResult], None]
_NOT_YET = "Nothing is changed or run before the user has approved the plan: put it into the plan."


class ReadOnlyToolRunner:
    """Runs calls of read-only tools, each within `seconds`, and passes each result to `on_result`.

    The context decides about commands. `tools` are those to offer, `reads` is what calls of `read_file` have read,
    `runs` are the commands that have ended.
    """

    def __init__(
        self,
        tools: Registry,
        context: ToolContext,
        seconds: float,
        on_result: OnResult,
        *,
        offers_all: bool = False,
    ) -> None:
        """With `offers_all`, tools with other effects are offered too, since a plan's steps have the same list."""
        self.tools = tools if offers_all else tools.only(READ_ONLY)
        self._context = context
        self._seconds = seconds
        self._on_result = on_result
        self.reads: list[FileRead] = []
        self.runs: list[CommandRun] = []

    async def call(self, call: ToolCall, _following: Sequence[ToolCall] = (), /) -> ToolResult:
        """Run one call. A call that cannot be run or takes too long gives a failed result."""
        result = await self._result(call)
        self._on_result(call, result)
        return result

    async def _result(self, call: ToolCall) -> ToolResult:
        call = unwrapped(call)
        tool = callable_tool(self.tools, call.name, call.arguments)
        if isinstance(tool, ToolResult):
            return tool
        may_run = tool.arguments is RunCommand and self._context.commands is not None
        if tool.effect not in READ_ONLY and not may_run:
            return refused(_NOT_YET)
        limit = None if tool.limits_own_time else self._seconds
        result = await run_tool(tool, call.arguments, self._context, limit)
        if result.outcome is not None:
            command = RunCommand.model_validate(call.arguments).command
            line = command if isinstance(command, str) else shlex.join(command)
            output = head_and_tail(result.text, _MOST_OUTPUT, len)
            self.runs.append(CommandRun(command=line, outcome=result.outcome, output=output))
        if result.ok and tool.arguments is ReadFile:
            await self._keep(ReadFile.model_validate(call.arguments))
        return result

    async def _keep(self, arguments: ReadFile) -> None:
        """Keep what a call has read, unless that fails or takes too long: the result counts all the same."""
        with contextlib.suppress(OSError):
            async with asyncio.timeout(self._seconds):
                read = await file_read(arguments, self._context)
                self.reads += [read] if read is not None else []
